//! The generator.

use super::header::{Fill, FrameKind, TestHeader};
use super::{MIN_LEN, Mac, OVERHEAD};
use crate::Instant;
use crate::pace::Pace;

/// Frames to generate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan<'a> {
    /// Destination address; a frame to a group is received but never reflected.
    pub to: Mac,
    /// Source address.
    pub from: Mac,
    /// Stream number.
    pub stream: u8,
    /// Frame lengths without FCS, used cyclically; shorter ones are padded to the minimum frame size.
    pub sizes: &'a [u16],
    /// Payload.
    pub fill: Fill,
    /// True if the frames are to be reflected.
    pub reflect: bool,
    /// Number of frames.
    pub count: u64,
    /// Rate, including preamble, FCS and gap; 0 = as fast as possible.
    pub rate_bits_per_s: u64,
}

/// Sends numbered, timestamped frames at a constant rate.
#[derive(Debug, Clone)]
pub struct Blast<'a> {
    plan: Plan<'a>,
    pace: Pace,
    /// Index of the next size.
    at: usize,
    next: u64,
    octets: u64,
}

impl<'a> Blast<'a> {
    /// Creates a generator that begins at `now`.
    #[must_use]
    pub const fn new(plan: Plan<'a>, now: Instant) -> Self {
        Self {
            plan,
            pace: Pace::new(plan.rate_bits_per_s, now),
            at: 0,
            next: 0,
            octets: 0,
        }
    }

    /// Writes the next frame to the start of `buffer` if one is due, and returns its length. It waits if the
    /// buffer is too small.
    pub fn next(&mut self, buffer: &mut [u8], now: Instant) -> Option<usize> {
        if now < self.due()? {
            return None;
        }
        let size = self.plan.sizes.get(self.at).copied().unwrap_or(0);
        let len = usize::from(size).max(MIN_LEN);
        let frame = buffer.get_mut(..len)?;
        let head = TestHeader {
            kind: if self.plan.reflect {
                FrameKind::Outward
            } else {
                FrameKind::OneWay
            },
            fill: self.plan.fill,
            stream: self.plan.stream,
            number: self.next,
            sent_ns: now.ns(),
        };
        head.emit(self.plan.to, self.plan.from, frame);
        self.pace.sent(len + OVERHEAD);
        self.at = (self.at + 1) % self.plan.sizes.len().max(1);
        self.next += 1;
        self.octets += len as u64;
        Some(len)
    }

    /// Time when the next frame is due; `None` when all were sent.
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        (self.next < self.plan.count).then_some(self.pace.due())
    }

    /// Frames sent, and their octets without FCS.
    #[must_use]
    pub const fn sent(&self) -> (u64, u64) {
        (self.next, self.octets)
    }
}
