//! The internal PHY, and the MAC settings for the negotiated mode.

use super::chip::{AFTER_WRITE, Chip, RX_DATA, csr, mac};
use crate::device::LinkState;
use crate::mdio::{Abilities, LinkSettings, MdioBus, MdioError, Phy, Speed};
use crate::mmio::Registers;
use linerate_ether::frame::{MAX_LEN, MacAddress};
use linerate_regs::RegisterRef;

/// Registers of the PHY beyond those of every PHY.
mod phy {
    linerate_regs::constants!(linerate_regs::LAN9118, "PHY": ISR { AN_COMPLETE LINK_DOWN } IMR);
}

/// Address of the internal PHY (section 5.4.6).
const PHY: u8 = 1;

/// Room needed when a PAUSE frame is sent, for everything that arrives before it takes effect: the
/// frame that this station is sending first, the one that the partner has begun, and the duration
/// of the PAUSE frame itself (Annex 31B).
const HEADROOM: u32 = 2 * MAX_LEN as u32 + 2 * 64;
/// FIFO levels at which the partner is paused and resumed, in units of 64 octets (section 5.3.22).
pub(super) const PAUSE_AT: u32 = (RX_DATA - HEADROOM) / 64;
pub(super) const RESUME_AT: u32 = PAUSE_AT / 2;
/// Longest pause: it is canceled when there is room.
const LONGEST_PAUSE: u32 = 0xFFFF;
/// Duration of back pressure in half duplex; never used, as FCANY is off then.
const NO_BACK_PRESSURE: u32 = 0;

impl<R: Registers> Chip<R> {
    /// Starts auto-negotiation, and enables the PHY interrupts for link changes (section 5.5).
    pub(super) fn start_phy(&self) -> Result<Phy, MdioError> {
        let phy = Phy::at(self, PHY)?;
        let wanted = phy::ISR::AN_COMPLETE.mask() | phy::ISR::LINK_DOWN.mask();
        MdioBus::write(self, PHY, phy::IMR, wanted as u16)?;
        phy.negotiate(
            self,
            Abilities::ALL_SPEEDS
                .up_to(Speed::Mbit100)
                .with_flow_control(),
        )?;
        Ok(phy)
    }

    /// Reads the link state. If the link is up, sets the MAC to the negotiated mode.
    pub(super) fn follow_link(&self, phy: Phy) -> LinkState {
        // Reading clears the interrupt; a past link loss is reported once.
        let _ = MdioBus::read(self, PHY, phy::ISR);
        let _ = phy.link(self);
        let Ok(Some(link)) = phy.link(self) else {
            return LinkState::Down;
        };
        self.set_mac(link);
        LinkState::Up
    }

    /// Enables the MAC in the negotiated mode (sections 5.4.1, 5.4.8 and 5.3.22).
    fn set_mac(&self, agreed: LinkSettings) {
        let flow = if agreed.flow_control.receive {
            mac::FLOW::FCEN.mask()
        } else {
            0
        };
        let flow = flow | mac::FLOW::FCPT.of(LONGEST_PAUSE);
        let thresholds = csr::AFC_CFG::AFC_HI.of(PAUSE_AT)
            | csr::AFC_CFG::AFC_LO.of(RESUME_AT)
            | csr::AFC_CFG::BACK_DUR.of(NO_BACK_PRESSURE);
        let on = u32::from(agreed.flow_control.send) * csr::AFC_CFG::FCANY.mask();
        // In half duplex the chip would receive its own frames.
        let duplex = if agreed.full_duplex {
            mac::MAC_CR::FDPX
        } else {
            mac::MAC_CR::RCVOWN
        };
        self.with_receiver_stopped(|chip| {
            chip.write_mac(mac::FLOW, flow);
            chip.write(csr::AFC_CFG, thresholds | on);
            let kept = chip.read_mac(mac::MAC_CR) & mac::MAC_CR::HPFILT.mask();
            let on = mac::MAC_CR::TXEN.mask();
            chip.write_mac(mac::MAC_CR, kept | on | duplex.mask());
        });
    }

    /// Applies a change that older revisions do not permit during reception (smsc911x in Linux
    /// names revisions A and B; section 5.4.1 only states that the receiver may be stopped), then
    /// enables the receiver.
    fn with_receiver_stopped(&self, change: impl FnOnce(&Self)) {
        self.stop_receiving();
        change(self);
        let control = self.read_mac(mac::MAC_CR) | mac::MAC_CR::RXEN.mask();
        self.write_mac(mac::MAC_CR, control);
    }

    /// Accepts the own address, broadcasts, and frames to a group whose [`hash`] is in the table
    /// (sections 5.4.4 and 5.4.5).
    pub(super) fn accept_groups(&self, table: u64) {
        self.with_receiver_stopped(|chip| {
            chip.write_mac(mac::HASHL, table as u32);
            chip.write_mac(mac::HASHH, (table >> 32) as u32);
            // After reset the MAC is promiscuous.
            let control = chip.read_mac(mac::MAC_CR) & !mac::MAC_CR::PRMS.mask();
            chip.write_mac(mac::MAC_CR, control | mac::MAC_CR::HPFILT.mask());
        });
    }

    /// The address that the chip has loaded from its EEPROM, if any (sections 5.4.2 and 5.4.3: all
    /// ones otherwise).
    pub(super) fn loaded_address(&self) -> Option<MacAddress> {
        let low = self.read_mac(mac::ADDRL).to_le_bytes();
        let high = self.read_mac(mac::ADDRH).to_le_bytes();
        let address = MacAddress([low[0], low[1], low[2], low[3], high[0], high[1]]);
        (address.is_unicast() && address.0 != [0; 6]).then_some(address)
    }

    /// Sets the address.
    pub(super) fn set_address(&self, MacAddress(address): MacAddress) {
        let [low @ .., fifth, last] = address;
        self.write_mac(mac::ADDRH, u32::from_le_bytes([fifth, last, 0, 0]));
        self.write_mac(mac::ADDRL, u32::from_le_bytes(low));
    }
}

/// Section 5.4.6.
impl<R: Registers> MdioBus for Chip<R> {
    fn read(&self, phy: u8, register: RegisterRef) -> Result<u16, MdioError> {
        self.phy_command(phy, register, 0)?;
        Ok(self.read_mac(mac::MII_DATA) as u16)
    }

    fn write(&self, phy: u8, register: RegisterRef, value: u16) -> Result<(), MdioError> {
        self.write_mac(mac::MII_DATA, value.into());
        self.phy_command(phy, register, mac::MII_ACC::MII_WRITE.mask())
    }
}

impl<R: Registers> Chip<R> {
    fn phy_command(&self, phy: u8, register: RegisterRef, direction: u32) -> Result<(), MdioError> {
        let which =
            mac::MII_ACC::PHY_ADDR.of(phy.into()) | mac::MII_ACC::MIIRINDA.of(register.offset);
        let busy = mac::MII_ACC::MII_BUSY;
        self.write_mac(mac::MII_ACC, busy.mask() | direction | which);
        self.settle(AFTER_WRITE);
        // 64 bits at 2.5 MHz; each poll takes a tenth of a microsecond or more.
        (0..1000)
            .any(|_| !busy.is_set(self.read_mac(mac::MII_ACC)))
            .then_some(())
            .ok_or(MdioError::Timeout)
    }
}

/// The hash table for these groups.
pub(super) fn table_of(groups: &[MacAddress]) -> u64 {
    groups.iter().fold(0, |table, it| table | 1 << hash(*it))
}

/// Index of a group in the table: the upper six bits of the CRC-32 of its address, first bit
/// uppermost (section 5.4.4).
pub(super) fn hash(group: MacAddress) -> u32 {
    // The FCS is the complement, last bit uppermost.
    (!linerate_ether::fcs::crc32(&group.0)).reverse_bits() >> 26
}
