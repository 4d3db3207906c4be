//! Requests and answers that are lost: each costs a timeout, because nothing follows that would show the loss sooner.

use super::lost_acks::MIN_TIMEOUT_NS;
use super::{LONG_NS, MIN_COST, MIN_DISCARDING_COST, MIN_LOSSES};
use crate::cause::busy::union_ns;
use crate::cause::flow::class::FlowClass;
use crate::cause::flow::facts::FlowFacts;
use crate::cause::flow::rule::Rule;
use crate::cause::scored::evidence;
use linerate_capture::model::{Limit, Wait, percentile};
use linerate_capture::tcp::{End, LoggedPacket, PacketClass};
use linerate_results::format;
use linerate_results::record::Cause;
use std::collections::HashMap;

/// So many late messages, and one in so many of all, are noticed.
const MIN_MANY: u64 = 8;
const MANY_DIVISOR: u64 = 25;
/// Nobody waits longer for an answer (J. Nielsen, Usability Engineering, 1993, section 5.5).
const MAX_WAIT_NS: u64 = 10_000_000_000;

/// The waits of an end in which something was lost, with the time by which they exceed its usual wait: that of the timer.
fn late_by_loss(waits: &[Wait]) -> Vec<(&Wait, u64)> {
    let others = waits.iter().filter(|it| !it.has_loss).map(|it| it.ns);
    let usual_ns = percentile(others.collect(), 50).unwrap_or(0);
    let lossy = waits.iter().filter(|it| it.has_loss);
    lossy
        // What follows long after the last repetition waited for something else, such as a person.
        .map(|it| (it, it.ns.saturating_sub(usual_ns).min(it.loss_ns)))
        .filter(|(_, ns)| *ns >= MIN_TIMEOUT_NS)
        .collect()
}

/// A message that came late.
#[derive(Clone, Copy, Debug)]
struct Late {
    /// When it was due, and when it came.
    times_ns: [u64; 2],
    ns: u64,
    /// The packet that brought it.
    number: u32,
    /// True if somebody waited for it: what he does next shows that.
    is_answer: bool,
}

/// The messages of either end which waits for their answers show to have come late.
fn late_answers(facts: &FlowFacts<'_>) -> Vec<Late> {
    let waits = facts.model.turns.waits.iter();
    let late = waits.flat_map(|waits| late_by_loss(waits));
    late.map(|(wait, ns)| Late {
        times_ns: [wait.start_ns, wait.start_ns + wait.ns],
        ns,
        number: wait.number,
        is_answer: true,
    })
    .collect()
}

/// The messages that came again after a timeout, by the time from the first to the last time they were sent.
fn repeated(packets: &[LoggedPacket]) -> Vec<Late> {
    let mut messages: HashMap<(bool, u32), Late> = HashMap::new();
    let carries = |it: &&LoggedPacket| it.len > 0 && it.class != PacketClass::NoData;
    for packet in packets.iter().filter(carries) {
        let message = messages.entry((packet.is_from_second, packet.seq));
        let late = message.or_insert(Late {
            times_ns: [packet.time_ns; 2],
            ns: 0,
            number: packet.number,
            is_answer: false,
        });
        // What was acknowledged already did not come late by this.
        if packet.class == PacketClass::TimeoutRetransmission {
            late.times_ns[1] = packet.time_ns;
            late.ns = packet.time_ns - late.times_ns[0];
            late.number = packet.number;
        }
    }
    let late = messages.into_values();
    late.filter(|it| it.ns >= MIN_TIMEOUT_NS).collect()
}

/// The late messages of either end, each once.
fn late_messages(facts: &FlowFacts<'_>) -> Vec<Late> {
    let mut all = late_answers(facts);
    let answers = all.clone();
    let is_within = |it: &Late| {
        let mut answers = answers.iter();
        answers
            .any(|other| it.times_ns[0] <= other.times_ns[1] && other.times_ns[0] <= it.times_ns[1])
    };
    // A message that asks for nothing has no answer that would come late.
    all.extend(
        repeated(facts.connection().log().packets())
            .into_iter()
            .filter(|it| !is_within(it)),
    );
    all.sort_unstable_by_key(|it| it.times_ns);
    all
}

/// Messages of either end that came again after a timeout, in an exchange of messages that fit into a few segments.
pub(super) fn lost_messages(facts: &FlowFacts<'_>) -> Option<Rule> {
    let is_dialogue = facts.class == FlowClass::Exchange && facts.is_dialogue();
    is_dialogue
        .then(|| stalls(facts, &late_messages(facts), true))
        .flatten()
}

/// Requests or answers that came late, or other data of either end that came very late, for much of the time in which anything was under
/// way: one long wait is noticed, whatever the rest of the connection is.
pub(super) fn lost_requests(facts: &FlowFacts<'_>) -> Option<Rule> {
    let mut late = late_messages(facts);
    late.retain(|it| it.ns <= MAX_WAIT_NS && (it.is_answer || it.ns >= LONG_NS));
    stalls(facts, &late, false)
}

/// What the `repeated` messages cost; only long waits count if they are not those of a dialogue.
fn stalls(facts: &FlowFacts<'_>, repeated: &[Late], is_dialogue: bool) -> Option<Rule> {
    let lost = repeated.len() as u64;
    // What is lost together is waited for together.
    let waits = repeated.iter();
    let waits = waits.map(|it| (it.times_ns[1].saturating_sub(it.ns), it.times_ns[1]));
    let total_ns = union_ns(waits.collect());
    let sum_ns: u64 = repeated.iter().map(|it| it.ns).sum();
    // A capture that misses packets shows numbers as missing, too.
    let ends = [End::First, End::Second];
    let stats = ends.map(|end| facts.connection().stats(end));
    let is_incomplete = stats.iter().any(|it| it.unseen_bytes > 0);
    let came_again: u64 = stats.iter().map(|it| it.retransmitted_segments).sum();
    if is_incomplete && came_again < lost {
        return None;
    }
    let share = facts.share_of(total_ns);
    let busy_share = facts.busy_share(total_ns);
    let turns = &facts.model.turns;
    let pauses = turns.pauses.iter().map(Vec::len).sum::<usize>();
    // A message that nobody answers changes no direction.
    let messages = ((turns.changes() + pauses) as u64 + 1).max(lost);
    // Most of the time of a dialogue passes between its messages: if many come late, that is noticed all the same.
    let are_many = lost >= MIN_MANY && lost * MANY_DIVISOR >= messages && share >= MIN_COST / 2.0;
    // Two show no pattern, but what they cost is measured, and one is no accident if it takes long.
    let is_long = total_ns >= LONG_NS && busy_share >= MIN_DISCARDING_COST;
    let are_costly = lost >= MIN_LOSSES - 1 && share >= MIN_COST || are_many;
    if lost == 0 || is_dialogue && !are_costly || !is_dialogue && !is_long {
        return None;
    }
    let mean_ns = sum_ns / lost;
    let number = |it: Option<&Late>| it.map_or(0.0, |it| f64::from(it.number));
    Some(Rule {
        share,
        cause: Cause::RetransmissionStalls,
        confidence: if lost < MIN_LOSSES { 0.6 } else { 0.8 },
        summary: format!(
            "{} of {} between {} and {} came only after a packet that was repeated or is missing here, {} late on average: \
             nothing follows a lost message that would show the loss before the retransmission timer. These waits take {} of \
             the time.",
            format::count(lost),
            format::counted(messages, "message"),
            facts.sender,
            facts.receiver,
            format::time(mean_ns),
            format::percent(share),
        ),
        evidence: evidence([
            ("late_messages", lost as f64),
            ("messages", messages as f64),
            ("message_wait_ns_mean", mean_ns as f64),
            ("time_out_share", share),
            ("first_packet", number(repeated.first())),
            ("last_packet", number(repeated.last())),
        ]),
        advice: "Find the loss itself: the error counters of both adapters (ethtool -S), the cable, the duplex setting, the \
                 radio. A shorter least timeout (Linux: ip route ... rto_min) only makes each loss cheaper."
            .to_owned(),
        limits: &[Limit::Timeout, Limit::FastRecovery, Limit::SenderIdle],
        has_gain: true,
    })
}

#[cfg(test)]
mod tests {
    use crate::cause::flow::explain_flows;
    use crate::cause::synthetic::{MS, Script};
    use linerate_capture::tcp::{End, Segment};
    use linerate_results::record::Cause;

    /// The last request again, after a timeout of 200 ms.
    fn repeat(dialogue: &mut Script) {
        let [first, second] = dialogue.next;
        let flags = Segment::ACK | Segment::PSH;
        dialogue
            .after(200 * MS)
            .packet(End::First, flags, [first - 80, second], 80, &[]);
    }

    /// 100 requests of 80 octets, each answered with 40 after 4 ms; those of `repeated` are repeated after 200 ms.
    fn first_cause(repeated: &[u64]) -> Option<Cause> {
        let mut dialogue = Script::open(End::First, 4 * MS, MS / 50, 60_000);
        for round in 0..100 {
            dialogue.after(MS / 10).write(End::First, 80);
            if repeated.contains(&round) {
                repeat(&mut dialogue);
            }
            dialogue.after(4 * MS).write(End::Second, 40);
        }
        let (findings, _) = explain_flows(&[dialogue.flow()]);
        findings.first().map(|it| it.finding.cause)
    }

    /// The same, captured at the client; some answers come 300 ms late, behind a packet whose number is missing if they were `lost`.
    fn late_answers(lost: bool) -> Option<Cause> {
        let mut dialogue = Script::open(End::First, 4 * MS, MS / 50, 60_000);
        dialogue.numbers = Some([50, 900]);
        for round in 0..100 {
            dialogue.after(MS / 10).write(End::First, 80);
            if round % 10 == 5 {
                dialogue.after(4 * MS).confirm(End::Second);
                if let Some(numbers) = dialogue.numbers.as_mut().filter(|_| lost) {
                    numbers[1] += 1;
                }
                dialogue.after(300 * MS);
            }
            dialogue.after(4 * MS).write(End::Second, 40);
        }
        let (findings, _) = explain_flows(&[dialogue.flow()]);
        findings.first().map(|it| it.finding.cause)
    }

    #[test]
    fn an_answer_behind_a_missing_packet_was_lost_before() {
        assert_eq!(late_answers(true), Some(Cause::RetransmissionStalls));
        assert_ne!(late_answers(false), Some(Cause::RetransmissionStalls));
    }

    /// `requests` of 80 octets, `pause_ms` after the answer before, of which `late` come again after 200 ms; true if that is found.
    fn names_late_messages(requests: u32, late: u32, pause_ms: u64) -> bool {
        let mut dialogue = Script::open(End::First, 4 * MS, MS / 50, 60_000);
        for round in 0..requests {
            dialogue.after(pause_ms * MS).write(End::First, 80);
            if round * late / requests != (round + 1) * late / requests {
                repeat(&mut dialogue);
            }
            dialogue.after(4 * MS).write(End::Second, 40);
        }
        let (findings, _) = explain_flows(&[dialogue.flow()]);
        let mut causes = findings.iter().map(|it| it.finding.cause);
        causes.any(|it| it == Cause::RetransmissionStalls)
    }

    #[test]
    fn many_late_messages_are_noticed_in_a_dialogue_that_mostly_pauses() {
        // Of 200 messages in 22 s, one in 25 comes 0.2 s late: 7% of the time.
        assert!(names_late_messages(100, 8, 200));
        assert!(!names_late_messages(80, 7, 200), "few");
        assert!(!names_late_messages(110, 8, 180), "one in 27");
        assert!(!names_late_messages(100, 8, 340), "4.5% of the time");
    }

    /// 240 reports of 44 octets, two in a second, each acknowledged; `late` of them come again after 400 ms.
    fn late_reports(late: u32, is_lost: bool) -> Option<String> {
        let mut reports = Script::open(End::Second, MS / 20, 90 * MS, 60_000);
        for at in 0..240 {
            reports
                .after((390 + u64::from(at % 7) * 20) * MS)
                .write(End::Second, 44);
            if at * late / 240 != (at + 1) * late / 240 {
                let [first, second] = reports.next;
                let flags = Segment::ACK | Segment::PSH;
                if !is_lost {
                    reports.confirm(End::First);
                }
                reports
                    .after(400 * MS)
                    .packet(End::Second, flags, [second - 44, first], 44, &[]);
            }
            reports.after(90 * MS).confirm(End::First);
        }
        let (findings, _) = explain_flows(&[reports.flow()]);
        let firm = findings
            .into_iter()
            .filter(|it| it.alternative_to.is_none());
        let mut findings = firm.map(|it| it.finding);
        let stalls = findings.find(|it| it.cause == Cause::RetransmissionStalls);
        stalls.map(|it| it.summary)
    }

    #[test]
    fn messages_that_are_not_answered_come_late_too() {
        assert!(late_reports(30, true).is_some());
        assert_eq!(late_reports(6, true), None, "few");
        assert_eq!(late_reports(30, false), None, "it had arrived");
    }

    #[test]
    fn a_person_s_pause_behind_a_lost_answer_is_none_of_the_timer() {
        // Each tenth answer comes again after 250 ms; then the client thinks.
        let stalls = |pause_ms: u64| {
            let mut dialogue = Script::open(End::First, 4 * MS, MS / 50, 60_000);
            for round in 0..60 {
                dialogue.after(MS).write(End::First, 80);
                dialogue.after(4 * MS).write(End::Second, 40);
                if round % 10 == 5 {
                    let [first, second] = dialogue.next;
                    let flags = Segment::ACK | Segment::PSH;
                    dialogue.after(250 * MS).packet(
                        End::Second,
                        flags,
                        [second - 40, first],
                        40,
                        &[],
                    );
                    dialogue.after(pause_ms * MS);
                }
            }
            let (findings, _) = explain_flows(&[dialogue.flow()]);
            let mut found = findings.into_iter().map(|it| it.finding);
            let stalls = found.find(|it| it.cause == Cause::RetransmissionStalls)?;
            Some(stalls.evidence["message_wait_ns_mean"] / 1e6)
        };
        let [at_once, later] = [0, 700].map(|ms| stalls(ms).expect("stalls"));
        assert!((200.0..300.0).contains(&at_once), "{at_once}");
        assert!((later - at_once).abs() < 10.0, "{later}");
        assert_eq!(stalls(9_000), None);
    }

    /// Speech of a device, 400 octets each 50 ms, and now and then 8 segments of its server's answer, once or more after these waits.
    fn speech(waits_ms: &[u64]) -> Option<Cause> {
        let mut script = Script::open(End::First, 17 * MS, MS / 50, 60_000);
        for at in 0..80 {
            script.after(33 * MS).write(End::First, 400);
            script.after(17 * MS).confirm(End::Second);
            if at % 40 == 39 {
                let first = script.next[1];
                script.after(5 * MS).write(End::Second, 8 * 1_460);
                if at == 39 {
                    // Its first segment is lost, again and again.
                    for wait_ms in waits_ms {
                        let numbers = [first, script.next[0]];
                        script.after(wait_ms * MS);
                        script.packet(End::Second, Segment::ACK, numbers, 1_460, &[]);
                    }
                }
                script.after(MS).confirm(End::First);
            }
        }
        let (findings, _) = explain_flows(&[script.flow()]);
        findings.first().map(|it| it.finding.cause)
    }

    #[test]
    fn one_long_wait_for_the_timer_is_noticed_in_either_direction() {
        assert_eq!(speech(&[680, 1_550]), Some(Cause::RetransmissionStalls));
        assert_eq!(speech(&[680]), None, "less than a second");
        assert_eq!(speech(&[]), None);
    }

    #[test]
    fn an_end_that_falls_silent_makes_the_other_one_repeat() {
        let repeated = |times: u32| {
            let mut script = Script::late(End::First, 8_760);
            script.send(4, 1_460, MS).after(MS).ack_all();
            let last = script.sent();
            script.segment(last, 648);
            for at in 0..times {
                script.after((200 << at) * MS).segment(last, 648);
            }
            let (findings, _) = explain_flows(&[script.flow()]);
            findings.first().map(|it| it.finding.cause)
        };
        assert_eq!(repeated(5), Some(Cause::RetransmissionStalls));
        assert_eq!(repeated(2), None);
    }

    #[test]
    fn lost_messages_cost_timeouts() {
        let each_tenth: Vec<u64> = (0..10).map(|at| 10 * at + 5).collect();
        assert_eq!(first_cause(&each_tenth), Some(Cause::RetransmissionStalls));
        assert_eq!(first_cause(&[30, 60]), Some(Cause::RetransmissionStalls));
        assert_eq!(first_cause(&[30]), None);
        assert_eq!(first_cause(&[]), None);
    }
}
