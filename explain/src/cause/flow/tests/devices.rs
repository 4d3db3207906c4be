//! What stacks of small devices do: one buffer, one segment, acknowledgments that wait for a tick.

use super::{causes, upload};
use crate::cause::flow::facts::FlowFacts;
use crate::cause::flow::nagle::delayed_ack_with_nagle;
use crate::cause::synthetic::{MS, Script};
use linerate_capture::tcp::{End, Segment};
use linerate_results::record::Cause;

/// Octets of a full segment of a device with one small buffer.
const SMALL: u32 = 366;

/// A hundred segments with PSH, the `at`-th of them `interval_ns(at)` after the one before, each acknowledged after 40 ms.
fn one_by_one(len: impl Fn(u32) -> u32, interval_ns: impl Fn(u32) -> u64) -> Vec<Cause> {
    let mut upload = upload(MS / 50, 40 * MS, 60_000);
    let mut at_ns = 100 * MS;
    for at in 0..100 {
        upload.at(at_ns).send(1, len(at), 0);
        upload.after(40 * MS).ack_all();
        at_ns += interval_ns(at);
    }
    causes(upload)
}

#[test]
fn a_stack_with_one_buffer_waits_for_each_acknowledgment() {
    assert_eq!(
        one_by_one(|_| SMALL, |_| 40 * MS + 20_000),
        [Cause::OneInFlight]
    );
    // A program that has little to say sends when it has it, also soon after an acknowledgment.
    let sends_often = one_by_one(|_| SMALL, |_| 44 * MS);
    assert!(
        !sends_often.contains(&Cause::OneInFlight),
        "{sends_often:?}"
    );
    let sends_readings = one_by_one(|_| SMALL, |at| (60 + u64::from(at * 37 % 90)) * MS);
    assert!(!sends_readings.contains(&Cause::OneInFlight));
    let sends_lines = one_by_one(|at| 40 + at * 61 % 300, |_| 40 * MS + 20_000);
    assert!(!sends_lines.contains(&Cause::OneInFlight));
}

#[test]
fn segments_that_come_again_one_by_one_may_have_been_acknowledged_too_late() {
    let repeated = |in_flight: u32| {
        let mut upload = upload(20 * MS, MS / 50, 60_000);
        for at in 0..60 {
            upload.at(100 * MS + at * 250 * MS);
            let first = upload.sent();
            upload.send(in_flight, 200, 10_000);
            if at % 3 == 0 {
                upload.after(200 * MS).segment(first, 200);
            }
            upload.after(20_000).ack_all();
        }
        causes(upload)
    };
    assert!(!repeated(1).contains(&Cause::ChecksumErrors));
    assert!(
        repeated(4).contains(&Cause::ChecksumErrors),
        "{:?}",
        repeated(4)
    );
}

/// A segment with which no write ends.
fn part(upload: &mut Script, len: u32) {
    let numbers = [upload.sent(), 1];
    upload.packet(End::First, Segment::ACK, numbers, len, &[]);
    upload.next[0] += len;
}

#[test]
fn headers_of_small_segments_cost_a_full_path_little() {
    let full = |mss: u32| {
        let [high, low] = (mss as u16).to_be_bytes();
        let legs_ns = [5 * MS, MS / 50];
        let mut upload = Script::open_with(End::First, legs_ns, 60_000, &[2, 4, high, low]);
        // A path of 40 octets a millisecond, with a queue before it.
        let step_ns = u64::from(mss) * MS / 40;
        let mut at_ns = 100 * MS;
        upload.at(at_ns);
        (0..8).for_each(|_| part(&mut upload, mss));
        for at in 1..300 {
            at_ns += step_ns;
            upload.at(at_ns).ack(1 + at * mss);
            upload.after(20_000);
            part(&mut upload, mss);
        }
        causes(upload)
    };
    assert_eq!(full(536), [Cause::PathRate]);
    assert!(full(256).contains(&Cause::SmallMss), "{:?}", full(256));
}

#[test]
fn nagle_s_algorithm_holds_back_no_full_segment() {
    let stream = |own_mss: u16, len: u32| {
        let [high, low] = own_mss.to_be_bytes();
        let mut upload = Script::late(End::First, 60_000);
        upload.packet(End::First, Segment::SYN, [0, 0], 0, &[2, 4, high, low]);
        let answer = Segment::SYN | Segment::ACK;
        upload
            .at(3 * MS)
            .packet(End::Second, answer, [0, 1], 0, &[2, 4, 5, 0xB4]);
        upload
            .after(MS / 50)
            .packet(End::First, Segment::ACK, [1, 1], 0, &[]);
        for at in 0..60 {
            upload.at(100 * MS + at * 203 * MS).send(1, len, 0);
            upload.after(203 * MS - 20_000).ack_all();
        }
        let flow = upload.flow();
        delayed_ack_with_nagle(&FlowFacts::of(&flow).expect("payload")).is_some()
    };
    assert!(!stream(646, 646));
    // A program that writes at intervals fills each segment as far, until the one before is acknowledged.
    assert!(stream(1460, 646));
}
