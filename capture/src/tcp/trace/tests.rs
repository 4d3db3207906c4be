use super::super::sender::RetransmitReason;
use super::*;

const MS: u64 = 1_000_000;

fn segment(seq: u32, len: u32) -> Segment<'static> {
    Segment {
        seq,
        len,
        flags: Segment::ACK,
        ..Segment::default()
    }
}

fn snapshot(acked: u32, window: u32) -> SenderSnapshot {
    SenderSnapshot {
        in_flight: 1000,
        window_edges: Some((acked, acked.wrapping_add(window))),
    }
}

#[test]
fn places_count_from_the_first_octet_and_do_not_wrap() {
    let mut trace = Trace::default();
    let start = u32::MAX - 1000;
    for at in 0..400_000_u64 {
        let seq = start.wrapping_add((at * 1460) as u32);
        let times = (at * MS, at * MS);
        trace.record_sent(
            &segment(seq, 1460),
            SendClass::NewData,
            snapshot(seq, 5000),
            times,
        );
    }
    let columns = trace.columns();
    assert!(columns.len() as u64 <= MAX_COLUMNS && columns.len() as u64 > MAX_COLUMNS / 3);
    assert_eq!(columns[0].new_range.map(|new| new.0), Some(0));
    let last = columns.last().expect("some");
    assert_eq!(last.new_range.map(|new| new.1), Some(400_000 * 1460));
    assert_eq!((last.window, last.in_flight), (Some(5000), 1000));
    let sum: u64 = columns.iter().map(|column| column.new_bytes).sum();
    assert_eq!(sum, 400_000 * 1460);
    let steps = columns.windows(2).all(|pair| pair[0].index < pair[1].index);
    assert!(steps && last.index < MAX_COLUMNS);
}

#[test]
fn marks_are_bounded_and_none_is_lost() {
    let mut trace = Trace::default();
    let retransmission = |reason| SendClass::Retransmission(reason);
    for at in 0..20_000_u32 {
        let seq = at.wrapping_mul(7_919) % 1_000_000;
        let sent = match at % 3 {
            0 => retransmission(RetransmitReason::Rto { backoff: 1 }),
            1 => retransmission(RetransmitReason::Fast),
            _ => SendClass::Reordered,
        };
        let at_ns = u64::from(at) * 317 * MS;
        trace.record_sent(&segment(seq, 100), sent, snapshot(0, 0), (at_ns / 2, at_ns));
    }
    assert!(trace.marks().len() <= 2048, "{}", trace.marks().len());
    for kind in [MarkKind::Rto, MarkKind::Fast, MarkKind::OutOfOrder] {
        let of_kind = trace.marks().iter().filter(|mark| mark.kind == kind);
        let count: u64 = of_kind.map(|mark| mark.count).sum();
        assert!(count.abs_diff(20_000 / 3) < 2, "{kind:?}: {count}");
    }
}

#[test]
fn a_closed_window_is_kept_when_columns_become_one() {
    let mut trace = Trace::default();
    let closes = Segment {
        ack: 100,
        flags: Segment::ACK,
        ..Segment::default()
    };
    trace.record_ack(&closes, snapshot(100, 0), 5);
    trace.record_ack(&closes, snapshot(100, 4000), 6);
    trace.record_ack(&closes, snapshot(200, 3000), 40_000 * MS);
    let first = &trace.columns()[0];
    assert_eq!((first.min_window, first.window), (Some(0), Some(4000)));
    assert_eq!(trace.marks()[0].kind, MarkKind::ZeroWindow);
}

#[test]
fn gaps_are_counted_by_length_with_their_time() {
    let mut trace = Trace::default();
    for at_ns in [0, 500, 2 * MS, 4 * MS, 900_000 * MS, u64::MAX] {
        trace.record_sent(
            &segment(0, 1),
            SendClass::NewData,
            snapshot(0, 0),
            (0, at_ns),
        );
    }
    let gaps = trace.gaps();
    let of = |at: usize| gaps.ranges()[at];
    assert_eq!(
        (
            GapHistogram::end_ns(0),
            GapHistogram::end_ns(2),
            GapHistogram::end_ns(9)
        ),
        (1_000, 5_000, MS)
    );
    assert_eq!(of(0).count, 1);
    // A gap of 2 ms belongs to the range that starts there.
    assert_eq!((of(10).count, of(11).count), (1, 1));
    assert_eq!(gaps.ranges().iter().map(|gap| gap.count).sum::<u64>(), 5);
}
