//! The network device.

use super::chip::{
    AFTER_FIFO, AFTER_STATUS, AFTER_WRITE, Chip, InitError, IrqPin, MAX_POLLS, OFFSET, RX_DATA, csr,
};
use super::link::table_of;
use super::transmit::{Transmitter, words_of};
use crate::accounts::{self, Offered};
use crate::device::{
    Capabilities, Checksums, Device, FrameTooLong, InterruptDriven, LinkState, Managed, Medium,
    TxToken,
};
use crate::ledger::Ledger;
use crate::mdio::Phy;
use crate::mmio::Registers;
use crate::pio::{self, Received};
use crate::queue::Buffer;
use linerate_ether::fcs;
use linerate_ether::frame::{HEADER_LEN, MAX_LEN, MAX_TAGGED_LEN, MacAddress};
use linerate_ether::ledger::Counter;

/// Longest frame to send, without FCS.
pub(super) const LONGEST: usize = MAX_LEN - fcs::LEN;

/// Words of the longest frame with its FCS and a tag.
const WORDS: usize = words_of(MAX_TAGGED_LEN);
/// A frame of fewer words must be read instead of skipped (section 3.13.1.1).
const MIN_WORDS_TO_SKIP: usize = 4;

/// Buffers for the last received frame and the next frame to send.
pub type FrameBuffers = pio::FrameBuffers<WORDS>;

/// A chip of the LAN9118 family.
pub struct Lan9118<R> {
    chip: Chip<R>,
    pin: IrqPin,
    phy: Phy,
    frames: &'static mut FrameBuffers,
    /// Entries known to be in the receive status FIFO.
    waiting: u32,
    transmitter: Transmitter,
    ledger: &'static Ledger,
    address: MacAddress,
    groups: u64,
    link: LinkState,
    is_halted: bool,
}

impl<R: Registers> Lan9118<R> {
    /// Starts the chip and its auto-negotiation. `address` is used if no EEPROM provides one.
    ///
    /// # Errors
    /// [`InitError`]: the chip is missing, of another type, or does not work.
    pub fn start(
        registers: R,
        pin: IrqPin,
        frames: &'static mut FrameBuffers,
        address: MacAddress,
        ledger: &'static Ledger,
    ) -> Result<Self, InitError> {
        let chip = Chip(registers);
        let (address, phy) = set_up(&chip, pin, address, 0)?;
        let mut it = Self {
            chip,
            pin,
            phy,
            frames,
            waiting: 0,
            transmitter: Transmitter::new(),
            ledger,
            address,
            groups: 0,
            link: LinkState::Down,
            is_halted: false,
        };
        it.follow_link();
        Ok(it)
    }

    /// Stops sending and receiving, each at the end of a frame; waiting frames are lost and counted. Returns
    /// the registers, with which the chip can be started again.
    pub fn stop(mut self) -> R {
        self.halt();
        self.chip.0
    }

    /// Accepts frames to these groups (and to those with the same hash) instead of the previous
    /// ones.
    pub fn accept_groups(&mut self, groups: &[MacAddress]) {
        self.groups = table_of(groups);
        self.chip.accept_groups(self.groups);
    }

    fn follow_link(&mut self) {
        let before = core::mem::replace(&mut self.link, self.chip.follow_link(self.phy));
        self.ledger.count_link(before, self.link);
    }

    /// Returns `true` if a frame waits. Reads the chip only if none is known.
    #[inline]
    fn poll_frame(&mut self) -> bool {
        if self.waiting == 0 {
            self.chip.settle(AFTER_FIFO);
            let inside = self.chip.read(csr::RX_FIFO_INF);
            self.waiting = csr::RX_FIFO_INF::RXSUSED.get(inside);
        }
        self.waiting > 0
    }

    /// Copies the next valid frame and returns its length in octets, without FCS.
    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.poll_frame() {
            self.waiting -= 1;
            let status = self.chip.read(csr::RX_STATUS_FIFO);
            let octets = csr::RX_STATUS_FIFO::LENGTH.get(status) as usize;
            let fault = fault(status, octets);
            accounts::received(self.ledger, fault);
            if fault.is_some() {
                self.skip(words_of(octets));
                continue;
            }
            let words = &mut self.frames.rx.words_mut()[..words_of(octets)];
            pio::read_words(&self.chip.0, csr::RX_DATA_FIFO, words);
            return Some(octets - fcs::LEN);
        }
        None
    }

    /// Skips the data of a frame (section 3.13.1.1).
    fn skip(&self, words: usize) {
        if words < MIN_WORDS_TO_SKIP {
            for _ in 0..words {
                self.chip.read(csr::RX_DATA_FIFO);
            }
            return;
        }
        let skip = csr::RX_DP_CTRL::RX_FFWD;
        self.chip.write(csr::RX_DP_CTRL, skip.mask());
        self.chip.settle(AFTER_WRITE);
        self.chip.wait_for(csr::RX_DP_CTRL, skip, false);
    }
}

/// Performs the complete initialization up to auto-negotiation. Returns the address and the PHY.
fn set_up<R: Registers>(
    chip: &Chip<R>,
    pin: IrqPin,
    address: MacAddress,
    groups: u64,
) -> Result<(MacAddress, Phy), InitError> {
    chip.start(pin)?;
    let address = chip.loaded_address().unwrap_or_else(|| {
        chip.set_address(address);
        address
    });
    chip.accept_groups(groups);
    Ok((address, chip.start_phy()?))
}

/// Counter for the error of a received frame, if any (section 3.13.3).
#[inline]
fn fault(status: u32, octets: usize) -> Option<Counter> {
    use csr::RX_STATUS_FIFO as it;
    if it::ES.is_set(status) {
        let set = |bits: linerate_regs::Bits| bits.is_set(status);
        return Some(if set(it::RUNT) || set(it::COLLISION) {
            Counter::RxFragments
        } else if set(it::TOO_LONG) || set(it::WATCHDOG) {
            Counter::RxOversize
        } else if set(it::CRC_ERROR) && set(it::DRIBBLE) {
            Counter::RxAlignmentErrors
        } else {
            Counter::RxBadFcs
        });
    }
    // The chip reports frames that are too long without a tag.
    if octets > MAX_TAGGED_LEN {
        Some(Counter::RxOversize)
    } else {
        (octets < HEADER_LEN + fcs::LEN).then_some(Counter::RxRunts)
    }
}

impl<R: Registers> Device for Lan9118<R> {
    type RxToken<'a>
        = Received<'a>
    where
        Self: 'a;
    type TxToken<'a>
        = TxSlot<'a, R>
    where
        Self: 'a;

    #[inline]
    fn receive(&mut self) -> Option<(Self::RxToken<'_>, Self::TxToken<'_>)> {
        // A frame stays in the FIFO until it can be answered.
        if !self.poll_frame() || !self.transmitter.poll_space(&self.chip, self.ledger) {
            return None;
        }
        let octets = self.next()?;
        let frame = &mut self.frames.rx.bytes_mut()[OFFSET..][..octets];
        let received = Received::new(frame, self.ledger);
        let slot = TxSlot {
            chip: &self.chip,
            frame: &mut self.frames.tx,
            transmitter: &mut self.transmitter,
            ledger: self.ledger,
        };
        Some((received, slot))
    }

    #[inline]
    fn transmit(&mut self) -> Option<Self::TxToken<'_>> {
        let is_open = !self.is_halted && self.transmitter.poll_space(&self.chip, self.ledger);
        is_open.then_some(TxSlot {
            chip: &self.chip,
            frame: &mut self.frames.tx,
            transmitter: &mut self.transmitter,
            ledger: self.ledger,
        })
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            medium: Medium::Ethernet,
            mtu: LONGEST - HEADER_LEN,
            max_burst_frames: Some(RX_DATA as usize / (4 * WORDS)),
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

impl<R: Registers> InterruptDriven for Lan9118<R> {
    fn unmask(&mut self) -> bool {
        self.transmitter.poll(&self.chip, self.ledger);
        // Frames that arrive from here on set it again (section 5.3.3).
        self.chip.write(csr::INT_STS, csr::INT_STS::RSFL.mask());
        let wanted = csr::INT_STS::RSFL.mask() | csr::INT_STS::PHY_INT.mask();
        self.chip.write(csr::INT_EN, wanted);
        !self.poll_frame()
    }

    fn mask(&mut self) {
        self.chip.write(csr::INT_EN, 0);
        self.chip.settle(AFTER_STATUS);
        let status = self.chip.read(csr::INT_STS);
        if csr::INT_STS::RXDF_INT.is_set(status) {
            self.chip.write(csr::INT_STS, csr::INT_STS::RXDF_INT.mask());
            // Frames dropped for lack of room; reading clears it (section 5.3.19).
            let lost = self.chip.read(csr::RX_DROP);
            self.ledger.add(Counter::RxFifoOverruns, lost);
        }
        if csr::INT_STS::PHY_INT.is_set(status) {
            self.follow_link();
        }
    }
}

impl<R: Registers> Managed for Lan9118<R> {
    type Error = InitError;

    fn halt(&mut self) {
        self.chip.stop_receiving();
        while let Some(octets) = self.next() {
            let frame = &self.frames.rx.bytes()[OFFSET..][..octets];
            drop(Offered::new(frame, self.ledger));
        }
        (0..MAX_POLLS).any(|_| {
            self.transmitter.poll(&self.chip, self.ledger);
            self.transmitter.unsent() == 0
        });
        self.ledger
            .add(Counter::TxLinkDown, self.transmitter.unsent());
        self.chip.stop();
        self.is_halted = true;
    }

    fn resume(&mut self) -> Result<(), InitError> {
        if !self.is_halted {
            return Ok(());
        }
        let (_, phy) = set_up(&self.chip, self.pin, self.address, self.groups)?;
        (self.phy, self.waiting, self.transmitter) = (phy, 0, Transmitter::new());
        self.is_halted = false;
        self.follow_link();
        Ok(())
    }
}

/// Room in the transmit FIFO for one frame.
pub struct TxSlot<'a, R> {
    chip: &'a Chip<R>,
    frame: &'a mut Buffer<WORDS>,
    transmitter: &'a mut Transmitter,
    ledger: &'static Ledger,
}

impl<R: Registers> TxToken for TxSlot<'_, R> {
    #[inline]
    fn consume<T>(self, len: usize, f: impl FnOnce(&mut [u8]) -> T) -> Result<T, FrameTooLong> {
        if len > LONGEST {
            self.ledger.count(Counter::TxOversize);
            return Err(FrameTooLong { len, max: LONGEST });
        }
        let result = f(&mut self.frame.bytes_mut()[OFFSET..][..len]);
        let words = &self.frame.words_mut()[..words_of(len)];
        self.transmitter.send(self.chip, words, len);
        Ok(result)
    }
}
