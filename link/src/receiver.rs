//! The receiving side of a channel: order, and credit for the peer.

use crate::receive_fifo::ReceiveFifo;
use crate::wire::{LENGTH, credit_shift, max_message};

/// What became of a data frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Accepted,
    /// One or more frames before it are missing; if it is one, the frame is kept.
    Gap,
    /// It was received before.
    Duplicate,
    /// There is no room for it: the peer does not keep the credit.
    Overrun,
}

/// What the peer was asked about the expected frame. One octet: it makes the memory of a channel four octets smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Rejection {
    None,
    /// To send it again.
    Asked,
    /// The same; it came damaged, so the one behind it may be on its way.
    AskedAndNextMayCome,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Receiver<B> {
    pub(crate) fifo: ReceiveFifo<B>,
    /// The peer sends lost frames again.
    is_reliable: bool,
    /// Number of the next frame.
    expected: u8,
    rejection: Rejection,
    /// Largest fragment that may come, octets.
    max_fragment: u16,
    /// Octets that the peer believes are free.
    granted: u16,
    /// Frames lost on an unreliable channel.
    pub(crate) lost: u32,
    /// An acknowledgment is due; in a frame of its own that also asks for a retransmission or answers a poll.
    pub(crate) acknowledgment_due: bool,
    pub(crate) reject_due: bool,
    /// Capacity and credit of the peer's FIFO, from a hello that is not complete: for the sender, but here it takes no
    /// memory.
    pub(crate) announced: [u8; 3],
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Receiver<B> {
    pub(crate) const fn new(memory: B) -> Self {
        Self {
            fifo: ReceiveFifo::new(memory),
            is_reliable: true,
            expected: 0,
            rejection: Rejection::None,
            max_fragment: 0,
            granted: 0,
            lost: 0,
            acknowledgment_due: false,
            reject_due: false,
            announced: [0; 3],
        }
    }

    /// Begins a session; the messages that were received as a whole stay.
    pub(crate) fn restart(&mut self, is_reliable: bool, max_fragment: u16) {
        self.fifo.drop_partial();
        self.is_reliable = is_reliable;
        self.expected = 0;
        self.rejection = Rejection::None;
        self.max_fragment = max_fragment.min(max_message(self.fifo.capacity()) as u16);
        self.acknowledgment_due = false;
        self.reject_due = false;
        // The hello carries it.
        self.grant();
    }

    /// Number of the next frame.
    pub(crate) const fn expected(&self) -> u8 {
        self.expected
    }

    /// True if a frame with this number would be accepted.
    pub(crate) fn takes(&self, sequence: u8) -> bool {
        let ahead = sequence.wrapping_sub(self.expected);
        ahead == 0 || (!self.is_reliable && ahead < 128)
    }

    /// True if a frame with this number would be kept until the one before it comes.
    fn may_keep(&self, sequence: u8) -> bool {
        let is_next = sequence.wrapping_sub(self.expected) == 1;
        is_next && self.is_reliable && !self.fifo.keeps()
    }

    /// True if the payload of a frame with this number is to be stored.
    pub(crate) fn wants(&self, sequence: u8) -> bool {
        self.takes(sequence) || self.may_keep(sequence)
    }

    /// True if the frame behind the rejected one is kept, or will be if it comes.
    pub(crate) const fn keeps_next(&self) -> bool {
        matches!(self.rejection, Rejection::AskedAndNextMayCome) || self.fifo.keeps()
    }

    /// Handles a data frame whose payload is stored behind the FIFO.
    pub(crate) fn on_data(
        &mut self,
        sequence: u8,
        is_first: bool,
        is_last: bool,
        len: usize,
    ) -> Verdict {
        let ahead = sequence.wrapping_sub(self.expected);
        if !self.takes(sequence) {
            if ahead >= 128 {
                self.acknowledgment_due = true;
                return Verdict::Duplicate;
            }
            if self.may_keep(sequence) && self.fifo.has_room(is_first, len) {
                self.fifo.keep(is_first, is_last, len);
            }
            self.reject_due |= self.rejection == Rejection::None;
            self.rejection = Rejection::Asked;
            return Verdict::Gap;
        }
        if !self.fifo.has_room(is_first, len) {
            return Verdict::Overrun;
        }
        self.skip_to(sequence, !is_first);
        self.fifo.commit(is_first, is_last, len);
        let mut cost = if is_first { len + LENGTH } else { len };
        self.expected = sequence.wrapping_add(1);
        if let Some(kept) = self.fifo.commit_kept() {
            cost += kept;
            self.expected = self.expected.wrapping_add(1);
        }
        self.granted = self.granted.saturating_sub(cost as u16);
        self.rejection = Rejection::None;
        self.acknowledgment_due = true;
        Verdict::Accepted
    }

    /// Counts the frames before `sequence` as lost, on an unreliable channel.
    #[expect(clippy::inline_always, reason = "smaller than two calls")]
    #[inline(always)]
    fn skip_to(&mut self, sequence: u8, drops_partial: bool) {
        let ahead = sequence.wrapping_sub(self.expected);
        if ahead > 0 {
            self.lost += u32::from(ahead);
            self.expected = sequence;
            if drops_partial {
                self.fifo.drop_partial();
            }
        }
    }

    /// Handles a poll of a peer whose next new frame has this number.
    pub(crate) fn on_poll(&mut self, newest: u8) {
        // If nothing is missing, a REJECT would make the peer repeat what it may have sent behind the poll.
        self.acknowledgment_due = true;
        if newest == self.expected {
            return;
        }
        if self.is_reliable {
            self.reject_due = true;
            // Nothing is on its way that could be kept.
            self.rejection = Rejection::None;
        } else if newest.wrapping_sub(self.expected) < 128 {
            self.skip_to(newest, true);
        }
    }

    /// The frame that is expected has come damaged, as far as a damaged header can tell.
    pub(crate) fn on_damaged(&mut self, sequence: u8) {
        if self.is_reliable && sequence == self.expected {
            self.reject_due = true;
            self.rejection = Rejection::AskedAndNextMayCome;
        }
    }

    /// Credit for the peer, in the units of the FIFO.
    pub(crate) fn credit(&self) -> u8 {
        (self.fifo.free() >> credit_shift(self.fifo.capacity())) as u8
    }

    /// Grants the peer the [`credit`](Self::credit).
    pub(crate) fn grant(&mut self) -> u8 {
        let units = self.credit();
        self.granted = u16::from(units) << credit_shift(self.fifo.capacity());
        units
    }

    /// Memory became free: the peer gets the new credit if it may wait for that.
    pub(crate) fn on_read(&mut self) {
        let free = self.fifo.free();
        let fragment = usize::from(self.max_fragment) + LENGTH;
        let granted = usize::from(self.granted);
        let was_short = granted < fragment && free >= fragment;
        let is_half = free.saturating_sub(granted) >= self.fifo.capacity() / 2;
        self.acknowledgment_due |= was_short || is_half;
    }
}
