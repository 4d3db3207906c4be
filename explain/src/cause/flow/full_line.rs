//! Lines and paths that leave nothing for other causes to cost.

use super::facts::FlowFacts;
use super::flight::arrives_evenly;
use super::frame::{FRAME_OCTETS, STAMP_OCTETS};
use super::rate::{CONTINUOUS, LINES, MAX_ABOVE_LINE, is_steady};
use super::rule::Rule;
use crate::cause::scored::evidence;
use linerate_capture::model::Limit;
use linerate_results::format;
use linerate_results::record::Cause;
use linerate_results::stats;

/// Octets of a frame that a shaper does not count: preamble, gap and FCS.
const UNSHAPED_OCTETS: u64 = 24;
/// Who gains less has no reason to look for a cause; a rate comes so close to that of a line by chance once in twenty times.
const MAX_TO_GAIN: f64 = 0.1;
/// Where the rate of what was acknowledged exceeds the goodput by more than this factor, it is that of a part of the transfer.
const MAX_ACKNOWLEDGED: f64 = 1.5;
/// Where the goodput exceeds it by more, the transfer pauses: between pauses it is faster than a line of the average rate.
const MAX_PAUSED: f64 = 1.1;
/// A few segments pass faster than their line where hosts jitter.
const MAX_BURST: f64 = 1.06;

/// Rate of the line that this transfer fills but for [`MAX_TO_GAIN`], if nothing passes faster: no cause costs more than the
/// rest.
fn nearly_full_line(facts: &FlowFacts<'_>) -> Option<f64> {
    // What was acknowledged is hardly a part of what passed if the receiver closes meanwhile.
    let acknowledged = facts.acknowledged_rate();
    if acknowledged > MAX_ACKNOWLEDGED * facts.goodput()
        || facts.goodput() > MAX_PAUSED * acknowledged
    {
        return None;
    }
    let average = acknowledged_wire_rate(facts, FRAME_OCTETS);
    let shaped = acknowledged_wire_rate(facts, FRAME_OCTETS - UNSHAPED_OCTETS);
    let fastest = facts
        .fastest()
        .map_or(0.0, |rate| rate * 8.0 * facts.wire_factor());
    let is_filled = |line: &f64| {
        average >= (1.0 - MAX_TO_GAIN) * line
            && shaped <= MAX_ABOVE_LINE * line
            && fastest <= line * MAX_BURST
    };
    LINES.into_iter().find(is_filled)
}

/// Average rate of the payload with the frames that carry it, of which `octets` are no payload or options, bit/s.
fn acknowledged_wire_rate(facts: &FlowFacts<'_>, octets: u64) -> f64 {
    let sent = facts.model.view.sent.iter();
    let (mut payload, mut wire) = (0, 0);
    for it in sent.filter(|it| !it.is_retransmission()) {
        let frames = u64::from(it.len).div_ceil(facts.frame_payload().max(1));
        let options = if it.timestamp == 0 { 0 } else { STAMP_OCTETS };
        payload += u64::from(it.len);
        wire += u64::from(it.len) + frames * (octets + options);
    }
    facts.acknowledged_rate() * 8.0 * stats::ratio(wire as f64, payload as f64)
}

/// True if segments wait for the path, or come from it evenly. A window, a buffer or a pace permits the rate of a line by chance;
/// then they do not.
fn waits_for_path(facts: &FlowFacts<'_>) -> bool {
    let base_ns = facts.connection().handshake().rtt_ns();
    match (base_ns, facts.model.round_trip_ns()) {
        _ if facts.model.is_near_receiver() => arrives_evenly(facts),
        (Some(base_ns), Some(usual_ns)) => usual_ns / 2 >= base_ns,
        _ => facts.model.is_queued,
    }
}

/// What a transfer leaves of its path for other causes to cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathUse {
    /// It takes nearly all of a line's rate.
    fills_line: bool,
    waits_for_path: bool,
    /// It takes nearly all of the rate that its limit states, all the time.
    takes_rate: bool,
    /// Nothing shows whether the path or the sender sets that rate.
    is_steady: bool,
}

impl PathUse {
    /// Of a transfer with this limit.
    pub(super) fn of(facts: &FlowFacts<'_>, limit: Option<&Rule>) -> Self {
        let fastest = limit.and_then(|rule| rule.evidence.get("fastest_bytes_per_s"));
        Self {
            fills_line: nearly_full_line(facts).is_some(),
            waits_for_path: waits_for_path(facts),
            takes_rate: limit.is_some_and(|rule| rule.share >= CONTINUOUS)
                && fastest.is_some_and(|rate| facts.acknowledged_rate() >= CONTINUOUS * rate),
            is_steady: is_steady(facts),
        }
    }

    /// True if `cause` can cost no more than what the path has left, and that is hardly anything.
    pub(super) fn leaves_nothing_to(self, cause: Cause) -> bool {
        let fills_path = self.takes_rate && !self.is_steady;
        match cause {
            // Headers and copies fill a path, too, a queue costs other traffic, and a server that is late is so before or behind all that
            // passes.
            Cause::Bufferbloat
            | Cause::ServerThinkTime
            | Cause::SmallMss
            | Cause::SmallWrites
            | Cause::DuplicateFrames
            | Cause::ChecksumErrors => false,
            // In these times, nothing passes.
            Cause::ReceiverReadsSlowly
            | Cause::ReceiverStalls
            | Cause::SenderStalls
            | Cause::SenderIdle
            | Cause::LinkInterrupted => fills_path,
            // This looks like a full path.
            Cause::AckPathFull => self.fills_line,
            Cause::HostPacing => self.fills_line && self.waits_for_path,
            Cause::ReceiveWindow
            | Cause::NoWindowScaling
            | Cause::SendBuffer
            | Cause::OneInFlight
            | Cause::LateAcks
            | Cause::StretchAcks => self.fills_line && self.waits_for_path || fills_path,
            // What a policer lets pass comes as it was sent, and not evenly.
            Cause::Policed
            | Cause::ShallowQueue
            | Cause::QueueOverflow
            | Cause::RandomLoss
            | Cause::LossInBursts => self.fills_line || self.takes_rate,
            _ => self.fills_line || fills_path,
        }
    }
}

/// The transfer takes nearly all of what a line carries, or a shaper of its rate, which does not count all of a frame.
pub(super) fn nearly_full(facts: &FlowFacts<'_>) -> Option<Rule> {
    let line = nearly_full_line(facts).filter(|_| waits_for_path(facts))?;
    let rate = facts.acknowledged_rate();
    let wire_bits_per_s = acknowledged_wire_rate(facts, FRAME_OCTETS);
    let left = (1.0 - wire_bits_per_s / line).max(0.0);
    let is_shaper = wire_bits_per_s > line * MAX_ABOVE_LINE;
    let mut figures = evidence([
        ("path_busy_share", 1.0 - left),
        ("fastest_bytes_per_s", rate),
        ("wire_bits_per_s", wire_bits_per_s),
        ("difference_share", (wire_bits_per_s / line - 1.0).abs()),
    ]);
    let name = if is_shaper {
        "shaper_bits_per_s"
    } else {
        "line_bits_per_s"
    };
    figures.insert(name.to_owned(), line);
    let what = if is_shaper {
        "a shaper of about that rate, if one is on the path, is full"
    } else {
        "a line of about that rate, if one is on the path, is full"
    };
    Some(Rule {
        share: 1.0 - left,
        cause: if is_shaper {
            Cause::PathRate
        } else {
            Cause::AtLineRate
        },
        confidence: 0.6,
        summary: format!(
            "{} of payload arrive, {:.2} Mbit/s on an Ethernet wire, within {} of {} Mbit/s: {what}.",
            format::rate(rate),
            wire_bits_per_s / 1e6,
            format::percent((wire_bits_per_s / line - 1.0).abs()),
            format::count((line / 1e6) as u64),
        ),
        evidence: figures,
        advice: "Read the negotiated speed of each link (ethtool), and the rate of each shaper. If none is that slow, capture at both \
                 ends."
            .to_owned(),
        limits: &[Limit::PathRate],
        has_gain: false,
    })
}
