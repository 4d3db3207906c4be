//! A body during reception: its length and its CRC-32.
//!
//! At line rate the main thread has little time left, and a CRC-32 would take most of it. The body's CRC-32
//! is therefore combined from those of its segments, which follow from the frames' FCS
//! ([`linerate_nic::digest`]); the bytes that the program reads are compared with the segments by their
//! checksum. If a segment is not available as received, or its checksum differs, the CRC-32 is computed from
//! the bytes: a wrong body never gets a right CRC through the method of calculation.

use linerate_ether::{
    checksum::Sum,
    fcs::{CrcMethod as _, SLICING_8},
};
use linerate_nic::digest::{Digester, Segment};

use crate::{config, net::Frame};

/// Segments received and not yet read: as many as a window has, plus a few.
const SEGMENTS: usize = 64;

/// A body, and its segments.
pub(super) struct Body {
    port: u16,
    digester: Digester,
    /// The latest segments, a ring.
    segments: [Option<Segment>; SEGMENTS],
    next_segment: usize,
    /// Sequence number of the next byte to read.
    sequence: Option<u32>,
    len: u64,
    crc: u32,
}

impl Body {
    /// Creates an empty body that will arrive at the local `port`.
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

    /// Records a received frame if it contains part of the body.
    pub fn on_frame(&mut self, frame: &mut Frame) {
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

    /// Skips bytes before the body.
    pub fn skip(&mut self, bytes: usize) {
        self.sequence = self
            .sequence
            .map(|sequence| sequence.wrapping_add(bytes as u32));
    }

    /// Processes the body's next bytes as the program reads them.
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

    /// Number of `bytes` to process at once, and their CRC-32 if a segment provides it.
    fn part(&mut self, bytes: &[u8]) -> (usize, Option<u32>) {
        let Some(sequence) = self.sequence else {
            return (bytes.len(), None);
        };
        // The oldest first: it is the next one, if all arrived in order.
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

/// One's complement sum of `bytes`, mostly by words.
fn sum(bytes: &[u8]) -> u16 {
    // SAFETY: every four bytes are a word.
    let (head, words, tail) = unsafe { bytes.align_to::<u32>() };
    Sum::new().add(head).add_words(words).add(tail).fold()
}
