//! The internal PHY, and the MAC settings for the negotiated mode.

use super::chip::{Bus, Chip, bank0, bank3};
use crate::device::LinkState;
use linerate_ether::phy10::link::LinkCodeWord;
use linerate_regs::RegisterRef;

mod phy {
    linerate_regs::constants!(linerate_regs::MII, "MII": BMCR { AN_ENABLE AN_RESTART } ANAR ANLPAR);
}

const ABILITIES: u16 = LinkCodeWord::HUNDRED_FULL
    | LinkCodeWord::HUNDRED_HALF
    | LinkCodeWord::TEN_FULL
    | LinkCodeWord::TEN_HALF;

/// An MDIO frame (IEEE 802.3 clause 22.2.4.5), first bit uppermost: start, operation, address of
/// the PHY (0 for the internal one), register.
mod mdio {
    pub const PREAMBLE: u32 = u32::MAX;
    pub const READ: u32 = 0b0110 << 10;
    pub const WRITE: u32 = 0b0101 << 10;
    pub const HEADER_BITS: u32 = 14;
    pub const TURNAROUND: u32 = 0b10;
}

impl<R: Bus> Chip<R> {
    /// Starts auto-negotiation. After a reset the PHY is isolated from the MAC; this write ends
    /// that (section 9.1, `MII_DIS`).
    pub(super) fn start_phy(&mut self) {
        self.write_phy(phy::ANAR, LinkCodeWord::base_page(ABILITIES).0);
        let negotiate = phy::BMCR::AN_ENABLE.mask() | phy::BMCR::AN_RESTART.mask();
        self.write_phy(phy::BMCR, negotiate as u16);
    }

    /// Reads the link state (section 8.6). If the link is up, sets the MAC to the negotiated mode.
    pub(super) fn follow_link(&mut self) -> LinkState {
        let state: u16 = self.bank(0).read(bank0::EPHSR);
        if !bank0::EPHSR::LINK_OK.is_set(state.into()) {
            return LinkState::Down;
        }
        let partner = LinkCodeWord(self.read_phy(phy::ANLPAR));
        let full = LinkCodeWord::HUNDRED_FULL | LinkCodeWord::TEN_FULL;
        let best = LinkCodeWord::base_page(ABILITIES).best_in_common(partner);
        self.send_in(best.is_some_and(|it| it & full != 0));
        LinkState::Up
    }

    /// Enables the transmitter in full or half duplex (section 8.5); it stops after an error.
    pub(super) fn send_in(&mut self, full_duplex: bool) {
        let duplex = u32::from(full_duplex) * bank0::TCR::SWFDUP.mask();
        let on = bank0::TCR::TXENA.mask() | bank0::TCR::PAD_EN.mask();
        self.bank(0).write(bank0::TCR, (on | duplex) as u16);
    }

    fn read_phy(&mut self, register: RegisterRef) -> u16 {
        self.put_bits(mdio::PREAMBLE, 32);
        self.put_bits(mdio::READ | register.offset, mdio::HEADER_BITS);
        // The turnaround takes two bits; then the data follows.
        let value = (0..18).fold(0_u32, |value, _| value << 1 | self.get_bit());
        self.clock(0);
        value as u16
    }

    fn write_phy(&mut self, register: RegisterRef, value: u16) {
        self.put_bits(mdio::PREAMBLE, 32);
        self.put_bits(mdio::WRITE | register.offset, mdio::HEADER_BITS);
        self.put_bits(mdio::TURNAROUND << 16 | u32::from(value), 18);
        self.clock(0);
    }

    fn put_bits(&mut self, bits: u32, count: u32) {
        for bit in (0..count).rev() {
            let data = bank3::MGMT::MDOE.mask() | bank3::MGMT::MDO.of(bits >> bit);
            self.clock(data);
            self.clock(data | bank3::MGMT::MCLK.mask());
        }
    }

    fn get_bit(&mut self) -> u32 {
        // It changes on the rising edge of the clock.
        let bit = bank3::MGMT::MDI.get(self.clock(0));
        self.clock(bank3::MGMT::MCLK.mask());
        bit
    }

    /// Sets the lines (section 8.23). Reading them back lengthens each half of the clock period.
    fn clock(&mut self, lines: u32) -> u32 {
        let registers = self.bank(3);
        registers.write(bank3::MGMT, (bank3::MGMT.reset | lines) as u16);
        let state: u16 = registers.read(bank3::MGMT);
        state.into()
    }
}
