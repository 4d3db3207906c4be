use super::super::sender::Again;
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

fn stand(acked: u32, window: u32) -> Stand {
    Stand {
        in_flight: 1000,
        reach: Some((acked, acked.wrapping_add(window))),
    }
}

#[test]
fn places_count_from_the_first_octet_and_do_not_wrap() {
    let mut trace = Trace::default();
    let start = u32::MAX - 1000;
    for at in 0..400_000_u64 {
        let seq = start.wrapping_add((at * 1460) as u32);
        let times = (at * MS, at * MS);
        trace.sent(&segment(seq, 1460), Sent::New, stand(seq, 5000), times);
    }
    let columns = trace.columns();
    assert!(columns.len() as u64 <= MOST_COLUMNS && columns.len() as u64 > MOST_COLUMNS / 3);
    assert_eq!(columns[0].new.map(|new| new.0), Some(0));
    let last = columns.last().expect("some");
    assert_eq!(last.new.map(|new| new.1), Some(400_000 * 1460));
    assert_eq!((last.window, last.in_flight), (Some(5000), 1000));
    let sum: u64 = columns.iter().map(|column| column.new_bytes).sum();
    assert_eq!(sum, 400_000 * 1460);
    let steps = columns.windows(2).all(|pair| pair[0].at < pair[1].at);
    assert!(steps && last.at < MOST_COLUMNS);
}

#[test]
fn marks_are_bounded_and_none_is_lost() {
    let mut trace = Trace::default();
    let again = |again| Sent::Again(again);
    for at in 0..20_000_u32 {
        let seq = at.wrapping_mul(7_919) % 1_000_000;
        let sent = match at % 3 {
            0 => again(Again::TimeOut { step: 1 }),
            1 => again(Again::Fast),
            _ => Sent::Overtaken,
        };
        let at_ns = u64::from(at) * 317 * MS;
        trace.sent(&segment(seq, 100), sent, stand(0, 0), (at_ns / 2, at_ns));
    }
    assert!(trace.marks().len() <= 2048, "{}", trace.marks().len());
    for kind in [Kind::TimeOut, Kind::Fast, Kind::OutOfOrder] {
        let of_kind = trace.marks().iter().filter(|mark| mark.kind == kind);
        let times: u64 = of_kind.map(|mark| mark.times).sum();
        assert!(times.abs_diff(20_000 / 3) < 2, "{kind:?}: {times}");
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
    trace.heard(&closes, stand(100, 0), 5);
    trace.heard(&closes, stand(100, 4000), 6);
    trace.heard(&closes, stand(200, 3000), 40_000 * MS);
    let first = &trace.columns()[0];
    assert_eq!((first.least_window, first.window), (Some(0), Some(4000)));
    assert_eq!(trace.marks()[0].kind, Kind::ZeroWindow);
}

#[test]
fn gaps_are_counted_by_length_with_their_time() {
    let mut trace = Trace::default();
    for at_ns in [0, 500, 2 * MS, 4 * MS, 900_000 * MS, u64::MAX] {
        trace.sent(&segment(0, 1), Sent::New, stand(0, 0), (0, at_ns));
    }
    let gaps = trace.gaps();
    let of = |at: usize| gaps.ranges()[at];
    assert_eq!(
        (Gaps::end_ns(0), Gaps::end_ns(2), Gaps::end_ns(9)),
        (1_000, 5_000, MS)
    );
    assert_eq!(of(0).count, 1);
    // 2 ms belong to what begins there.
    assert_eq!((of(10).count, of(11).count), (1, 1));
    assert_eq!(gaps.ranges().iter().map(|gap| gap.count).sum::<u64>(), 5);
}
