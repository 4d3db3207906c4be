//! Programs with a clock of their own, and those whose work adds up.

use super::{causes, upload};
use crate::cause::synthetic::{MS, MSS, Script, US};
use linerate_capture::tcp::End;
use linerate_results::record::Cause;

/// Blocks of four segments and a part, each `interval_ns` after the one before, captured at the sender.
fn blocks(interval_ns: u64, number: u64) -> Vec<Cause> {
    let mut upload = upload(20 * US, 2 * MS, 60_000);
    for block in 0..number {
        upload.at(20 * MS + block * interval_ns);
        upload.send(4, MSS, 100 * US).send(1, 160, 0);
        upload.after(2 * MS).ack_all();
    }
    causes(upload)
}

#[test]
fn blocks_at_the_ticks_of_a_clock_are_no_idle_sender() {
    assert_eq!(blocks(150 * MS, 60), []);
    // A program that sleeps after each block.
    assert_eq!(blocks(150 * MS + 90 * US, 60)[..1], [Cause::SenderIdle]);
}

#[test]
fn a_few_segments_before_each_long_silence_are_all_that_the_source_has() {
    assert_eq!(blocks(437 * MS, 6), []);
}

/// Requests of a program that asks each 250 ms and `late_ns`, captured at the client; the answers take several segments.
fn polls(late_ns: u64) -> Vec<Cause> {
    let mut dialogue = Script::open(End::Second, 10 * MS, 20 * US, 60_000);
    for number in 0..30_u64 {
        dialogue.at(20 * MS + number * (250 * MS + late_ns));
        dialogue.write(End::First, 300);
        dialogue.after(10 * MS).write(End::Second, 12_000);
        dialogue.after(20 * US).confirm(End::First);
    }
    causes(dialogue)
}

#[test]
fn a_client_that_asks_at_the_ticks_of_a_clock_keeps_nobody_waiting() {
    assert_eq!(polls(0), []);
    assert_eq!(polls(90 * US), [Cause::ClientThinkTime]);
}

/// Sound over a path of 60 ms, `gap_ns` apart, captured at the sender: several segments are in flight.
fn sound(gap_ns: u64) -> Vec<Cause> {
    let mut upload = upload(20 * US, 60 * MS, 60_000);
    let mut events: Vec<(u64, bool)> = Vec::new();
    for block in 0..300 {
        events.push((100 * MS + block * gap_ns, true));
        events.push((160 * MS + block * gap_ns, false));
    }
    events.sort_unstable();
    let first = upload.sent();
    let mut acked = first;
    for (at_ns, is_sent) in events {
        upload.at(at_ns);
        if is_sent {
            upload.send(1, 160, 0);
        } else {
            acked += 160;
            upload.ack(acked);
        }
    }
    causes(upload)
}

#[test]
fn messages_far_apart_are_not_close_together_because_the_path_is_long() {
    assert_eq!(sound(20 * MS), []);
    assert_eq!(sound(MS), [Cause::SmallWrites]);
}

/// Bursts of ten lines of a log, one each `pause_ns` and up to twice as much, captured at the sender.
fn lines(pause_ns: u64) -> Vec<Cause> {
    let mut upload = upload(20 * US, 2 * MS, 60_000);
    for burst in 0..40 {
        upload.after(pause_ns + burst * 397 % 100 * pause_ns / 100);
        upload.send(10, 190, 20 * US).after(2 * MS).ack_all();
    }
    causes(upload)
}

#[test]
fn bursts_of_small_messages_now_and_then_cost_nothing() {
    assert_eq!(lines(300 * MS), []);
    assert_eq!(lines(3 * MS)[..1], [Cause::SmallWrites]);
}
