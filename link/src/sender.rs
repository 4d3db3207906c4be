//! The sending side of a channel: sequence numbers, credit, recovery.

use crate::round_trip::MAX_TIMEOUT_US;
use crate::time::{Deadline, Instant};
use crate::transmit_queue::{Fragment, TransmitQueue};
use crate::wire::{WINDOW, credit_shift, max_message};

/// Most doublings of the time-out.
const MAX_BACKOFF: u8 = 6;

/// State of the recovery from a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Recovery {
    None,
    /// The answer to a poll is awaited.
    Polling,
    /// The peer has the frame behind the oldest, or will have it.
    Skipping,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Sender<B> {
    pub(crate) queue: TransmitQueue<B>,
    pub(crate) is_reliable: bool,
    /// Number of the oldest frame that is not acknowledged.
    oldest: u8,
    /// Number of the frame to be sent next; less than `newest` after a loss.
    next: u8,
    /// Number behind the newest frame that was ever sent.
    newest: u8,
    /// Largest fragment, octets.
    max_fragment: u16,
    /// Longest message, octets.
    max_message: u16,
    /// Unit of the credit field.
    shift: u8,
    /// Octets that the peer's FIFO takes behind the acknowledged frames.
    credit: u16,
    /// Octets of them that the frames on their way take.
    in_flight: u16,
    /// The time to ask the peer what it has.
    deadline: Deadline,
    backoff: u8,
    recovery: Recovery,
    /// An acknowledgment frame that asks for an answer is due.
    pub(crate) poll_due: bool,
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Sender<B> {
    #[inline(never)] // Once for all channels.
    pub(crate) const fn new(is_reliable: bool, memory: B) -> Self {
        Self {
            queue: TransmitQueue::new(memory),
            is_reliable,
            oldest: 0,
            next: 0,
            newest: 0,
            max_fragment: 0,
            max_message: 0,
            shift: 0,
            credit: 0,
            in_flight: 0,
            deadline: Deadline::NONE,
            backoff: 0,
            recovery: Recovery::None,
            poll_due: false,
        }
    }

    /// Begins a session with a peer whose FIFO has this capacity and grants this credit; returns the number of messages
    /// that were on their way on an unreliable channel. A reliable one sends every message again that was not
    /// acknowledged as a whole.
    pub(crate) fn restart(&mut self, capacity: usize, credit: u8, max_fragment: u16) -> u32 {
        self.max_message = max_message(capacity) as u16;
        self.max_fragment = max_fragment.min(self.max_message);
        let lost = if self.max_message == 0 {
            self.queue.clear()
        } else if self.is_reliable {
            self.queue.restart();
            0
        } else {
            self.queue.drop_sent()
        };
        self.oldest = 0;
        self.next = 0;
        self.newest = 0;
        self.in_flight = 0;
        self.shift = credit_shift(capacity);
        self.credit = u16::from(credit) << self.shift;
        self.deadline = Deadline::NONE;
        self.backoff = 0;
        self.recovery = Recovery::None;
        self.poll_due = false;
        lost
    }

    pub(crate) const fn max_message(&self) -> u16 {
        self.max_message
    }

    pub(crate) const fn deadline(&self) -> Deadline {
        self.deadline
    }

    /// Number that the next frame would have that was never sent.
    pub(crate) const fn newest(&self) -> u8 {
        self.newest
    }

    const fn is_outstanding(&self) -> bool {
        self.oldest != self.newest
    }

    #[expect(clippy::inline_always, reason = "smaller than its calls")]
    #[inline(always)]
    fn has_credit(&self, fragment: Fragment) -> bool {
        let on_their_way = self.next.wrapping_sub(self.oldest);
        usize::from(self.in_flight) + fragment.cost() <= usize::from(self.credit)
            && on_their_way < WINDOW
    }

    /// True if a fragment waits for credit.
    fn is_blocked(&self) -> bool {
        let next = self.queue.next(self.max_fragment.into());
        next.is_some_and(|fragment| !self.has_credit(fragment))
    }

    /// The fragment that may be sent now.
    pub(crate) fn ready(&self) -> Option<Fragment> {
        let fragment = self.queue.next(self.max_fragment.into())?;
        (self.recovery != Recovery::Polling && self.has_credit(fragment)).then_some(fragment)
    }

    /// Counts a fragment as sent; returns its sequence number, and true if it was sent before.
    pub(crate) fn on_sent(&mut self, fragment: Fragment) -> (u8, bool) {
        let sequence = self.next;
        self.advance(fragment);
        let again = sequence != self.newest;
        if !again {
            self.newest = self.next;
        }
        let skips = self.recovery == Recovery::Skipping && self.next != self.newest;
        self.recovery = Recovery::None;
        if skips && let Some(fragment) = self.queue.next(self.max_fragment.into()) {
            self.advance(fragment);
        }
        (sequence, again)
    }

    fn advance(&mut self, fragment: Fragment) {
        self.queue.on_sent(fragment);
        self.in_flight += fragment.cost() as u16;
        self.next = self.next.wrapping_add(1);
    }

    /// Handles acknowledgment and credit, which every frame of the channel carries. Returns the sequence numbers that
    /// are acknowledged for the first time, as the first and their number; `None` if they cannot be.
    pub(crate) fn on_acknowledgment(&mut self, acknowledged: u8, credit: u8) -> Option<(u8, u8)> {
        let first = self.oldest;
        let count = acknowledged.wrapping_sub(first);
        if count > self.newest.wrapping_sub(first) {
            return None;
        }
        for _ in 0..count {
            let had_been_rewound = self.oldest == self.next;
            let fragment = self.queue.on_acknowledged(self.max_fragment.into());
            self.oldest = self.oldest.wrapping_add(1);
            if had_been_rewound {
                self.next = self.oldest;
                self.queue.rewind();
            } else {
                self.in_flight = self.in_flight.saturating_sub(fragment.cost() as u16);
            }
        }
        let more = u16::from(credit) << self.shift;
        if self.recovery == Recovery::Skipping && count > 0 || !self.is_outstanding() {
            self.recovery = Recovery::None;
        }
        if count > 0 || more > self.credit {
            self.backoff = 0;
            self.deadline = Deadline::NONE;
        }
        self.credit = more;
        Some((first, count))
    }

    /// The peer has received everything that it will without a retransmission; with `keeps_next`, also the frame behind
    /// the next one, if that is on its way.
    pub(crate) fn on_reject(&mut self, now: Instant, timeout_us: u32, keeps_next: bool) {
        self.recovery = Recovery::None;
        if self.is_reliable {
            if keeps_next && self.is_outstanding() {
                self.recovery = Recovery::Skipping;
            }
            self.next = self.oldest;
            self.in_flight = 0;
            self.queue.rewind();
        }
        self.deadline = Deadline::NONE;
        self.arm(now, timeout_us);
    }

    /// The last octet of a frame was sent: the answer to the oldest one is expected from now on.
    pub(crate) fn on_frame_end(&mut self, sequence: u8) {
        if sequence == self.oldest {
            self.stop();
        }
    }

    /// Stops the timer.
    pub(crate) fn stop(&mut self) {
        self.deadline = Deadline::NONE;
    }

    /// Starts the timer if something is to be waited for and it does not run.
    pub(crate) fn arm(&mut self, now: Instant, timeout_us: u32) {
        if !self.deadline.is_set() && (self.is_outstanding() || self.is_blocked()) {
            let longest = MAX_TIMEOUT_US.max(timeout_us);
            self.deadline = Deadline::at(now.after_us(longest.min(timeout_us << self.backoff)));
        }
    }

    /// Asks the peer if its answer is overdue; returns true if it does. `sending` is the number of the frame that is
    /// being sent, if it is one of the channel. The answer to the oldest frame cannot be overdue before that is sent,
    /// unless it waits for credit, which may be lost.
    pub(crate) fn on_time(&mut self, now: Instant, timeout_us: u32, sending: Option<u8>) -> bool {
        if !self.deadline.is_due(now) {
            return false;
        }
        self.deadline = Deadline::NONE;
        let will_be_sent = self.recovery == Recovery::Skipping && !self.is_blocked();
        if self.is_outstanding() && (will_be_sent || sending == Some(self.oldest)) {
            self.arm(now, timeout_us);
            return false;
        }
        if !self.is_outstanding() && !self.is_blocked() {
            return false;
        }
        self.poll_due = true;
        if self.is_outstanding() {
            self.recovery = Recovery::Polling;
        }
        self.backoff = (self.backoff + 1).min(MAX_BACKOFF);
        self.arm(now, timeout_us);
        true
    }

    /// Lets the running timer expire at `now`; returns true if one runs.
    #[cfg(test)]
    pub(crate) fn expire(&mut self, now: Instant) -> bool {
        if self.deadline.is_set() {
            self.deadline = Deadline::at(now);
        }
        self.deadline.is_set()
    }

    /// Forgets how often the peer did not answer, which only changes the time-out.
    #[cfg(test)]
    pub(crate) fn forget_backoff(&mut self) {
        self.backoff = 0;
    }

    /// Drops a message that the peer cannot take, if it is the next one and nothing else is on its way.
    pub(crate) fn drop_unfit(&mut self) -> bool {
        let is_unfit = !self.is_outstanding()
            && self.queue.next(usize::MAX).is_some_and(|f| f.is_first)
            && self.queue.next_len() > usize::from(self.max_message);
        if is_unfit {
            self.queue.drop_oldest();
        }
        is_unfit
    }
}
