//! Checksum unit, as a C-to-hardware compiler makes one: it reads memory word by word and adds up 16-bit words in one's
//! complement (RFC 1071). Master port 0 reads. A read waits for the one before it.
//!
//! Registers of its own design: `address` (0) and `length` in bytes (4); a write to `control` (8) starts; `status` (c) is
//! 1 while it works; `result` (10) is the sum, not inverted, its first octet the lower one.

use super::{Device, Transfer};
use crate::time::{Instant, Span, TICKS_PER_SECOND};

const ADDRESS: u32 = 0x00;
const LENGTH: u32 = 0x04;
const CONTROL: u32 = 0x08;
const STATUS: u32 = 0x0c;
const RESULT: u32 = 0x10;

/// The unit.
#[derive(Clone, Debug)]
pub struct Checksum {
    /// Cycles from the arrival of a word to the next request.
    word_cycles: u64,
    period: u64,
    address: u32,
    length: u32,
    /// Octets that were read.
    octets: Vec<u8>,
    /// The earliest next request.
    free: Instant,
    runs: bool,
    result: u16,
}

impl Checksum {
    /// An idle unit, which takes `word_cycles` between the arrival of a word and the next request.
    pub fn new(word_cycles: u32) -> Self {
        Self {
            word_cycles: word_cycles.into(),
            period: 1,
            address: 0,
            length: 0,
            octets: Vec::new(),
            free: Instant::ZERO,
            runs: false,
            result: 0,
        }
    }

    fn left(&self) -> u32 {
        self.length - self.octets.len() as u32
    }

    /// True when the last word has been added.
    fn is_done(&self, now: Instant) -> bool {
        self.left() == 0 && self.free <= now
    }
}

/// The one's complement sum of 16-bit words, the first octet of each the lower one.
fn sum(octets: &[u8]) -> u16 {
    let word = |pair: &[u8]| u32::from(pair[0]) | u32::from(pair.get(1).copied().unwrap_or(0)) << 8;
    let mut sum: u32 = octets.chunks(2).map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

impl Device for Checksum {
    fn read(&mut self, offset: u32, now: Instant) -> Option<u32> {
        self.advance(now);
        Some(match offset {
            ADDRESS => self.address,
            LENGTH => self.length,
            STATUS => self.runs.into(),
            RESULT => self.result.into(),
            _ => return None,
        })
    }

    fn write(&mut self, offset: u32, value: u32, now: Instant) -> bool {
        self.advance(now);
        match offset {
            // Another value would end the work in the middle.
            ADDRESS | LENGTH | CONTROL if self.runs => {}
            ADDRESS => self.address = value,
            LENGTH => self.length = value & 0xffff,
            CONTROL => {
                self.octets.clear();
                self.free = now;
                self.runs = true;
            }
            STATUS | RESULT => {}
            _ => return false,
        }
        true
    }

    fn set_clocks(&mut self, hertz: &[u64], _: Instant) {
        let hertz = hertz.first().copied().unwrap_or(0).max(1);
        self.period = (TICKS_PER_SECOND + hertz / 2) / hertz;
    }

    fn next_event(&self) -> Instant {
        if self.runs && self.left() == 0 {
            self.free
        } else {
            Instant::NEVER
        }
    }

    fn advance(&mut self, now: Instant) {
        if self.runs && self.is_done(now) {
            self.runs = false;
            self.result = sum(&self.octets);
        }
    }

    fn transfer(&self, _: usize) -> Option<Transfer> {
        if !self.runs || self.left() == 0 {
            return None;
        }
        let address = self.address.wrapping_add(self.octets.len() as u32);
        let bytes = (4 - address % 4).min(self.left());
        Some(Transfer::read(address, bytes, self.free))
    }

    fn transferred(&mut self, port: usize, data: &[u8], done: Instant) {
        let Some(Transfer { bytes, .. }) = self.transfer(port) else {
            return;
        };
        let end = self.octets.len() + bytes as usize;
        self.octets.extend(data);
        // Nothing is there: it reads zeros.
        self.octets.resize(end, 0);
        self.free = done + Span::from_ticks(self.word_cycles * self.period);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result over `octets` at `address`, and the end of the work, if each read takes 10 ns.
    fn work(address: u32, octets: &[u8]) -> (u32, Instant) {
        let mut unit = Checksum::new(2);
        unit.set_clocks(&[100_000_000], Instant::ZERO);
        unit.write(ADDRESS, address, Instant::ZERO);
        unit.write(LENGTH, octets.len() as u32, Instant::ZERO);
        unit.write(CONTROL, 1, Instant::ZERO);
        while let Some(transfer) = unit.transfer(0) {
            let from = (transfer.addr - address) as usize;
            let data = &octets[from..from + transfer.bytes as usize];
            unit.transferred(0, data, transfer.from + Span::from_ns(10));
        }
        let end = unit.next_event();
        assert_eq!(unit.read(STATUS, Instant::ZERO), Some(1));
        assert_eq!(unit.read(STATUS, end), Some(0));
        (unit.read(RESULT, end).unwrap(), end)
    }

    #[test]
    fn the_sum_is_that_of_the_internet_checksum() {
        let octets: Vec<u8> = (0..1478_u32).map(|it| (it * 7 % 256) as u8).collect();
        for len in [1, 2, 20, 1477, 1478] {
            let expected = !linerate_ether::checksum::checksum(&octets[..len]);
            let (sum, _) = work(0x1002, &octets[..len]);
            assert_eq!(sum as u16, expected.swap_bytes(), "{len} octets");
        }
    }

    #[test]
    fn each_word_takes_its_read_and_the_cycles_of_the_unit() {
        let (_, end) = work(0x1000, &[1; 12]);
        assert_eq!(end, Instant::from_ns(3 * (10 + 20)));
    }
}
