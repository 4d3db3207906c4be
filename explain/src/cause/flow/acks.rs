//! Acknowledgments that come late, or rarely.

use super::beacons::at_beacons;
use super::class::FlowClass;
use super::facts::FlowFacts;
use super::flight::ConstantFlight;
use super::half_duplex::Medium;
use super::held_at_sender::held_at_sender;
use super::media::is_timed_media;
use super::nagle;
use super::rate;
use super::rule::Rule;
use super::serialization;
use crate::cause::scored::evidence;
use linerate_capture::model::{DirectionView, Limit, Reaction, percentile};
use linerate_capture::tcp::End;
use linerate_results::format;
use linerate_results::record::Cause;
use linerate_results::stats;

/// A smaller share of the time is not worth a finding.
const MIN_SHARE: f64 = 0.15;
/// An acknowledgment that is later than this is noticed (the tick of common timers is 1 to 10 ms).
const LATE_NS: u64 = 5_000_000;
/// Waking up for a smaller share of the time is not worth a finding.
const MIN_WAKE_UP_SHARE: f64 = 0.05;
/// A shorter delay is no sleep.
const MIN_WAKE_UP_NS: u64 = 3_000_000;
/// Reactions after short and after long silences, at least.
const MIN_OF_EACH: usize = 3;
/// With so many possible orders, that all late reactions follow the longest silences is no chance (2 silences, 2 ends:
/// 4 of 200).
const MIN_ARRANGEMENTS: usize = 200;
/// Most windows that a program's reading sets differ by this factor.
const CHANGING_WINDOW: u64 = 2;
/// Two segments are acknowledged at once (RFC 9293 section 3.8.6.3); more than this are a stretch.
const STRETCH_SEGMENTS: f64 = 4.5;

/// True if what is late waits in the queue of a path that other transfers fill, in this direction or in the other one.
fn waits_behind_others(facts: &FlowFacts<'_>) -> bool {
    let is_shared = facts.shared.is_some() || facts.is_beside_full || facts.fills_together;
    is_shared || facts.against.is_some_and(|it| it.is_full)
}

pub(super) fn late_acks(facts: &FlowFacts<'_>) -> Option<Rule> {
    // Of few segments, nearly all have to show it.
    let one_by_one_ns = nagle::late_one_by_one_ns(facts).filter(|_| facts.class != FlowClass::Bulk);
    let waited_ns = one_by_one_ns.unwrap_or(0);
    let share = facts.share(Limit::LateAck).max(facts.share_of(waited_ns));
    // A picture on a path takes its time, and its last segment is acknowledged as much later.
    if share < MIN_SHARE
        || facts.class != FlowClass::Bulk && one_by_one_ns.is_none()
        || is_timed_media(facts)
        || serialization::is_path(facts)
        || rate::is_served_continuously(facts)
        || Medium::of(facts).is_some()
        || waits_behind_others(facts)
    {
        return None;
    }
    let usual_ns = facts.model.to_receiver.percentile(50)?;
    let base_ns = facts.model.to_receiver.base_ns()?;
    // A few late ones are accidents.
    let late_ns = facts.model.to_receiver.percentile(75)?;
    if late_ns < base_ns + LATE_NS {
        return None;
    }
    let when = if usual_ns >= base_ns + LATE_NS {
        format!("after {} (median)", format::time(usual_ns))
    } else {
        format!("a quarter of them after {} or more", format::time(late_ns))
    };
    Some(Rule {
        share,
        cause: Cause::LateAcks,
        confidence: 0.75,
        summary: format!(
            "For {} of the time {} waits for acknowledgments that {} sends late: {when} at the capture point, {} at best.",
            format::percent(share),
            facts.sender,
            facts.receiver,
            format::time(base_ns),
        ),
        evidence: evidence([
            ("late_ack_share", share),
            ("ack_ns_p50", usual_ns as f64),
            ("ack_ns_p75", late_ns as f64),
            ("ack_ns_least", base_ns as f64),
        ]),
        advice: "Check how the receiver is notified of frames (polling interval, interrupt moderation, sleep) and its \
                 delayed acknowledgments; more than two segments in flight hide the delay."
            .to_owned(),
        limits: &[Limit::LateAck],
        has_gain: true,
    })
}

/// One acknowledgment for many segments: the sender's window opens in jumps.
pub(super) fn stretch_acks(facts: &FlowFacts<'_>) -> Option<Rule> {
    if facts.class != FlowClass::Bulk || rate::is_full(facts) || rate::is_served_continuously(facts)
    {
        return None;
    }
    let steps = ack_steps(&facts.model.view, 0);
    if steps.len() < 10 {
        return None;
    }
    let mss = facts.mss().unwrap_or(1460);
    let median = percentile(steps.clone(), 50)? as f64 / facts.full.max(mss.min(1460)) as f64;
    // With a constant amount in flight, more acknowledgments would not change what passes in a round trip.
    let is_constant = ConstantFlight::of(facts).is_some_and(|it| it.is_below_window(facts));
    if is_constant
        || is_window_used_up(facts)
        || fills_changing_window(facts)
        || is_timed_media(facts)
    {
        return None;
    }
    // With half of what is in flight acknowledged at once, the sender waits meanwhile.
    let is_held_back = percentile(steps.clone(), 50)? * 2 >= u64::from(facts.stats().max_in_flight);
    let waits = facts.share(Limit::InFlight)
        + facts.share(Limit::SlowStart)
        + facts.share(Limit::LateAck)
        + facts.share(Limit::ReceiveWindow);
    let retransmitted = stats::ratio(
        facts.stats().retransmitted_segments as f64,
        facts.stats().segments as f64,
    );
    // Larger segments than the MSS are those of an adapter that merges them, and so are their acknowledgments.
    let merged = facts.stats().super_segments > 0;
    (median >= STRETCH_SEGMENTS && is_held_back && waits >= 0.4 && retransmitted < 0.005 && !merged).then(|| Rule {
        share: waits,
        cause: Cause::StretchAcks,
        confidence: 0.65,
        summary: format!(
            "{} acknowledges {median:.0} segments at once (median of {} acknowledgments): {} waits for them for {} of the \
             time, and its window grows slowly.",
            facts.receiver,
            format::count(steps.len() as u64),
            facts.sender,
            format::percent(waits),
        ),
        evidence: evidence([
            ("segments_per_ack", median),
            ("acks", steps.len() as f64),
            ("waiting_share", waits),
        ]),
        advice: "Acknowledge at least every second full segment (RFC 9293 section 3.8.6.3); look for filtering of \
                 acknowledgments and for receive offload (LRO) on the path."
            .to_owned(),
        limits: &[
            Limit::InFlight,
            Limit::SlowStart,
            Limit::ReceiveWindow,
            Limit::LateAck,
        ],
        has_gain: false,
    })
}

/// Octets that acknowledgments add; those within `gap_ns` of the one before count as one.
fn ack_steps(view: &DirectionView, gap_ns: u64) -> Vec<u64> {
    let mut steps: Vec<u64> = Vec::new();
    let mut last: Option<(u64, u64)> = None;
    for ack in &view.acks {
        match (last, steps.last_mut()) {
            (Some((acked, _)), _) if ack.ack <= acked => continue,
            (Some((acked, time_ns)), Some(step)) if ack.time_ns - time_ns < gap_ns => {
                *step += ack.ack - acked;
            }
            (Some((acked, _)), _) => steps.push(ack.ack - acked),
            (None, _) => {}
        }
        last = Some((ack.ack, ack.time_ns));
    }
    steps
}

/// True if the sender waits for the receiver's window, and all of it is acknowledged at once: rare acknowledgments, a
/// receiver that looks for frames now and then, and a long path look the same, and the window is the limit of all three.
fn is_window_used_up(facts: &FlowFacts<'_>) -> bool {
    let acks = facts.model.view.acks.windows(2);
    let gaps: Vec<u64> = acks.map(|pair| pair[1].time_ns - pair[0].time_ns).collect();
    // The acknowledgments of one look follow each other closely.
    let gap_ns = percentile(gaps, 90).unwrap_or(0) / 8;
    let window = u64::from(facts.stats().max_window);
    let at_once = percentile(ack_steps(&facts.model.view, gap_ns), 50).unwrap_or(0);
    let waits = facts.share(Limit::ReceiveWindow) + facts.share(Limit::ClosedWindow);
    waits >= 0.4 && at_once * 10 >= window * 8
}

/// True if the receiver acknowledges all of a window that differs from time to time: it grants what its program has read.
fn fills_changing_window(facts: &FlowFacts<'_>) -> bool {
    let acks = &facts.model.view.acks;
    let of = |percent| percentile(acks.iter().map(|ack| ack.window.into()).collect(), percent);
    let (Some(small), Some(large)) = (of(10), of(90)) else {
        return false;
    };
    let changes = large >= CHANGING_WINDOW * small;
    let filled = acks.windows(2).filter(|pair| {
        let granted = pair[0].ack + (u64::from(pair[0].window) << facts.model.scale.least());
        pair[1].ack == granted
    });
    changes && filled.count() * 2 >= acks.len()
}

/// A silence and the reaction after it, in nanoseconds.
type Pair = (u64, u64);

/// The reactions after short silences and those after long ones, if they differ clearly.
fn split(pairs: &[Pair]) -> Option<(&[Pair], &[Pair])> {
    let candidates = MIN_OF_EACH..(pairs.len() + 1).saturating_sub(MIN_OF_EACH);
    let jump = |at: &usize| pairs[*at].0.saturating_sub(pairs[at - 1].0);
    let (short, long) = pairs.split_at(candidates.max_by_key(jump)?);
    let slowest_short = short.iter().map(|(_, ns)| *ns).max()?;
    let of_long = |percent| percentile(long.iter().map(|(_, ns)| *ns).collect(), percent);
    // What comes just before a sleeping end would wake up anyhow waits for a short time only.
    let is_slower =
        of_long(0)? > slowest_short && of_long(50)? > 2 * slowest_short + MIN_WAKE_UP_NS;
    let is_longer = long[0].0 > 2 * short[short.len() - 1].0;
    let is_chance = arrangements(pairs.len(), long.len()) < MIN_ARRANGEMENTS;
    (is_slower && is_longer && !is_chance).then_some((short, long))
}

/// Number of ways to choose `some` of `all`, up to [`MIN_ARRANGEMENTS`].
fn arrangements(all: usize, some: usize) -> usize {
    let mut ways = 1;
    for at in 0..some.min(all - some) {
        ways = ways * (all - at) / (at + 1);
        if ways >= MIN_ARRANGEMENTS {
            break;
        }
    }
    ways
}

/// Reactions with the silence before, in ascending order of it.
fn after_silence(facts: &FlowFacts<'_>, end: End, silence: fn(&Reaction) -> u64) -> Vec<Pair> {
    let two_segments = 2 * facts.mss().unwrap_or(1460).min(1460);
    let reactions = facts.model.turns.reactions[end as usize].iter();
    // A bare acknowledgment of less than two full segments may be delayed on purpose.
    let is_prompt = |it: &&Reaction| !it.is_bare || it.is_answered || it.bytes >= two_segments;
    let prompt = reactions.filter(|it| !it.is_after_loss && is_prompt(it));
    let mut pairs: Vec<Pair> = prompt.map(|it| (silence(it), it.ns)).collect();
    pairs.sort_unstable();
    pairs
}

/// An end reacts late after a silence, and at once otherwise: not only its program, its stack is late.
pub(super) fn wake_up_latency(facts: &FlowFacts<'_>) -> Option<Rule> {
    let model = &facts.model;
    let silences: [fn(&Reaction) -> u64; 2] = [|it| it.silence_ns, |it| it.silence_of_both_ns];
    let mut rule = None;
    for end in [model.data_sender, model.data_sender.other()] {
        let pairs = silences.map(|silence| after_silence(facts, end, silence));
        let Some((short, long)) = pairs.iter().find_map(|pairs| split(pairs)) else {
            continue;
        };
        let slowest_short = short.iter().map(|(_, ns)| *ns).max().unwrap_or(0);
        let median_long = percentile(long.iter().map(|(_, ns)| *ns).collect(), 50)?;
        let total_ns = long
            .iter()
            .map(|(_, ns)| ns.saturating_sub(slowest_short))
            .sum();
        let share = facts.share_of(total_ns);
        let name = facts.flow.ends[end as usize].0;
        if share < MIN_WAKE_UP_SHARE || rule.as_ref().is_some_and(|it: &Rule| it.share >= share) {
            continue;
        }
        rule = Some(Rule {
            share,
            cause: Cause::WakeUpLatency,
            confidence: 0.8,
            summary: format!(
                "{name} reacts after {} (median) if the line was silent for {} or more, and within {} otherwise: it \
                 sleeps and wakes up late.",
                format::time(median_long),
                format::time(long[0].0),
                format::time(slowest_short),
            ),
            evidence: evidence([
                ("answer_after_silence_ns", median_long as f64),
                ("answer_otherwise_ns", slowest_short as f64),
                ("silence_ns", long[0].0 as f64),
            ]),
            advice: "Look for power saving at that end: Energy-Efficient Ethernet, a sleeping radio (esp_wifi_set_ps), a \
                     CPU idle state, a polling interval that grows with silence."
                .to_owned(),
            limits: &[Limit::SenderIdle, Limit::LateAck],
            has_gain: false,
        });
    }
    rule.or_else(|| at_beacons(facts))
        .or_else(|| held_at_sender(facts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cause::flow::facts::OppositeTransfer;
    use crate::cause::synthetic::{MS, MSS, Script, US};

    #[test]
    fn an_end_that_would_have_woken_up_soon_sleeps_too() {
        let of = |long_ms: [u64; 4]| {
            let short = (0..20).map(|at| (5 * MS, 6 * MS + at * MS / 20));
            let long = long_ms.map(|ms| (300 * MS, ms * MS));
            let mut pairs: Vec<Pair> = short.chain(long).collect();
            pairs.sort_unstable();
            split(&pairs).is_some()
        };
        assert!(of([10, 57, 106, 60]));
        assert!(!of([6, 57, 106, 60]), "one as soon as others");
        assert!(!of([10, 11, 12, 13]), "hardly later");
    }

    #[test]
    fn acknowledgments_behind_a_transfer_that_fills_their_way_are_not_late_by_their_receiver() {
        let mut upload = Script::open(End::First, 10 * MS, 20 * US, 60_000);
        upload.at(30 * MS);
        for block in 0..60 {
            upload
                .send(4, MSS, 10 * US)
                .after((60 + block % 7 * 5) * MS)
                .ack_pairs();
            upload.after(20 * US);
        }
        let flow = upload.flow();
        let mut facts = FlowFacts::of(&flow).expect("payload");
        let mut causes = |is_full| {
            facts.against = Some(OppositeTransfer {
                bytes_per_s: 500_000.0,
                queue_ns: Some(60 * MS),
                is_full,
                may_fill: true,
            });
            late_acks(&facts).map(|it| it.cause)
        };
        assert_eq!(causes(false), Some(Cause::LateAcks));
        assert_eq!(causes(true), None);
        facts.against = None;
        facts.is_beside_full = true;
        assert!(late_acks(&facts).is_none());
    }
}
