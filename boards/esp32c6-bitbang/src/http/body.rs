//! A body as it is received: how long it is, and its CRC-32.
//!
//! At line rate the main thread has what the wire leaves it, and most of that would go into a
//! CRC-32. So the body's is put together from those of the segments that brought it, which follow
//! from the frames' FCS ([`linerate_nic::digest`]); the bytes that the program reads are held against
//! the segments by their sum. Where a segment is not to be had as it was received, or its sum is
//! another, the bytes count: a wrong body never gets a right CRC by the way it was calculated.

use linerate_ether::{
    checksum::Sum,
    fcs::{CrcMethod as _, SLICING_8},
};
use linerate_nic::digest::{Digester, Segment};

use crate::{config, net::Frame};

/// Segments that have been received and not read: as many as a window has, and a few more.
const SEGMENTS: usize = 64;

/// A body, and the segments that bring it.
pub(super) struct Body {
    port: u16,
    digester: Digester,
    /// The latest segments, a ring.
    segments: [Option<Segment>; SEGMENTS],
    next_segment: usize,
    /// The sequence number of what is read next.
    sequence: Option<u32>,
    len: u64,
    crc: u32,
}

impl Body {
    /// Nothing so far of what will come to our `port`.
    pub fn new(port: u16) -> Self {
        Self {
            port,
            digester: Digester::new(),
            segments: [None; SEGMENTS],
            next_segment: 0,
            sequence: None,
            len: 0,
            crc: 0,
        }
    }

    /// Octets read.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// The CRC-32 of what was read.
    pub fn crc(&self) -> u32 {
        self.crc
    }

    /// Takes note of a received frame, if it brings something.
    pub fn heard(&mut self, frame: &mut Frame) {
        let Some(fcs) = frame.fcs() else { return };
        let Some(segment) = self.digester.segment(frame.bytes_mut(), fcs) else {
            return;
        };
        if segment.destination == self.port && segment.source == config::HTTP_PORT {
            self.sequence.get_or_insert(segment.sequence);
            self.segments[self.next_segment] = Some(segment);
            self.next_segment = (self.next_segment + 1) % SEGMENTS;
        }
    }

    /// Passes over so many bytes before the body.
    pub fn skip(&mut self, bytes: usize) {
        self.sequence = self
            .sequence
            .map(|sequence| sequence.wrapping_add(bytes as u32));
    }

    /// Takes the body's next bytes as the program reads them.
    pub fn read(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (part, crc) = self.part(bytes);
            let (part, rest) = bytes.split_at(part);
            self.crc = crc.unwrap_or_else(|| !SLICING_8.update(!self.crc, part));
            self.len += part.len() as u64;
            self.skip(part.len());
            bytes = rest;
        }
    }

    /// How many of `bytes` to take at once, and the CRC-32 with them if a segment tells.
    fn part(&mut self, bytes: &[u8]) -> (usize, Option<u32>) {
        let Some(sequence) = self.sequence else {
            return (bytes.len(), None);
        };
        // The oldest first: it is the next one, if all came in order.
        let ring = (0..SEGMENTS).map(|age| (self.next_segment + age) % SEGMENTS);
        let mut until = bytes.len();
        let mut found = None;
        for at in ring {
            let Some(segment) = self.segments[at] else {
                continue;
            };
            let ahead = segment.sequence.wrapping_sub(sequence);
            if ahead == 0 {
                found = Some(segment);
                self.segments[at] = None;
                break;
            }
            if ahead as i32 <= 0 {
                self.segments[at] = None;
            } else {
                until = until.min(ahead as usize);
            }
        }
        let Some(segment) = found else {
            return (until, None);
        };
        let len = usize::from(segment.len);
        let Some(part) = bytes.get(..len) else {
            return (bytes.len(), None);
        };
        // In one's complement 0x0000 and 0xFFFF are the same.
        if sum(part) % 0xFFFF != segment.sum % 0xFFFF {
            return (len, None);
        }
        (len, Some(self.digester.combine(self.crc, &segment)))
    }
}

/// The one's complement sum of `bytes`, most of it by words.
fn sum(bytes: &[u8]) -> u16 {
    // SAFETY: every four bytes are a word.
    let (head, words, tail) = unsafe { bytes.align_to::<u32>() };
    Sum::new().add(head).add_words(words).add(tail).fold()
}
