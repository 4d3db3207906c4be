//! The network device.

use super::port::{MEMORY, Port, RECEIVED, SN_CR};
use super::transport::{Address, Block, Buffer, FRAME_BUFFER, Transport};
use crate::accounts;
use crate::device::{Capabilities, Checksums, Device, FrameTooLong, LinkState, Medium, TxToken};
use crate::ledger::Ledger;
use crate::pio::Received;
use linerate_ether::fcs;
use linerate_ether::frame::{HEADER_LEN, MAX_LEN, MacAddress};
use linerate_ether::ledger::Counter;

/// Registers for the start; those of every frame are in `port.rs`.
const MR: Address = Address(Block::Common, 0x00);
const SHAR: Address = Address(Block::Common, 0x09);
const SIMR: Address = Address(Block::Common, 0x18);
const PHYCFGR: Address = Address(Block::Common, 0x2e);
const VERSIONR: Address = Address(Block::Common, 0x39);
const SN_MR: Address = Address(Block::Socket, 0x00);
const SN_SR: Address = Address(Block::Socket, 0x03);
const SN_BUF_SIZES: Address = Address(Block::Socket, 0x1e);
const SN_IMR: Address = Address(Block::Socket, 0x2c);

const MR_RST: u8 = 1 << 7;
const PHY_LINK: u8 = 1 << 0;
const VERSION: u8 = 4;
/// MACRAW with the filter of addresses.
const MACRAW: u8 = 0x84;
const SOCK_MACRAW: u8 = 0x42;
const OPEN: u8 = 0x01;
/// KiB of each direction's memory, all of which socket 0 gets.
const MEMORY_KIB: u8 = (MEMORY >> 10) as u8;
/// Longest frame to send, without FCS.
const LONGEST: usize = MAX_LEN - fcs::LEN;
/// Limit of looks at registers that are expected to change at once.
const MAX_POLLS: usize = 1_000;

/// Reason that the chip does not start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InitError<E> {
    /// A transaction failed.
    Transport(E),
    /// No W5500 answers: the octet read from the version register.
    Version(u8),
    /// Socket 0 does not open: the octet read from its status register.
    Socket(u8),
}

impl<E> From<E> for InitError<E> {
    fn from(error: E) -> Self {
        Self::Transport(error)
    }
}

impl<E: core::fmt::Debug> core::fmt::Display for InitError<E> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Transport(error) => write!(f, "SPI failed: {error:?}"),
            Self::Version(found) => write!(
                f,
                "the version register reads {found:#04x} instead of 0x04: check SPI mode, wiring and reset"
            ),
            Self::Socket(found) => {
                write!(
                    f,
                    "socket 0 does not open in MACRAW mode: status {found:#04x}"
                )
            }
        }
    }
}

impl<E: core::fmt::Debug> core::error::Error for InitError<E> {}

/// Choices of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Start to read the next frame before the stack processes the current one. Without it, SPI is idle while the stack
    /// runs.
    pub reads_ahead: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { reads_ahead: true }
    }
}

/// The device. `is_interrupted` returns true while the interrupt pin is low.
pub struct W5500<T: Transport, P> {
    port: Port<T>,
    is_interrupted: P,
    settings: Settings,
    /// The frame that the stack has, or had.
    current: Option<T::RxBuffer>,
    address: MacAddress,
    link: LinkState,
}

impl<T: Transport, P: FnMut() -> bool> W5500<T, P> {
    /// Resets the chip and opens socket 0 with all of the memory. Each direction needs two buffers.
    ///
    /// # Errors
    /// [`InitError`]: no chip, or not this one.
    pub fn start(
        mut transport: T,
        is_interrupted: P,
        buffers: ([T::RxBuffer; 2], [T::TxBuffer; 2]),
        address: MacAddress,
        settings: Settings,
        ledger: &'static Ledger,
    ) -> Result<Self, InitError<T::Error>> {
        set_up(&mut transport, address)?;
        let mut device = Self {
            port: Port::new(transport, buffers, ledger),
            is_interrupted,
            settings,
            current: None,
            address,
            link: LinkState::Down,
        };
        device.poll_link();
        Ok(device)
    }

    /// Reads the link state of the PHY. No interrupt signals its change: call it regularly.
    pub fn poll_link(&mut self) -> LinkState {
        let mut octet = [0];
        self.port.read(PHYCFGR, &mut octet);
        let is_up = octet[0] & PHY_LINK != 0 && !self.port.failed;
        let now = if is_up {
            LinkState::Up
        } else {
            LinkState::Down
        };
        self.port.ledger.count_link(self.link, now);
        self.link = now;
        now
    }

    /// Makes the next frame [`Self::current`]; returns its length.
    fn next(&mut self) -> Option<usize> {
        if let Some(buffer) = self.current.take() {
            self.port.idle_rx.push(buffer);
        }
        loop {
            if let Some((len, buffer)) = self.port.finish_frame() {
                if self.settings.reads_ahead {
                    self.port.start_frame();
                }
                self.current = Some(buffer);
                return Some(len);
            }
            if !self.port.start_frame() && !((self.is_interrupted)() && self.port.look()) {
                return None;
            }
        }
    }
}

fn set_up<T: Transport>(transport: &mut T, address: MacAddress) -> Result<(), InitError<T::Error>> {
    let mut octet = [0];
    transport.write(MR, &[MR_RST])?;
    for _ in 0..MAX_POLLS {
        transport.read(MR, &mut octet)?;
        if octet[0] & MR_RST == 0 {
            break;
        }
    }
    transport.read(VERSIONR, &mut octet)?;
    if octet[0] != VERSION {
        return Err(InitError::Version(octet[0]));
    }
    transport.write(SHAR, &address.0)?;
    transport.write(SN_BUF_SIZES, &[MEMORY_KIB; 2])?;
    transport.write(SN_IMR, &[RECEIVED])?;
    transport.write(SIMR, &[1])?;
    transport.write(SN_MR, &[MACRAW])?;
    transport.write(SN_CR, &[OPEN])?;
    for _ in 0..MAX_POLLS {
        transport.read(SN_SR, &mut octet)?;
        if octet[0] == SOCK_MACRAW {
            return Ok(());
        }
    }
    Err(InitError::Socket(octet[0]))
}

impl<T: Transport, P: FnMut() -> bool> Device for W5500<T, P> {
    type RxToken<'a>
        = Received<'a>
    where
        Self: 'a;
    type TxToken<'a>
        = TxSlot<'a, T>
    where
        Self: 'a;

    fn receive(&mut self) -> Option<(Self::RxToken<'_>, Self::TxToken<'_>)> {
        self.port.finish_sending();
        // A frame stays in the chip until it can be answered.
        if !self.port.has_room() {
            return None;
        }
        let len = self.next()?;
        let ledger = self.port.ledger;
        accounts::received(ledger, None);
        let frame = &mut self.current.as_mut()?.octets()[..len];
        Some((Received::new(frame, ledger), TxSlot(&mut self.port)))
    }

    fn transmit(&mut self) -> Option<Self::TxToken<'_>> {
        self.port.has_room().then_some(TxSlot(&mut self.port))
    }

    fn has_pending_tx(&self) -> bool {
        self.port.sending.is_some()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            medium: Medium::Ethernet,
            mtu: LONGEST - HEADER_LEN,
            max_burst_frames: Some(usize::from(MEMORY) / FRAME_BUFFER),
            checksums: Checksums::NONE,
        }
    }

    fn link_state(&self) -> LinkState {
        self.link
    }

    fn mac_address(&self) -> MacAddress {
        self.address
    }
}

/// Room for a frame to send.
pub struct TxSlot<'a, T: Transport>(&'a mut Port<T>);

impl<T: Transport> TxToken for TxSlot<'_, T> {
    fn consume<R>(self, len: usize, f: impl FnOnce(&mut [u8]) -> R) -> Result<R, FrameTooLong> {
        let too_long = FrameTooLong { len, max: LONGEST };
        if len > LONGEST {
            self.0.ledger.count(Counter::TxOversize);
            return Err(too_long);
        }
        // `has_room` has made sure that there is one.
        let mut buffer = self.0.idle_tx.pop().ok_or(too_long)?;
        let result = f(&mut buffer.octets()[..len]);
        self.0.send(buffer, len);
        Ok(result)
    }
}
