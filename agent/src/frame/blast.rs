//! The generator.

use super::head::{Fill, Head, Kind};
use super::{Mac, OVERHEAD, SHORTEST};
use crate::Instant;
use crate::pace::Pace;

/// What a generator is to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan<'a> {
    /// Where to; a group is received, but never reflected.
    pub to: Mac,
    /// Our own address.
    pub from: Mac,
    /// Tells streams apart.
    pub stream: u8,
    /// Lengths of frames without FCS, one after the other and again from the start; what is shorter than
    /// a frame can be is padded.
    pub sizes: &'a [u16],
    /// What is in them.
    pub fill: Fill,
    /// Whether they are to be reflected.
    pub reflect: bool,
    /// How many.
    pub count: u64,
    /// How fast, with all that is on the wire for a frame: preamble, FCS and gap; 0 = as fast as it goes.
    pub rate_bits_per_s: u64,
}

/// Sends numbered and timed frames at a constant rate.
#[derive(Debug, Clone)]
pub struct Blast<'a> {
    plan: Plan<'a>,
    pace: Pace,
    /// Which of the sizes is next.
    at: usize,
    next: u64,
    octets: u64,
}

impl<'a> Blast<'a> {
    /// A generator that begins at `now`.
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

    /// Writes the next frame to the start of `room`, if one is due: its length. With less room than it
    /// takes it waits.
    pub fn next(&mut self, room: &mut [u8], now: Instant) -> Option<usize> {
        if now < self.due()? {
            return None;
        }
        let size = self.plan.sizes.get(self.at).copied().unwrap_or(0);
        let len = usize::from(size).max(SHORTEST);
        let frame = room.get_mut(..len)?;
        let head = Head {
            kind: if self.plan.reflect {
                Kind::Outward
            } else {
                Kind::OneWay
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

    /// When the next frame is due; `None`: all were sent.
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        (self.next < self.plan.count).then_some(self.pace.due())
    }

    /// Frames and octets of them sent, without FCS.
    #[must_use]
    pub const fn sent(&self) -> (u64, u64) {
        (self.next, self.octets)
    }
}
