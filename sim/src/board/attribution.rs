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
//! - What the device counts as deaf while it sent are the newest frames it says nothing else of.
//! - What begins while the device counts its link as down, and is not heard, is lost to that.
//! - What noise met and the device then found damaged was damaged by the noise.

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
    /// Noise was on the line meanwhile.
    noisy: bool,
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
    /// The device's link, once it has counted one.
    link_up: Option<bool>,
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

/// Whether noise can be what the device took for `cause`.
const fn is_damage(cause: Drop) -> bool {
    matches!(
        cause,
        Drop::Truncated
            | Drop::SymbolError
            | Drop::BadSfd
            | Drop::BadFcs
            | Drop::Alignment
            | Drop::Runt
            | Drop::Oversize
            | Drop::LengthMismatch
            | Drop::Collision
            | Drop::Unheard
    )
}

impl Attribution {
    /// Nothing sent so far.
    pub fn new() -> Self {
        Self::default()
    }

    /// A frame goes onto the wire from `start` to `end`, as seen at the device's pad. Frames have
    /// numbers in the order of these calls.
    pub fn sent(&mut self, start: Instant, end: Instant) {
        let down = self.link_up == Some(false);
        // Two that collide may begin in either order.
        let before = self.frames.last().map_or(start, |last| last.start);
        self.frames.push(Sent {
            start: start.max(before),
            end,
            fate: None,
            unmentioned: if down { Drop::LinkDown } else { Drop::Unheard },
            noisy: false,
        });
    }

    /// Frame `number` is off the wire since `end`; the wire itself spoiled it if there is a `cause`,
    /// or may have if it was `noisy`.
    pub fn ended(&mut self, number: usize, end: Instant, cause: Option<Drop>, noisy: bool) {
        if let Some(frame) = self.frames.get_mut(number) {
            frame.end = end;
            frame.noisy = noisy;
            if let Some(cause) = cause {
                frame.fate = Some(Fate::Lost(cause));
            }
        }
    }

    /// The device begins anew: what it knew of its link is forgotten.
    pub const fn restarted(&mut self) {
        self.link_up = None;
    }

    /// The device counted something.
    pub fn counted(&mut self, count: Count) {
        use Counter as C;
        match count.counter {
            C::RxFrames => {
                let frame = self.received(count.last_sample);
                self.queue.push_back(frame);
            }
            C::RxWhileSending => {
                let frame = self.deaf_to(count.at);
                self.lose(frame, count.counter);
            }
            C::LinkUps => {
                if self.link_up.is_none() {
                    self.was_down();
                }
                self.link_up = Some(true);
            }
            C::LinkDowns => self.link_up = Some(false),
            C::RxTruncated | C::RxSymbolErrors => {
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
            } else if frame.noisy && is_damage(frame.unmentioned) {
                Drop::Corrupted
            } else {
                frame.unmentioned
            })
        })
    }

    fn is_queued(&self, index: usize) -> bool {
        self.offered == Some(index) || self.queue.contains(&Some(index))
    }

    /// The fate of the first frame that was not reported before, if it is final at `now`.
    pub fn settle(&mut self, now: Instant) -> Option<Fate> {
        let index = self.settled;
        if index >= self.frames.len() || !self.is_final(index, now) {
            return None;
        }
        self.settled += 1;
        Some(self.fate(index, now))
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

    /// The newest frame by `at` that the device has not spoken of.
    fn deaf_to(&self, at: Instant) -> Option<usize> {
        let newest = self.began_by(at)?;
        let open = |&index: &usize| self.frames[index].fate.is_none() && !self.is_queued(index);
        let oldest = self
            .settled
            .max(self.newest_heard.map_or(0, |heard| heard + 1));
        (oldest..=newest).rev().find(open)
    }

    /// The link comes up for the first time: until now it was down.
    fn was_down(&mut self) {
        for frame in &mut self.frames[self.settled..] {
            if frame.unmentioned == Drop::Unheard {
                frame.unmentioned = Drop::LinkDown;
            }
        }
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
        let (Some(frame), Some(cause)) = (frame, counter.drop_cause()) else {
            return;
        };
        let frame = &mut self.frames[frame];
        let cause = if frame.noisy && is_damage(cause) {
            Drop::Corrupted
        } else {
            cause
        };
        frame.fate.get_or_insert(Fate::Lost(cause));
    }
}

#[cfg(test)]
mod tests;
