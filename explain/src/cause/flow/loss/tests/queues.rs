//! Losses of queues and policers, by what was in flight or passed before.

use super::*;

#[test]
fn losses_at_the_end_of_slow_start_are_not_spread_over_the_time() {
    let is_spread_of = |lossy: &dyn Fn(u64) -> bool| {
        let mut download = download();
        for round in 0..200 {
            let first = download.sent();
            download
                .at(10 * MS + round * 10 * MS)
                .send(2, MSS, 100 * US);
            if lossy(round) {
                download.after(5 * MS).segment(first, MSS);
            }
            download.after(10 * US).ack_all();
        }
        is_spread(&FlowFacts::of(&download.flow()).expect("payload"))
    };
    assert!(is_spread_of(&|round| round % 10 == 5));
    assert!(!is_spread_of(&|round| (20..60).contains(&round)));
}

#[test]
fn rare_losses_behind_which_a_smaller_window_costs_most_may_be_those_of_a_queue() {
    let other = |repair: f64, reduced: f64| {
        let mut script = download();
        script.segment(1, MSS).ack_all();
        let flow = script.flow();
        let facts = FlowFacts::of(&flow).expect("payload");
        let figures = [
            ("loss_rate", 0.002),
            ("repair_share", repair),
            ("reduced_window_share", reduced),
        ];
        let rule = Rule {
            share: 0.9,
            cause: Cause::RandomLoss,
            confidence: 0.6,
            summary: String::new(),
            evidence: evidence(figures),
            advice: String::new(),
            limits: &[],
            has_gain: true,
        };
        alternative(&facts, &rule)
    };
    assert_eq!(other(0.03, 0.9), Some(Cause::ShallowQueue));
    assert_ne!(other(0.6, 0.1), Some(Cause::ShallowQueue));
}

/// Flights of `segments(round)` segments, captured at the sender on a path of 20 ms; of some, `lost(round)` from the eighth
/// place on are lost and repaired in a round trip.
pub(super) fn lossy_flights(
    rounds: u64,
    segments: impl Fn(u64) -> u32,
    lost: impl Fn(u64) -> u32,
) -> Script {
    let mut upload = Script::open(End::First, 20 * MS, 10 * US, 60_000);
    let mut at_ns = 30 * MS;
    for round in 0..rounds {
        let first = upload.sent();
        let (size, missing) = (segments(round), lost(round));
        upload.at(at_ns).send(size, MSS, 100 * US);
        let eighth_ns = at_ns + 7 * 100 * US;
        at_ns = upload.now_ns + 20 * MS;
        if missing > 0 {
            upload.at(eighth_ns + 20 * MS).ack(first + 8 * MSS);
            upload.at(at_ns);
            upload.duplicate_acks(3, first + 8 * MSS, 10 * US);
            for place in 8..8 + missing {
                upload.after(10 * US).segment(first + place * MSS, MSS);
            }
            at_ns += 20 * MS + MS;
        }
        upload.at(at_ns).ack_all();
        at_ns += 20 * US;
    }
    upload
}

#[test]
fn segments_that_are_lost_together_are_one_event_of_a_full_queue() {
    let size = |round: u64| 8 + (round * 7 % 13) as u32;
    // Twenty events of five segments each in the larger flights, or as many segments alone.
    let together = |round: u64| {
        if round % 10 == 4 && size(round) > 14 {
            5
        } else {
            0
        }
    };
    let found = evaluate(lossy_flights(260, size, together)).expect("losses");
    assert_ne!(found.cause, Cause::ShallowQueue, "{}", found.summary);
    assert_ne!(found.cause, Cause::QueueOverflow, "{}", found.summary);
}

/// Causes of flights of 10 to 15 segments, of which one in `each` loses one, by chance.
fn alone(each: u32) -> (Cause, Option<Cause>) {
    let dice = |round: u64| (round as u32).wrapping_mul(2_654_435_761) >> 12;
    let lost = |round| u32::from(dice(round).is_multiple_of(each));
    let size = |round| 10 + dice(round + 7) % 6;
    let flow = lossy_flights(600, size, lost).flow();
    let facts = FlowFacts::of(&flow).expect("payload");
    let rule = losses(&facts).expect("losses");
    (rule.cause, alternative(&facts, &rule))
}

#[test]
fn rare_losses_that_cost_little_may_be_those_of_a_short_queue() {
    let queue = (Cause::RandomLoss, Some(Cause::ShallowQueue));
    assert_eq!(alone(60), queue);
    assert_ne!(alone(4), queue);
}

/// Flights of 33 segments, captured at the sender on a path of 20 ms, of which each `each`-th one loses that of place `lost`. Up to place 29
/// each waits longer than the one before it, besides `standing_ns`.
fn waiting_flights(each: u64, lost: u32, standing_ns: u64) -> Script {
    let mut upload = Script::open(End::First, 20 * MS, 10 * US, 60_000);
    let mut at_ns = 30 * MS;
    for round in 0..90 {
        let first = upload.sent();
        upload.at(at_ns).send(33, MSS, 100 * US);
        let is_lossy = round % each == each - 1;
        for place in 0..33_u32 {
            let waits_us = u64::from(place.min(58 - place.min(58))) * 50;
            let acked = if is_lossy {
                (place + 1).min(lost)
            } else {
                place + 1
            };
            upload
                .at(at_ns + u64::from(place) * 100 * US + 20 * MS + standing_ns + waits_us * US)
                .ack(first + acked * MSS);
        }
        at_ns = upload.now_ns + 100 * US;
        if is_lossy {
            upload.at(at_ns).segment(first + lost * MSS, MSS);
            at_ns += 20 * MS + standing_ns;
            upload.at(at_ns).ack_all();
        }
    }
    upload
}

#[test]
fn losses_behind_the_longest_waits_are_those_of_a_queue() {
    let cause = |each, lost| {
        let flow = waiting_flights(each, lost, 0).flow();
        let facts = FlowFacts::of(&flow).expect("payload");
        random(&facts, &Losses::of(&facts), "", BTreeMap::new()).cause
    };
    assert_eq!(cause(9, 29), Cause::ShallowQueue);
    assert_eq!(cause(9, 14), Cause::RandomLoss, "behind any wait");
    assert_eq!(cause(1, 29), Cause::RandomLoss, "too frequent");
}

#[test]
fn a_window_behind_losses_of_a_queue_as_long_as_the_path_costs_nothing() {
    let reduced = |lost, standing_ns| {
        let flow = waiting_flights(9, lost, standing_ns).flow();
        let mut facts = FlowFacts::of(&flow).expect("payload");
        facts.model.spans = vec![Span {
            start_ns: 0,
            end_ns: facts.model.span_ns,
            limit: Limit::InFlight,
            number: 0,
        }];
        Losses::of(&facts).reduced
    };
    assert!(reduced(29, 25 * MS) < 0.1);
    assert!(reduced(14, 25 * MS) > 0.5, "losses behind any wait");
    assert!(reduced(29, 5 * MS) > 0.5, "a short queue");
}

/// An upload, captured at its sender, to a link that passes a segment in 4 ms and whose queue of twenty is always full; each
/// fortieth segment does not fit, and is repeated after three duplicate acknowledgments.
pub(super) fn full_queue() -> Script {
    const SLOT_NS: u64 = 4 * MS;
    let mut upload = Script::open(End::First, 4 * MS, 10 * US, 60_000);
    let mut queue: VecDeque<u32> = VecDeque::new();
    let (mut next, mut acked, mut duplicates, mut number) = (0, 0, 0, 0);
    let mut arrived: BTreeSet<u32> = BTreeSet::new();
    for slot in 0..2_000_u64 {
        upload.at(10 * MS + slot * SLOT_NS);
        if let Some(first) = queue.pop_front() {
            arrived.insert(first);
            let before = acked;
            while arrived.remove(&acked) {
                acked += 1;
            }
            duplicates = if acked > before { 0 } else { duplicates + 1 };
            upload.after(4 * MS).ack(1 + acked * MSS).after(10 * US);
            if duplicates == 3 {
                upload.segment(1 + acked * MSS, MSS);
                queue.push_back(acked);
            }
        }
        while queue.len() < 20 && next < acked + 60 {
            upload.segment(1 + next * MSS, MSS).after(US);
            number += 1;
            if number % 40 != 0 {
                queue.push_back(next);
            }
            next += 1;
        }
    }
    upload
}

#[test]
fn losses_of_a_transfer_that_needs_all_of_its_time_cost_nothing() {
    let flow = full_queue().flow();
    let mut facts = FlowFacts::of(&flow).expect("payload");
    assert!(facts.model.view.lost() > 30);
    // Some queues (RFC 8033) are so short that repairs seem to take a third of the time.
    let span_ns = facts.model.span_ns;
    let part = |limit, from: u64, until: u64| Span {
        start_ns: span_ns / 100 * from,
        end_ns: span_ns / 100 * until,
        limit,
        number: 0,
    };
    facts.model.spans = vec![
        part(Limit::PathRate, 0, 35),
        part(Limit::FastRecovery, 35, 70),
        part(Limit::PathRate, 70, 100),
    ];
    let found = losses(&facts);
    assert!(
        found.is_none(),
        "{}",
        found.map_or_else(String::new, |it| it.summary)
    );
}

/// A rule with these figures.
fn rule_of(cause: Cause, figures: &[(&str, f64)]) -> Rule {
    Rule {
        share: 0.9,
        cause,
        confidence: 0.6,
        summary: String::new(),
        evidence: figures
            .iter()
            .map(|(name, of)| ((*name).to_owned(), *of))
            .collect(),
        advice: String::new(),
        limits: &[],
        has_gain: true,
    }
}

#[test]
fn losses_that_are_too_frequent_for_a_queue_may_be_those_of_a_policer() {
    let mut script = download();
    script.segment(1, MSS).ack_all();
    let flow = script.flow();
    let facts = FlowFacts::of(&flow).expect("payload");
    let other = |cause, rate| {
        let figures = [
            ("loss_rate", rate),
            ("bucket_segments", 3.0),
            ("delay_by_level", 0.0),
        ];
        alternative(&facts, &rule_of(cause, &figures))
    };
    assert_eq!(other(Cause::LossInBursts, 0.12), Some(Cause::Policed));
    assert_eq!(other(Cause::LossInBursts, 0.05), Some(Cause::QueueOverflow));
    assert_eq!(other(Cause::QueueOverflow, 0.06), Some(Cause::Policed));
    assert_eq!(other(Cause::QueueOverflow, 0.01), Some(Cause::LossInBursts));
}

/// Flights of 16 segments in each round trip of 20 ms, captured at the receiver, of which each second one loses six of them.
fn lost_together() -> Script {
    let mut download = Script::open(End::Second, 20 * MS, 10 * US, 60_000);
    let mut at_ns = 30 * MS;
    for round in 0..200 {
        let first = download.sent();
        let is_lost = |place: u32| round % 2 == 1 && place.is_multiple_of(2) && place >= 4;
        download.at(at_ns);
        for place in (0..16).filter(|place| !is_lost(*place)) {
            download.after(100 * US).segment(first + place * MSS, MSS);
            let acked = if round % 2 == 1 { place.min(3) } else { place };
            download.after(10 * US).ack(first + (acked + 1) * MSS);
        }
        at_ns += 20 * MS;
        download.at(at_ns);
        for place in (0..16).filter(|place| is_lost(*place)) {
            download.after(100 * US).segment(first + place * MSS, MSS);
        }
        download.after(10 * US).ack_all();
    }
    download
}

#[test]
fn more_than_congestion_control_permits_with_independent_losses_may_be_policed() {
    let flow = lost_together().flow();
    let facts = FlowFacts::of(&flow).expect("payload");
    let other = |rate| alternative(&facts, &rule_of(Cause::RandomLoss, &[("loss_rate", rate)]));
    assert_eq!(other(0.19), Some(Cause::Policed));
    assert_eq!(
        other(0.05),
        Some(Cause::LossInBursts),
        "room for five segments"
    );
}

#[test]
fn a_window_behind_rare_losses_may_be_that_of_a_queue() {
    let rare = |each: u64| {
        let flow = lossy_flights(300, |_| 10, |round| u32::from(round % each == 5)).flow();
        is_rare(&FlowFacts::of(&flow).expect("payload"))
    };
    assert_eq!([20, 2].map(rare), [true, false]);
}

/// Segments every 1.2 ms, captured at the receiver, 20 ms from their sender, each sixth one after `distance_ns`; in `stops`
/// places nothing comes for 500 ms.
fn even_arrivals(stops: u32, distance_ns: u64) -> bool {
    let mut download = Script::open(End::Second, 20 * MS, 10 * US, 60_000);
    let mut at_ns = 30 * MS;
    for number in 0..1_200_u32 {
        let seq = 1 + number * MSS;
        at_ns += if number % 6 == 0 {
            distance_ns
        } else {
            1_200 * US
        };
        download
            .at(at_ns)
            .segment(seq, MSS)
            .after(10 * US)
            .ack_all();
        if stops > 0 && number % (1_200 / (stops + 1)) == 100 {
            at_ns += 500 * MS;
        }
    }
    let flow = download.flow();
    fills_between_stops(&FlowFacts::of(&flow).expect("payload"))
}

#[test]
fn a_path_that_is_full_between_stops_loses_nothing_by_a_smaller_window() {
    assert!(even_arrivals(3, 1_200 * US));
    assert!(!even_arrivals(0, 1_200 * US), "no stops");
    assert!(!even_arrivals(3, 20 * MS), "flights");
}

/// True if a path is always full on which segments arrive every 16 ms, and those that were lost last, behind a stop.
fn is_full_until_repaired(stop_ns: u64) -> bool {
    let mut download = download();
    let mut at_ns = 10 * MS;
    let is_lost = |number: &u32| *number >= 300 && number.is_multiple_of(2);
    let numbers = (0..415).filter(|it| !is_lost(it));
    for number in numbers.chain((0..415).filter(is_lost)) {
        at_ns += 16 * MS + if number == 300 { stop_ns } else { 0 };
        download.at(at_ns).segment(1 + number * MSS, MSS);
        download.after(10 * US).ack(1 + number.min(300) * MSS);
    }
    download.ack_all();
    is_always_full(&FlowFacts::of(&download.flow()).expect("payload"))
}

#[test]
fn a_path_that_stops_before_lost_segments_come_again_is_not_always_full() {
    assert!(is_full_until_repaired(0));
    assert!(!is_full_until_repaired(2_000 * MS));
}
