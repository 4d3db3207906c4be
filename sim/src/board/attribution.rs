//! Fate of each frame that the peer sent: delivered, or one cause of loss.
//!
//! The wire records when each frame was on it, the device's ledger counts its verdicts, and the
//! simulator observes each increment. Combined, every frame ends in exactly one place, so frames
//! sent = delivered + losses holds by construction, and each loss has the cause that the device
//! itself counted, or [`DropCause::Unheard`] where it counted nothing.
//!
//! - A PHY count belongs to the frame that was on the line when the line was last sampled.
//! - A MAC count belongs to the newest reception if it is made in the receive interrupt, and to the
//!   oldest in the queue if it is made on the main thread.
//! - Frames that arrive after a full queue disabled reception, and before the next reception, are
//!   lost to the full queue.
//! - Frames counted as missed while sending are the newest frames without another count.
//! - Frames that begin while the device counts its link as down, and are not received, are lost to
//!   the link being down.
//! - Frames with noise on them that the device finds damaged were damaged by the noise.

use std::collections::VecDeque;

use linerate_ether::ledger::{Counter, DropCause, Layer};

use crate::time::{Instant, Span};

/// After this time no count can refer to a frame that is in no queue: the longest receive interrupt
/// takes milliseconds.
const SETTLE_TIMEOUT: Span = Span::from_ms(100);

/// Fate of one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The device's stack consumed it.
    Delivered,
    /// It was lost, for this cause.
    Lost(DropCause),
}

/// One increment of one of the device's counters.
#[derive(Clone, Copy, Debug)]
pub struct CounterIncrement {
    /// When the counter was written.
    pub at: Instant,
    /// The counter.
    pub counter: Counter,
    /// True if the device was in its receive interrupt.
    pub in_interrupt: bool,
    /// When the device last sampled the line.
    pub last_sample: Instant,
}

/// The number of frames in each place. The sum of all but `sent` is `sent`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Frames that the peer put on the wire, including collided attempts.
    pub sent: u64,
    /// Frames that the stack consumed.
    pub delivered: u64,
    /// Losses, in the order of [`DropCause::ALL`]; without zeros.
    pub lost: Vec<(DropCause, u64)>,
}

#[derive(Debug)]
struct TrackedFrame {
    start: Instant,
    end: Instant,
    fate: Option<Fate>,
    /// The cause if the device counts nothing for the frame.
    default_cause: DropCause,
    /// True if noise was on the line during the frame.
    noisy: bool,
}

/// Follows the frames that the peer sends. Frames and counts come in the order of time.
#[derive(Debug, Default)]
pub struct Attribution {
    frames: Vec<TrackedFrame>,
    /// Receptions that the MAC has not checked, or whose frame the stack has not taken.
    queue: VecDeque<Option<usize>>,
    /// The reception of the frame that is offered to the stack.
    offered: Option<usize>,
    queue_full: bool,
    /// State of the device's link, once it is counted.
    link_up: Option<bool>,
    /// The first frame that `queue_full` applies to: the newest one when the queue was full.
    first_shut_out: usize,
    /// The newest frame that a reception belongs to.
    newest_received: Option<usize>,
    /// Frames before this one have been reported by [`Attribution::settle`].
    settled: usize,
}

/// True if the counter means that the MAC rejected a queued reception.
fn is_mac_rejection(counter: Counter) -> bool {
    matches!(counter, Counter::RxFragments | Counter::RxBadChecksum)
        || counter
            .drop_cause()
            .is_some_and(|drop| drop.layer() == Layer::Mac)
}

/// True if noise can cause what the device counts as `cause`.
const fn is_damage(cause: DropCause) -> bool {
    matches!(
        cause,
        DropCause::Truncated
            | DropCause::SymbolError
            | DropCause::BadSfd
            | DropCause::BadFcs
            | DropCause::Alignment
            | DropCause::Runt
            | DropCause::Oversize
            | DropCause::LengthMismatch
            | DropCause::Collision
            | DropCause::Unheard
    )
}

impl Attribution {
    /// Starts without frames.
    pub fn new() -> Self {
        Self::default()
    }

    /// A frame is on the wire from `start` to `end`, as seen at the device's pad. Frames are
    /// numbered in the order of these calls.
    pub fn on_frame_start(&mut self, start: Instant, end: Instant) {
        let down = self.link_up == Some(false);
        // Two colliding frames may be reported in either order.
        let before = self.frames.last().map_or(start, |last| last.start);
        self.frames.push(TrackedFrame {
            start: start.max(before),
            end,
            fate: None,
            default_cause: if down {
                DropCause::LinkDown
            } else {
                DropCause::Unheard
            },
            noisy: false,
        });
    }

    /// Frame `number` ended at `end`; the wire damaged it if there is a `cause`, or may have if it
    /// was `noisy`.
    pub fn on_frame_end(
        &mut self,
        number: usize,
        end: Instant,
        cause: Option<DropCause>,
        noisy: bool,
    ) {
        if let Some(frame) = self.frames.get_mut(number) {
            frame.end = end;
            frame.noisy = noisy;
            if let Some(cause) = cause {
                frame.fate = Some(Fate::Lost(cause));
            }
        }
    }

    /// The device restarted: the state of its link is unknown.
    pub const fn on_reset(&mut self) {
        self.link_up = None;
    }

    /// The device incremented a counter.
    pub fn on_count(&mut self, count: CounterIncrement) {
        use Counter as C;
        match count.counter {
            C::RxFrames => {
                let frame = self.on_reception(count.last_sample);
                self.queue.push_back(frame);
            }
            C::RxWhileSending => {
                let frame = self.missed_while_sending(count.at);
                self.mark_lost(frame, count.counter);
            }
            C::LinkUps => {
                if self.link_up.is_none() {
                    self.on_first_link_up();
                }
                self.link_up = Some(true);
            }
            C::LinkDowns => self.link_up = Some(false),
            C::RxTruncated | C::RxSymbolErrors => {
                let frame = self.on_reception(count.last_sample);
                self.mark_lost(frame, count.counter);
            }
            C::RxQueueFull | C::RxRingFull | C::RxFifoOverruns => {
                self.queue_full = true;
                let frame = self.newest_started_by(count.at);
                self.first_shut_out = frame.unwrap_or_default();
                self.mark_lost(frame, count.counter);
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
                self.mark_lost(frame, count.counter);
            }
            other if is_mac_rejection(other) => {
                let judged = if count.in_interrupt {
                    self.queue.pop_back()
                } else {
                    self.queue.pop_front()
                };
                self.mark_lost(judged.flatten(), other);
            }
            _ => {}
        }
    }

    /// Fate of each frame so far, in the order of sending.
    pub fn fates(&self, now: Instant) -> impl Iterator<Item = Fate> + '_ {
        (0..self.frames.len()).map(move |index| self.fate(index, now))
    }

    /// Fate of the frame `index`, if the run ends `now`.
    fn fate(&self, index: usize, now: Instant) -> Fate {
        let frame = &self.frames[index];
        frame.fate.unwrap_or_else(|| {
            Fate::Lost(if frame.end >= now {
                DropCause::InFlight
            } else if self.is_queued(index) {
                DropCause::LeftInQueue
            } else if self.queue_full && index >= self.first_shut_out {
                DropCause::QueueFull
            } else if frame.noisy && is_damage(frame.default_cause) {
                DropCause::Corrupted
            } else {
                frame.default_cause
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

    /// True if the frame's fate can no longer change.
    fn is_final(&self, index: usize, now: Instant) -> bool {
        let frame = &self.frames[index];
        if frame.fate == Some(Fate::Delivered) {
            return true;
        }
        let passed = self.newest_received.is_some_and(|newest| newest > index);
        frame.end < now && !self.is_queued(index) && (passed || frame.end + SETTLE_TIMEOUT < now)
    }

    /// Number of frames by fate, if the run ends `now`.
    pub fn tally(&self, now: Instant) -> Tally {
        let mut tally = Tally::default();
        let mut lost = [0; DropCause::COUNT];
        for fate in self.fates(now) {
            tally.sent += 1;
            match fate {
                Fate::Delivered => tally.delivered += 1,
                Fate::Lost(drop) => lost[drop as usize] += 1,
            }
        }
        tally.lost = DropCause::ALL
            .into_iter()
            .zip(lost)
            .filter(|&(_, n)| n > 0)
            .collect();
        tally
    }

    /// The newest frame that started by `at`.
    fn newest_started_by(&self, at: Instant) -> Option<usize> {
        self.frames
            .partition_point(|frame| frame.start <= at)
            .checked_sub(1)
    }

    /// The newest frame by `at` that the device has not counted.
    fn missed_while_sending(&self, at: Instant) -> Option<usize> {
        let newest = self.newest_started_by(at)?;
        let open = |&index: &usize| self.frames[index].fate.is_none() && !self.is_queued(index);
        let oldest = self
            .settled
            .max(self.newest_received.map_or(0, |newest| newest + 1));
        (oldest..=newest).rev().find(open)
    }

    /// The link comes up for the first time, so it was down until now.
    fn on_first_link_up(&mut self) {
        for frame in &mut self.frames[self.settled..] {
            if frame.default_cause == DropCause::Unheard {
                frame.default_cause = DropCause::LinkDown;
            }
        }
    }

    /// The PHY received something up to `last_sample`: reception is enabled again.
    fn on_reception(&mut self, last_sample: Instant) -> Option<usize> {
        let frame = self.newest_started_by(last_sample)?;
        self.newest_received = self.newest_received.max(Some(frame));
        if self.queue_full {
            self.queue_full = false;
            let from = self.first_shut_out.min(frame);
            for missed in &mut self.frames[from..frame] {
                missed.default_cause = DropCause::QueueFull;
            }
        }
        Some(frame)
    }

    fn mark_lost(&mut self, frame: Option<usize>, counter: Counter) {
        let (Some(frame), Some(cause)) = (frame, counter.drop_cause()) else {
            return;
        };
        let frame = &mut self.frames[frame];
        let cause = if frame.noisy && is_damage(cause) {
            DropCause::Corrupted
        } else {
            cause
        };
        frame.fate.get_or_insert(Fate::Lost(cause));
    }
}

#[cfg(test)]
mod tests;
