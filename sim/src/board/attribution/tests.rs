use super::*;

const FRAME_NS: u64 = 60_000;
const PERIOD_NS: u64 = 70_000;

fn sent(frames: u64) -> Attribution {
    let mut attribution = Attribution::new();
    for frame in 0..frames {
        let start = Instant::from_ns(frame * PERIOD_NS);
        attribution.on_frame_start(start, start + crate::time::Span::from_ns(FRAME_NS));
    }
    attribution
}

fn end_of(frame: u64) -> Instant {
    Instant::from_ns(frame * PERIOD_NS + FRAME_NS + 300)
}

fn count(attribution: &mut Attribution, frame: u64, counter: Counter, in_interrupt: bool) {
    attribution.on_count(CounterIncrement {
        at: end_of(frame) + crate::time::Span::from_ns(500),
        counter,
        in_interrupt,
        last_sample: end_of(frame),
    });
}

fn fates(attribution: &Attribution, now_frame: u64) -> Vec<Fate> {
    attribution
        .fates(Instant::from_ns(now_frame * PERIOD_NS))
        .collect()
}

#[test]
fn main_thread_verdicts_come_in_the_order_of_the_queue() {
    let mut a = sent(3);
    for frame in 0..3 {
        count(&mut a, frame, Counter::RxFrames, true);
    }
    count(&mut a, 2, Counter::RxValid, false);
    count(&mut a, 2, Counter::RxDelivered, false);
    count(&mut a, 2, Counter::RxBadFcs, false);
    count(&mut a, 2, Counter::RxValid, false);
    count(&mut a, 2, Counter::RxStackRejected, false);
    assert_eq!(
        fates(&a, 9),
        [
            Fate::Delivered,
            Fate::Lost(DropCause::BadFcs),
            Fate::Lost(DropCause::StackRejected)
        ]
    );
}

#[test]
fn verdicts_in_the_interrupt_are_on_the_newest() {
    let mut a = sent(2);
    count(&mut a, 0, Counter::RxFrames, true);
    count(&mut a, 1, Counter::RxFrames, true);
    count(&mut a, 1, Counter::RxBadSfd, true);
    count(&mut a, 1, Counter::RxValid, false);
    count(&mut a, 1, Counter::RxDelivered, false);
    assert_eq!(
        fates(&a, 9),
        [Fate::Delivered, Fate::Lost(DropCause::BadSfd)]
    );
}

#[test]
fn a_late_count_belongs_to_the_frame_that_was_sampled() {
    let mut a = sent(2);
    a.on_count(CounterIncrement {
        at: Instant::from_ns(PERIOD_NS + 5_000),
        counter: Counter::RxTruncated,
        in_interrupt: true,
        last_sample: end_of(0),
    });
    assert_eq!(
        fates(&a, 9),
        [
            Fate::Lost(DropCause::Truncated),
            Fate::Lost(DropCause::Unheard)
        ]
    );
}

#[test]
fn a_full_queue_loses_frames_until_the_next_reception() {
    let mut a = sent(6);
    count(&mut a, 0, Counter::RxFrames, true);
    a.on_count(CounterIncrement {
        at: Instant::from_ns(PERIOD_NS + 700),
        counter: Counter::RxQueueFull,
        in_interrupt: true,
        last_sample: end_of(0),
    });
    count(&mut a, 4, Counter::RxFrames, true);
    let full = Fate::Lost(DropCause::QueueFull);
    let left = Fate::Lost(DropCause::LeftInQueue);
    assert_eq!(
        fates(&a, 9),
        [left, full, full, full, left, Fate::Lost(DropCause::Unheard)]
    );
}

#[test]
fn a_frame_received_in_parts_is_delivered_if_one_of_them_is() {
    let mut a = sent(1);
    count(&mut a, 0, Counter::RxTruncated, true);
    count(&mut a, 0, Counter::RxFrames, true);
    count(&mut a, 0, Counter::RxValid, false);
    count(&mut a, 0, Counter::RxDelivered, false);
    assert_eq!(fates(&a, 9), [Fate::Delivered]);
}

fn settled(attribution: &mut Attribution, now: Instant) -> Vec<Fate> {
    core::iter::from_fn(|| attribution.settle(now)).collect()
}

#[test]
fn fates_are_reported_once_and_in_order_when_nothing_can_change_them() {
    let mut a = sent(4);
    let at = |frame: u64| Instant::from_ns(frame * PERIOD_NS + 65_000);
    count(&mut a, 0, Counter::RxFrames, true);
    assert_eq!(settled(&mut a, at(0)), [], "still in the queue");
    count(&mut a, 2, Counter::RxFrames, true);
    count(&mut a, 2, Counter::RxValid, false);
    assert_eq!(settled(&mut a, at(2)), [], "offered");
    count(&mut a, 2, Counter::RxDelivered, false);
    // The second was passed over; the third is in the queue.
    let unheard = Fate::Lost(DropCause::Unheard);
    assert_eq!(settled(&mut a, at(2)), [Fate::Delivered, unheard]);
    count(&mut a, 3, Counter::RxBadFcs, false);
    assert_eq!(settled(&mut a, at(3)), []);
    assert_eq!(
        settled(&mut a, at(3) + SETTLE_TIMEOUT),
        [Fate::Lost(DropCause::BadFcs), unheard]
    );
    assert_eq!(settled(&mut a, at(3) + SETTLE_TIMEOUT), []);
    assert_eq!(fates(&a, 9999).len(), 4);
}

#[test]
fn the_tally_adds_up_at_any_time() {
    let mut a = sent(5);
    count(&mut a, 0, Counter::RxFrames, true);
    count(&mut a, 0, Counter::RxValid, false);
    count(&mut a, 0, Counter::RxDelivered, false);
    count(&mut a, 2, Counter::RxTruncated, true);
    a.on_frame_end(
        4,
        Instant::from_ns(4 * PERIOD_NS + 100),
        Some(DropCause::Collision),
        false,
    );
    for frames in 0..9 {
        let tally = a.tally(Instant::from_ns(frames * PERIOD_NS));
        let lost: u64 = tally.lost.iter().map(|&(_, n)| n).sum();
        assert_eq!(tally.sent, tally.delivered + lost);
        assert_eq!(tally.sent, 5);
    }
    let lost = a.tally(Instant::from_ns(9 * PERIOD_NS)).lost;
    assert_eq!(
        lost,
        [
            (DropCause::Collision, 1),
            (DropCause::Unheard, 2),
            (DropCause::Truncated, 1)
        ]
    );
}

#[test]
fn frames_missed_while_sending_are_the_newest_without_a_count() {
    let mut a = sent(4);
    count(&mut a, 0, Counter::RxFrames, true);
    // The device transmitted during the second and the third, and counts that after them.
    count(&mut a, 2, Counter::RxWhileSending, false);
    count(&mut a, 2, Counter::RxWhileSending, false);
    count(&mut a, 3, Counter::RxFrames, true);
    let deaf = Fate::Lost(DropCause::DeafWhileSending);
    let left = Fate::Lost(DropCause::LeftInQueue);
    assert_eq!(fates(&a, 9), [left, deaf, deaf, left]);
}

#[test]
fn frames_that_the_loop_filters_never_reach_the_queue() {
    let mut a = sent(4);
    count(&mut a, 0, Counter::RxFrames, true);
    for frame in [1, 2] {
        count(&mut a, frame, Counter::RxFrames, true);
        count(&mut a, frame, Counter::RxFiltered, true);
    }
    count(&mut a, 3, Counter::RxFrames, true);
    count(&mut a, 3, Counter::RxFragments, true);
    count(&mut a, 3, Counter::RxBadChecksum, false);
    let filtered = Fate::Lost(DropCause::Filtered);
    assert_eq!(
        fates(&a, 9),
        [
            Fate::Lost(DropCause::BadChecksum),
            filtered,
            filtered,
            Fate::Lost(DropCause::Collision)
        ]
    );
}

#[test]
fn frames_not_received_while_the_link_is_down_are_lost_to_link_down() {
    let mut a = sent(2);
    count(&mut a, 1, Counter::LinkUps, false);
    let next = |a: &mut Attribution, frame: u64| {
        let start = Instant::from_ns(frame * PERIOD_NS);
        a.on_frame_start(start, start + Span::from_ns(FRAME_NS));
    };
    next(&mut a, 2);
    count(&mut a, 2, Counter::LinkDowns, false);
    next(&mut a, 3);
    count(&mut a, 3, Counter::LinkUps, false);
    next(&mut a, 4);
    let down = Fate::Lost(DropCause::LinkDown);
    let unheard = Fate::Lost(DropCause::Unheard);
    assert_eq!(fates(&a, 9), [down, down, unheard, down, unheard]);
}

#[test]
fn noise_is_the_cause_only_of_damaged_frames() {
    let mut a = sent(4);
    for number in [0, 1, 2] {
        a.on_frame_end(number, end_of(number as u64), None, true);
    }
    count(&mut a, 0, Counter::RxFrames, true);
    count(&mut a, 0, Counter::RxBadFcs, true);
    count(&mut a, 1, Counter::RxFrames, true);
    count(&mut a, 1, Counter::RxFiltered, true);
    count(&mut a, 3, Counter::RxTruncated, true);
    assert_eq!(
        fates(&a, 9),
        [
            Fate::Lost(DropCause::Corrupted),
            Fate::Lost(DropCause::Filtered),
            Fate::Lost(DropCause::Corrupted),
            Fate::Lost(DropCause::Truncated)
        ]
    );
}
