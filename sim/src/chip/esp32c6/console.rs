//! The chip's consoles: printed bytes with their times.

use crate::time::Instant;

/// A console.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Port {
    /// UART 0: the ROM's console.
    Uart0,
    /// UART 1.
    Uart1,
    /// The USB serial/JTAG port.
    UsbSerial,
}

/// A byte that the program printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConsoleByte {
    /// When the program wrote it, not when it was transmitted on the line.
    pub at: Instant,
    /// Console.
    pub port: Port,
    /// The byte.
    pub byte: u8,
}

/// Printed bytes that are not fetched yet, and a hash of everything printed.
#[derive(Debug)]
pub(super) struct Console {
    bytes: Vec<ConsoleByte>,
    hash: u64,
}

impl Default for Console {
    fn default() -> Self {
        Self {
            bytes: Vec::new(),
            hash: super::digest::SEED,
        }
    }
}

impl Console {
    pub fn push(&mut self, port: Port, bytes: &[u8], at: Instant) {
        for &byte in bytes {
            self.bytes.push(ConsoleByte { at, port, byte });
            let word = at.ticks() ^ u64::from(byte) << 56 ^ (port as u64) << 48;
            self.hash = super::digest::add(self.hash, word);
        }
    }

    pub fn drain(&mut self) -> Vec<ConsoleByte> {
        std::mem::take(&mut self.bytes)
    }

    pub fn hash(&self) -> u64 {
        self.hash
    }
}
