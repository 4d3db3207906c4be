//! Header of a test frame, behind the `EtherType`.

use super::{ETHERTYPE, Mac, addresses};
use crate::octets::{put_u32, u32_at};
use linerate_ether::pattern;

/// "lrf1": other experiments use the same `EtherType`.
const MAGIC: u32 = 0x6c72_6631;
/// Offset of the header in the frame, and of its fields in the header.
const AT: usize = 14;
const KIND: usize = 4;
const FILL: usize = 5;
const OCTET: usize = 6;
const STREAM: usize = 7;
const NUMBER: usize = 8;
const SENT: usize = 16;
/// Length of the header in octets.
const LEN: usize = 24;

/// Shortest frame with a whole header, in octets: below the minimum frame size.
pub const TEST_HEADER_LEN: usize = AT + LEN;

/// Role of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameKind {
    /// Counted at the receiver.
    OneWay,
    /// To be reflected.
    Outward,
    /// Has been reflected.
    Reflected,
}

/// Payload behind the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// The [pattern](pattern), from another offset in each frame.
    Pattern,
    /// A constant octet: 0x00, 0xff, or 0x55, the preamble's octet.
    Octet(u8),
}

/// Header of a test frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TestHeader {
    /// Role of the frame.
    pub kind: FrameKind,
    /// Payload.
    pub fill: Fill,
    /// Stream number.
    pub stream: u8,
    /// Number of the frame in its stream, from 0.
    pub number: u64,
    /// Send time on the sender's clock.
    pub sent_ns: u64,
}

impl TestHeader {
    /// Parses a frame. `None` if it is not a test frame.
    #[must_use]
    pub fn parse(frame: &[u8]) -> Option<Self> {
        let (_, _, ethertype) = addresses(frame)?;
        let head = frame.get(AT..AT + LEN)?;
        if ethertype != ETHERTYPE || u32_at(head, 0)? != MAGIC {
            return None;
        }
        let wide = |at: usize| Some(u64::from_be_bytes(*head.get(at..)?.first_chunk()?));
        Some(Self {
            kind: match head[KIND] {
                0 => FrameKind::OneWay,
                1 => FrameKind::Outward,
                2 => FrameKind::Reflected,
                _ => return None,
            },
            fill: match head[FILL] {
                0 => Fill::Pattern,
                1 => Fill::Octet(head[OCTET]),
                _ => return None,
            },
            stream: head[STREAM],
            number: wide(NUMBER)?,
            sent_ns: wide(SENT)?,
        })
    }

    /// Writes a whole frame, from its addresses to its last octet. It needs
    /// [`TEST_HEADER_LEN`](super::TEST_HEADER_LEN) octets at least.
    ///
    /// # Panics
    /// If the frame is shorter.
    pub fn emit(&self, to: Mac, from: Mac, frame: &mut [u8]) {
        let (fill, octet) = match self.fill {
            Fill::Pattern => (0, 0),
            Fill::Octet(octet) => (1, octet),
        };
        frame[..6].copy_from_slice(&to);
        frame[6..12].copy_from_slice(&from);
        frame[12..AT].copy_from_slice(&ETHERTYPE.to_be_bytes());
        let (head, rest) = frame[AT..].split_at_mut(LEN);
        put_u32(head, 0, MAGIC);
        head[KIND] = kind(self.kind);
        head[FILL] = fill;
        head[OCTET] = octet;
        head[STREAM] = self.stream;
        head[NUMBER..SENT].copy_from_slice(&self.number.to_be_bytes());
        head[SENT..].copy_from_slice(&self.sent_ns.to_be_bytes());
        match self.fill {
            Fill::Pattern => pattern::fill(self.place(), rest),
            Fill::Octet(octet) => rest.fill(octet),
        }
    }

    /// True if the payload is unmodified.
    #[must_use]
    pub fn is_intact(&self, frame: &[u8]) -> bool {
        let rest = frame.get(AT + LEN..).unwrap_or_default();
        match self.fill {
            Fill::Pattern => pattern::first_difference(self.place(), rest).is_none(),
            Fill::Octet(octet) => rest.iter().all(|it| *it == octet),
        }
    }

    /// Offset in the pattern at which the frame's payload begins.
    const fn place(&self) -> u64 {
        self.number.wrapping_mul(64)
    }
}

const fn kind(kind: FrameKind) -> u8 {
    match kind {
        FrameKind::OneWay => 0,
        FrameKind::Outward => 1,
        FrameKind::Reflected => 2,
    }
}

/// Turns a sent frame into the next one: only its number and timestamp change, so the payload must be
/// [`Fill::Octet`]. A generator that reuses frames is faster than one that fills each.
pub fn renumber(frame: &mut [u8], number: u64, sent_ns: u64) {
    if let Some(head) = frame.get_mut(AT..AT + LEN) {
        head[NUMBER..SENT].copy_from_slice(&number.to_be_bytes());
        head[SENT..].copy_from_slice(&sent_ns.to_be_bytes());
    }
}

/// Changes the frame's kind.
pub(super) fn mark(frame: &mut [u8], as_kind: FrameKind) {
    if let Some(octet) = frame.get_mut(AT + KIND) {
        *octet = kind(as_kind);
    }
}
