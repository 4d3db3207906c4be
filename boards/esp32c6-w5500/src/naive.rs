//! Transactions as libraries for Arduino perform them: every octet is a transfer of its own, and so is every register.

use embedded_hal::digital::OutputPin;
use embedded_hal::spi::SpiBus;
use linerate_nic::w5500::{Address, FRAME_BUFFER, Transport};

/// The transport.
pub struct ByteTransport<S: SpiBus, C> {
    spi: S,
    select: C,
    read: Option<(&'static mut [u8; FRAME_BUFFER], Result<(), S::Error>)>,
    written: Option<(&'static mut [u8; FRAME_BUFFER], Result<(), S::Error>)>,
}

impl<S: SpiBus, C: OutputPin> ByteTransport<S, C> {
    /// Transactions over `spi` with the chip select `select`.
    pub const fn new(spi: S, select: C) -> Self {
        Self {
            spi,
            select,
            read: None,
            written: None,
        }
    }

    fn octet(&mut self, octet: u8) -> Result<u8, S::Error> {
        let mut octets = [octet];
        self.spi.transfer_in_place(&mut octets)?;
        Ok(octets[0])
    }

    fn begin(&mut self, at: Address, writes: bool) -> Result<(), S::Error> {
        let _ = self.select.set_low();
        for octet in at.header(writes) {
            self.octet(octet)?;
        }
        Ok(())
    }

    fn read_all(&mut self, at: Address, to: &mut [u8]) -> Result<(), S::Error> {
        self.begin(at, false)?;
        for place in to {
            *place = self.octet(0)?;
        }
        let _ = self.select.set_high();
        Ok(())
    }

    fn write_all(&mut self, at: Address, from: &[u8]) -> Result<(), S::Error> {
        self.begin(at, true)?;
        for &octet in from {
            self.octet(octet)?;
        }
        let _ = self.select.set_high();
        Ok(())
    }
}

impl<S: SpiBus, C: OutputPin> Transport for ByteTransport<S, C> {
    type Error = S::Error;
    type RxBuffer = &'static mut [u8; FRAME_BUFFER];
    type TxBuffer = &'static mut [u8; FRAME_BUFFER];

    fn read(&mut self, at: Address, to: &mut [u8]) -> Result<(), S::Error> {
        for (at, place) in (at.1..).map(|address| Address(at.0, address)).zip(to) {
            self.read_all(at, core::slice::from_mut(place))?;
        }
        Ok(())
    }

    fn write(&mut self, at: Address, from: &[u8]) -> Result<(), S::Error> {
        for (at, octet) in (at.1..).map(|address| Address(at.0, address)).zip(from) {
            self.write_all(at, core::slice::from_ref(octet))?;
        }
        Ok(())
    }

    fn start_read(&mut self, at: Address, len: usize, to: Self::RxBuffer) {
        let result = self.read_all(at, &mut to[..len]);
        self.read = Some((to, result));
    }

    fn finish_read(&mut self) -> Option<(Self::RxBuffer, Result<(), S::Error>)> {
        self.read.take()
    }

    fn start_write(&mut self, at: Address, len: usize, from: Self::TxBuffer) {
        let result = self.write_all(at, &from[..len]);
        self.written = Some((from, result));
    }

    fn finish_write(&mut self) -> Option<(Self::TxBuffer, Result<(), S::Error>)> {
        self.written.take()
    }
}
