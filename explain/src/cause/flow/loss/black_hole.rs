//! Only segments above a size are lost, always.

use crate::cause::flow::facts::FlowFacts;
use crate::cause::flow::rule::Rule;
use crate::cause::scored::evidence;
use linerate_capture::model::{Limit, Transmission};
use linerate_results::format;
use linerate_results::record::Cause;

/// Losses that take less than half of the time are not those of all full segments.
const MIN_TIMEOUT_SHARE: f64 = 0.5;
/// Every link carries packets of this size (RFC 791 section 3.2: 576 octets, less headers).
const MIN_SEGMENT: u64 = 500;
/// The same for IPv6 (RFC 8200 section 5: 1,280 octets, less headers without options).
const MIN_SEGMENT_IPV6: u64 = 1_220;
/// Octets of TCP's options in a full segment at most.
const MAX_OPTIONS: u64 = 40;
/// Larger ones exceed the jumbo frames of common adapters.
const MAX_SEGMENT: u64 = 9_000;
/// A segment that is sent so often is not lost by chance.
const MIN_REPEATED: usize = 3;
/// Two timeouts in a row take 3 s at most with the initial timer (RFC 6298 sections 2 and 5.5).
const MIN_SILENCE_NS: u64 = 3_000_000_000;
/// What comes later than this has left after the missing segments, and not with them.
const LATER_NS: u64 = 1_000_000_000;
const LIMITS: &[Limit] = &[Limit::Timeout, Limit::FastRecovery];
pub(super) const ADVICE: &str = "A link on the path carries smaller packets only, and the ICMP message that reports it does not \
                      arrive: set the MTU or MSS to its size (TCP_MSS; ip route ... advmss), or let ICMP type 3 code 4 \
                      pass. Packets of each size with the DF bit find the limit (ping -M do -s).";

pub(super) fn mtu_black_hole(facts: &FlowFacts<'_>) -> Option<Rule> {
    never_acknowledged(facts).or_else(|| never_arrived(facts))
}

/// Near the sender: full segments are repeated and never acknowledged, smaller ones are acknowledged.
fn never_acknowledged(facts: &FlowFacts<'_>) -> Option<Rule> {
    let view = &facts.model.view;
    // What an adapter merged or is to split is no packet; a timer repeats one of them alone.
    let most = facts.mss().unwrap_or(u64::MAX).min(MAX_SEGMENT);
    let lens = view.sent.iter().map(|it| it.len);
    let full = lens.filter(|it| u64::from(*it) <= most).max()?;
    if facts.full > most && facts.mss().is_none_or(|mss| mss > MAX_SEGMENT) {
        return None;
    }
    let first_full = view.sent.iter().find(|it| it.len >= full)?;
    let full_end = first_full.start + u64::from(full);
    // A sender that probes for the MTU (RFC 4821) repeats the same octets in smaller segments after a while.
    let is_smaller = |it: &&Transmission| it.start == first_full.start && it.len < full;
    let shrunk = view.sent.iter().find(is_smaller);
    let shrunk_ns = shrunk.map_or(u64::MAX, |it| it.time_ns);
    let is_repeated =
        |it: &&Transmission| it.len == full && it.is_retransmission() && it.time_ns < shrunk_ns;
    let repeated = view.sent.iter().filter(is_repeated).count();
    // Without payload before, only the handshake was acknowledged.
    let acked = view.acks.last().map_or(0, |ack| ack.ack);
    let full_acked = view
        .acks
        .iter()
        .any(|it| it.ack >= full_end && it.time_ns < shrunk_ns);
    let smaller_passed = view
        .sent
        .iter()
        .any(|it| it.len > 0 && it.len < full && it.end <= acked);
    // Or nothing passes any more, whatever its size; a segment that is not full shows none. Cut captures may lack the MSS.
    let mss = facts.mss();
    let is_opened = facts.connection().handshake().syn_ns.is_some();
    let has_passed =
        smaller_passed || is_opened && mss.is_none_or(|mss| u64::from(full) + MAX_OPTIONS >= mss);
    let least = if facts.flow.ends[0].0.is_v4() {
        MIN_SEGMENT
    } else {
        MIN_SEGMENT_IPV6 + 1
    };
    let share: f64 = LIMITS.iter().map(|limit| facts.share(*limit)).sum();
    if full_acked
        || !has_passed
        || repeated < MIN_REPEATED
        || share < MIN_TIMEOUT_SHARE
        || u64::from(full) < least
    {
        return None;
    }
    Some(Rule {
        share: share.min(1.0),
        cause: Cause::MtuBlackHole,
        confidence: if smaller_passed { 0.85 } else { 0.6 },
        summary: format!(
            "No segment of {} B was ever acknowledged, although such segments were sent {} times{}.",
            format::count(full.into()),
            format::count(repeated as u64 + 1),
            if smaller_passed {
                "; smaller ones were"
            } else {
                ""
            },
        ),
        evidence: evidence([
            ("segment_bytes", f64::from(full)),
            ("transmissions", repeated as f64 + 1.0),
            ("time_out_share", share),
        ]),
        advice: ADVICE.to_owned(),
        limits: LIMITS,
        has_gain: false,
    })
}

/// Near the receiver: octets are missing until the end, long enough to be repeated several times, while smaller segments
/// and later packets of the same sender arrive.
fn never_arrived(facts: &FlowFacts<'_>) -> Option<Rule> {
    let model = &facts.model;
    let view = &model.view;
    if !model.is_near_receiver() {
        return None;
    }
    let first_missing = view.acks.last()?.ack;
    let behind = view
        .sent
        .iter()
        .find(|it| it.start > first_missing && it.len > 0)?;
    let missing = behind.start - first_missing;
    let silence_ns = model.span_ns.saturating_sub(behind.time_ns);
    let mss = facts.mss().unwrap_or(MIN_SEGMENT);
    let is_small = facts.full < mss;
    let share: f64 = LIMITS.iter().map(|limit| facts.share(*limit)).sum();
    let packets = facts.connection().log().packets();
    let passes_later = packets
        .iter()
        .any(|it| it.from() == model.data_sender && it.time_ns >= behind.time_ns + LATER_NS);
    let is_long = silence_ns >= MIN_SILENCE_NS && missing >= mss;
    if !is_long || !is_small || !passes_later || share < MIN_TIMEOUT_SHARE {
        return None;
    }
    Some(Rule {
        share: share.min(1.0),
        cause: Cause::MtuBlackHole,
        confidence: 0.7,
        summary: format!(
            "{} octets of {} did not arrive for {}, until the end, although a segment of {} B behind them and later \
             packets did. No segment above {} B ever arrived.",
            format::count(missing),
            facts.sender,
            format::time(silence_ns),
            format::count(u64::from(behind.len)),
            format::count(facts.full),
        ),
        evidence: evidence([
            ("missing_bytes", missing as f64),
            ("largest_segment_bytes", facts.full as f64),
            ("silence_ns", silence_ns as f64),
        ]),
        advice: ADVICE.to_owned(),
        limits: LIMITS,
        has_gain: false,
    })
}
