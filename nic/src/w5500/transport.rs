//! SPI transactions of the W5500.

#[cfg(feature = "embedded-hal")]
use embedded_hal::spi::{Operation, SpiDevice};

/// Octets of a buffer: the longest frame, and the length of the next one.
pub const FRAME_BUFFER: usize = 1518 + 2;

/// A block of the chip's address space: that of socket 0, and the common registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Block {
    /// Common registers.
    Common = 0,
    /// Registers of socket 0.
    Socket = 1,
    /// Its transmit buffer.
    Transmit = 2,
    /// Its receive buffer.
    Receive = 3,
}

/// An address in a block. In a buffer its upper bits are ignored, and a transaction goes on at the start behind the
/// end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address(pub Block, pub u16);

impl Address {
    /// The control octet of a transaction of variable length that reads, or `writes`.
    pub const fn control(self, writes: bool) -> u8 {
        (self.0 as u8) << 3 | (writes as u8) << 2
    }

    /// Address and control: what a transaction begins with.
    pub const fn header(self, writes: bool) -> [u8; 3] {
        let [high, low] = self.1.to_be_bytes();
        [high, low, self.control(writes)]
    }
}

/// Memory of a frame.
pub trait Buffer {
    /// At least [`FRAME_BUFFER`] octets.
    fn octets(&mut self) -> &mut [u8];
}

impl Buffer for &'static mut [u8; FRAME_BUFFER] {
    fn octets(&mut self) -> &mut [u8] {
        &mut self[..]
    }
}

/// Performs transactions: chip select low, [`Address::header`], data, chip select high.
///
/// A transport that can do so transfers frames while the processor does something else. Between `start_read` and
/// `finish_read`, and between `start_write` and `finish_write`, no other function is called.
pub trait Transport {
    /// Reason of a failed transaction.
    type Error: core::fmt::Debug;
    /// Memory to which frames are read.
    type RxBuffer: Buffer;
    /// Memory from which frames are written.
    type TxBuffer: Buffer;

    /// Reads registers.
    ///
    /// # Errors
    /// The transaction failed.
    fn read(&mut self, at: Address, to: &mut [u8]) -> Result<(), Self::Error>;

    /// Writes registers.
    ///
    /// # Errors
    /// The transaction failed.
    fn write(&mut self, at: Address, from: &[u8]) -> Result<(), Self::Error>;

    /// Starts to read `len` octets to the start of `to`.
    fn start_read(&mut self, at: Address, len: usize, to: Self::RxBuffer);

    /// Waits for the end of the started read; `None` if none is started.
    ///
    /// # Errors
    /// The transaction failed.
    fn finish_read(&mut self) -> Option<(Self::RxBuffer, Result<(), Self::Error>)>;

    /// Starts to write `len` octets from the start of `from`.
    fn start_write(&mut self, at: Address, len: usize, from: Self::TxBuffer);

    /// Waits for the end of the started write; `None` if none is started.
    ///
    /// # Errors
    /// The transaction failed.
    fn finish_write(&mut self) -> Option<(Self::TxBuffer, Result<(), Self::Error>)>;
}

/// Transactions over embedded-hal: each is over when its function returns.
#[cfg(feature = "embedded-hal")]
pub struct SpiTransport<S: SpiDevice> {
    spi: S,
    read: Option<(&'static mut [u8; FRAME_BUFFER], Result<(), S::Error>)>,
    written: Option<(&'static mut [u8; FRAME_BUFFER], Result<(), S::Error>)>,
}

#[cfg(feature = "embedded-hal")]
impl<S: SpiDevice> SpiTransport<S> {
    /// Transactions with the device `spi`.
    pub const fn new(spi: S) -> Self {
        Self {
            spi,
            read: None,
            written: None,
        }
    }
}

#[cfg(feature = "embedded-hal")]
impl<S: SpiDevice> Transport for SpiTransport<S> {
    type Error = S::Error;
    type RxBuffer = &'static mut [u8; FRAME_BUFFER];
    type TxBuffer = &'static mut [u8; FRAME_BUFFER];

    fn read(&mut self, at: Address, to: &mut [u8]) -> Result<(), S::Error> {
        let header = at.header(false);
        let mut operations = [Operation::Write(&header), Operation::Read(to)];
        self.spi.transaction(&mut operations)
    }

    fn write(&mut self, at: Address, from: &[u8]) -> Result<(), S::Error> {
        let header = at.header(true);
        let mut operations = [Operation::Write(&header), Operation::Write(from)];
        self.spi.transaction(&mut operations)
    }

    fn start_read(&mut self, at: Address, len: usize, to: Self::RxBuffer) {
        let result = self.read(at, &mut to[..len]);
        self.read = Some((to, result));
    }

    fn finish_read(&mut self) -> Option<(Self::RxBuffer, Result<(), S::Error>)> {
        self.read.take()
    }

    fn start_write(&mut self, at: Address, len: usize, from: Self::TxBuffer) {
        let result = self.write(at, &from[..len]);
        self.written = Some((from, result));
    }

    fn finish_write(&mut self) -> Option<(Self::TxBuffer, Result<(), S::Error>)> {
        self.written.take()
    }
}
