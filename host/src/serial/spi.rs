//! SPI as a stream of octets: this host is the master, and clocks out its octets and the device's at the same time.
//!
//! The first two octets of a transfer are the number of those behind them that count, in each direction
//! (docs/link-protocol.md, "Over SPI"). Not tried on hardware: the tests use a loop of wire in place of the bus.

use super::port::Port;
use spidev::{SpiModeFlags, Spidev, SpidevOptions, SpidevTransfer};
use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// Octets of a transfer: what the kernel's driver takes at once by default is 4096.
const TRANSFER: usize = 256;
/// Octets in front that have the number of those that count.
const COUNT: usize = 2;
/// Pause between transfers while neither end has anything to send.
const IDLE: Duration = Duration::from_micros(200);

/// A bus that exchanges octets.
pub trait Bus: Send {
    /// Sends `out` and receives as many octets.
    ///
    /// # Errors
    /// The system's.
    fn transfer(&mut self, out: &[u8], into: &mut [u8]) -> io::Result<()>;
}

impl Bus for Spidev {
    fn transfer(&mut self, out: &[u8], into: &mut [u8]) -> io::Result<()> {
        Self::transfer(self, &mut SpidevTransfer::read_write(out, into))
    }
}

/// SPI with this host as the master.
#[derive(Debug)]
pub struct SpiPort<B = Spidev> {
    bus: B,
    arrived: VecDeque<u8>,
    /// The last transfer brought or took something.
    was_busy: bool,
}

impl SpiPort {
    /// Opens a device of the kernel's spidev driver.
    ///
    /// # Errors
    /// The system's.
    pub fn open(path: &Path, hz: u32, mode: u8) -> io::Result<Self> {
        let mut bus = Spidev::open(path)?;
        let options = SpidevOptions::new()
            .bits_per_word(8)
            .max_speed_hz(hz)
            .mode(SpiModeFlags::from_bits_truncate(mode.into()))
            .build();
        bus.configure(&options)?;
        Ok(Self::new(bus))
    }
}

impl<B: Bus> SpiPort<B> {
    /// A port on this bus.
    pub fn new(bus: B) -> Self {
        Self {
            bus,
            arrived: VecDeque::new(),
            was_busy: true,
        }
    }

    /// Exchanges octets; returns the number of those of `octets` that were sent.
    fn exchange(&mut self, octets: &[u8]) -> io::Result<usize> {
        let mut out = [0; TRANSFER];
        let mut into = [0; TRANSFER];
        let sent = octets.len().min(TRANSFER - COUNT);
        out[..COUNT].copy_from_slice(&(sent as u16).to_le_bytes());
        out[COUNT..][..sent].copy_from_slice(&octets[..sent]);
        self.bus.transfer(&out, &mut into)?;
        let [low, high, rest @ ..] = &into;
        let count = usize::from(u16::from_le_bytes([*low, *high]));
        // More than there is room for is no number: the device was not ready.
        let received = rest.get(..count).unwrap_or_default();
        self.arrived.extend(received);
        self.was_busy = sent > 0 || !received.is_empty();
        Ok(sent)
    }
}

impl<B: Bus> Port for SpiPort<B> {
    fn wait(&mut self, wants_write: bool, timeout: Duration) -> io::Result<()> {
        // The device cannot say that it has something: it is asked.
        let begin = Instant::now();
        while !wants_write && self.arrived.is_empty() && begin.elapsed() < timeout {
            if !self.was_busy {
                std::thread::sleep(IDLE);
            }
            self.exchange(&[])?;
        }
        Ok(())
    }

    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = into.len().min(self.arrived.len());
        for (to, from) in into.iter_mut().zip(self.arrived.drain(..count)) {
            *to = from;
        }
        Ok(count)
    }

    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.exchange(octets)
    }
}
