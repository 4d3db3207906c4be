//! DMA controller that copies memory (Altera, Embedded Peripherals IP User Guide, "DMA Controller
//! Core"), in words. Master port 0 reads, port 1 writes. Output 0 interrupts.

use std::collections::VecDeque;

use super::{Device, Transfer};
use crate::time::Instant;

const STATUS: u32 = 0x00;
const READ_ADDRESS: u32 = 0x04;
const WRITE_ADDRESS: u32 = 0x08;
const LENGTH: u32 = 0x0c;
const CONTROL: u32 = 0x18;

/// `status`.
const DONE: u32 = 1 << 0;
const BUSY: u32 = 1 << 1;
const LEN: u32 = 1 << 4;
/// `control`.
const WORD: u32 = 1 << 2;
const GO: u32 = 1 << 3;
const I_EN: u32 = 1 << 4;
const LEEN: u32 = 1 << 7;

/// Words between its two ports.
const FIFO: usize = 8;
const READ_PORT: usize = 0;

/// The controller.
#[derive(Clone, Debug, Default)]
pub struct Dma {
    read_address: u32,
    write_address: u32,
    /// Bytes to read, and to write.
    to_read: u32,
    to_write: u32,
    control: u32,
    /// Words that were read, each with the time of its arrival.
    fifo: VecDeque<([u8; 4], Instant)>,
    /// The earliest next request of each port.
    free: [Instant; 2],
    /// When the last word is written.
    done_at: Option<Instant>,
    done: bool,
}

impl Dma {
    fn runs(&self) -> bool {
        self.control & (GO | WORD | LEEN) == GO | WORD | LEEN
    }
}

impl Device for Dma {
    fn read(&mut self, offset: u32, now: Instant) -> Option<u32> {
        self.advance(now);
        Some(match offset {
            STATUS => {
                let busy = self.runs() && self.to_write > 0 || self.done_at.is_some();
                let done = if self.done { DONE | LEN } else { 0 };
                done | if busy { BUSY } else { 0 }
            }
            READ_ADDRESS => self.read_address,
            WRITE_ADDRESS => self.write_address,
            LENGTH => self.to_write,
            CONTROL => self.control,
            _ => return None,
        })
    }

    fn write(&mut self, offset: u32, value: u32, now: Instant) -> bool {
        self.advance(now);
        match offset {
            STATUS => self.done = false,
            READ_ADDRESS => self.read_address = value & !3,
            WRITE_ADDRESS => self.write_address = value & !3,
            LENGTH => {
                (self.to_read, self.to_write) = (value & !3, value & !3);
                // What an unfinished transfer has read belongs to none.
                self.fifo.clear();
            }
            CONTROL => {
                if value & GO != 0 && self.control & GO == 0 {
                    self.free = [now; 2];
                }
                self.control = value;
            }
            _ => return false,
        }
        true
    }

    fn transfer(&self, port: usize) -> Option<Transfer> {
        if !self.runs() {
            return None;
        }
        if port == READ_PORT {
            let wanted = self.to_read > 0 && self.fifo.len() < FIFO;
            return wanted.then(|| Transfer::read(self.read_address, 4, self.free[port]));
        }
        let (word, arrival) = self.fifo.front()?;
        let from = self.free[port].max(*arrival);
        Some(Transfer::write(self.write_address, word.to_vec(), from))
    }

    fn transferred(&mut self, port: usize, data: &[u8], done: Instant) {
        self.free[port] = done;
        if port == READ_PORT {
            self.read_address = self.read_address.wrapping_add(4);
            self.to_read -= 4;
            self.fifo
                .push_back((data.try_into().unwrap_or_default(), done));
        } else {
            self.fifo.pop_front();
            self.write_address = self.write_address.wrapping_add(4);
            self.to_write -= 4;
            if self.to_write == 0 {
                self.done_at = Some(done);
            }
        }
    }

    fn next_event(&self) -> Instant {
        self.done_at.unwrap_or(Instant::NEVER)
    }

    fn advance(&mut self, now: Instant) {
        if self.done_at.is_some_and(|at| at <= now) {
            self.done_at = None;
            self.done = true;
            self.control &= !GO;
        }
    }

    fn interrupts(&self) -> u32 {
        u32::from(self.done && self.control & I_EN != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_length_ends_an_unfinished_transfer() {
        let mut dma = started(8);
        let read = dma.transfer(READ_PORT).expect("it reads first");
        dma.transferred(READ_PORT, &[1; 4], read.from);
        dma.write(LENGTH, 0, Instant::ZERO);
        assert_eq!(dma.transfer(READ_PORT), None);
        assert_eq!(dma.transfer(1), None);
    }

    fn started(bytes: u32) -> Dma {
        let mut dma = Dma::default();
        let now = Instant::from_ns(10);
        for (offset, value) in [
            (READ_ADDRESS, 0x1000),
            (WRITE_ADDRESS, 0x2000),
            (LENGTH, bytes),
            (CONTROL, WORD | GO | I_EN | LEEN),
        ] {
            assert!(dma.write(offset, value, now));
        }
        dma
    }

    #[test]
    fn each_word_is_read_then_written_and_the_last_one_interrupts() {
        let mut dma = started(8);
        let at = Instant::from_ns;
        assert_eq!(dma.transfer(0), Some(Transfer::read(0x1000, 4, at(10))));
        assert_eq!(dma.transfer(1), None);
        dma.transferred(0, &[1, 2, 3, 4], at(30));
        assert_eq!(dma.transfer(0), Some(Transfer::read(0x1004, 4, at(30))));
        let word = Transfer::write(0x2000, vec![1, 2, 3, 4], at(30));
        assert_eq!(dma.transfer(1), Some(word));
        dma.transferred(0, &[5, 6, 7, 8], at(40));
        assert_eq!(dma.transfer(0), None);
        dma.transferred(1, &[], at(50));
        let word = Transfer::write(0x2004, vec![5, 6, 7, 8], at(50));
        assert_eq!(dma.transfer(1), Some(word));
        dma.transferred(1, &[], at(70));
        assert_eq!(dma.next_event(), at(70));
        assert_eq!(dma.read(STATUS, at(69)), Some(BUSY));
        assert_eq!(dma.read(STATUS, at(70)), Some(DONE | LEN));
        assert_eq!(dma.interrupts(), 1);
        dma.write(STATUS, 0, at(80));
        assert_eq!(dma.interrupts(), 0);
    }

    #[test]
    fn reads_wait_for_room_between_the_ports() {
        let mut dma = started(64);
        for _ in 0..FIFO {
            dma.transferred(0, &[0; 4], Instant::from_ns(20));
        }
        assert_eq!(dma.transfer(0), None);
        dma.transferred(1, &[], Instant::from_ns(30));
        assert!(dma.transfer(0).is_some());
    }
}
