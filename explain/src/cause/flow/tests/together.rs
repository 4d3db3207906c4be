//! Transfers that fill a path together, seen at their receiver.

use super::{of_client, upload};
use crate::cause::flow::facts::FlowFacts;
use crate::cause::flow::{explain_flows, shared};
use crate::cause::synthetic::{MS, MSS, Script, US};
use linerate_capture::model::Limit;
use linerate_capture::reader::Address;
use linerate_capture::tcp::End;
use linerate_capture::traffic::Flow;
use linerate_results::record::Cause;

/// Milliseconds of the path, each of which takes a segment.
const SLOTS: u64 = 6_000;
/// The shares of the path change with this period.
const PERIOD: u64 = 500;

/// True if the slot belongs to the first transfer: three of four in one half of the period, one of four in the other.
fn is_of_first(slot: u64) -> bool {
    let few = slot.is_multiple_of(4);
    if slot % PERIOD < PERIOD / 2 {
        !few
    } else {
        few
    }
}

/// One segment in 60, as by chance.
fn is_lost(number: usize) -> bool {
    (number.wrapping_mul(0x9E37_79B1) >> 9).is_multiple_of(60)
}

/// The download of the segments in these slots; some are lost before the capture point, and come again 90 ms later.
fn download(slots: impl Iterator<Item = u64>) -> Script {
    let mut script = Script::open(End::Second, 40 * MS, 20 * US, 60_000);
    script.write(End::First, 80);
    let start_ns = 90 * MS;
    let (mut next, mut acked) = (1, 1);
    let mut missing: Vec<(u64, u32)> = Vec::new();
    for (number, slot) in slots.enumerate() {
        script.at(start_ns + slot * MS);
        if let Some(at) = missing.iter().position(|(due, _)| *due <= slot) {
            let (_, seq) = missing.remove(at);
            script.segment(seq, MSS);
        } else if is_lost(number) {
            missing.push((slot + 90, next));
            next += MSS;
            continue;
        } else {
            script.segment(next, MSS);
            next += MSS;
        }
        acked = missing.first().map_or(next, |(_, seq)| *seq).max(acked);
        script.after(20 * US).ack(acked);
    }
    script
}

/// Causes of these transfers between the same hosts.
fn causes<const N: usize>(transfers: [Script; N]) -> Vec<Cause> {
    let found = of_client(transfers).into_iter();
    found.map(|it| it.finding.cause).collect()
}

#[test]
fn transfers_that_use_what_the_other_leaves_are_not_slow_by_their_losses() {
    let first = || download((0..SLOTS).filter(|slot| is_of_first(*slot)));
    let second = || download((0..SLOTS).filter(|slot| !is_of_first(*slot)));
    let is_loss = |it: &Cause| matches!(it, Cause::RandomLoss | Cause::LossInBursts);
    let alone = causes([first()]);
    assert!(alone.iter().any(is_loss), "{alone:?}");
    let together = causes([first(), second()]);
    assert!(!together.iter().any(is_loss), "{together:?}");
    // Two that vary at the same time do not replace each other.
    let alike = causes([first(), first()]);
    assert!(alike.iter().any(is_loss), "{alike:?}");
}

#[test]
fn transfers_from_several_servers_fill_the_line_of_their_client_together() {
    let of = |is_first: bool, server: u8| {
        let slots = (0..SLOTS).filter(|slot| is_of_first(*slot) == is_first);
        let mut flow = download(slots).flow();
        flow.ends[1].0 = Address([server; 16]);
        flow
    };
    let flows = [of(true, 2), of(false, 3)];
    let (found, times) = explain_flows(&flows);
    let causes: Vec<Cause> = found.iter().map(|it| it.finding.cause).collect();
    assert_eq!(causes, [Cause::PathRate], "one finding about both");
    assert_eq!(found[0].sender, None);
    assert_eq!(found[0].receiver, Some(flows[0].ends[0].0.to_string()));
    let summary = &found[0].finding.summary;
    assert!(summary.contains("2 connections to "), "{summary}");
    assert!(summary.contains("adapter on the way to "), "{summary}");
    // What the sentence states is what the pictures show.
    for time in times {
        let all_ns: u64 = time.shares.iter().sum();
        let full = time.shares[Limit::PathRate as usize] as f64 / all_ns as f64;
        assert!((0.8..=0.95).contains(&full), "{full}");
    }
    assert!((0.8..=0.95).contains(&found[0].share_of_time));
    // The same, where what one leaves passes to another client: they have no line in common.
    let mut apart = [of(true, 2), of(false, 3)];
    apart[1].ends[0].0 = Address([4; 16]);
    let found = explain_flows(&apart).0;
    assert!(found.iter().all(|it| it.finding.cause != Cause::PathRate));
}

/// An upload over a queue, captured at its sender: two segments are acknowledged each 2 ms of those in `turns`.
fn queued_upload(turns: std::ops::Range<u64>) -> Flow {
    upload_with_gaps(turns, |_| false)
}

/// The same; in some turns, the acknowledgment is a duplicate, which a later one makes up for.
fn upload_with_gaps(turns: std::ops::Range<u64>, is_duplicate: impl Fn(u64) -> bool) -> Flow {
    let mut acked = 1;
    let mut upload = upload(MS / 50, 10 * MS, 60_000);
    upload.at((12 + turns.start * 2) * MS).send(20, MSS, 10_000);
    for (at, turn) in turns.enumerate() {
        if !is_duplicate(turn) {
            acked = 1 + (at as u32 + 1) * 2 * MSS;
        }
        upload.at(24 * MS + turn * 2 * MS).ack(acked);
        upload.after(10_000).send(2, MSS, 10_000);
    }
    upload.flow()
}

fn fills_together(flows: &[Flow]) -> Vec<bool> {
    let mut facts: Vec<_> = flows.iter().filter_map(FlowFacts::of).collect();
    shared::share_paths(&mut facts);
    facts.iter().map(|it| it.fills_together).collect()
}

#[test]
fn a_steady_transfer_against_another_one_fills_its_way() {
    let alone = [queued_upload(0..3_000)];
    assert_eq!(fills_together(&alone), [false]);
    let both = [
        queued_upload(0..3_000),
        download((0..SLOTS).filter(|slot| is_of_first(*slot))).flow(),
    ];
    // What passes of the other one varies.
    assert_eq!(fills_together(&both), [true, false]);
    // Near its receiver, only the other direction shows a queue.
    let near = [download(0..SLOTS).flow(), queued_upload(0..3_000)];
    assert_eq!(fills_together(&near), [true, true]);
}

#[test]
fn duplicate_acknowledgments_report_what_a_later_one_acknowledges() {
    let has_gap = |turn: u64| turn % 250 < 150;
    let other = || download(0..SLOTS).flow();
    let repairing = [upload_with_gaps(0..3_000, has_gap), other()];
    assert!(fills_together(&repairing)[0]);
}

#[test]
fn a_transfer_that_is_joined_by_another_one_fills_the_path_from_then_on() {
    let joined = [queued_upload(0..3_000), queued_upload(1_200..3_000)];
    assert_eq!(fills_together(&joined), [true, true]);
}

#[test]
fn transfers_one_after_the_other_are_not_together() {
    let beside = [queued_upload(0..3_000), queued_upload(0..3_000)];
    assert_eq!(fills_together(&beside), [true, true]);
    let in_turn = [queued_upload(0..1_500), queued_upload(1_450..3_000)];
    assert_eq!(fills_together(&in_turn), [false, false]);
}
