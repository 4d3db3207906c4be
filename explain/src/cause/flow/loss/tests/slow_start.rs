//! Queues that slow start overflows, and links that losses leave busy.

use super::queues::{full_queue, lossy_flights};
use super::*;
use crate::cause::flow::loss::slow_start::first_losses;
use crate::cause::flow::service::ns_despite_losses;

#[test]
fn losses_at_the_end_of_slow_start_only_are_those_of_a_short_queue() {
    let size = |round: u64| {
        if round < 2 {
            20
        } else {
            10 + (round / 60) as u32
        }
    };
    let at = |loss: u64| {
        let lost = |round| if round == loss { 4 } else { 0 };
        evaluate(lossy_flights(300, size, lost))
    };
    let opening = at(1).expect("losses");
    assert_eq!(opening.cause, Cause::ShallowQueue, "{}", opening.summary);
    let later = at(150).expect("losses");
    assert_eq!(later.cause, Cause::RandomLoss, "{}", later.summary);
}

#[test]
fn losses_that_are_repaired_together_at_the_end_of_slow_start_are_those_of_a_short_queue() {
    let size = |round: u64| {
        if round < 2 {
            20
        } else {
            10 + (round / 12) as u32
        }
    };
    let at = |losses: &[u64]| {
        let lost = |round: u64| if losses.contains(&round) { 4 } else { 0 };
        evaluate(lossy_flights(50, size, lost)).map(|it| it.cause)
    };
    assert_eq!(at(&[1]), Some(Cause::ShallowQueue));
    assert_eq!(at(&[1, 12]), Some(Cause::RandomLoss), "at two times");
}

#[test]
fn losses_that_come_sooner_than_by_chance_and_together_are_those_of_a_short_queue() {
    // Flights of 12, of which some lose segments from the ninth one on.
    let of = |lost: &[(u64, u32)]| {
        let lost = |round| lost.iter().find(|it| it.0 == round).map_or(0, |it| it.1);
        evaluate(lossy_flights(300, |_| 12, lost)).expect("losses")
    };
    let soon = of(&[(0, 3), (150, 1), (210, 1), (270, 1)]);
    assert_eq!(soon.cause, Cause::ShallowQueue, "{}", soon.summary);
    assert!((soon.evidence["segments_before_losses"] - 8.0).abs() < 0.1);
    assert!((soon.evidence["first_lost_together"] - 3.0).abs() < 0.1);
    let alone = of(&[(0, 1), (150, 3), (210, 1), (270, 1)]);
    assert_eq!(alone.cause, Cause::RandomLoss, "{}", alone.summary);
    let later = of(&[(40, 3), (150, 1), (210, 1), (270, 1)]);
    assert_eq!(later.cause, Cause::RandomLoss, "{}", later.summary);
}

#[test]
fn segments_that_are_missing_near_the_receiver_count_as_the_first_losses() {
    let is_soon = |missing: u32| {
        let mut download = download();
        for round in 0..400_u64 {
            let first = download.sent();
            let start_ns = 10 * MS + round * (RTT_NS + 1_100 * US);
            let lost = match round {
                1 => missing,
                150 | 210 | 270 => 1,
                _ => 0,
            };
            for place in (0..10).filter(|it| !(4..4 + lost).contains(it)) {
                download
                    .at(start_ns + u64::from(place) * 100 * US)
                    .segment(first + place * MSS, MSS);
                let acked = if lost > 0 { place.min(3) } else { place };
                download.after(10 * US).ack(first + (acked + 1) * MSS);
            }
            for place in 4..4 + lost {
                download.at(start_ns + RTT_NS + u64::from(place) * 100 * US);
                download.segment(first + place * MSS, MSS);
            }
            download.after(10 * US).ack_all();
        }
        let flow = download.flow();
        first_losses(&FlowFacts::of(&flow).expect("payload")).is_some()
    };
    assert!(is_soon(3));
    assert!(!is_soon(1), "alone");
}

#[test]
fn a_link_that_what_is_in_flight_keeps_busy_while_losses_are_repaired_loses_nothing_by_them() {
    let flow = full_queue().flow();
    let facts = FlowFacts::of(&flow).expect("payload");
    assert_eq!(ns_despite_losses(&facts), Some(4 * MS));
    // One segment in each round trip, some of which are lost: as even, but nothing else is in flight.
    let mut download = download();
    for number in 0..100_u32 {
        let at_ns = 10 * MS + u64::from(number) * RTT_NS;
        let place = if number % 10 == 1 { number + 1 } else { number };
        let place = if number % 10 == 2 { number - 1 } else { place };
        download.at(at_ns).segment(1 + place * MSS, MSS);
        let acked = if number % 10 == 1 { number } else { number + 1 };
        download.after(10 * US).ack(1 + acked * MSS);
    }
    let flow = download.flow();
    let facts = FlowFacts::of(&flow).expect("payload");
    assert!(facts.model.view.lost() >= 10);
    assert_eq!(ns_despite_losses(&facts), None);
    // Segments that arrive in flights, although many are behind each gap.
    let flow = lossy_flights(60, |_| 30, |round| u32::from(round % 4 == 1)).flow();
    let facts = FlowFacts::of(&flow).expect("payload");
    assert_eq!(ns_despite_losses(&facts), None);
}
