//! Acknowledgments at one interval, and those that look like them.

use super::*;

/// 44 segments in flight on a path that passed one in 1 ms before; then acknowledgments arrive every `interval_ms`: for two segments and,
/// if it `repeats`, once more for nothing; or for one and for three in turn.
fn late_acks(interval_ms: u64, repeats: bool) -> Flow {
    let mut upload = Script::open(End::First, 20 * MS, 10 * US, u16::MAX);
    upload.at(25 * MS).send(44, MSS, 10 * US);
    let mut acked = 1;
    let fast = if repeats { 60 } else { 300 };
    for at in 1..=fast {
        acked += MSS;
        upload.at((25 + 20 + at) * MS).ack(acked);
        upload.after(10 * US).send(1, MSS, 0);
    }
    for at in 0..400 {
        let segments = match (repeats, at % 2) {
            (true, 0) => 2,
            (true, _) => 0,
            (false, 0) => 1,
            (false, _) => 3,
        };
        acked += segments * MSS;
        upload.after(interval_ms * MS - 10 * US).ack(acked);
        upload.after(10 * US).send(segments, MSS, 0);
    }
    upload.flow()
}

#[test]
fn acknowledgments_at_one_interval_whatever_they_acknowledge_wait_on_the_way_back() {
    for repeats in [false, true] {
        let flow = late_acks(10, repeats);
        let facts = FlowFacts::of(&flow).expect("payload");
        assert!(ack_path_full(&facts).is_some(), "{repeats}");
        assert!(repeats || rare_acks(&facts).is_some());
    }
    // In this time the way of the data passes what is acknowledged.
    let flow = late_acks(2, false);
    assert!(rare_acks(&FlowFacts::of(&flow).expect("payload")).is_none());
}

#[test]
fn a_receiver_that_reports_gaps_repeats_other_acknowledgments_for_nothing() {
    let mut upload = Script::open(End::First, 20 * MS, 10 * US, u16::MAX);
    for round in 0..60 {
        upload.at((30 + 24 * round) * MS).send(4, MSS, 10 * US);
        let first = upload.sent() - 4 * MSS;
        upload.after(20 * MS).ack(first + 2 * MSS);
        upload.after(20 * US).ack(first + 2 * MSS);
        upload.after(20 * US).ack_all();
    }
    let flow = upload.flow();
    let sent = flow.connection.stats(End::First);
    assert_eq!((sent.duplicate_acks, sent.reordered_after_capture), (60, 0));
}
