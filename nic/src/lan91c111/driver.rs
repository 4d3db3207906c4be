//! The network device.

use super::chip::{Bus, Chip, InitError, MAX_POLLS, bank0, bank2};
use crate::accounts::{self, Collisions, Offered, OutgoingFrame};
use crate::device::{
    Capabilities, Checksums, Device, FrameTooLong, InterruptDriven, LinkState, Managed, Medium,
    TxToken,
};
use crate::ledger::Ledger;
use crate::pio::{self, Received};
use crate::queue::Buffer;
use linerate_ether::fcs;
use linerate_ether::frame::{
    ADDRESSES_LEN, EtherType, HEADER_LEN, MAX_LEN, MAX_TAGGED_LEN, MacAddress,
};
use linerate_ether::ledger::Counter;
use linerate_regs::Bits;

/// Longest frame to receive, with a tag, without FCS.
const LONGEST_TAGGED: usize = MAX_TAGGED_LEN - fcs::LEN;
/// Longest frame to send, without FCS.
const LONGEST: usize = MAX_LEN - fcs::LEN;

/// Pages of the transmitter, and the rest of the four for the receiver.
const TX_PAGES: usize = 2;
const RX_PAGES: usize = 4 - TX_PAGES;

/// In a page the frame is preceded by its status and byte count. It is followed by a padding octet,
/// if its length is even (counts are even), and by a control octet (section 8.1).
const STATE: usize = 2;
const COUNT: usize = 2;
const OVERHEAD: usize = STATE + COUNT + 2;
/// Bit of the control octet: the length is odd.
const ODD: u8 = 1 << 5;
/// Words of the longest frame with everything around it except the status. Copying begins at the
/// count, so an IP header begins at a word boundary.
const WORDS: usize = (LONGEST_TAGGED + OVERHEAD - STATE).div_ceil(4);

/// Status bits of a received frame (section 8.2).
mod state {
    use super::Bits;
    pub const ALIGNMENT: Bits = Bits { low: 15, count: 1 };
    pub const CRC: Bits = Bits { low: 13, count: 1 };
    pub const LONG: Bits = Bits { low: 11, count: 1 };
    pub const SHORT: Bits = Bits { low: 10, count: 1 };
}

/// Buffers for the last received frame and the next frame to send.
pub type FrameBuffers = pio::FrameBuffers<WORDS>;

/// A page of the transmitter.
#[derive(Debug)]
struct Page {
    number: u8,
    is_sent: bool,
    frame: OutgoingFrame,
}

/// A LAN91C111.
pub struct Lan91c111<R> {
    chip: Chip<R>,
    frames: &'static mut FrameBuffers,
    pages: [Page; TX_PAGES],
    ledger: &'static Ledger,
    address: MacAddress,
    link: LinkState,
    is_halted: bool,
}

impl<R: Bus> Lan91c111<R> {
    /// Starts the chip and its auto-negotiation. `address` is used if no EEPROM provides one.
    ///
    /// # Errors
    /// [`InitError`]: the chip is missing, of another type, or does not work.
    pub fn start(
        registers: R,
        frames: &'static mut FrameBuffers,
        address: MacAddress,
        ledger: &'static Ledger,
    ) -> Result<Self, InitError> {
        let mut chip = Chip::new(registers);
        let (address, pages) = set_up(&mut chip, address)?;
        let mut it = Self {
            chip,
            frames,
            pages,
            ledger,
            address,
            link: LinkState::Down,
            is_halted: false,
        };
        it.follow_link();
        Ok(it)
    }

    /// Stops as [`Managed::halt`] does. Returns the registers, with which the chip can be started again.
    pub fn stop(mut self) -> R {
        self.halt();
        self.chip.registers
    }

    fn follow_link(&mut self) {
        let before = core::mem::replace(&mut self.link, self.chip.follow_link());
        self.ledger.count_link(before, self.link);
    }

    /// A free transmit page. Reads the chip only if all are in use.
    #[inline]
    fn free_page(&mut self) -> Option<usize> {
        if self.is_halted {
            return None;
        }
        let idle = |pages: &[Page]| pages.iter().position(|page| page.is_sent);
        idle(&self.pages).or_else(|| {
            self.reclaim();
            idle(&self.pages)
        })
    }

    /// Reclaims the pages of sent frames, and counts their fate.
    fn reclaim(&mut self) {
        loop {
            let first: u8 = self.chip.bank(2).read(bank2::TXFIFO);
            if bank2::TXFIFO::TEMPTY.is_set(first.into()) {
                return;
            }
            self.chip.bank(2).write(bank2::PNR, first);
            self.chip.set_pointer(bank2::PTR::READ.mask());
            let state = self.chip.read_halfword();
            // Acknowledging removes it from the FIFO (section 8.21).
            let sent = bank2::IST::TX.mask() as u8;
            self.chip.bank(2).write(bank2::IST, sent);
            let Some(page) = self.pages.iter_mut().find(|page| page.number == first) else {
                continue;
            };
            page.is_sent = true;
            count(state, page, self.ledger);
            if !bank0::EPHSR::TX_SUC.is_set(state) {
                // The transmitter has stopped (section 8.5); its register still holds the duplex
                // mode.
                let control: u16 = self.chip.bank(0).read(bank0::TCR);
                let on = bank0::TCR::TXENA.mask() as u16;
                self.chip.bank(0).write(bank0::TCR, control | on);
            }
        }
    }

    #[inline]
    fn poll_frame(&mut self) -> bool {
        let first: u8 = self.chip.bank(2).read(bank2::RXFIFO);
        !bank2::RXFIFO::REMPTY.is_set(first.into())
    }

    /// Copies the next valid frame, frees its page and returns its length in octets.
    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.poll_frame() {
            let taken = self.copy();
            self.chip.command(bank2::MMUCR::COMMAND::REMOVE_RELEASE);
            accounts::received(self.ledger, taken.err());
            if let Ok(octets) = taken {
                return Some(octets);
            }
        }
        None
    }

    #[inline]
    fn copy(&mut self) -> Result<usize, Counter> {
        self.chip
            .set_pointer(bank2::PTR::RCV.mask() | bank2::PTR::READ.mask());
        let state = self.chip.read_halfword();
        if state::ALIGNMENT.is_set(state) {
            return Err(Counter::RxAlignmentErrors);
        }
        if state::CRC.is_set(state) {
            return Err(Counter::RxBadFcs);
        }
        if state::SHORT.is_set(state) {
            return Err(Counter::RxRunts);
        }
        let [first, rest @ ..] = self.frames.rx.words_mut();
        let registers = self.chip.bank(2);
        pio::read_words(registers, bank2::DATA, core::slice::from_mut(first));
        // Always even (section 8.1).
        let count = (u32::from_le(*first) & 0xFFFE) as usize;
        if count > LONGEST_TAGGED + OVERHEAD {
            return Err(Counter::RxOversize);
        }
        if count < HEADER_LEN + OVERHEAD {
            return Err(Counter::RxRunts);
        }
        let words = (count - STATE).div_ceil(4);
        pio::read_words(registers, bank2::DATA, &mut rest[..words - 1]);
        let frame = &self.frames.rx.bytes()[COUNT..];
        // The chip does not support tags (section 8.2).
        let is_tagged = frame[ADDRESSES_LEN..].starts_with(&EtherType::VLAN.0.to_be_bytes());
        if state::LONG.is_set(state) && !is_tagged {
            return Err(Counter::RxOversize);
        }
        // The chip never sets ODDFRM in the status (see smc91x in Linux): use the control octet.
        let control = self.frames.rx.bytes()[count - STATE - 1];
        Ok(count - OVERHEAD + usize::from(control & ODD != 0))
    }
}

/// Performs the complete initialization up to an enabled receiver. Returns the address and the
/// transmit pages.
fn set_up<R: Bus>(
    chip: &mut Chip<R>,
    address: MacAddress,
) -> Result<(MacAddress, [Page; TX_PAGES]), InitError> {
    chip.start()?;
    let address = chip.address_or(address);
    // Allocated before the receiver takes all pages.
    let numbers = [chip.allocate()?, chip.allocate()?];
    chip.start_phy();
    chip.send_in(false);
    let receive = bank0::RCR::RXEN.mask() | bank0::RCR::STRIP_CRC.mask();
    chip.bank(0).write(bank0::RCR, receive as u16);
    let pages = numbers.map(|number| Page {
        number,
        is_sent: true,
        frame: OutgoingFrame::default(),
    });
    Ok((address, pages))
}

/// Counts the fate of a frame (section 8.6: its status has the format of that of the last frame
/// sent).
fn count(state: u32, page: &Page, ledger: &Ledger) {
    use bank0::EPHSR as it;
    let set = |bits: Bits| bits.is_set(state);
    if set(it::TX_DEFR) {
        ledger.count(Counter::TxDeferred);
    }
    if !set(it::TX_SUC) {
        ledger.count(if set(it::LATCOL) {
            Counter::TxLateCollisions
        } else if set(it::COL16) {
            Counter::TxExcessiveCollisions
        } else if set(it::TX_UNRN) {
            Counter::TxUnderruns
        } else if set(it::EXC_DEF) {
            Counter::TxExcessiveDeferrals
        } else {
            Counter::TxCarrierSenseErrors
        });
        return;
    }
    let collisions = if set(it::MULCOL) {
        Collisions::Several
    } else if set(it::SNGLCOL) {
        Collisions::One
    } else {
        Collisions::None
    };
    page.frame.count_sent(ledger, collisions);
}

impl<R: Bus> Device for Lan91c111<R> {
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
        // A frame stays in its page until it can be answered.
        let idle = self.free_page()?;
        let octets = self.next()?;
        let frame = &mut self.frames.rx.bytes_mut()[COUNT..][..octets];
        let slot = TxSlot {
            chip: &mut self.chip,
            frame: &mut self.frames.tx,
            page: &mut self.pages[idle],
            ledger: self.ledger,
        };
        Some((Received::new(frame, self.ledger), slot))
    }

    #[inline]
    fn transmit(&mut self) -> Option<Self::TxToken<'_>> {
        let idle = self.free_page()?;
        Some(TxSlot {
            chip: &mut self.chip,
            frame: &mut self.frames.tx,
            page: &mut self.pages[idle],
            ledger: self.ledger,
        })
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            medium: Medium::Ethernet,
            mtu: LONGEST - HEADER_LEN,
            max_burst_frames: Some(RX_PAGES),
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

impl<R: Bus> InterruptDriven for Lan91c111<R> {
    fn unmask(&mut self) -> bool {
        self.reclaim();
        let wanted = bank2::IST::RCV.mask() | bank2::IST::EPH.mask();
        self.chip.bank(2).write(bank2::MSK, wanted as u8);
        !self.poll_frame()
    }

    fn mask(&mut self) {
        let registers = self.chip.bank(2);
        registers.write(bank2::MSK, 0_u8);
        let state: u8 = registers.read(bank2::IST);
        let lost = bank2::IST::RX_OVRN.mask();
        if u32::from(state) & lost != 0 {
            // At least one frame: the chip does not count lost frames.
            registers.write(bank2::IST, lost as u8);
            self.ledger.count(Counter::RxFifoOverruns);
        }
        if bank2::IST::EPH.is_set(state.into()) {
            self.chip.poll_link();
            self.follow_link();
        }
    }
}

impl<R: Bus> Managed for Lan91c111<R> {
    type Error = InitError;

    fn halt(&mut self) {
        self.chip.stop_receiver();
        // TX_EMPTY may still be latched from an earlier frame (section 8.21): the pages show which frames are left.
        (0..MAX_POLLS).any(|_| {
            self.reclaim();
            self.pages.iter().all(|page| page.is_sent)
        });
        while let Some(octets) = self.next() {
            let frame = &self.frames.rx.bytes()[COUNT..][..octets];
            drop(Offered::new(frame, self.ledger));
        }
        for page in self.pages.iter_mut().filter(|page| !page.is_sent) {
            self.ledger.count(Counter::TxLinkDown);
            page.is_sent = true;
        }
        self.chip.stop_transmitter();
        self.is_halted = true;
    }

    fn resume(&mut self) -> Result<(), InitError> {
        if !self.is_halted {
            return Ok(());
        }
        (_, self.pages) = set_up(&mut self.chip, self.address)?;
        self.is_halted = false;
        self.follow_link();
        Ok(())
    }
}

/// A transmit page for one frame.
pub struct TxSlot<'a, R> {
    chip: &'a mut Chip<R>,
    frame: &'a mut Buffer<WORDS>,
    page: &'a mut Page,
    ledger: &'static Ledger,
}

impl<R: Bus> TxToken for TxSlot<'_, R> {
    #[inline]
    fn consume<T>(self, len: usize, f: impl FnOnce(&mut [u8]) -> T) -> Result<T, FrameTooLong> {
        if len > LONGEST {
            self.ledger.count(Counter::TxOversize);
            return Err(FrameTooLong { len, max: LONGEST });
        }
        let bytes = self.frame.bytes_mut();
        let frame = &mut bytes[COUNT..][..len];
        let result = f(frame);
        let outgoing = OutgoingFrame::new(frame, len);
        let count = len / 2 * 2 + OVERHEAD;
        bytes[..COUNT].copy_from_slice(&(count as u16).to_le_bytes());
        let tail = if len.is_multiple_of(2) {
            [0, 0]
        } else {
            [ODD, 0]
        };
        bytes[COUNT + len..][..2].copy_from_slice(&tail);
        *self.page = Page {
            number: self.page.number,
            is_sent: false,
            frame: outgoing,
        };
        // The chip writes the status itself, pads and appends the FCS (section 8.5, PAD_EN).
        self.chip.bank(2).write(bank2::PNR, self.page.number);
        self.chip.set_pointer(STATE as u32);
        let words = &self.frame.words_mut()[..(count - STATE).div_ceil(4)];
        pio::write_words(self.chip.bank(2), bank2::DATA, words);
        self.chip.command(bank2::MMUCR::COMMAND::ENQUEUE);
        Ok(result)
    }
}
