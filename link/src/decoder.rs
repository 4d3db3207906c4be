//! Decodes frames octet by octet; no octet is kept but those of the header and five that may be the check.

use crate::crc;
use crate::wire::{ABORT, CHECK, DELIMITER, HEADER, Header};

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
    /// The last four octets, the last one in the lowest bits, and the one before them.
    delayed: u32,
    fifth: u8,
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
            fifth: 0,
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
        let body = self.fifth;
        self.fifth = (self.delayed >> 24) as u8;
        self.delayed = self.delayed << 8 | u32::from(octet);
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
        let check = check_of(self.fifth, self.delayed);
        if usize::from(self.held) < CHECK || !self.has_header() || self.block > 0 {
            return End::Damaged;
        }
        match check {
            Some(check) => End::Whole {
                payload_len: usize::from(self.count) - HEADER,
                difference: check ^ !self.crc,
            },
            None => End::Damaged,
        }
    }
}

/// The number that five octets of a check carry; `None` if they are no check.
fn check_of(first: u8, rest: u32) -> Option<u32> {
    // Bit 7 of each is set, and the last one has four bits.
    if first < 0x80 || rest & 0x8080_80F0 != 0x8080_8080 {
        return None;
    }
    let [second, third, fourth, fifth] = rest.to_be_bytes();
    let group = |octet: u8, bit: u32| u32::from(octet & 0x7F) << bit;
    Some(
        group(first, 0)
            | group(second, 7)
            | group(third, 14)
            | group(fourth, 21)
            | group(fifth, 28),
    )
}
