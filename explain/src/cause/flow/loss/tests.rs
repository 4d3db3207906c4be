//! The rules on synthetic connections that were captured near the receiver, 4 ms from the sender.

mod buckets;
mod discards;
mod few;
mod outages;
mod queues;
mod slow_start;
mod stops;

use super::*;
use crate::cause::scored::evidence;
use crate::cause::synthetic::{MS, MSS, Script, US};
use linerate_capture::model::Span;
use linerate_capture::tcp::{End, Segment};
use linerate_results::record::Cause;
use std::collections::{BTreeSet, VecDeque};

/// A full frame at 10 Mbit/s.
const FRAME_NS: u64 = 1_230_400;
const RTT_NS: u64 = 4 * MS;

/// A download, captured 10 us from its receiver.
fn download() -> Script {
    Script::open(End::Second, RTT_NS, 10 * US, 60_000)
}

/// A segment that the receiver acknowledges at once.
fn exchange(download: &mut Script, at_ns: u64, seq: u32) {
    download.at(at_ns).segment(seq, MSS);
    download.after(20 * US).ack_all();
}

fn evaluate(download: Script) -> Option<Rule> {
    losses(&FlowFacts::of(&download.flow())?)
}

fn cause(rule: Option<Rule>) -> Option<Cause> {
    rule.map(|it| it.cause)
}

/// Flights whose fourth segment is lost in each `lossy`-th one; the receiver acknowledges two segments `after` the first.
fn flights(lossy: u64, acked_after: u64) -> Option<Rule> {
    let mut download = download();
    for round in 0..120 {
        let start_ns = 10 * MS + round * 20 * MS;
        let first = download.sent();
        let is_lossy = round % lossy == 0;
        for place in 0..6_u32 {
            let at_ns = start_ns + u64::from(place) * FRAME_NS;
            if place != 3 || !is_lossy {
                download.at(at_ns).segment(first + place * MSS, MSS);
            }
            if u64::from(place) == acked_after {
                download.at(at_ns + 20 * US).ack(first + (place + 1) * MSS);
            }
        }
        if is_lossy {
            for _ in 0..3 {
                download.at(start_ns + 6 * FRAME_NS).ack(first + 3 * MSS);
            }
            download
                .at(start_ns + 15 * MS)
                .segment(first + 3 * MSS, MSS);
        }
        download.at(start_ns + 16 * MS).ack(first + 6 * MSS);
    }
    evaluate(download)
}

#[test]
fn losses_behind_deferred_acknowledgments_are_a_duplex_mismatch() {
    // Sent while the third segment arrives, the acknowledgment is deferred and destroys the fourth one.
    let rule = flights(2, 1).expect("losses");
    assert_eq!(rule.cause, Cause::DuplexMismatch);
    assert!(
        rule.evidence["lost_while_busy"] > 59.0,
        "{:?}",
        rule.evidence
    );
    assert!(
        rule.evidence["lost_while_quiet"] < 1.0,
        "{:?}",
        rule.evidence
    );
    // The same losses with the acknowledgment after them.
    assert_ne!(cause(flights(2, 5)), Some(Cause::DuplexMismatch));
}

/// Single segments, each repeated after timeouts until `is_lost`, with the number of the acknowledgment, is false.
fn starved(is_lost: impl Fn(u32, bool) -> bool) -> Option<Rule> {
    let mut download = download();
    let mut at_ns = 10 * MS;
    let mut number = 0;
    for _ in 0..60 {
        let seq = download.sent();
        exchange(&mut download, at_ns, seq);
        let mut is_repeated = false;
        while is_lost(number, is_repeated) {
            number += 1;
            is_repeated = true;
            at_ns += 210 * MS;
            exchange(&mut download, at_ns, seq);
        }
        number += 1;
        at_ns += RTT_NS;
    }
    evaluate(download)
}

#[test]
fn segments_that_come_again_although_they_were_acknowledged_show_lost_acknowledgments() {
    let rule = starved(|number, _| number.wrapping_mul(2_654_435_761) >> 30 == 0).expect("losses");
    assert_eq!(rule.cause, Cause::RandomLoss);
    assert!(rule.evidence["lost_acks"] >= 10.0, "{:?}", rule.evidence);
    assert!(rule.summary.contains("acknowledgments"), "{}", rule.summary);
    assert_eq!(cause(starved(|_, _| false)), None);
}

#[test]
fn acknowledgments_lost_only_for_new_segments_are_a_duplex_mismatch() {
    let rule = starved(|number, is_repeated| number % 4 != 0 && !is_repeated);
    assert_eq!(cause(rule), Some(Cause::DuplexMismatch));
}

#[test]
fn a_gap_that_is_never_filled_while_small_packets_pass_is_a_black_hole() {
    let black_hole = |later: bool| {
        let mut download = download();
        let small = [8 * MSS + 1, 1];
        download
            .at(9 * MS)
            .packet(End::Second, Segment::ACK, small, 300, &[]);
        download.at(9 * MS + 10 * US).ack(1);
        if later {
            let end = [8 * MSS + 301, 2];
            let finished = Segment::FIN | Segment::ACK;
            download
                .at(6_000 * MS)
                .packet(End::First, finished, [1, 1], 0, &[]);
            download
                .after(4 * MS)
                .packet(End::Second, Segment::ACK, end, 0, &[]);
        }
        cause(evaluate(download))
    };
    assert_eq!(black_hole(true), Some(Cause::MtuBlackHole));
    assert_eq!(black_hole(false), None);
}

#[test]
fn an_interruption_lasts_as_long_as_the_far_end_is_silent() {
    let mut download = download();
    let mut at_ns = 10 * MS;
    for number in 0..200 {
        if number == 100 {
            at_ns += 1_500 * MS;
        }
        let seq = download.sent();
        exchange(&mut download, at_ns, seq);
        // Slow start after the timeout.
        at_ns += if number == 100 { RTT_NS } else { FRAME_NS };
    }
    let rule = evaluate(download).expect("an interruption");
    assert_eq!(rule.cause, Cause::LinkInterrupted);
    let longer_ns = rule.evidence["interruption_ns"] - (1_500 * MS + FRAME_NS) as f64;
    assert!(longer_ns.abs() < 1.0, "{:?}", rule.evidence);
}

#[test]
fn a_receiver_that_gets_only_the_first_of_each_flight_loses_inside_bursts() {
    let mut download = download();
    for round in 0..60 {
        let start_ns = 10 * MS + round * 3 * RTT_NS;
        let first = download.sent();
        // The second segment is missing; what the duplicate acknowledgments release arrives a round trip later.
        exchange(&mut download, start_ns, first);
        for _ in 0..3 {
            download.at(start_ns + RTT_NS).ack(first + MSS);
        }
        download.at(start_ns + RTT_NS).segment(first + 2 * MSS, MSS);
        for _ in 0..3 {
            download.at(start_ns + RTT_NS + 20 * US).ack(first + MSS);
        }
        exchange(&mut download, start_ns + 2 * RTT_NS, first + MSS);
    }
    assert_eq!(cause(evaluate(download)), Some(Cause::LossInBursts));
}

/// Flights of which only each fifth segment arrives: a receiver that is busy as long as four frames take.
fn busy_receiver() -> Option<Rule> {
    let mut download = download();
    let mut at_ns = 10 * MS;
    for _ in 0..40 {
        let first = download.sent();
        for place in [0, 5, 10] {
            let arrived_ns = at_ns + u64::from(place) * 123 * US;
            download.at(arrived_ns).segment(first + place * MSS, MSS);
            download.after(20 * US).ack(first + MSS);
        }
        // A round trip for each repair.
        for place in [1, 2, 3, 4, 6, 7, 8, 9] {
            at_ns += RTT_NS;
            download.at(at_ns).segment(first + place * MSS, MSS);
            let is_before_gap = !(4..=5).contains(&place);
            let repaired = if is_before_gap { place + 1 } else { 6 };
            download.after(20 * US).ack(first + repaired * MSS);
        }
        at_ns += 2 * RTT_NS;
        download.at(at_ns - RTT_NS).ack(first + 11 * MSS);
    }
    evaluate(download)
}

#[test]
fn segments_behind_a_gap_do_not_show_that_the_receiver_takes_what_follows_closely() {
    assert_eq!(cause(busy_receiver()), Some(Cause::LossInBursts));
}

/// Uploads in flights of up to twelve segments to a device, captured at the sender: its queue of four segments is emptied
/// in 400 us each, it keeps nothing behind a gap, and the sender repeats one segment in a round trip.
#[test]
fn a_device_that_keeps_nothing_behind_a_gap_loses_what_its_queue_does_not_hold() {
    const WIRE_NS: u64 = 123 * US;
    let mut upload = Script::open_without_sack(End::First, [RTT_NS, 10 * US], 40_000);
    let mut at_ns = 10 * MS;
    for round in 0..90_u32 {
        let first = upload.sent();
        let size = 3 + round * 5 % 10;
        upload.at(at_ns).send(size, MSS, WIRE_NS);
        let (mut level, mut gap, mut behind) = (0.0_f64, None, 0);
        for place in 0..size {
            level = (level - WIRE_NS as f64 / 400e3).max(0.0);
            if level > 3.0 {
                gap = gap.or(Some(place));
            } else {
                level += 1.0;
                behind += u32::from(gap.is_some());
            }
        }
        at_ns += RTT_NS + u64::from(size) * WIRE_NS;
        let arrived = gap.unwrap_or(size);
        upload.at(at_ns).ack(first + arrived * MSS);
        upload.duplicate_acks(behind, first + arrived * MSS, 10 * US);
        for place in arrived..size {
            let is_first = place == arrived;
            at_ns += if is_first { 210 * MS } else { 10 * US };
            upload.at(at_ns).segment(first + place * MSS, MSS);
            at_ns += RTT_NS;
            upload.at(at_ns).ack(first + (place + 1) * MSS);
        }
        at_ns += 10 * US;
    }
    let rule = evaluate(upload).expect("losses");
    assert_eq!(rule.cause, Cause::QueueOverflow, "{}", rule.summary);
    assert!(rule.evidence["discarded_segments"] > 20.0);
}

/// Bursts of up to twelve segments every 50 ms, captured at the sender, to a ring of five buffers that is empty again before
/// the next burst; lost segments are repeated a round trip after the burst.
fn ring() -> Option<Rule> {
    const WIRE_NS: u64 = 123 * US;
    let mut upload = Script::open(End::First, RTT_NS, 10 * US, 60_000);
    let mut at_ns = 10 * MS;
    for round in 0..120_u32 {
        let first = upload.sent();
        let size = 3 + round * 5 % 10;
        upload.at(at_ns).send(size, MSS, WIRE_NS);
        let (mut level, mut lost) = (0.0_f64, Vec::new());
        for place in 0..size {
            level = (level - WIRE_NS as f64 / 900e3).max(0.0);
            if level > 4.0 {
                lost.push(place);
            } else {
                level += 1.0;
            }
        }
        // What is in the ring is acknowledged when the receiver has processed it.
        at_ns += RTT_NS + u64::from(size) * WIRE_NS + (level * 900e3) as u64;
        let arrived = lost.first().copied().unwrap_or(size);
        upload.at(at_ns).ack(first + arrived * MSS);
        if !lost.is_empty() {
            upload.duplicate_acks(3, first + arrived * MSS, 10 * US);
            for (at, place) in lost.iter().enumerate() {
                at_ns += RTT_NS;
                upload.at(at_ns).segment(first + place * MSS, MSS);
                let next = lost.get(at + 1).copied().unwrap_or(size);
                upload.at(at_ns + RTT_NS - 20 * US).ack(first + next * MSS);
            }
            upload.after(10 * US).ack(first + size * MSS);
        }
        at_ns = upload.now_ns + 20 * MS;
    }
    evaluate(upload)
}

#[test]
fn a_ring_that_is_empty_before_each_burst_is_no_policer() {
    let rule = ring().expect("losses");
    assert_ne!(rule.cause, Cause::Policed, "{}", rule.summary);
    assert!(rule.evidence["lost_segments"] >= 50.0);
}

/// Flights of ten segments, captured at the receiver. In three of them, the fourth is lost, and comes again after a second
/// (the least timeout of RFC 6298) in which nothing arrives; `is_seen` if the rest of the flight arrived.
fn late_repairs(is_seen: bool) -> Option<Rule> {
    let mut download = download();
    let mut at_ns = 10 * MS;
    for round in 0..300 {
        let first = download.sent();
        let is_lossy = round % 100 == 50;
        for place in 0..10 {
            let is_lost = is_lossy && (place == 3 || !is_seen && place > 3);
            if !is_lost {
                download.at(at_ns + u64::from(place) * 100 * US);
                download.segment(first + place * MSS, MSS);
            }
            if is_lossy && place >= 2 {
                download.ack(first + 3 * MSS);
            }
        }
        if is_lossy {
            at_ns += 1_000 * MS;
            let missing = if is_seen { 1 } else { 7 };
            for place in 0..missing {
                // Slow start after the timeout.
                let after_ns = if place == 0 { 0 } else { RTT_NS };
                download.at(at_ns + after_ns + u64::from(place) * 100 * US);
                download.segment(first + (3 + place) * MSS, MSS);
                if place == 0 {
                    download.ack(first + 4 * MSS);
                }
            }
            at_ns += RTT_NS;
        }
        download.at(at_ns + 2 * MS).ack_all();
        at_ns += 6 * MS;
    }
    evaluate(download)
}

#[test]
fn a_silence_behind_each_missing_segment_is_the_timer_and_no_interruption() {
    assert_ne!(cause(late_repairs(true)), Some(Cause::LinkInterrupted));
    assert_eq!(cause(late_repairs(false)), Some(Cause::LinkInterrupted));
}

/// An upload of `parts` parts with half a second between them, captured at its sender, on a path of 20 ms with room for 40 segments in
/// flight, each of which takes 1 ms: twice what the path holds.
fn is_slower_by_losses(parts: u64) -> bool {
    let mut upload = Script::open(End::First, 20 * MS, 20 * US, 60_000);
    for part in 0..parts {
        let start_ns = (30 + part * 1_500) * MS;
        upload.at(start_ns).send(40, MSS, 10 * US);
        for at in 0..900 {
            let rest = upload.sent() - if at < 860 { 39 * MSS } else { (899 - at) * MSS };
            upload.at(start_ns + (21 + u64::from(at)) * MS).ack(rest);
            if at < 860 {
                upload.after(10 * US).send(1, MSS, 0);
            }
        }
    }
    let flow = upload.flow();
    let rule = Rule {
        share: 0.35,
        cause: Cause::RandomLoss,
        confidence: 0.8,
        summary: String::new(),
        evidence: BTreeMap::new(),
        advice: String::new(),
        limits: &[],
        has_gain: true,
    };
    is_slower(&FlowFacts::of(&flow).expect("payload"), &rule)
}

#[test]
fn losses_without_which_a_full_path_would_hardly_be_faster_are_no_reason() {
    assert!(!is_slower_by_losses(1), "full all the time");
    assert!(is_slower_by_losses(4), "full for two thirds of the time");
}
