//! Frames in the receive FIFO.

use std::borrow::Cow;

use crate::device::port::LineFrame;
use crate::time::Instant;

/// Flags of a frame, in the first word of its last receive descriptor ("Enhanced buffer descriptors").
pub(super) const BAD_FCS: u32 = 1 << 18;
const OVERRUN: u32 = 1 << 17;
const TRUNCATED: u32 = 1 << 16;

/// State of a frame's end in the FIFO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The frame is still arriving.
    Open,
    /// An overrun cut it off, and there was no room yet to record its end.
    Pending,
    /// It is recorded.
    Recorded,
}

/// A frame in the FIFO, or on its way into it.
#[derive(Debug)]
pub(super) struct Stored {
    /// Octets of earlier frames whose end was lost: the FIFO has them as the beginning of this one.
    before: Vec<u8>,
    pub frame: LineFrame,
    /// Octets that are stored in the end, with those before.
    pub len: usize,
    /// Octets that left the FIFO.
    pub taken: usize,
    /// Flags for its last descriptor.
    pub flags: u32,
    end: End,
}

impl Stored {
    /// A frame that begins to arrive, of which `longest` octets are kept at most.
    pub fn new(frame: LineFrame, flags: u32, longest: usize) -> Self {
        let mut this = Self {
            before: Vec::new(),
            frame,
            len: 0,
            taken: 0,
            flags,
            end: End::Open,
        };
        this.truncate(longest);
        this
    }

    /// Keeps `longest` octets at most, and those that are in the FIFO already.
    fn truncate(&mut self, longest: usize) {
        let all = self.line_octets();
        self.len = all.min(longest.max(self.before.len()));
        if all > self.len {
            self.flags |= TRUNCATED;
        }
    }

    /// Octets of the frame on the line, with those before.
    pub fn line_octets(&self) -> usize {
        self.before.len() + self.frame.octets.len()
    }

    /// `next` begins to arrive before the end of this one is recorded: from here on they are one frame.
    pub fn join(&mut self, next: LineFrame, longest: usize) {
        let mut before = Vec::with_capacity(self.len);
        self.copy(0, self.len, &mut before);
        self.before = before;
        self.frame = next;
        self.end = End::Open;
        self.truncate(longest);
    }

    /// True if nothing more of it can arrive.
    pub fn is_closed(&self) -> bool {
        self.end != End::Open
    }

    /// True if an overrun cut it off and its end is not recorded.
    pub fn is_pending(&self) -> bool {
        self.end == End::Pending
    }

    /// True if its end was lost at least once.
    pub fn is_joined(&self) -> bool {
        !self.before.is_empty()
    }

    /// It has arrived: its end is recorded.
    pub fn close(&mut self) {
        self.end = End::Recorded;
    }

    /// An overrun: of it and what is before, `stored` octets are in the FIFO. False if that is nothing.
    pub fn cut_off(&mut self, stored: usize) -> bool {
        self.len = stored.max(self.before.len());
        // The published board counted a frame error with each overrun: a further flag, of which the FCS is the likely one.
        self.flags |= OVERRUN | BAD_FCS;
        self.end = End::Pending;
        self.len > 0
    }

    /// Octets of it in the FIFO or written by `now`.
    pub fn arrived(&self, now: Instant) -> usize {
        if self.is_closed() {
            self.len
        } else {
            (self.before.len() + self.frame.arrived(now)).min(self.len)
        }
    }

    /// When this many octets of it are through on the line.
    pub fn arrival(&self, octets: usize) -> Instant {
        self.frame.arrival(octets.saturating_sub(self.before.len()))
    }

    /// When the DMA path can have this many octets of it, or all that will be there.
    pub fn available(&self, octets: usize) -> Instant {
        match self.end {
            // More may follow: its last octets leave the FIFO together with its end.
            End::Pending if octets >= self.len => Instant::NEVER,
            End::Recorded | End::Pending => Instant::ZERO,
            End::Open if octets >= self.len => self.frame.end,
            End::Open if octets <= self.before.len() => Instant::ZERO,
            End::Open => self.arrival(octets),
        }
    }

    /// Appends the octets `from..to` to `out`.
    pub fn copy(&self, from: usize, to: usize, out: &mut Vec<u8>) {
        let split = self.before.len();
        if from < split {
            out.extend(&self.before[from..to.min(split)]);
        }
        if to > split {
            out.extend(&self.frame.octets[from.max(split) - split..to - split]);
        }
    }

    /// What the accelerators see.
    pub fn seen(&self) -> Cow<'_, [u8]> {
        if self.before.is_empty() {
            return Cow::Borrowed(&self.frame.octets);
        }
        let mut all = Vec::with_capacity(self.len);
        self.copy(0, self.len, &mut all);
        Cow::Owned(all)
    }
}
