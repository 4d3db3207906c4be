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

#[cfg(test)]
mod tests {
    use super::{OwnCounters, evaluate};
    use crate::cause::scored::{ScoredFinding, evidence};
    use crate::sample;
    use linerate_results::record::{
        Cause, CountedAt, Datagrams, DeviceCounters, Direction, Finding, Flow, Ledger, Measurement,
        Run, UdpSweep, UdpSweepMetrics, UdpSweepParams,
    };

    const PAYLOAD: u64 = 1_470;
    const SPAN_NS: u64 = 1_000_000_000;

    /// A load of 1,000 datagrams, of which this many were sent and lost.
    fn load(direction: Direction, sent: u64, lost: u64, counters: DeviceCounters) -> Measurement {
        let params = UdpSweepParams {
            direction,
            payload_bytes: PAYLOAD,
            offered_bytes_per_s: 1_000.0 * PAYLOAD as f64,
            span_ns: SPAN_NS,
            ..UdpSweepParams::default()
        };
        let datagrams = Datagrams {
            sent,
            received: sent - lost,
            lost,
            ..Datagrams::default()
        };
        let received = (sent - lost) * PAYLOAD;
        let flow = Flow::datagrams(received, SPAN_NS, CountedAt::Device, datagrams);
        let mut metrics = UdpSweepMetrics::of(&params, flow);
        metrics.device_counters = counters;
        Measurement::UdpSweep(UdpSweep {
            params,
            metrics,
            ledger: Ledger::default(),
        })
    }

    fn overruns(sent: u64, lost: u64, overruns: u64) -> Measurement {
        let counters = DeviceCounters {
            rx_fifo_overruns: Some(overruns),
            ..DeviceCounters::default()
        };
        load(Direction::ToDevice, sent, lost, counters)
    }

    fn pauses(sent: u64, pauses: u64) -> Measurement {
        let counters = DeviceCounters {
            tx_pause_frames: Some(pauses),
            ..DeviceCounters::default()
        };
        load(Direction::ToDevice, sent, 0, counters)
    }

    fn livelock() -> ScoredFinding {
        let finding = Finding {
            cause: Cause::ReceiveLivelock,
            confidence: 0.9,
            summary: String::new(),
            evidence: evidence([]),
            advice: String::new(),
        };
        ScoredFinding {
            weight: 0.5,
            finding,
        }
    }

    fn found(results: Vec<Measurement>, livelock: Option<ScoredFinding>) -> OwnCounters {
        let run = Run {
            results,
            ..sample::run()
        };
        evaluate(&run, PAYLOAD, livelock)
    }

    #[test]
    fn overruns_that_explain_the_loss_take_the_place_of_a_livelock() {
        let found = found(vec![overruns(1_000, 400, 390)], Some(livelock()));
        assert!(found.livelock.is_none() && found.paused.is_none());
        let overrun = found.overrun.expect("a finding");
        assert_eq!(overrun.finding.cause, Cause::QueueOverflow);
        assert!(overrun.finding.confidence > 0.9);
        assert!((overrun.weight - 0.39).abs() < 1e-9, "{}", overrun.weight);
        assert!(
            overrun
                .finding
                .summary
                .contains("390 overruns for 1,000 datagrams"),
            "{}",
            overrun.finding.summary
        );
    }

    #[test]
    fn beside_more_loss_than_overruns_a_livelock_stays_and_comes_first() {
        let found = found(vec![overruns(1_000, 990, 600)], Some(livelock()));
        let livelock = found.livelock.expect("it stays");
        let overrun = found.overrun.expect("a finding");
        assert!(overrun.weight < livelock.weight, "{}", overrun.weight);
        assert!(overrun.finding.confidence < 0.9);
    }

    #[test]
    fn the_load_with_the_most_overruns_is_named() {
        let found = found(
            vec![
                overruns(1_000, 100, 100),
                overruns(1_000, 300, 300),
                overruns(1_000, 0, 0),
            ],
            None,
        );
        let evidence = found.overrun.expect("a finding").finding.evidence;
        assert!((evidence["rx_fifo_overruns"] - 300.0).abs() < 1e-9);
    }

    #[test]
    fn few_overruns_another_direction_and_no_counters_give_nothing() {
        let counted = DeviceCounters {
            rx_fifo_overruns: Some(500),
            tx_pause_frames: Some(500),
            ..DeviceCounters::default()
        };
        for load in [
            overruns(1_000, 5, 5),
            load(Direction::FromDevice, 500, 100, counted),
            load(Direction::ToDevice, 500, 100, DeviceCounters::default()),
        ] {
            let found = found(vec![load], None);
            assert!(found.overrun.is_none() && found.paused.is_none());
        }
    }

    #[test]
    fn pause_frames_count_where_they_stop_the_sender() {
        let stopped = found(vec![pauses(600, 1_200)], None);
        let paused = stopped.paused.expect("a finding");
        assert_eq!(paused.finding.cause, Cause::Paused);
        assert!((paused.weight - 0.4).abs() < 1e-9, "{}", paused.weight);
        // The sender sends what it is asked for, or there is hardly a pause frame.
        assert!(found(vec![pauses(995, 1_990)], None).paused.is_none());
        assert!(found(vec![pauses(600, 20)], None).paused.is_none());
    }
}
