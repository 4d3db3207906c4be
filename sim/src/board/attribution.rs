//! What became of each frame that the peer sent: delivered, or one cause of loss.
//!
//! The wire knows when each frame was on it; the device's ledger says what was counted, and the
//! simulator saw each count happen. Put together, every frame ends in exactly one place, so frames
//! sent = delivered + losses holds by construction, and each loss has the cause that the device
//! itself gave, or [`Drop::Unheard`] where it noticed nothing.
//!
//! - A count of the PHY belongs to the frame that was on the line when the line was last sampled.
//! - A count of the MAC belongs to the newest reception if it is made in the receive interrupt, and
//!   to the oldest in the queue if it is made on the main thread.
//! - What arrives after a full queue switched reception off, before the next reception, was lost to
//!   the full queue.

use std::collections::VecDeque;

use linerate_ether::ledger::{Counter, Drop, Layer};

use crate::time::{Instant, Span};

/// After this time no count speaks of a frame any more that no queue holds: the longest receive
/// interrupt takes milliseconds.
const PATIENCE: Span = Span::from_ms(100);

/// What became of one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The device's stack consumed it.
    Delivered,
    /// It was lost, and this is why.
    Lost(Drop),
}

/// One increment of one of the device's counters.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    /// When the counter was written.
    pub at: Instant,
    /// Which one.
    pub counter: Counter,
    /// Whether the device was in its receive interrupt.
    pub in_interrupt: bool,
    /// When the device last looked at the line.
    pub last_sample: Instant,
}

/// The number of frames in each place. The sum of all but `sent` is `sent`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Frames that the peer put on the wire, collided attempts among them.
    pub sent: u64,
    /// Frames that the stack consumed.
    pub delivered: u64,
    /// Losses, in the order of [`Drop::ALL`]; zeros left out.
    pub lost: Vec<(Drop, u64)>,
}

#[derive(Debug)]
struct Sent {
    start: Instant,
    end: Instant,
    fate: Option<Fate>,
    /// The cause that stands if the device never mentions the frame.
    unmentioned: Drop,
}

/// Follows the frames that the peer sends. Frames and counts come in the order of time.
#[derive(Debug, Default)]
pub struct Attribution {
    frames: Vec<Sent>,
    /// Receptions that the MAC has not judged, or whose frame the stack has not taken.
    queue: VecDeque<Option<usize>>,
    /// The reception of the frame that is offered to the stack.
    offered: Option<usize>,
    queue_full: bool,
    /// The first frame not yet passed by a reception: what `queue_full` speaks for begins here.
    next_unheard: usize,
    /// The newest frame that a reception belongs to.
    newest_heard: Option<usize>,
    /// Frames before this one have been reported by [`Attribution::settle`].
    settled: usize,
}

/// Whether the MAC counts so what it found in the queue to be no frame for the stack.
fn is_verdict(counter: Counter) -> bool {
    matches!(counter, Counter::RxFragments | Counter::RxBadChecksum)
        || counter
            .drop_cause()
            .is_some_and(|drop| drop.layer() == Layer::Mac)
}

impl Attribution {
    /// Nothing sent so far.
    pub fn new() -> Self {
        Self::default()
    }

    /// A frame goes onto the wire from `start` to `end`, as seen at the device's pad.
    pub fn sent(&mut self, start: Instant, end: Instant) {
        self.frames.push(Sent {
            start,
            end,
            fate: None,
            unmentioned: Drop::Unheard,
        });
    }

    /// The wire itself spoiled the newest frame: a collision, or noise that changed it.
    pub fn spoiled(&mut self, cause: Drop, end: Instant) {
        if let Some(frame) = self.frames.last_mut() {
            frame.end = end;
            frame.fate = Some(Fate::Lost(cause));
        }
    }

    /// The device counted something.
    pub fn counted(&mut self, count: Count) {
        use Counter as C;
        match count.counter {
            C::RxFrames => {
                let frame = self.received(count.last_sample);
                self.queue.push_back(frame);
            }
            C::RxTruncated | C::RxSymbolErrors | C::RxWhileSending => {
                let frame = self.received(count.last_sample);
                self.lose(frame, count.counter);
            }
            C::RxQueueFull | C::RxRingFull | C::RxFifoOverruns => {
                self.queue_full = true;
                let frame = self.began_by(count.at);
                self.next_unheard = frame.unwrap_or_default();
                self.lose(frame, count.counter);
            }
            C::RxValid => self.offered = self.queue.pop_front().flatten(),
            C::RxDelivered => {
                if let Some(frame) = self.offered.take() {
                    // Also if another part of the same frame was counted as lost before.
                    self.frames[frame].fate = Some(Fate::Delivered);
                }
            }
            C::RxStackRejected => {
                let frame = self.offered.take();
                self.lose(frame, count.counter);
            }
            other if is_verdict(other) => {
                let judged = if count.in_interrupt {
                    self.queue.pop_back()
                } else {
                    self.queue.pop_front()
                };
                self.lose(judged.flatten(), other);
            }
            _ => {}
        }
    }

    /// What became of each frame so far, in the order of sending.
    pub fn fates(&self, now: Instant) -> impl Iterator<Item = Fate> + '_ {
        (0..self.frames.len()).map(move |index| self.fate(index, now))
    }

    /// What became of the frame `index`, if the run ends `now`.
    fn fate(&self, index: usize, now: Instant) -> Fate {
        let frame = &self.frames[index];
        frame.fate.unwrap_or_else(|| {
            Fate::Lost(if frame.end >= now {
                Drop::InFlight
            } else if self.is_queued(index) {
                Drop::LeftInQueue
            } else if self.queue_full && index >= self.next_unheard {
                Drop::QueueFull
            } else {
                frame.unmentioned
            })
        })
    }

    fn is_queued(&self, index: usize) -> bool {
        self.offered == Some(index) || self.queue.contains(&Some(index))
    }

    /// The fates that are final at `now` and were not reported before, in the order of sending.
    pub fn settle(&mut self, now: Instant) -> Vec<Fate> {
        let from = self.settled;
        while self.settled < self.frames.len() && self.is_final(self.settled, now) {
            self.settled += 1;
        }
        (from..self.settled)
            .map(|index| self.fate(index, now))
            .collect()
    }

    /// The fates that were not reported before, final or not, in the order of sending: the run
    /// ends `now`.
    pub fn settle_all(&mut self, now: Instant) -> Vec<Fate> {
        let from = core::mem::replace(&mut self.settled, self.frames.len());
        (from..self.settled)
            .map(|index| self.fate(index, now))
            .collect()
    }

    /// Whether nothing can change the frame's fate any more.
    fn is_final(&self, index: usize, now: Instant) -> bool {
        let frame = &self.frames[index];
        if frame.fate == Some(Fate::Delivered) {
            return true;
        }
        let passed = self.newest_heard.is_some_and(|newest| newest > index);
        frame.end < now && !self.is_queued(index) && (passed || frame.end + PATIENCE < now)
    }

    /// How many frames ended where, if the run ends `now`.
    pub fn tally(&self, now: Instant) -> Tally {
        let mut tally = Tally::default();
        let mut lost = [0; Drop::COUNT];
        for fate in self.fates(now) {
            tally.sent += 1;
            match fate {
                Fate::Delivered => tally.delivered += 1,
                Fate::Lost(drop) => lost[drop as usize] += 1,
            }
        }
        tally.lost = Drop::ALL
            .into_iter()
            .zip(lost)
            .filter(|&(_, n)| n > 0)
            .collect();
        tally
    }

    /// The newest frame that had begun at `at`.
    fn began_by(&self, at: Instant) -> Option<usize> {
        self.frames
            .partition_point(|frame| frame.start <= at)
            .checked_sub(1)
    }

    /// The PHY received something up to `last_sample`: it listens again.
    fn received(&mut self, last_sample: Instant) -> Option<usize> {
        let frame = self.began_by(last_sample)?;
        self.newest_heard = self.newest_heard.max(Some(frame));
        if self.queue_full {
            self.queue_full = false;
            let from = self.next_unheard.min(frame);
            for missed in &mut self.frames[from..frame] {
                missed.unmentioned = Drop::QueueFull;
            }
        }
        Some(frame)
    }

    fn lose(&mut self, frame: Option<usize>, counter: Counter) {
        if let (Some(frame), Some(cause)) = (frame, counter.drop_cause()) {
            self.frames[frame].fate.get_or_insert(Fate::Lost(cause));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME_NS: u64 = 60_000;
    const PERIOD_NS: u64 = 70_000;

    fn sent(frames: u64) -> Attribution {
        let mut attribution = Attribution::new();
        for frame in 0..frames {
            let start = Instant::from_ns(frame * PERIOD_NS);
            attribution.sent(start, start + crate::time::Span::from_ns(FRAME_NS));
        }
        attribution
    }

    fn end_of(frame: u64) -> Instant {
        Instant::from_ns(frame * PERIOD_NS + FRAME_NS + 300)
    }

    fn count(attribution: &mut Attribution, frame: u64, counter: Counter, in_interrupt: bool) {
        attribution.counted(Count {
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
                Fate::Lost(Drop::BadFcs),
                Fate::Lost(Drop::StackRejected)
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
        assert_eq!(fates(&a, 9), [Fate::Delivered, Fate::Lost(Drop::BadSfd)]);
    }

    #[test]
    fn a_late_count_belongs_to_the_frame_that_was_sampled() {
        let mut a = sent(2);
        a.counted(Count {
            at: Instant::from_ns(PERIOD_NS + 5_000),
            counter: Counter::RxTruncated,
            in_interrupt: true,
            last_sample: end_of(0),
        });
        assert_eq!(
            fates(&a, 9),
            [Fate::Lost(Drop::Truncated), Fate::Lost(Drop::Unheard)]
        );
    }

    #[test]
    fn what_a_full_queue_shut_out_is_lost_to_it_until_the_next_reception() {
        let mut a = sent(6);
        count(&mut a, 0, Counter::RxFrames, true);
        a.counted(Count {
            at: Instant::from_ns(PERIOD_NS + 700),
            counter: Counter::RxQueueFull,
            in_interrupt: true,
            last_sample: end_of(0),
        });
        count(&mut a, 4, Counter::RxFrames, true);
        let full = Fate::Lost(Drop::QueueFull);
        let left = Fate::Lost(Drop::LeftInQueue);
        assert_eq!(
            fates(&a, 9),
            [left, full, full, full, left, Fate::Lost(Drop::Unheard)]
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

    #[test]
    fn fates_are_reported_once_and_in_order_when_nothing_can_change_them() {
        let mut a = sent(4);
        let at = |frame: u64| Instant::from_ns(frame * PERIOD_NS + 65_000);
        count(&mut a, 0, Counter::RxFrames, true);
        assert_eq!(a.settle(at(0)), [], "still in the queue");
        count(&mut a, 2, Counter::RxFrames, true);
        count(&mut a, 2, Counter::RxValid, false);
        assert_eq!(a.settle(at(2)), [], "offered");
        count(&mut a, 2, Counter::RxDelivered, false);
        // The second was passed over; the third is in the queue.
        let unheard = Fate::Lost(Drop::Unheard);
        assert_eq!(a.settle(at(2)), [Fate::Delivered, unheard]);
        count(&mut a, 3, Counter::RxBadFcs, false);
        assert_eq!(a.settle(at(3)), []);
        assert_eq!(
            a.settle(at(3) + PATIENCE),
            [Fate::Lost(Drop::BadFcs), unheard]
        );
        assert_eq!(a.settle(at(3) + PATIENCE), []);
        assert_eq!(fates(&a, 9999).len(), 4);
    }

    #[test]
    fn the_tally_adds_up_at_any_time() {
        let mut a = sent(5);
        count(&mut a, 0, Counter::RxFrames, true);
        count(&mut a, 0, Counter::RxValid, false);
        count(&mut a, 0, Counter::RxDelivered, false);
        count(&mut a, 2, Counter::RxTruncated, true);
        a.spoiled(Drop::Collision, Instant::from_ns(4 * PERIOD_NS + 100));
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
                (Drop::Collision, 1),
                (Drop::Unheard, 2),
                (Drop::Truncated, 1)
            ]
        );
    }
}
