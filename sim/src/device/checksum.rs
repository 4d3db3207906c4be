//! Checksum unit: adds up memory as the Internet checksum does (RFC 1071), as a bus master. Registers of its own design:
//!
//! | offset | register | |
//! |---|---|---|
//! | 00 | `control` | bit 0 starts; bit 1 enables the interrupt |
//! | 04 | `status` | bit 0: busy; bit 1: done, cleared by writing 1 |
//! | 08 | `address` | of the first octet |
//! | 0c | `length` | in octets |
//! | 10 | `sum` | 16 bits, little-endian and not complemented; what is written before the start is added |
//!
//! Master port 0 reads, one burst after the other. Output 0 interrupts. The halfword `!sum`, stored as it is, is the
//! checksum.

use super::{Device, Transfer};
use crate::time::Instant;

const CONTROL: u32 = 0x00;
const STATUS: u32 = 0x04;
const ADDRESS: u32 = 0x08;
const LENGTH: u32 = 0x0c;
const SUM: u32 = 0x10;

/// `control`.
const START: u32 = 1 << 0;
const INTERRUPT: u32 = 1 << 1;
/// `status`.
const BUSY: u32 = 1 << 0;
const DONE: u32 = 1 << 1;

/// The unit.
#[derive(Clone, Debug)]
pub struct Checksum {
    /// Bytes of a burst, a power of two.
    burst: u32,
    control: u32,
    address: u32,
    length: u32,
    sum: u64,
    /// Octets read.
    read: u32,
    /// It works, and issues its next request from then on.
    next: Option<Instant>,
    /// The last octets arrive then.
    done_at: Option<Instant>,
    done: bool,
}

impl Checksum {
    /// An idle unit; `burst` is its longest burst in bytes, a power of two.
    pub fn new(burst: u32) -> Self {
        Self {
            burst,
            control: 0,
            address: 0,
            length: 0,
            sum: 0,
            read: 0,
            next: None,
            done_at: None,
            done: false,
        }
    }

    fn start(&mut self, now: Instant) {
        self.read = 0;
        self.done = false;
        if self.length == 0 {
            self.done = true;
        } else {
            self.next = Some(now);
        }
    }

    /// Adds octets that follow those read so far.
    fn add(&mut self, octets: &[u8]) {
        for (index, octet) in (self.read..).zip(octets) {
            self.sum += u64::from(*octet) << (8 * (index & 1));
        }
    }

    /// The sum in 16 bits.
    fn folded(&self) -> u32 {
        let mut sum = self.sum;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u32
    }
}

impl Device for Checksum {
    fn read(&mut self, offset: u32, now: Instant) -> Option<u32> {
        self.advance(now);
        let busy = self.next.is_some() || self.done_at.is_some();
        Some(match offset {
            CONTROL => self.control,
            STATUS => (if busy { BUSY } else { 0 }) | (if self.done { DONE } else { 0 }),
            ADDRESS => self.address,
            LENGTH => self.length,
            SUM => self.folded(),
            _ => return None,
        })
    }

    fn write(&mut self, offset: u32, value: u32, now: Instant) -> bool {
        self.advance(now);
        let busy = self.next.is_some() || self.done_at.is_some();
        match offset {
            CONTROL => {
                self.control = value & INTERRUPT;
                if value & START != 0 && !busy {
                    self.start(now);
                }
            }
            STATUS => self.done &= value & DONE == 0,
            // They are in use.
            ADDRESS | LENGTH | SUM if busy => {}
            ADDRESS => self.address = value,
            LENGTH => self.length = value,
            SUM => self.sum = u64::from(value & 0xffff),
            _ => return false,
        }
        true
    }

    fn transfer(&self, _: usize) -> Option<Transfer> {
        let from = self.next?;
        let address = self.address.wrapping_add(self.read);
        let to_border = self.burst - address % self.burst;
        let bytes = to_border.min(self.length - self.read);
        Some(Transfer::read(address, bytes, from))
    }

    fn transferred(&mut self, port: usize, data: &[u8], done: Instant) {
        let Some(Transfer { bytes, .. }) = self.transfer(port) else {
            return;
        };
        self.add(data);
        self.read += bytes;
        if self.read == self.length {
            (self.next, self.done_at) = (None, Some(done));
        } else {
            self.next = Some(done);
        }
    }

    fn next_event(&self) -> Instant {
        self.done_at.unwrap_or(Instant::NEVER)
    }

    fn advance(&mut self, now: Instant) {
        if self.done_at.is_some_and(|at| at <= now) {
            self.done_at = None;
            self.done = true;
        }
    }

    fn interrupts(&self) -> u32 {
        u32::from(self.done && self.control & INTERRUPT != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use linerate_ether::checksum::checksum;

    /// Lets it run over `memory`; returns the number of requests.
    fn run(unit: &mut Checksum, memory: &[u8]) -> usize {
        let mut requests = 0;
        while let Some(it) = unit.transfer(0) {
            assert!(it.bytes > 0 && it.addr % unit.burst + it.bytes <= unit.burst);
            let range = it.addr as usize..it.addr as usize + it.bytes as usize;
            let data = memory.get(range).unwrap_or(&[]);
            unit.transferred(0, data, it.from + crate::time::Span::from_ns(10));
            requests += 1;
        }
        unit.advance(Instant::NEVER);
        requests
    }

    #[test]
    fn the_sum_is_that_of_the_internet_checksum_at_any_place_and_length() {
        let mut random = Random::new(1071);
        let memory: Vec<u8> = (0..4096).map(|_| random.below(256) as u8).collect();
        for _ in 0..300 {
            let (from, len) = (random.below(1000) as u32, 1 + random.below(1600) as u32);
            let mut unit = Checksum::new(32);
            for (offset, value) in [(ADDRESS, from), (LENGTH, len), (CONTROL, START | INTERRUPT)] {
                assert!(unit.write(offset, value, Instant::ZERO));
            }
            assert_eq!(unit.read(STATUS, Instant::ZERO), Some(BUSY));
            let requests = run(&mut unit, &memory);
            assert_eq!(requests as u32, (from % 32 + len).div_ceil(32));
            let sum = unit.read(SUM, Instant::NEVER).unwrap();
            let stored = (!sum as u16).to_le_bytes();
            let expected = checksum(&memory[from as usize..][..len as usize]);
            assert_eq!(u16::from_be_bytes(stored), expected);
            assert_eq!(
                (unit.interrupts(), unit.read(STATUS, Instant::NEVER)),
                (1, Some(DONE))
            );
            unit.write(STATUS, DONE, Instant::NEVER);
            assert_eq!(unit.interrupts(), 0);
        }
    }

    #[test]
    fn a_pseudo_header_is_added_before() {
        let memory = [0x45, 0, 0, 0x54, 0xff, 0xff];
        let mut unit = Checksum::new(4);
        for (offset, value) in [(SUM, 0xfffe), (LENGTH, 6), (CONTROL, START)] {
            unit.write(offset, value, Instant::ZERO);
        }
        // Its registers are in use.
        unit.write(LENGTH, 100, Instant::ZERO);
        assert_eq!(run(&mut unit, &memory), 2);
        // 0xfffe + 0x0045 + 0x5400 + 0xffff, with carries around.
        assert_eq!(unit.read(SUM, Instant::NEVER), Some(0x5444));
        assert_eq!(unit.interrupts(), 0);
    }
}
