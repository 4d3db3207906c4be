//! A receiver that does nothing for a while, again and again.

mod intervals;
mod lost_meanwhile;

pub(super) use intervals::STOP;

use super::class::FlowClass;
use super::facts::FlowFacts;
use super::rhythm::Rhythm;
use super::rule::{Rule, is_loss};
use crate::cause::scored::evidence;
use linerate_capture::model::{Limit, Span};
use linerate_results::format;
use linerate_results::record::Cause;
use linerate_results::stats;

/// Standing still for a smaller share of the time is not worth a finding.
const MIN_SHARE: f64 = 0.1;
/// A shorter wait for the timer is that of a lost segment on a short path.
const STALL_NS: u64 = 30_000_000;
/// Fewer are no rhythm.
const MIN_STALLS: usize = 3;
/// Two that take this share of the time are worth a finding, too.
const MIN_SHARE_OF_TWO: f64 = 0.25;
/// One that takes this share of the time is worth a finding, if it is this long, and so many times as long as nine in ten round
/// trips.
const MIN_SHARE_OF_ONE: f64 = 0.2;
const LONG_NS: u64 = 400_000_000;
const LONG_FACTOR: u64 = 8;
/// What happens in a smaller part of the time belongs to the beginning or the end of the transfer.
const MIN_SPREAD: f64 = 0.4;
/// A window that limits the sender for less of the time is not worth mentioning.
const MIN_WINDOW_SHARE: f64 = 0.15;

/// All but one in so many losses are those of the stops: others happen, too.
const MOST_DIVISOR: u64 = 4;
/// The evidence that the losses are those of the stops.
const LOST_MEANWHILE: &str = "lost_meanwhile";

/// Silences of the receiver, and timeouts although nothing was lost.
pub(super) fn standstills(facts: &FlowFacts<'_>) -> Option<Rule> {
    if facts.class != FlowClass::Bulk {
        return None;
    }
    exceptions(facts).or_else(|| intervals::stops_after_each_block(facts))
}

/// Silences that are exceptions: much more passes between two of them than is outstanding in one.
fn exceptions(facts: &FlowFacts<'_>) -> Option<Rule> {
    let lost = facts.model.view.lost();
    let standstills = facts.model.standstills.len();
    let mut stalls = stalls(facts);
    // Losses explain timeouts, but no silence after which all that was sent before is acknowledged.
    let timeouts = stalls.len().saturating_sub(standstills);
    let are_losses = timeouts > 0 && lost as usize * 2 > stalls.len();
    if are_losses {
        stalls = silences(facts);
    }
    let (first, last) = (stalls.first()?, stalls.last()?);
    let total_ns: u64 = stalls.iter().map(Span::ns).sum();
    let share = facts.share_of(total_ns);
    let is_spread = facts.share_of(last.start_ns - first.start_ns) >= MIN_SPREAD;
    // Two timeouts may be anything.
    let is_pair = standstills == 2 && share >= MIN_SHARE_OF_TWO;
    // A long one stands out alone, too, in a capture of a part of a transfer.
    let is_long = stalls.len() == 1
        && standstills == 1
        && share >= MIN_SHARE_OF_ONE
        && total_ns >= LONG_NS
        && facts
            .model
            .to_receiver
            .percentile(90)
            .is_some_and(|ns| total_ns >= LONG_FACTOR * ns);
    if share < MIN_SHARE || !is_pair && !is_long && !is_spread {
        return None;
    }
    // Between stalls it answers; an end that is gone does not.
    let rhythm = Rhythm::of_stalls(&stalls);
    if stalls.len() < MIN_STALLS && !is_pair && !is_long
        || stalls.len() >= MIN_STALLS && rhythm.is_none()
    {
        return None;
    }
    let mean_ns = total_ns / stalls.len() as u64;
    let meanwhile = lost_meanwhile::lost_meanwhile(facts, &stalls).min(lost);
    let window = facts.share(Limit::ReceiveWindow);
    let mut figures = evidence([
        ("stalls", stalls.len() as f64),
        ("stall_ns_mean", mean_ns as f64),
        ("lost_segments", lost as f64),
    ]);
    let losses = if lost > 0 && meanwhile * MOST_DIVISOR >= lost * (MOST_DIVISOR - 1) {
        figures.insert(LOST_MEANWHILE.to_owned(), meanwhile as f64);
        format!(
            " Of {} lost, {} were sent in these times: a queue before it has no room for them.",
            format::counted(lost, "segment"),
            format::count(meanwhile),
        )
    } else {
        String::new()
    };
    let interval = match rhythm {
        Some(rhythm) if rhythm.is_regular => {
            figures.insert("period_ns".to_owned(), rhythm.period_ns as f64);
            format!(", every {}, regularly", format::time(rhythm.period_ns))
        }
        _ => String::new(),
    };
    let between = if window >= MIN_WINDOW_SHARE {
        figures.insert("receive_window_share".to_owned(), window);
        format!(
            " Between its stops, {} has filled its window for {} of the time.",
            facts.sender,
            format::percent(window)
        )
    } else {
        String::new()
    };
    Some(Rule {
        share,
        cause: Cause::ReceiverStalls,
        confidence: 0.75,
        summary: format!(
            "{} answers nothing {} for {} on average{interval}, and then everything that was sent before: it stands \
             still meanwhile, or the link to it does.{between}{losses}",
            facts.receiver,
            format::times(stalls.len() as u64),
            format::time(mean_ns),
        ),
        evidence: figures,
        advice: "Find what stops the receiver at these times: a flash erase or write, a long interrupt handler, a \
                 debugger, garbage collection, a radio that scans; split that work, or move it to another core."
            .to_owned(),
        limits: if are_losses {
            &[Limit::LateAck]
        } else {
            &[Limit::Timeout, Limit::LateAck]
        },
        has_gain: true,
    })
}

/// A receiver that stands still loses what its queue has no room for: it costs the repair, too.
pub(super) fn leave_losses(found: &mut Vec<Rule>) {
    let loses = |rule: &Rule| rule.evidence.contains_key(LOST_MEANWHILE);
    let Some(at) = found.iter().position(loses) else {
        return;
    };
    let is_result = |cause: Cause| is_loss(cause) || cause == Cause::RetransmissionStalls;
    let repairs = found.iter().filter(|rule| is_result(rule.cause));
    let repair: f64 = repairs.map(|rule| rule.share).sum();
    let figure = |name: &str| found[at].evidence.get(name).copied().unwrap_or(0.0);
    let part = stats::ratio(figure(LOST_MEANWHILE), figure("lost_segments")).min(1.0);
    found[at].share = (found[at].share + repair * part).min(1.0);
    found.retain(|rule| !is_result(rule.cause));
}

/// The times in which it answers nothing, and then everything.
fn silences(facts: &FlowFacts<'_>) -> Vec<Span> {
    let silences = facts.model.standstills.iter().map(|it| Span {
        start_ns: it.start_ns,
        end_ns: it.end_ns,
        limit: Limit::LateAck,
        number: 0,
    });
    silences.collect()
}

/// The times in which it answers nothing, in chronological order.
fn stalls(facts: &FlowFacts<'_>) -> Vec<Span> {
    let model = &facts.model;
    let is_timeout = |span: &&Span| span.limit == Limit::Timeout && span.ns() >= STALL_NS;
    let timeouts: Vec<Span> = model.spans.iter().filter(is_timeout).copied().collect();
    // What it does not acknowledge has arrived, as far as the capture shows.
    let ends = timeouts.iter().map(|span| span.end_ns - 1);
    let open = model.unacknowledged_at(ends);
    let waits = timeouts.into_iter().zip(open);
    let waits = waits
        .filter(|(_, octets)| *octets > 0)
        .map(|(span, _)| span);
    let mut stalls: Vec<Span> = silences(facts).into_iter().chain(waits).collect();
    stalls.sort_unstable_by_key(|span| span.start_ns);
    // A timeout that ends within a silence is part of it.
    stalls.dedup_by(|next, before| next.start_ns < before.end_ns);
    stalls
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cause::flow::explain_flows;
    use crate::cause::scored::PathFinding;
    use crate::cause::synthetic::{MS, MSS, Script};
    use linerate_capture::tcp::End;

    /// An upload through a window of eight segments, captured at the sender, whose receiver acknowledges pairs, and
    /// `is_late` names the rounds in which it does so 150 ms late.
    fn first_cause(is_late: impl Fn(u64) -> bool) -> Option<Cause> {
        causes(is_late).first().copied()
    }

    fn causes(is_late: impl Fn(u64) -> bool) -> Vec<Cause> {
        causes_of(|round| if is_late(round) { 150 * MS } else { 0 })
    }

    /// The same, later by `late_ns` in each round; in those that `is_missing` names, the timer repairs the last two segments.
    fn upload_of(late_ns: impl Fn(u64) -> u64, is_missing: impl Fn(u64) -> bool) -> Script {
        let mut upload = Script::open(End::First, 4 * MS, MS / 50, 8 * MSS as u16);
        let mut at_ns = 10 * MS;
        for round in 0..400 {
            let first = upload.sent();
            upload.at(at_ns).send(8, MSS, 10_000);
            at_ns += 4 * MS + late_ns(round);
            if is_missing(round) {
                let missing = first + 6 * MSS;
                upload.at(at_ns).ack(missing);
                upload.at(at_ns + 200 * MS).segment(missing, MSS);
                upload.at(at_ns + 204 * MS).ack(missing + MSS);
                upload.after(10_000).segment(missing + MSS, MSS);
                at_ns += 208 * MS;
            }
            upload.at(at_ns).ack_pairs();
            at_ns += MS / 10;
        }
        upload
    }

    fn causes_of(late_ns: impl Fn(u64) -> u64) -> Vec<Cause> {
        let (findings, _) = explain_flows(&[upload_of(late_ns, |_| false).flow()]);
        findings.iter().map(|it| it.finding.cause).collect()
    }

    #[test]
    fn one_long_stop_of_a_receiver_is_named_and_a_short_one_is_not() {
        let is_named = |ns: u64| {
            let late_ns = |round| if round == 200 { ns } else { 0 };
            causes_of(late_ns).contains(&Cause::ReceiverStalls)
        };
        assert!(is_named(700 * MS));
        assert!(!is_named(150 * MS));
    }

    #[test]
    fn losses_do_not_hide_the_stops_of_a_receiver() {
        let late_ns = |round| if round % 80 == 40 { 400 * MS } else { 0 };
        let flow = upload_of(late_ns, |round| round % 50 == 10).flow();
        let rule = standstills(&FlowFacts::of(&flow).expect("payload"));
        let stops = rule.map(|it| (it.cause, it.evidence["stalls"]));
        assert_eq!(stops, Some((Cause::ReceiverStalls, 5.0)));
    }

    #[test]
    fn a_receiver_that_stands_still_loses_what_its_queue_has_no_room_for() {
        let is_late = |round: u64| round % 80 == 40;
        let found = |is_missing: fn(u64) -> bool| {
            let late_ns = |round| if is_late(round) { 400 * MS } else { 0 };
            explain_flows(&[upload_of(late_ns, is_missing).flow()]).0
        };
        let with_stops = found(|round| round % 80 == 40);
        let first = &with_stops[0].finding;
        assert_eq!(first.cause, Cause::ReceiverStalls, "{with_stops:?}");
        assert_eq!(first.evidence.get(LOST_MEANWHILE), Some(&10.0));
        let is_of_loss = |cause: Cause| is_loss(cause) || cause == Cause::RetransmissionStalls;
        let firm = |all: &[PathFinding]| -> Vec<Cause> {
            let firm = all.iter().filter(|it| it.alternative_to.is_none());
            firm.map(|it| it.finding.cause).collect()
        };
        assert!(
            !firm(&with_stops).into_iter().any(is_of_loss),
            "{with_stops:?}"
        );
        let beside_stops = found(|round| round % 80 == 0);
        assert!(
            firm(&beside_stops).into_iter().any(is_of_loss),
            "{beside_stops:?}"
        );
    }

    /// An upload like that, in which the sender's timer expires in each fiftieth round of 250: the receiver stops for
    /// 320 ms, or it misses the first segment.
    fn first_cause_of_timeouts(is_missing: bool) -> Option<Cause> {
        let mut upload = Script::open(End::First, 4 * MS, MS / 50, 8 * MSS as u16);
        let mut at_ns = 10 * MS;
        for round in 0..250 {
            let first = upload.sent();
            upload.at(at_ns).send(8, MSS, 10_000);
            at_ns += 4 * MS;
            if round % 50 == 25 {
                if is_missing {
                    upload.at(at_ns).duplicate_acks(2, first, 10_000);
                }
                upload.at(at_ns + 200 * MS).segment(first, MSS);
                at_ns += if is_missing { 204 * MS } else { 320 * MS };
            }
            upload.at(at_ns).ack_pairs();
            at_ns += MS / 10;
        }
        let (findings, _) = explain_flows(&[upload.flow()]);
        findings.first().map(|it| it.finding.cause)
    }

    #[test]
    fn a_timeout_while_the_receiver_stops_is_no_loss() {
        assert_eq!(first_cause_of_timeouts(false), Some(Cause::ReceiverStalls));
        let missing = first_cause_of_timeouts(true);
        assert!(
            matches!(
                missing,
                Some(Cause::RetransmissionStalls | Cause::RandomLoss)
            ),
            "{missing:?}"
        );
    }

    /// An upload through a window of two segments, both of which are repeated in each fortieth round: the second by a probe
    /// for losses at the end, the first by the timer. The receiver acknowledges both `late_ns` after that, or misses them.
    fn first_cause_of_small_window(late_ns: u64, is_missing: bool) -> Option<Cause> {
        let mut upload = Script::open(End::First, 4 * MS, MS / 50, 2 * MSS as u16);
        let mut at_ns = 10 * MS;
        for round in 0..240 {
            let first = upload.sent();
            upload.at(at_ns).send(2, MSS, 10_000);
            at_ns += 4 * MS;
            if round % 40 == 20 {
                upload.at(at_ns + 20 * MS).segment(first + MSS, MSS);
                if is_missing {
                    upload.after(4 * MS).ack(first);
                }
                upload.at(at_ns + 230 * MS).segment(first, MSS);
                at_ns += 230 * MS + late_ns;
            }
            upload.at(at_ns).ack_all();
            at_ns += MS / 10;
        }
        let (findings, _) = explain_flows(&[upload.flow()]);
        findings.first().map(|it| it.finding.cause)
    }

    #[test]
    fn a_receiver_that_answers_no_repetition_of_a_whole_window_stands_still() {
        assert_eq!(
            first_cause_of_small_window(120 * MS, false),
            Some(Cause::ReceiverStalls)
        );
        assert_ne!(
            first_cause_of_small_window(4 * MS, true),
            Some(Cause::ReceiverStalls)
        );
    }

    #[test]
    fn a_receiver_that_stops_at_intervals_shorter_than_a_timeout_stalls() {
        assert_eq!(
            first_cause(|round| round % 80 == 40),
            Some(Cause::ReceiverStalls)
        );
        assert_eq!(first_cause(|_| false), Some(Cause::ReceiveWindow));
        // The sentence about its stops names the window, too.
        let stops = causes(|round| round % 80 == 40);
        assert!(!stops.contains(&Cause::ReceiveWindow), "{stops:?}");
        assert_ne!(
            first_cause(|round| round % 3 == 0),
            Some(Cause::ReceiverStalls)
        );
        assert_ne!(
            first_cause(|round| round < 4),
            Some(Cause::ReceiverStalls),
            "only in the beginning"
        );
    }
}
