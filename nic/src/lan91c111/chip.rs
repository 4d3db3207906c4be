//! Detecting, starting and stopping the chip.

use crate::mmio::Registers;
use core::fmt;
use linerate_ether::frame::MacAddress;

/// In every bank.
mod all {
    linerate_regs::constants!(linerate_regs::LAN91C111, "ALL": BANK { ID });
}

/// Transmitter, receiver, state of the link.
pub(super) mod bank0 {
    linerate_regs::constants!(linerate_regs::LAN91C111, "BANK0":
        TCR { SWFDUP PAD_EN TXENA }
        EPHSR {
            TX_UNRN LINK_OK EXC_DEF LOST_CARR LATCOL TX_DEFR COL16 MULCOL SNGLCOL TX_SUC
        }
        RCR { SOFT_RST STRIP_CRC RXEN }
        RPCR { ANEG LSA LSB }
    );
}

/// Configuration.
pub(super) mod bank1 {
    linerate_regs::constants!(linerate_regs::LAN91C111, "BANK1":
        CR { EPH_POWER_EN }
        IA0
        CTR { LE_ENABLE }
    );
}

/// Memory, frames, interrupts.
pub(super) mod bank2 {
    linerate_regs::constants!(linerate_regs::LAN91C111, "BANK2":
        MMUCR { COMMAND { ALLOC RESET REMOVE_RELEASE ENQUEUE } BUSY }
        PNR
        ARR { FAILED }
        TXFIFO { TEMPTY }
        RXFIFO { REMPTY }
        PTR { RCV AUTO_INCR READ NOT_EMPTY }
        DATA
        IST { EPH RX_OVRN ALLOC TX RCV }
        MSK
    );
}

/// MDIO and revision.
pub(super) mod bank3 {
    linerate_regs::constants!(linerate_regs::LAN91C111, "BANK3":
        MGMT { MDOE MCLK MDI MDO }
        REV { CHIP }
    );
}

/// Value of the upper half of `BANK` in every bank (section 8.4), and of `REV.CHIP` (section 8.24).
const ID: u32 = all::BANK::ID.get(all::BANK.reset);
const CHIP: u32 = bank3::REV::CHIP.get(bank3::REV.reset);

/// LED A: link at 10 or 100 Mbit/s. LED B: transmit or receive activity (section 8.10).
const LINK: u32 = 0;
const TRAFFIC: u32 = 4;

/// Maximum polls of a status bit; the slowest change takes one maximum-length frame at 10 Mbit/s.
pub(super) const MAX_POLLS: u32 = 100_000;

/// A bus with byte enables: registers of 8 and 16 bits, data of 16 and 32.
pub trait Bus: Registers<u8> + Registers<u16> + Registers<u32> {}
impl<T: Registers<u8> + Registers<u16> + Registers<u32>> Bus for T {}

/// Reason why the chip could not be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InitError {
    /// There is no chip of the family: the value of `BANK`.
    ChipNotFound(u16),
    /// It is another chip of the family: the value of `REV`.
    UnsupportedChip(u16),
    /// Allocating the transmit pages failed.
    AllocationFailed,
}

impl fmt::Display for InitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ChipNotFound(bank) => write!(f, "no SMC91xxx chip here (BANK {bank:#06x})"),
            Self::UnsupportedChip(revision) => write!(f, "no LAN91C111 (REV {revision:#06x})"),
            Self::AllocationFailed => write!(f, "the chip does not allocate memory"),
        }
    }
}

impl core::error::Error for InitError {}

/// Registers of the chip, and the selected bank.
#[derive(Debug)]
pub(super) struct Chip<R> {
    pub(super) registers: R,
    bank: Option<u16>,
}

impl<R: Bus> Chip<R> {
    pub(super) const fn new(registers: R) -> Self {
        Self {
            registers,
            bank: None,
        }
    }

    /// Returns the registers with this bank selected (section 8.4).
    #[inline(always)]
    pub(super) fn bank(&mut self, number: u16) -> &R {
        if self.bank != Some(number) {
            self.registers.write(all::BANK, number);
            self.bank = Some(number);
        }
        &self.registers
    }

    /// Resets and configures the chip. Nothing is received or sent yet.
    pub(super) fn start(&mut self) -> Result<(), InitError> {
        let bank: u16 = self.registers.read(all::BANK);
        if all::BANK::ID.get(bank.into()) != ID {
            return Err(InitError::ChipNotFound(bank));
        }
        let revision: u16 = self.bank(3).read(bank3::REV);
        if bank3::REV::CHIP.get(revision.into()) != CHIP {
            return Err(InitError::UnsupportedChip(revision));
        }
        // The reset is held until the bit is cleared (section 8.7). After that everything but the
        // PHY has its power-on values, including the bank.
        let reset = bank0::RCR::SOFT_RST.mask() as u16;
        self.bank(0).write(bank0::RCR, reset);
        self.bank = None;
        self.bank(0).write(bank0::RCR, 0_u16);
        // The PHY controls LEDs and negotiation (section 8.10).
        let port =
            bank0::RPCR::ANEG.mask() | bank0::RPCR::LSA.of(LINK) | bank0::RPCR::LSB.of(TRAFFIC);
        self.bank(0).write(bank0::RPCR, port as u16);
        // Section 8.11. NO_WAIT stays off: ARDY is used.
        let power = bank1::CR.reset | bank1::CR::EPH_POWER_EN.mask();
        self.bank(1).write(bank1::CR, power as u16);
        self.poll_link();
        self.command(bank2::MMUCR::COMMAND::RESET);
        self.bank(2).write(bank2::MSK, 0_u8);
        Ok(())
    }

    /// Enables the interrupt on link changes, and acknowledges the last one (section 8.15). The
    /// other bits stay off: bad frames are not kept, and pages of sent frames are not released
    /// (`AUTO_RELEASE`), because they are reused.
    pub(super) fn poll_link(&mut self) {
        let rest = bank1::CTR.reset;
        let registers = self.bank(1);
        registers.write(bank1::CTR, rest as u16);
        registers.write(bank1::CTR, (rest | bank1::CTR::LE_ENABLE.mask()) as u16);
    }

    /// Disables interrupts, and stops receiving at the end of a frame (section 8.7).
    pub(super) fn stop_receiver(&mut self) {
        self.bank(2).write(bank2::MSK, 0_u8);
        self.bank(0).write(bank0::RCR, 0_u16);
    }

    /// Stops the transmitter at the end of a frame, and frees all memory (sections 8.5 and 8.16).
    pub(super) fn stop_transmitter(&mut self) {
        self.bank(0).write(bank0::TCR, 0_u16);
        self.command(bank2::MMUCR::COMMAND::RESET);
    }

    /// The address in the chip, if it has one; otherwise sets it to `other` (section 8.13).
    pub(super) fn address_or(&mut self, other: MacAddress) -> MacAddress {
        let registers = self.bank(1);
        let at = |index: usize| bank1::IA0.offset as usize + index;
        let own = MacAddress(core::array::from_fn(|index| registers.read_at(at(index))));
        if own.is_unicast() && own.0 != [0; 6] {
            return own;
        }
        for (index, octet) in other.0.into_iter().enumerate() {
            registers.write_at(at(index), octet);
        }
        other
    }

    /// Issues a command to the memory management unit and waits until a release is done (section
    /// 8.16).
    #[inline]
    pub(super) fn command(&mut self, command: u32) {
        let registers = self.bank(2);
        registers.write(bank2::MMUCR, bank2::MMUCR::COMMAND.of(command) as u16);
        (0..MAX_POLLS).any(|_| {
            let state: u16 = registers.read(bank2::MMUCR);
            !bank2::MMUCR::BUSY.is_set(state.into())
        });
    }

    /// Allocates a page for a frame to send (section 8.17).
    pub(super) fn allocate(&mut self) -> Result<u8, InitError> {
        self.command(bank2::MMUCR::COMMAND::ALLOC);
        let registers = self.bank(2);
        // ARR must not be read while it may change.
        let done = (0..MAX_POLLS).any(|_| {
            let state: u8 = registers.read(bank2::IST);
            bank2::IST::ALLOC.is_set(state.into())
        });
        let page: u8 = registers.read(bank2::ARR);
        if !done || bank2::ARR::FAILED.is_set(page.into()) {
            return Err(InitError::AllocationFailed);
        }
        Ok(page)
    }

    /// Sets the pointer to this octet of a frame: the received one or that in `PNR`, to read or to
    /// write (section 8.19).
    #[inline]
    pub(super) fn set_pointer(&mut self, to: u32) {
        let registers = self.bank(2);
        // Earlier writes must have reached the memory.
        (0..MAX_POLLS).any(|_| {
            let state: u16 = registers.read(bank2::PTR);
            !bank2::PTR::NOT_EMPTY.is_set(state.into())
        });
        let to = to | bank2::PTR::AUTO_INCR.mask();
        registers.write(bank2::PTR, to as u16);
    }

    /// Reads the next halfword.
    #[inline]
    pub(super) fn read_halfword(&mut self) -> u32 {
        let half: u16 = self.bank(2).read_at(bank2::DATA.offset as usize);
        half.into()
    }
}
