//! JTAG UART: a console over a debug cable (Altera, Embedded Peripherals IP User Guide, "JTAG UART
//! Core").
//!
//! The far end takes each byte at once, so the write FIFO is always empty. Output 0 interrupts.

use std::collections::VecDeque;

use super::Device;
use crate::time::Instant;

const DATA: u32 = 0;
const CONTROL: u32 = 4;

/// `data`: the byte is valid; number of bytes left.
const RVALID: u32 = 1 << 15;
const RAVAIL: u32 = 16;
/// `control`: interrupt enables, pending interrupts, activity.
const RE: u32 = 1 << 0;
const WE: u32 = 1 << 1;
const RI: u32 = 1 << 8;
const WI: u32 = 1 << 9;
const AC: u32 = 1 << 10;
/// Entries of the write FIFO, all of them free.
const WSPACE: u32 = 64 << 16;

/// The console.
#[derive(Clone, Debug, Default)]
pub struct JtagUart {
    sent: Vec<u8>,
    received: VecDeque<u8>,
    enabled: u32,
    active: bool,
}

impl JtagUart {
    fn pending(&self) -> u32 {
        let read = self.enabled & RE != 0 && !self.received.is_empty();
        let write = self.enabled & WE != 0;
        (if read { RI } else { 0 }) | (if write { WI } else { 0 })
    }
}

impl Device for JtagUart {
    fn read(&mut self, offset: u32, _: Instant) -> Option<u32> {
        match offset {
            DATA => {
                let left = self.received.len().saturating_sub(1).min(0xffff) as u32;
                let byte = self.received.pop_front();
                Some(byte.map_or(0, |byte| left << RAVAIL | RVALID | u32::from(byte)))
            }
            CONTROL => {
                let active = if self.active { AC } else { 0 };
                Some(WSPACE | active | self.pending() | self.enabled)
            }
            _ => None,
        }
    }

    fn write(&mut self, offset: u32, value: u32, _: Instant) -> bool {
        match offset {
            DATA => {
                self.sent.push(value as u8);
                self.active = true;
            }
            CONTROL => {
                self.enabled = value & (RE | WE);
                self.active &= value & AC == 0;
            }
            _ => return false,
        }
        true
    }

    fn interrupts(&self) -> u32 {
        u32::from(self.pending() != 0)
    }

    fn reads_have_side_effects(&self) -> bool {
        true
    }

    fn take_sent(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.sent)
    }

    fn receive(&mut self, bytes: &[u8], _: Instant) {
        self.received.extend(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn received_bytes_are_counted_and_interrupt() {
        let mut uart = JtagUart::default();
        uart.receive(b"ab", Instant::ZERO);
        assert_eq!(uart.interrupts(), 0);
        uart.write(CONTROL, RE, Instant::ZERO);
        assert_eq!(uart.interrupts(), 1);
        let first = uart.read(DATA, Instant::ZERO);
        assert_eq!(first, Some(1 << RAVAIL | RVALID | u32::from(b'a')));
        assert_eq!(
            uart.read(DATA, Instant::ZERO),
            Some(RVALID | u32::from(b'b'))
        );
        assert_eq!(uart.read(DATA, Instant::ZERO), Some(0));
        assert_eq!(uart.interrupts(), 0);
    }

    #[test]
    fn written_bytes_reach_the_far_end() {
        let mut uart = JtagUart::default();
        uart.write(DATA, u32::from(b'x'), Instant::ZERO);
        assert_eq!(uart.take_sent(), b"x");
        assert_eq!(uart.read(CONTROL, Instant::ZERO), Some(WSPACE | AC));
    }
}
