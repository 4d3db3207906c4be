//! Nagle's algorithm with delayed acknowledgments: a small segment waits for the acknowledgment of the one before, which waits
//! for more data or for a timer.

use super::class::{EXCHANGE_TURNS, earliest_reaction_ns};
use super::exchange::{asked_ns, serving_end};
use super::facts::{FlowFacts, LEAST_FULL};
use super::rule::Rule;
use super::sender::is_timed;
use crate::cause::scored::evidence;
use linerate_capture::model::{DirectionView, Limit, RoundTrips, Transmission, percentile};
use linerate_results::format;
use linerate_results::record::Cause;
use linerate_results::stats;

/// A smaller share of the time is not worth a finding.
const MIN_SHARE: f64 = 0.15;
/// So much in all is noticed (ITU-T G.1010: a page takes 2 s), if it is that share of the time in which somebody waits for something,
/// however long a person pauses between the messages.
const NOTICED_NS: u64 = 2_000_000_000;
/// Delayed acknowledgments of common stacks come after 40 ms or more (RFC 9293 section 3.8.6.3 permits 500 ms).
const DELAYED_ACK_NS: u64 = 25_000_000;
/// What follows an acknowledgment within this time waited for it.
const PROMPT_NS: u64 = 2_000_000;
/// Fewer acknowledgments that were late without a repetition may be accidents.
const MIN_ONCE: usize = 3;
/// So many segments that come again, of those that wait and no other one, are not lost by chance, if none of those arrives promptly.
const MIN_REPEATED: usize = 5;
/// The delays of a timer that is not started by the segment vary by a tick or more (common ticks are 1 to 10 ms).
const FREE_TIMER_NS: u64 = 2_000_000;
/// Fewer segments that are acknowledged late one by one may be accidents.
const MIN_ONE_BY_ONE: u64 = 6;
/// A receiver beside the capture point acknowledges within this time, if it does at once.
const BESIDE_NS: u64 = 1_000_000;
/// Delays that vary by less than this are those of one timer.
const MIN_SPREAD_NS: u64 = 500_000;
/// What waits for them keeps its distance to within this part of that.
const SPREAD_FACTOR: u64 = 4;
/// An acknowledgment that is later than this is noticed (the tick of common timers is 1 to 10 ms).
const LATE_NS: u64 = 5_000_000;

/// Segments that waited for delayed acknowledgments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct HeldBack {
    count: u64,
    total_ns: u64,
    /// Those of them that came again before they were acknowledged: the sender's timer is shorter than the receiver's.
    repeated: u64,
    repeated_ns: u64,
    /// True if nearly all of the others were acknowledged late.
    are_late: bool,
    /// True if those that came again may have been lost: nothing shows that their acknowledgments were only late.
    may_be_lost: bool,
}

impl HeldBack {
    /// Those of `waits` after which the next segment followed within a round trip to its sender, which takes `to_sender_ns` at
    /// least, and [`PROMPT_NS`] more.
    fn of(waits: &[AckWait], base_ns: u64, to_sender_ns: u64, is_known: bool) -> Self {
        let (repeated, once): (Vec<&AckWait>, Vec<&AckWait>) =
            waits.iter().partition(|it| it.repeated_ns.is_some());
        // What comes sooner left before. A handshake may take longer than a round trip (an address is asked for first), but what
        // keeps its distance to acknowledgments that vary waits for them. Without the handshake, any distance may be one.
        let least_ns = match is_known {
            true if are_followed(waits) => to_sender_ns / 2,
            true => earliest_reaction_ns(to_sender_ns),
            false => 0,
        };
        let reaction_ns = least_ns..=to_sender_ns.saturating_add(PROMPT_NS);
        let mut held = Self::default();
        for wait in waits
            .iter()
            .filter(|it| reaction_ns.contains(&it.reaction_ns))
        {
            let late_ns = wait.ns.saturating_sub(base_ns);
            if late_ns < DELAYED_ACK_NS {
                continue;
            }
            held.count += 1;
            held.total_ns += late_ns;
            if wait.repeated_ns.is_some() {
                held.repeated += 1;
                held.repeated_ns += late_ns;
            }
        }
        // Beside the receiver, what was captured has arrived. Elsewhere, the others have to be late, up to the sender's timer.
        let late = once
            .iter()
            .filter(|it| it.ns.saturating_sub(base_ns) >= LATE_NS.max(base_ns))
            .count();
        let usual_ns = percentile(once.iter().map(|it| it.ns).collect(), 75).unwrap_or(0);
        let timer_ns = repeated.iter().filter_map(|it| it.repeated_ns).min();
        held.are_late = late >= MIN_ONCE && late * 5 >= once.len() * 4;
        let reaches_timer = timer_ns.is_some_and(|ns| usual_ns >= ns / 2);
        let is_beside = base_ns <= BESIDE_NS;
        let shows_delay = is_beside || held.are_late && reaches_timer;
        // A timer that runs freely takes any time up to its interval, so that some come too late for the sender's.
        let times = |percent| percentile(once.iter().map(|it| it.ns).collect(), percent);
        let spread_ns = times(90).zip(times(10)).map_or(0, |(p90, p10)| p90 - p10);
        let are_all = repeated.len() >= MIN_REPEATED
            && (repeated.len() + late) * 5 >= waits.len() * 4
            && spread_ns >= FREE_TIMER_NS;
        held.may_be_lost = !are_all && (late < MIN_ONCE || !shows_delay);
        held
    }

    /// Without those that came again, which may have been lost.
    fn once(self) -> Self {
        Self {
            count: self.count - self.repeated,
            total_ns: self.total_ns - self.repeated_ns,
            repeated: 0,
            repeated_ns: 0,
            ..self
        }
    }
}

/// A small segment alone in flight, or the part of a write behind full ones: the time to its acknowledgment, which carried no
/// data, and from that to the next segment.
#[derive(Clone, Copy, Debug)]
struct AckWait {
    start_ns: u64,
    ns: u64,
    reaction_ns: u64,
    /// Time until it came again before that.
    repeated_ns: Option<u64>,
}

/// True if the times to acknowledgments vary, and those from them to the next segments do not.
fn are_followed(waits: &[AckWait]) -> bool {
    let once = || waits.iter().filter(|it| it.repeated_ns.is_none());
    // A clock sets the times of what is sent, whatever is acknowledged.
    let starts: Vec<u64> = once().map(|it| it.start_ns).collect();
    let intervals: Vec<u64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    if is_timed(&intervals) {
        return false;
    }
    let spread = |of: fn(&AckWait) -> u64| {
        let times: Vec<u64> = once().map(of).collect();
        percentile(times.clone(), 90)
            .zip(percentile(times, 10))
            .map(|(p90, p10)| p90 - p10)
    };
    let (acks, reactions) = (spread(|it| it.ns), spread(|it| it.reaction_ns));
    acks.zip(reactions)
        .is_some_and(|(acks, reactions)| acks >= MIN_SPREAD_NS && acks / SPREAD_FACTOR >= reactions)
}

/// The time that segments alone in flight, of any size, waited for acknowledgments that came late, each followed at once by the
/// next segment, ns. `None` if most were not.
pub(super) fn late_one_by_one_ns(facts: &FlowFacts<'_>) -> Option<u64> {
    let model = &facts.model;
    let base = |trips: &RoundTrips| trips.base_ns().unwrap_or(0);
    let (to_receiver_ns, to_sender_ns) = (base(&model.to_receiver), base(&model.to_sender));
    let is_known = facts.connection().handshake().legs_ns().is_some();
    let waits = ack_waits(&model.view, u64::MAX, model.scale.least());
    let held = HeldBack::of(&waits, to_receiver_ns, to_sender_ns, is_known).once();
    let new = model.view.sent.iter().filter(|it| !it.is_retransmission());
    // What followed the last one was not captured.
    let followed = (new.count() as u64).saturating_sub(1);
    let is_usual = held.count * 5 >= followed * 4;
    let is_one_way = model.turns.changes() < EXCHANGE_TURNS;
    // Elsewhere, a slow line between the capture point and the receiver looks the same: it delays the fastest one, too.
    let is_beside = to_receiver_ns <= BESIDE_NS;
    (is_beside && is_usual && is_one_way && held.count >= MIN_ONE_BY_ONE).then_some(held.total_ns)
}

/// `mss` is what a full segment has; smaller ones may be held back.
fn ack_waits(view: &DirectionView, mss: u64, shift: u8) -> Vec<AckWait> {
    let mut waits = Vec::new();
    // What is granted, with the least scale that is possible.
    let mut edge = 0;
    let mut acks = view.acks.iter().peekable();
    let mut acked = view.sent.first().map_or(0, |it| it.start);
    for (at, first) in view.sent.iter().enumerate() {
        if first.is_retransmission() {
            continue;
        }
        let is_again = |it: &&Transmission| it.is_retransmission() && it.start == first.start;
        let again = view.sent[at + 1..].iter().take_while(is_again).count();
        let repeated = &view.sent[at + 1..at + 1 + again];
        let Some(second) = view.sent.get(at + 1 + again) else {
            break;
        };
        while let Some(ack) = acks.next_if(|ack| ack.number < first.number) {
            acked = acked.max(ack.ack);
            edge = edge.max(ack.ack + (u64::from(ack.window) << shift));
        }
        // With timestamps of a coarse clock, its acknowledgment may already be among those before.
        let is_alone = (first.start..first.end).contains(&acked);
        let is_small = |it: &Transmission| u64::from(it.len) < mss / 10 * 9;
        // The rest of a write behind full segments is held back like a second write.
        let is_rest =
            !first.is_pushed && second.is_pushed && is_small(second) && edge >= second.end;
        let mut waited = None;
        // What follows an answer waited for that, and not for the acknowledgment.
        let mut is_answered = false;
        while let Some(ack) = acks.next_if(|ack| ack.number < second.number) {
            acked = acked.max(ack.ack);
            edge = edge.max(ack.ack + (u64::from(ack.window) << shift));
            is_answered |= !ack.is_bare;
            if ack.ack >= first.end && ack.is_bare && waited.is_none() {
                waited = Some(ack.time_ns);
            }
        }
        let is_held = is_alone && (is_small(first) || is_rest) && !is_answered;
        let waited = waited.filter(|_| is_held && second.start == first.end);
        waits.extend(waited.map(|acked_ns| AckWait {
            ns: acked_ns - first.time_ns,
            reaction_ns: second.time_ns - acked_ns,
            repeated_ns: repeated.first().map(|it| it.time_ns - first.time_ns),
            start_ns: first.time_ns,
        }));
    }
    waits
}

/// True for a stream in segments of one size, that of the sender's own MSS: a device with a small buffer, whose segments are full,
/// whatever the receiver would take. Nagle's algorithm holds back none of them (RFC 9293 section 3.7.4).
fn is_in_full_segments(facts: &FlowFacts<'_>) -> bool {
    let sent = &facts.model.view.sent;
    let own_mss = facts.connection().mss(facts.model.data_sender);
    let lengths = || sent.iter().map(|it| it.len);
    let largest = lengths().max().unwrap_or(0);
    let full = lengths().filter(|len| *len == largest).count();
    let is_one_way = facts.model.turns.changes() < EXCHANGE_TURNS;
    is_one_way
        && full * 10 >= sent.len() * 8
        && match own_mss {
            Some(mss) => u64::from(largest) * 10 >= u64::from(mss) * 8,
            None => u64::from(largest) >= LEAST_FULL,
        }
}

/// What waited of the data, and of the other direction.
fn both_ways(facts: &FlowFacts<'_>) -> [HeldBack; 2] {
    let model = &facts.model;
    let base = |trips: &RoundTrips| trips.base_ns().unwrap_or(0);
    let (to_receiver_ns, to_sender_ns) = (base(&model.to_receiver), base(&model.to_sender));
    let mss = facts.mss().unwrap_or(1460);
    let back_mss = facts
        .connection()
        .mss(model.data_sender)
        .map_or(1460, u64::from);
    let is_known = facts.connection().handshake().legs_ns().is_some();
    let own = ack_waits(&model.view, mss, model.scale.least());
    let back = ack_waits(&model.back, back_mss, 0);
    [
        HeldBack::of(&own, to_receiver_ns, to_sender_ns, is_known),
        HeldBack::of(&back, to_sender_ns, to_receiver_ns, is_known),
    ]
}

/// True if what came again may have been acknowledged late instead of lost: all else that waits is, and nothing else was lost.
pub(super) fn may_be_delayed(facts: &FlowFacts<'_>) -> bool {
    let [own, back] = both_ways(facts);
    let fits = |held: HeldBack, view: &DirectionView| {
        held.are_late && held.repeated > 0 && view.lost() <= held.repeated
    };
    fits(own, &facts.model.view) || fits(back, &facts.model.back)
}

pub(super) fn delayed_ack_with_nagle(facts: &FlowFacts<'_>) -> Option<Rule> {
    let model = &facts.model;
    let [own, back] = both_ways(facts);
    let is_own = own.total_ns >= back.total_ns;
    if is_own && is_in_full_segments(facts) {
        return None;
    }
    let (held, view) = if is_own {
        (own, &model.view)
    } else {
        (back, &model.back)
    };
    // Nothing else comes again, and some of what waited does not: then no loss explains it.
    let is_spurious = view.lost() <= held.repeated
        && held.repeated * 2 <= view.sent.len() as u64
        && !held.may_be_lost;
    let held = if is_spurious { held } else { held.once() };
    let HeldBack {
        count, total_ns, ..
    } = held;
    let share = facts.share_of(total_ns);
    let asked = serving_end(facts).map_or(facts.active_ns, |server| asked_ns(facts, server));
    let is_noticed =
        total_ns >= NOTICED_NS && stats::ratio(total_ns as f64, asked as f64) >= MIN_SHARE;
    if count < 3 || share < MIN_SHARE && !is_noticed {
        return None;
    }
    let (writer, holder) = if is_own {
        (&facts.sender, &facts.receiver)
    } else {
        (&facts.receiver, &facts.sender)
    };
    let mut figures = evidence([
        ("held_back_acks", count as f64),
        ("held_back_share", share),
        ("held_back_ns_mean", (total_ns / count) as f64),
    ]);
    let repeats = if held.repeated > 0 {
        figures.insert("repeated".to_owned(), held.repeated as f64);
        format!(
            " {} of these times {writer} repeated it meanwhile: its timer is shorter.",
            format::count(held.repeated)
        )
    } else {
        String::new()
    };
    Some(Rule {
        share,
        cause: Cause::DelayedAckWithNagle,
        confidence: 0.9,
        summary: format!(
            "{}, for {} of the time, {writer} held back a small segment until {holder} acknowledged the previous \
             one, on average after {}.{repeats}",
            format::times(count),
            format::percent(share),
            format::time(total_ns / count),
        ),
        evidence: figures,
        advice: "Write whole messages at once, or set TCP_NODELAY at the sender; acknowledging every segment at the \
                 receiver also helps."
            .to_owned(),
        limits: if held.repeated > 0 {
            &[Limit::LateAck, Limit::SenderIdle, Limit::Timeout]
        } else {
            &[Limit::LateAck, Limit::SenderIdle]
        },
        has_gain: true,
    })
}
