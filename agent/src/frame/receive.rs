//! Receiver of generated or reflected test frames.

use core::time::Duration;

use super::addresses;
use super::header::{FrameKind, TestHeader};
use super::{Mac, is_station};
use crate::Instant;
use crate::count::Sink;

/// A received frame of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrived {
    /// Its number.
    pub number: u64,
    /// Time since it was sent, if it was sent from here.
    pub round_trip: Option<Duration>,
}

/// Counts the frames of one stream.
#[derive(Debug, Clone)]
pub struct Receiver {
    own: Mac,
    stream: u8,
    /// Intact frames received.
    pub sink: Sink,
    /// Frames with modified content: the FCS missed it, or was not checked.
    pub altered: u64,
    /// Frames of the stream for another station.
    pub for_others: u64,
}

impl Receiver {
    /// Creates a receiver without frames.
    #[must_use]
    pub const fn new(own: Mac, stream: u8) -> Self {
        Self {
            own,
            stream,
            sink: Sink::new(0),
            altered: 0,
            for_others: 0,
        }
    }

    /// Handles any received frame; `None` if it does not count.
    pub fn received(&mut self, frame: &[u8], now: Instant) -> Option<Arrived> {
        let head = self.parse_ours(frame)?;
        if !head.is_intact(frame) {
            self.altered += 1;
            return None;
        }
        Some(self.count(&head, frame.len(), now))
    }

    /// As [`received`](Self::received), but without checking the payload: for frames with a good FCS when
    /// there is no time to check.
    pub fn received_unchecked(&mut self, frame: &[u8], now: Instant) -> Option<Arrived> {
        let head = self.parse_ours(frame)?;
        Some(self.count(&head, frame.len(), now))
    }

    fn parse_ours(&mut self, frame: &[u8]) -> Option<TestHeader> {
        let head = TestHeader::parse(frame).filter(|head| head.stream == self.stream)?;
        let (to, _, _) = addresses(frame)?;
        if to != self.own && is_station(to) {
            self.for_others += 1;
            return None;
        }
        Some(head)
    }

    fn count(&mut self, head: &TestHeader, octets: usize, now: Instant) -> Arrived {
        self.sink.arrived(head.number, head.sent_ns, octets, now);
        let sent = Instant::from_ns(head.sent_ns);
        Arrived {
            number: head.number,
            round_trip: (head.kind == FrameKind::Reflected).then(|| now.since(sent)),
        }
    }
}
