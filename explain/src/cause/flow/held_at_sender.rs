//! Packets that wait at their sender if it was silent before, by the clock that stamps them (RFC 7323): its radio sleeps until it may send.

use super::facts::FlowFacts;
use super::rule::Rule;
use crate::cause::scored::evidence;
use linerate_capture::model::{Limit, percentile, stamp_delays_ns};
use linerate_capture::tcp::{End, Segment};
use linerate_results::format;
use linerate_results::record::Cause;

/// A host's scheduling takes less.
const MIN_LATE_NS: u64 = 15_000_000;
/// An end that was silent for less has not fallen asleep (IEEE 802.11 stations stay awake for some beacons, LTE for 20 ms at least).
const SILENCE_NS: u64 = 20_000_000;
/// Fewer of each kind may be chance.
const MIN_OF_EACH: usize = 8;
/// Nearly all, and hardly any.
const NEARLY_ALL: f64 = 0.75;
const HARDLY_ANY: f64 = 0.125;
/// A smaller share of the time is not worth a finding.
const MIN_SHARE: f64 = 0.1;

/// An end whose packets pass late after a silence, and at once otherwise: a queue on the path delays what follows others.
pub(super) fn held_at_sender(facts: &FlowFacts<'_>) -> Option<Rule> {
    [End::First, End::Second]
        .into_iter()
        .find_map(|end| held(facts, end))
}

fn held(facts: &FlowFacts<'_>, end: End) -> Option<Rule> {
    let packets = facts.connection().log().packets().iter();
    let stamped: Vec<(u64, u32)> = packets
        .filter(|it| it.from() == end && !it.has_any(Segment::RST))
        .map(|it| (it.time_ns, it.timestamps.0))
        .collect();
    let delays = stamp_delays_ns(&stamped)?;
    let (mut after_silence, mut others) = (Vec::new(), Vec::new());
    for (pair, delay_ns) in stamped.windows(2).zip(&delays[1..]) {
        // What passed before left an end that was awake.
        let silence_ns = pair[1].0.saturating_sub(pair[0].0 + delay_ns);
        let of_kind = if silence_ns >= SILENCE_NS {
            &mut after_silence
        } else {
            &mut others
        };
        of_kind.push(*delay_ns);
    }
    let late = |delays: &[u64]| {
        let late = delays.iter().filter(|ns| **ns >= MIN_LATE_NS).count();
        late as f64 / delays.len().max(1) as f64
    };
    let share = facts.share_of(after_silence.iter().sum());
    if after_silence.len() < MIN_OF_EACH
        || others.len() < MIN_OF_EACH
        || late(&after_silence) < NEARLY_ALL
        || late(&others) > HARDLY_ANY
        || share < MIN_SHARE
    {
        return None;
    }
    let name = facts.flow.ends[end as usize].0;
    let (usual_ns, longest_ns) = (
        percentile(after_silence.clone(), 50)?,
        percentile(after_silence.clone(), 100)?,
    );
    Some(Rule {
        share,
        cause: Cause::WakeUpLatency,
        confidence: 0.75,
        summary: format!(
            "By its clock, {name} has what it sends after a silence ready {} (median, {} at most) before that passes the capture point, \
             and {} other packets at once: it sleeps, and waits until it may send.",
            format::time(usual_ns),
            format::time(longest_ns),
            format::count(others.len() as u64),
        ),
        evidence: evidence([
            ("late_packets", after_silence.len() as f64),
            ("late_ns_p50", usual_ns as f64),
            ("late_ns_max", longest_ns as f64),
            ("prompt_packets", others.len() as f64),
        ]),
        advice: "Look for power saving at that end: a sleeping radio (esp_wifi_set_ps, a listen interval), a modem that waits for a grant."
            .to_owned(),
        limits: &[Limit::SenderIdle, Limit::LateAck],
        has_gain: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cause::synthetic::{MS, Script, US};

    /// Requests from 60 to 90 ms after each answer, captured at the server, in packets with time stamps; each passes the capture point
    /// `waits_ns` of the time at which it is ready later, and the acknowledgment of its answer `ack_waits_ns`.
    fn requests(waits_ns: impl Fn(u64) -> u64, ack_waits_ns: u64) -> Option<Rule> {
        let mut script = Script::late(End::First, 60_000);
        let mut ready_ns = 50 * MS;
        for number in 0..30 {
            let seq = [1 + 80 * number, 1 + 200 * number];
            let flags = Segment::ACK | Segment::PSH;
            script.at(ready_ns + waits_ns(ready_ns));
            script.packet(End::First, flags, seq, 80, &stamps(ready_ns));
            let answered_ns = script.now_ns + 50 * US;
            let seq = [seq[1], seq[0] + 80];
            script.at(answered_ns);
            script.packet(End::Second, flags, seq, 200, &stamps(answered_ns));
            let acked_ns = answered_ns + 6 * MS;
            let seq = [seq[1], seq[0] + 200];
            script.at(acked_ns + ack_waits_ns);
            script.packet(End::First, Segment::ACK, seq, 0, &stamps(acked_ns));
            ready_ns = acked_ns + ack_waits_ns + (60 + u64::from(number) * 7 % 30) * MS;
        }
        held_at_sender(&FlowFacts::of(&script.flow())?)
    }

    /// The option of packets that are stamped in milliseconds at this time, ns.
    fn stamps(ns: u64) -> [u8; 12] {
        let mut options = [1, 1, 8, 10, 0, 0, 0, 0, 0, 0, 0, 1];
        options[4..8].copy_from_slice(&((1_000_000_000 + ns / MS) as u32).to_be_bytes());
        options
    }

    #[test]
    fn what_waits_at_its_sender_after_a_silence_is_that_of_a_radio_that_sleeps() {
        let rule = requests(|ns| ns.next_multiple_of(307 * MS) - ns, 0).expect("held");
        assert_eq!(rule.cause, Cause::WakeUpLatency);
        assert!(rule.evidence["late_packets"] >= 29.0, "{:?}", rule.evidence);
    }

    #[test]
    fn what_waits_for_other_reasons_is_not() {
        assert!(requests(|_| 0, 0).is_none(), "a person");
        assert!(requests(|_| 5 * MS, 0).is_none(), "a host's scheduling");
        let queued = |ns| if ns == 50 * MS { 0 } else { 150 * MS };
        assert!(requests(queued, 140 * MS).is_none(), "a queue");
    }
}
