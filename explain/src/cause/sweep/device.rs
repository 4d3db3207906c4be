//! The device's own counters beside a load sweep to it: overruns of its receive FIFO, and its pause frames.

use crate::cause::scored::{ScoredFinding, evidence};
use linerate_results::format;
use linerate_results::record::{Cause, Direction, Finding, Run, UdpSweep};
use linerate_results::stats;

/// Fewer overruns per datagram sent are not worth a finding.
const MIN_OVERRUNS: f64 = 0.01;
/// Overruns that are this share of the missing datagrams explain their loss.
const EXPLAINS: f64 = 0.8;
/// Fewer pause frames per datagram sent hardly stop a sender.
const MIN_PAUSES: f64 = 0.05;
/// A sender that is stopped sends less than this share of what it offered.
const STOPPED: f64 = 0.98;

/// Findings that the counters support.
pub(super) struct OwnCounters {
    pub(super) paused: Option<ScoredFinding>,
    pub(super) livelock: Option<ScoredFinding>,
    pub(super) overrun: Option<ScoredFinding>,
}

/// Evaluates the counters of the points of the sweep to the device; `livelock` is the finding from the rates alone.
pub(super) fn evaluate(
    run: &Run,
    payload_bytes: u64,
    livelock: Option<ScoredFinding>,
) -> OwnCounters {
    let points = || {
        run.udp_sweeps().filter(move |it| {
            it.params.direction == Direction::ToDevice && it.params.payload_bytes == payload_bytes
        })
    };
    let worst = points().filter_map(Overruns::of);
    let worst = worst.max_by(|one, other| one.share().total_cmp(&other.share()));
    // Frames that the FIFO loses cost the device's processor nothing.
    let is_explained = worst.as_ref().is_some_and(Overruns::explain_the_loss);
    let livelock = livelock.filter(|_| !is_explained);
    let most = livelock.as_ref().map_or(1.0, |it| it.weight * 0.9);
    OwnCounters {
        paused: points().filter_map(paused).max_by(by_weight),
        livelock,
        overrun: worst.and_then(|it| it.finding(most)),
    }
}

fn by_weight(one: &ScoredFinding, other: &ScoredFinding) -> std::cmp::Ordering {
    one.weight.total_cmp(&other.weight)
}

/// Overruns of a point.
struct Overruns {
    frames: u64,
    sent: u64,
    lost: u64,
    offered_bytes_per_s: f64,
}

impl Overruns {
    fn of(point: &UdpSweep) -> Option<Self> {
        let datagrams = point.metrics.flow.as_ref()?.datagrams?;
        Some(Self {
            frames: point.metrics.device_counters.rx_fifo_overruns?,
            sent: datagrams.sent,
            lost: datagrams.lost,
            offered_bytes_per_s: point.params.offered_bytes_per_s,
        })
    }

    fn share(&self) -> f64 {
        stats::ratio(self.frames as f64, self.sent as f64)
    }

    fn explain_the_loss(&self) -> bool {
        self.share() >= MIN_OVERRUNS && self.frames as f64 >= EXPLAINS * self.lost as f64
    }

    fn finding(self, most: f64) -> Option<ScoredFinding> {
        if self.share() < MIN_OVERRUNS {
            return None;
        }
        Some(ScoredFinding {
            weight: self.share().min(most),
            finding: Finding {
                cause: Cause::QueueOverflow,
                confidence: if self.explain_the_loss() { 0.95 } else { 0.7 },
                summary: format!(
                    "The receive FIFO of the device's MAC overflowed: {} overruns for {} datagrams at {}, of which {} \
                     are missing. Its DMA empties the FIFO more slowly than bursts fill it.",
                    format::count(self.frames),
                    format::count(self.sent),
                    format::bit_rate(self.offered_bytes_per_s),
                    format::count(self.lost),
                ),
                evidence: evidence([
                    ("rx_fifo_overruns", self.frames as f64),
                    ("sent_datagrams", self.sent as f64),
                    ("lost_datagrams", self.lost as f64),
                    ("offered_bytes_per_s", self.offered_bytes_per_s),
                ]),
                advice: "Advertise pause frames and set the threshold at which the MAC sends them below the size of the \
                         FIFO, or let the sender space its datagrams."
                    .into(),
            },
        })
    }
}

/// Pause frames of the device that stopped its sender.
fn paused(point: &UdpSweep) -> Option<ScoredFinding> {
    let pauses = point.metrics.device_counters.tx_pause_frames?;
    let sent = point.metrics.flow.as_ref()?.datagrams?.sent;
    let offered = point.params.offered_bytes_per_s;
    let share = stats::ratio(point.metrics.sent_bytes_per_s, offered);
    if stats::ratio(pauses as f64, sent as f64) < MIN_PAUSES || share >= STOPPED {
        return None;
    }
    Some(ScoredFinding {
        weight: 1.0 - share,
        finding: Finding {
            cause: Cause::Paused,
            confidence: 0.9,
            summary: format!(
                "The device's pause frames stopped the sender: {} of them at {} offered, of which {} were sent.",
                format::count(pauses),
                format::bit_rate(offered),
                format::bit_rate(point.metrics.sent_bytes_per_s),
            ),
            evidence: evidence([
                ("tx_pause_frames", pauses as f64),
                ("sent_datagrams", sent as f64),
                ("offered_bytes_per_s", offered),
                ("sent_bytes_per_s", point.metrics.sent_bytes_per_s),
            ]),
            advice: "The rate is that at which the device empties its receive FIFO. Without pause frames it would lose \
                     the rest: look for the limit behind the FIFO, its DMA or its processor."
                .into(),
        },
    })
}
