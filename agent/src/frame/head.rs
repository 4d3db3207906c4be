//! What a frame says of itself, behind its `EtherType`.

use super::{ETHERTYPE, Mac, addresses};
use crate::octets::{put_u32, u32_at};
use linerate_ether::pattern;

/// "lrf1": other experiments use the same `EtherType`.
const MAGIC: u32 = 0x6c72_6631;
/// Where it begins in the frame, and its fields in it.
const AT: usize = 14;
const KIND: usize = 4;
const FILL: usize = 5;
const OCTET: usize = 6;
const STREAM: usize = 7;
const NUMBER: usize = 8;
const SENT: usize = 16;
/// Octets of it.
const LEN: usize = 24;

/// Octets of the shortest frame that says all of it: shorter than a frame can be on a line.
pub const HEAD_LEN: usize = AT + LEN;

/// What is to become of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It is counted where it arrives.
    OneWay,
    /// It is to be reflected.
    Outward,
    /// It was.
    Reflected,
}

/// What is behind the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// The [pattern](pattern), from another place in each frame.
    Pattern,
    /// The same octet: 0x00, 0xff, or 0x55, which is the preamble's.
    Octet(u8),
}

/// What a frame says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// What is to become of it.
    pub kind: Kind,
    /// What follows.
    pub fill: Fill,
    /// Which stream it is of.
    pub stream: u8,
    /// Counts the stream's frames from 0.
    pub number: u64,
    /// When it was sent, on its sender's clock.
    pub sent_ns: u64,
}

impl Head {
    /// Reads a frame. `None`: it is none of ours.
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
                0 => Kind::OneWay,
                1 => Kind::Outward,
                2 => Kind::Reflected,
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

    /// Writes all of a frame, from its addresses to its last octet. It has [`HEAD_LEN`](super::HEAD_LEN)
    /// octets at least.
    ///
    /// # Panics
    /// When it has fewer.
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

    /// Whether what follows the head in the frame is what its sender wrote.
    #[must_use]
    pub fn is_intact(&self, frame: &[u8]) -> bool {
        let rest = frame.get(AT + LEN..).unwrap_or_default();
        match self.fill {
            Fill::Pattern => pattern::first_difference(self.place(), rest).is_none(),
            Fill::Octet(octet) => rest.iter().all(|it| *it == octet),
        }
    }

    /// Where in the pattern the frame's begins.
    const fn place(&self) -> u64 {
        self.number.wrapping_mul(64)
    }
}

const fn kind(kind: Kind) -> u8 {
    match kind {
        Kind::OneWay => 0,
        Kind::Outward => 1,
        Kind::Reflected => 2,
    }
}

/// Makes of a frame that was sent the next one: only its number and time change, so that it has to be
/// filled with [`Fill::Octet`]. A generator that has its frames ready sends faster than one that fills them.
pub fn renumber(frame: &mut [u8], number: u64, sent_ns: u64) {
    if let Some(head) = frame.get_mut(AT..AT + LEN) {
        head[NUMBER..SENT].copy_from_slice(&number.to_be_bytes());
        head[SENT..].copy_from_slice(&sent_ns.to_be_bytes());
    }
}

/// Changes what a frame says that is to become of it.
pub(super) fn mark(frame: &mut [u8], as_kind: Kind) {
    if let Some(octet) = frame.get_mut(AT + KIND) {
        *octet = kind(as_kind);
    }
}
