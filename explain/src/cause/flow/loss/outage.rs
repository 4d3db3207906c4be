//! Nothing passes for a while.

use super::lost_acks::MIN_TIMEOUT_NS;
use super::{MIN_COST, NEARLY_FULL};
use crate::cause::flow::class::FlowClass;
use crate::cause::flow::facts::FlowFacts;
use crate::cause::flow::rhythm::Rhythm;
use crate::cause::flow::rule::Rule;
use crate::cause::scored::evidence;
use linerate_capture::model::{Limit, SACK_OCTETS, Span, Transmission};
use linerate_capture::tcp::End;
use linerate_results::format;
use linerate_results::record::Cause;

/// A longer silence of the far end is an interruption, not a loss.
pub(super) const INTERRUPTION_NS: u64 = 400_000_000;
/// Two timeouts in a row take 600 ms at least (RFC 6298 with the usual minimum of 200 ms).
pub(super) const SILENCE_NS: u64 = 580_000_000;
/// A stack without options has a timer of 1 s and more (RFC 6298 section 2.4; lwIP: three ticks of 500 ms): two take 3 s.
const PLAIN_SILENCE_NS: u64 = 2_900_000_000;
/// In a silence that is this many times as long, the sender's timer expires twice more in vain.
const FAR_LONGER: u64 = 5;
/// Losses as rare as those of the whole transfer take the repetitions of one of them with them less often than this, by chance.
const MAX_BY_CHANCE: f64 = 0.001;
/// Three: two repetitions are lost, and the third one arrives.
const MIN_EXPIRIES: u32 = 3;
/// A silence is longer than any queue of the path accounts for if it takes this many round trips.
const MIN_ROUND_TRIPS: u64 = 4;
/// Near the receiver, acknowledgments follow within this time: half of the usual least timeout.
const ANSWERED_NS: u64 = 100_000_000;
/// A host answers a repetition within this time, beyond the round trip.
const PROMPT_NS: u64 = 1_000_000;
/// Transmissions without an answer during an interruption, at least.
const MIN_REPEATED: usize = 2;
/// All other timeouts take less of the time than this part of what interruptions take.
const MAX_OTHER_PART: f64 = 0.2;

/// Duplicate acknowledgments before a silence, at least: one may be the update of a window.
const MIN_REPORTS: usize = 2;
/// Losses outside of the interruptions that are no accident.
const MIN_EPISODES: usize = 3;
/// Repetitions with longer pauses between them belong to different losses: half of the usual least timeout.
const EPISODE_NS: u64 = 100_000_000;
/// A path that carries its fastest rate for this share of the rest of the time is full.
const MIN_FULL: f64 = 0.5;

/// Time in which no packet of the far end was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Silence {
    start_ns: u64,
    ns: u64,
    /// Time of the connection that it cost, with the recovery after it.
    cost_ns: u64,
}

/// Long silences of the end far from the capture point, with hardly any timeout otherwise.
pub(super) fn interrupted(facts: &FlowFacts<'_>) -> Option<Rule> {
    // What others fill all the time is not interrupted.
    if facts.class != FlowClass::Bulk || facts.fills_together {
        return None;
    }
    let silences = silences(facts);
    // A receiver that already misses a segment waits for the sender's timer, which may take 1 s (RFC 6298 section 2.4). No
    // link is interrupted again and again just then.
    let is_loss = |it: &Silence| misses_at(facts, it.start_ns);
    let longest = *silences.iter().max_by_key(|it| it.ns)?;
    // Hardly any loss by chance takes so many repetitions with it.
    let is_far_longer = longest.ns >= FAR_LONGER * least_silence_ns(facts);
    let is_among_losses = || {
        other_episodes(facts, &silences) >= 1 && !is_far_longer && !is_no_chance(facts, longest.ns)
    };
    if facts.model.is_near_receiver()
        && (silences.len() >= 2 || is_among_losses())
        && !is_backed_off(facts, &silences)
        && silences.iter().all(is_loss)
    {
        return None;
    }
    // Elsewhere the same shows by what the receiver reports just before: it misses a segment, and has others.
    let reported = silences.iter();
    let reported = reported.filter(|it| is_reported_at(facts, it.start_ns));
    if !facts.model.is_near_receiver()
        && facts.stats().max_backoff < 2
        && reported.count() * 2 > silences.len()
    {
        return None;
    }
    // Where segments are lost in a row again and again, a long silence is the worst of it. A full path loses what its queue cannot
    // hold.
    let active = 1.0 - facts.share_of(silences.iter().map(|it| it.ns).sum());
    let is_full = facts.share(Limit::PathRate) >= MIN_FULL * active
        || facts.model.utilization >= NEARLY_FULL * active;
    if !is_full && !is_far_longer && other_episodes(facts, &silences) >= MIN_EPISODES {
        return None;
    }
    let share = facts.share_of(silences.iter().map(|it| it.cost_ns).sum());
    let other_share = (facts.share(Limit::Timeout) - share).max(0.0);
    // Several timeouts in a row, or, near the receiver, which does not see all of them, nothing for as long as these take.
    let has_backoff = facts.stats().max_backoff >= 2 && !facts.model.is_near_receiver();
    let is_silent = has_backoff
        || longest.ns >= least_silence_ns(facts)
        || longest.ns >= SILENCE_NS && are_cut_off(facts, &silences);
    if !is_silent || other_share > MAX_OTHER_PART * share || share < MIN_COST {
        return None;
    }
    let far = if facts.model.is_near_receiver() {
        &facts.sender
    } else {
        &facts.receiver
    };
    let rhythm = Rhythm::of(silences.iter().map(|it| it.start_ns));
    let observed = match silences.len() {
        1 => format!(
            "No packet of {far} arrived for {}, from {} after the beginning on",
            format::time(longest.ns),
            format::time(longest.start_ns),
        ),
        count => format!(
            "{} times no packet of {far} arrived for a while, {} at most, first {} after the beginning{}",
            format::count(count as u64),
            format::time(longest.ns),
            format::time(silences[0].start_ns),
            match rhythm {
                Some(rhythm) if rhythm.is_regular =>
                    format!(" and then every {}", format::time(rhythm.period_ns)),
                _ => String::new(),
            },
        ),
    };
    let mut figures = evidence([
        ("interruptions", silences.len() as f64),
        ("interruption_ns", longest.ns as f64),
        ("interruption_start_ns", longest.start_ns as f64),
        ("first_interruption_ns", silences[0].start_ns as f64),
        ("repair_share", share),
        ("other_time_out_share", other_share),
        ("time_outs", facts.stats().time_outs as f64),
    ]);
    if let Some(rhythm) = rhythm.filter(|it| it.is_regular) {
        figures.insert("period_ns".to_owned(), rhythm.period_ns as f64);
    }
    let others = if other_share > 0.0 {
        format!(
            "; all other retransmission timeouts take {}",
            format::percent(other_share)
        )
    } else {
        String::new()
    };
    Some(Rule {
        share,
        cause: Cause::LinkInterrupted,
        confidence: 0.8,
        summary: format!(
            "{observed}. Until {} has repeated what was lost, {} of the time passes{others}.",
            facts.sender,
            format::percent(share),
        ),
        evidence: figures,
        advice: "Look for a lost link at that time: kernel log (link is down), the PHY's status register, roaming, a \
                 loose connector, a reset of one end. The sender resumed only when its retransmission timer expired."
            .to_owned(),
        limits: &[Limit::Timeout],
        has_gain: true,
    })
}

/// True if most of several silences, near the receiver, end with what it had acknowledged before: both directions were cut.
fn are_cut_off(facts: &FlowFacts<'_>, silences: &[Silence]) -> bool {
    let view = &facts.model.view;
    let is_cut_off = |it: &&Silence| {
        let end_ns = it.start_ns + it.ns;
        let acks = view.acks.iter().take_while(|ack| ack.time_ns < end_ns);
        let acked = acks.map(|ack| ack.ack).max().unwrap_or(0);
        let next = view.sent.partition_point(|sent| sent.time_ns < end_ns);
        view.sent.get(next).is_some_and(|sent| sent.start < acked)
    };
    let cut_off = silences.iter().filter(is_cut_off).count();
    facts.model.is_near_receiver() && silences.len() >= 2 && cut_off * 2 > silences.len()
}

/// What two timeouts in a row take at least.
fn least_silence_ns(facts: &FlowFacts<'_>) -> u64 {
    let connection = facts.connection();
    let sender = facts.model.data_sender;
    // Its SYN shows what its stack can do; its other timeouts show what its timer takes.
    let is_plain = connection.offers_window_scale(sender) == Some(false)
        && !connection.sack_permitted(sender)
        && facts.model.view.sent.iter().all(|it| it.timestamp == 0);
    let timeouts = facts
        .model
        .spans
        .iter()
        .filter(|it| it.limit == Limit::Timeout);
    let has_shorter = timeouts
        .map(Span::ns)
        .any(|ns| (MIN_TIMEOUT_NS..SILENCE_NS).contains(&ns));
    let is_plain = is_plain && !has_shorter;
    if facts.model.is_near_receiver() && is_plain {
        PLAIN_SILENCE_NS
    } else {
        SILENCE_NS
    }
}

/// True if chance hardly takes all that a sender repeats in `silence_ns`, at the share of its segments that is lost. Its timer doubles each
/// time it expires (RFC 6298 section 5.5).
fn is_no_chance(facts: &FlowFacts<'_>, silence_ns: u64) -> bool {
    let view = &facts.model.view;
    let least_timer_ns = least_silence_ns(facts) / 3;
    let timer_ns = least_timer_ns + facts.model.round_trip_ns().unwrap_or(least_timer_ns);
    let expiries = (silence_ns / timer_ns + 1).ilog2();
    let lost = view.lost() as f64;
    let share = lost / view.sent.len() as f64;
    // The last repetition arrives. Where one only is lost, the timer may be a longer one.
    expiries >= MIN_EXPIRIES && lost > 0.0 && lost * share.powi(expiries as i32 - 1) < MAX_BY_CHANCE
}

/// True if the receiver misses a segment before others that arrived until then.
fn misses_at(facts: &FlowFacts<'_>, time_ns: u64) -> bool {
    let view = &facts.model.view;
    let arrived = view.sent.iter().take_while(|it| it.time_ns <= time_ns);
    let highest = arrived.map(|it| it.end).max().unwrap_or(0);
    let acks = view.acks.iter();
    // The acknowledgment of what came last follows it.
    let acks = acks.take_while(|it| it.time_ns <= time_ns + ANSWERED_NS);
    let acked = acks.map(|it| it.ack).max().unwrap_or(0);
    acked > 0 && highest > acked + 2 * facts.full
}

/// True if the last acknowledgments up to this time ask for a segment again and again, or report others behind it.
fn is_reported_at(facts: &FlowFacts<'_>, time_ns: u64) -> bool {
    let acks = &facts.model.view.acks;
    let until = acks.partition_point(|it| it.time_ns <= time_ns);
    let Some(last) = until.checked_sub(1).map(|at| acks[at]) else {
        return false;
    };
    let same = acks[..until].iter().rev();
    let same = same.take_while(|it| it.ack == last.ack && it.is_bare);
    let usual = acks.iter().map(|it| it.options_len).min().unwrap_or(0);
    let is_selective = !last.has_dsack && last.options_len >= usual + SACK_OCTETS;
    is_selective || same.count() > MIN_REPORTS
}

/// True if the same segment ends two silences in a row: its timer expired again, because no answer arrived.
fn is_backed_off(facts: &FlowFacts<'_>, silences: &[Silence]) -> bool {
    let sent = &facts.model.view.sent;
    let ends: Vec<Option<u64>> = silences
        .iter()
        .map(|it| {
            let end_ns = it.start_ns + it.ns;
            let at = sent.partition_point(|sent| sent.time_ns < end_ns);
            sent.get(at).map(|sent| sent.start)
        })
        .collect();
    let mut pairs = ends.windows(2);
    pairs.any(|pair| pair[0].is_some() && pair[0] == pair[1])
}

/// True if some of what was in flight in the silence `gap` had arrived, so that its acknowledgments were lost, and some had not: both
/// directions were cut. If all had arrived, the receiver may have stood still, unless it answers a further repetition at once, or may have
/// missed one segment, unless it reported none. `repeated` is what the timer repeated in vain.
fn is_cut_in_both(facts: &FlowFacts<'_>, repeated: &Transmission, gap: &[u64]) -> bool {
    let view = &facts.model.view;
    let before = view.sent.iter();
    let before = before.take_while(|it| it.time_ns < repeated.time_ns);
    let highest = before.map(|it| it.end).max().unwrap_or(0);
    let again = view.sent.iter().rev();
    let again = again.filter(|it| it.is_retransmission() && it.time_ns < gap[1]);
    let to_receiver_ns = facts.model.to_receiver.base_ns().unwrap_or(0);
    let is_prompt = again
        .map(|it| gap[1] - it.time_ns)
        .next()
        .is_some_and(|ns| ns <= to_receiver_ns + to_receiver_ns / 4 + PROMPT_NS)
        && !is_reported_at(facts, gap[0]);
    let answer = view.acks.iter().find(|ack| ack.time_ns >= gap[1]);
    answer.is_some_and(|ack| {
        ack.ack >= repeated.end + 2 * facts.full && (ack.ack < highest || is_prompt)
    })
}

/// Groups of at least [`MIN_REPEATED`] repetitions of what was sent neither before nor during one of the silences.
fn other_episodes(facts: &FlowFacts<'_>, silences: &[Silence]) -> usize {
    let sent = &facts.model.view.sent;
    let spans: Vec<(u64, u64)> = silences
        .iter()
        .map(|it| {
            let until = sent.partition_point(|sent| sent.time_ns <= it.start_ns + it.ns);
            let highest = sent[..until].iter().map(|sent| sent.end).max();
            (it.start_ns, highest.unwrap_or(0))
        })
        .collect();
    let is_of_silence = |time_ns: u64, start: u64| {
        spans
            .iter()
            .any(|(from_ns, highest)| time_ns >= *from_ns && start < *highest)
    };
    let mut last_ns = None;
    // Repetitions in each.
    let mut episodes: Vec<usize> = Vec::new();
    for it in sent.iter().filter(|it| it.is_retransmission()) {
        if is_of_silence(it.time_ns, it.start) {
            continue;
        }
        if last_ns.is_none_or(|ns| it.time_ns - ns >= EPISODE_NS) {
            episodes.push(0);
        }
        if let Some(repeated) = episodes.last_mut() {
            *repeated += 1;
        }
        last_ns = Some(it.time_ns);
    }
    let in_a_row = episodes.iter().filter(|it| **it >= MIN_REPEATED);
    in_a_row.count()
}

/// The silences of the far end during timeouts.
fn silences(facts: &FlowFacts<'_>) -> Vec<Silence> {
    let model = &facts.model;
    let near_receiver = model.is_near_receiver();
    let far = if near_receiver {
        model.data_sender
    } else {
        model.data_sender.other()
    };
    let queue_ns = model.queue_ns.map_or(0, |(_, ns)| ns);
    let round_trip_ns = model.base_rtt_ns().unwrap_or(0) + queue_ns;
    let least_ns = INTERRUPTION_NS.max(MIN_ROUND_TRIPS * round_trip_ns);
    let to_receiver_ns = model.to_receiver.base_ns().unwrap_or(0);
    let packets = facts.connection().log().packets();
    let times: Vec<u64> = packets
        .iter()
        .filter(|it| it.from() == far)
        .map(|it| it.time_ns)
        .collect();
    let gaps = times
        .windows(2)
        .filter(|pair| pair[1] - pair[0] >= least_ns);
    let overlap_ns = |gap: &[u64], span: &Span| {
        (span.end_ns.min(gap[1])).saturating_sub(span.start_ns.max(gap[0]))
    };
    let silence = |gap: &[u64]| {
        let spans = model.spans.iter();
        let timeouts = spans.filter(|span| span.limit == Limit::Timeout);
        let during = timeouts.filter(|span| overlap_ns(gap, span) > 0);
        let (mut waited_ns, mut cost_ns) = (0, 0);
        for span in during {
            waited_ns += overlap_ns(gap, span);
            cost_ns += span.ns();
        }
        // One lost segment is silence until the timer expires; in an interruption, what is repeated is lost, too. What the
        // end of the silence answers was not.
        let unanswered = gap[0]..gap[1].saturating_sub(to_receiver_ns);
        let repeated = model
            .view
            .sent
            .iter()
            .filter(|it| it.is_retransmission() && unanswered.contains(&it.time_ns));
        let repeated: Vec<&Transmission> = repeated.collect();
        let is_cut = || {
            repeated
                .first()
                .is_some_and(|it| is_cut_in_both(facts, it, gap))
        };
        let is_repeated = near_receiver || repeated.len() >= MIN_REPEATED || is_cut();
        (is_repeated && waited_ns * 2 >= gap[1] - gap[0]).then_some(Silence {
            start_ns: gap[0],
            ns: gap[1] - gap[0],
            cost_ns,
        })
    };
    gaps.filter(|gap| host_silence_ns(facts, far, gap) >= INTERRUPTION_NS)
        .filter_map(silence)
        .collect()
}

/// The longest time within the silence `gap` of one end in which nothing of its host was captured on other connections either.
pub(super) fn host_silence_ns(facts: &FlowFacts<'_>, end: End, gap: &[u64]) -> u64 {
    let start_ns = facts.connection().start_ns;
    let [from_ns, until_ns] = [gap[0] + start_ns, gap[1] + start_ns];
    let host = facts.flow.ends[end as usize].0;
    let mut times = vec![from_ns, until_ns];
    for other in facts.all {
        let Some(at) = other.ends.iter().position(|(address, _)| *address == host) else {
            continue;
        };
        let connection = &other.connection;
        let packets = connection.log().packets();
        let first = packets.partition_point(|it| it.time_ns + connection.start_ns < from_ns);
        let during = packets[first..].iter();
        let during = during.take_while(|it| it.time_ns + connection.start_ns < until_ns);
        let own = during.filter(|it| it.from() as usize == at);
        times.extend(own.map(|it| it.time_ns + connection.start_ns));
    }
    times.sort_unstable();
    let gaps = times.windows(2).map(|pair| pair[1] - pair[0]);
    gaps.max().unwrap_or(0)
}
