//! SPI as a stream of octets: this host is the master, and clocks out its octets and the device's at the same time.
//!
//! Zeros in between are delimiters of the link layer, which ignores them: they fill transfers in which an end has nothing
//! to send. Not tried on hardware: the tests use a loop of wire in place of the bus.

use super::port::Port;
use spidev::{SpiModeFlags, Spidev, SpidevOptions, SpidevTransfer};
use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// Octets of a transfer: what the kernel's driver takes at once by default is 4096.
const TRANSFER: usize = 256;
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

    /// Exchanges octets, zeros behind the end of `octets`.
    fn exchange(&mut self, octets: &[u8]) -> io::Result<()> {
        let mut out = [0; TRANSFER];
        let mut into = [0; TRANSFER];
        for (to, from) in out.iter_mut().zip(octets) {
            *to = *from;
        }
        self.bus.transfer(&out, &mut into)?;
        self.was_busy = !octets.is_empty() || into.iter().any(|octet| *octet != 0);
        if self.was_busy {
            self.arrived.extend(into);
        }
        Ok(())
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
        let count = octets.len().min(TRANSFER);
        self.exchange(octets.get(..count).unwrap_or_default())?;
        Ok(count)
    }
}
