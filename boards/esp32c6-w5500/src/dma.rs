//! Transactions of the W5500 with address and control in the command and address phases of the SPI controller: a frame
//! is one transfer, by DMA between its buffer and SPI, while the processor does something else.

use esp_hal::Blocking;
use esp_hal::dma::{DmaRxBuf, DmaTxBuf};
use esp_hal::gpio::Output;
use esp_hal::peripherals::SPI2;
use esp_hal::spi::Error;

use esp_hal::spi::master::{Address as SpiAddress, Command, DataMode, SpiDma, SpiDmaTransfer};
use linerate_nic::w5500::{Address, Buffer, Transport};

/// Octets of a transaction with registers: address and control, and as many as a driver reads at once.
const REGISTERS: usize = 3 + 8;

/// Memory for DMA to a frame.
pub struct RxBuffer(pub DmaRxBuf);

impl Buffer for RxBuffer {
    fn octets(&mut self) -> &mut [u8] {
        self.0.as_mut_slice()
    }
}

/// Memory for DMA from a frame.
pub struct TxBuffer(pub DmaTxBuf);

impl Buffer for TxBuffer {
    fn octets(&mut self) -> &mut [u8] {
        self.0.as_mut_slice()
    }
}

/// What the SPI does.
enum State {
    Idle(SpiDma<'static, Blocking>),
    Reading(SpiDmaTransfer<'static, Blocking, DmaRxBuf>),
    Writing(SpiDmaTransfer<'static, Blocking, DmaTxBuf>),
    ReadFailed(SpiDma<'static, Blocking>, DmaRxBuf, Error),
    WriteFailed(SpiDma<'static, Blocking>, DmaTxBuf, Error),
}

/// The transport.
pub struct DmaTransport {
    /// Empty only within a function.
    state: Option<State>,
    select: Output<'static>,
}

impl DmaTransport {
    /// Transactions over `spi` with the chip select `select`.
    pub fn new(spi: SpiDma<'static, Blocking>, select: Output<'static>) -> Self {
        Self {
            state: Some(State::Idle(spi)),
            select,
        }
    }

    /// A transaction with registers, of up to [`REGISTERS`] octets, in place.
    fn exchange(&mut self, octets: &mut [u8]) -> Result<(), Error> {
        let Some(State::Idle(spi)) = &mut self.state else {
            return Err(Error::Unsupported);
        };
        // esp-hal 1.2.2 leaves the phases of the last frame enabled.
        SPI2::regs()
            .user()
            .modify(|_, w| w.usr_command().clear_bit().usr_addr().clear_bit());
        self.select.set_low();
        let result = spi.transfer_in_place(octets);
        self.select.set_high();
        result
    }
}

/// Command and address phase of a transaction.
fn phases(at: Address, writes: bool) -> (Command, SpiAddress) {
    let mode = DataMode::SingleTwoDataLines;
    // The controller sends the low octet of a command first.
    let command = Command::_16Bit(at.1.swap_bytes(), mode);
    let control = SpiAddress::_8Bit(u32::from(at.control(writes)), mode);
    (command, control)
}

impl Transport for DmaTransport {
    type Error = Error;
    type RxBuffer = RxBuffer;
    type TxBuffer = TxBuffer;

    fn read(&mut self, at: Address, to: &mut [u8]) -> Result<(), Error> {
        let mut octets = [0; REGISTERS];
        octets[..3].copy_from_slice(&at.header(false));
        let octets = &mut octets[..3 + to.len()];
        self.exchange(octets)?;
        to.copy_from_slice(&octets[3..]);
        Ok(())
    }

    fn write(&mut self, at: Address, from: &[u8]) -> Result<(), Error> {
        let mut octets = [0; REGISTERS];
        octets[..3].copy_from_slice(&at.header(true));
        octets[3..][..from.len()].copy_from_slice(from);
        self.exchange(&mut octets[..3 + from.len()])
    }

    fn start_read(&mut self, at: Address, len: usize, to: RxBuffer) {
        let Some(State::Idle(spi)) = self.state.take() else {
            return;
        };
        let (command, control) = phases(at, false);
        let mode = DataMode::SingleTwoDataLines;
        self.select.set_low();
        self.state = Some(
            match spi.half_duplex_read_buffer(mode, command, control, 0, len, to.0) {
                Ok(transfer) => State::Reading(transfer),
                Err((error, spi, buffer)) => State::ReadFailed(spi, buffer, error),
            },
        );
    }

    fn finish_read(&mut self) -> Option<(RxBuffer, Result<(), Error>)> {
        let (spi, buffer, result) = match self.state.take()? {
            State::Reading(transfer) => {
                let (spi, buffer) = transfer.wait();
                (spi, buffer, Ok(()))
            }
            State::ReadFailed(spi, buffer, error) => (spi, buffer, Err(error)),
            other => {
                self.state = Some(other);
                return None;
            }
        };
        self.select.set_high();
        self.state = Some(State::Idle(spi));
        Some((RxBuffer(buffer), result))
    }

    fn start_write(&mut self, at: Address, len: usize, from: TxBuffer) {
        let Some(State::Idle(spi)) = self.state.take() else {
            return;
        };
        let (command, control) = phases(at, true);
        let mode = DataMode::SingleTwoDataLines;
        self.select.set_low();
        self.state = Some(
            match spi.half_duplex_write_buffer(mode, command, control, 0, len, from.0) {
                Ok(transfer) => State::Writing(transfer),
                Err((error, spi, buffer)) => State::WriteFailed(spi, buffer, error),
            },
        );
    }

    fn finish_write(&mut self) -> Option<(TxBuffer, Result<(), Error>)> {
        let (spi, buffer, result) = match self.state.take()? {
            State::Writing(transfer) => {
                let (spi, buffer) = transfer.wait();
                (spi, buffer, Ok(()))
            }
            State::WriteFailed(spi, buffer, error) => (spi, buffer, Err(error)),
            other => {
                self.state = Some(other);
                return None;
            }
        };
        self.select.set_high();
        self.state = Some(State::Idle(spi));
        Some((TxBuffer(buffer), result))
    }
}
