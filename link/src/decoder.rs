//! Decodes frames octet by octet; no octet is kept but those of the header and five that may be the check.

use crate::crc;
use crate::wire::{ABORT, CHECK, DELIMITER, HEADER, Header, check_octets};

/// What one octet of the wire completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decoded {
    Nothing,
    /// The fourth octet of the header.
    Header,
    /// Octet of the payload with its index.
    Payload(usize, u8),
    /// The delimiter.
    End(End),
}

/// A frame's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Delimiter behind delimiter.
    Empty,
    /// Octets that are no frame.
    Damaged,
    /// Given up by its sender.
    Aborted,
    /// The whole of a frame, if its check exclusive-or the key is zero.
    Whole { payload_len: usize, difference: u32 },
}

/// State between two delimiters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Decoder {
    /// The last octets, up to five, in the order of the wire, the last in the lowest bits.
    delayed: u64,
    /// Number of delayed octets.
    held: u8,
    /// Octets left of the block.
    block: u8,
    /// A zero precedes the next block.
    has_zero: bool,
    /// Octets of header and payload.
    count: u16,
    header: [u8; HEADER],
    crc: u32,
}

impl Decoder {
    pub(crate) const fn new() -> Self {
        Self {
            delayed: 0,
            held: 0,
            block: 0,
            has_zero: false,
            count: 0,
            header: [0; HEADER],
            crc: crc::INITIAL,
        }
    }

    /// Header of the current frame, or of the last one until the next begins.
    pub(crate) const fn header(&self) -> Header {
        Header(self.header)
    }

    /// True if the current or last frame had a whole header.
    pub(crate) const fn has_header(&self) -> bool {
        self.count as usize >= HEADER
    }

    /// Takes an octet of the wire. The caller calls [`restart`](Self::restart) when it has used the end of a frame.
    pub(crate) fn push(&mut self, octet: u8) -> Decoded {
        if octet == DELIMITER {
            return Decoded::End(self.end());
        }
        let body = (self.delayed >> (8 * (CHECK - 1))) as u8;
        self.delayed = (self.delayed << 8 | u64::from(octet)) & ((1 << (8 * CHECK)) - 1);
        if usize::from(self.held) < CHECK {
            self.held += 1;
            return Decoded::Nothing;
        }
        self.body(body)
    }

    /// Prepares for the next frame.
    pub(crate) fn restart(&mut self) {
        *self = Self::new();
    }

    fn body(&mut self, octet: u8) -> Decoded {
        self.crc = crc::update(self.crc, octet);
        if self.block > 0 {
            self.block -= 1;
            return self.decoded(octet);
        }
        // A code: the distance to the next one.
        let had_zero = self.has_zero;
        self.block = octet - 1;
        self.has_zero = octet != u8::MAX;
        if had_zero {
            return self.decoded(0);
        }
        Decoded::Nothing
    }

    fn decoded(&mut self, octet: u8) -> Decoded {
        let at = usize::from(self.count);
        self.count = self.count.saturating_add(1);
        let Some(field) = self.header.get_mut(at) else {
            return Decoded::Payload(at - HEADER, octet);
        };
        *field = octet;
        if at + 1 == HEADER {
            return Decoded::Header;
        }
        Decoded::Nothing
    }

    fn end(&self) -> End {
        if self.held == 0 {
            return End::Empty;
        }
        if self.delayed as u8 == ABORT {
            return End::Aborted;
        }
        // The check as a number: the differences of its octets from those of the register, seven bits each. A
        // wrong top bit is a difference too.
        let difference = self.delayed ^ check_octets(!self.crc);
        let key = key_of(difference);
        if usize::from(self.held) < CHECK || !self.has_header() || self.block > 0 {
            return End::Damaged;
        }
        match key {
            Some(difference) => End::Whole {
                payload_len: usize::from(self.count) - HEADER,
                difference,
            },
            None => End::Damaged,
        }
    }
}

/// The number whose seven-bit groups these five octets are; `None` if they are no such groups.
fn key_of(octets: u64) -> Option<u32> {
    if octets & 0x80_8080_80F0 != 0 {
        return None;
    }
    let groups = octets.to_be_bytes();
    let mut key = 0;
    for octet in groups.iter().rev().take(CHECK) {
        key = key << 7 | u32::from(*octet);
    }
    Some(key)
}
