//! The PHY within the chip, and what the MAC does with what it negotiated.

use super::chip::{AFTER_WRITE, Chip, RX_DATA, csr, mac};
use crate::device::LinkState;
use crate::mmio::Registers;
use linerate_ether::frame::{MAX_LEN, MacAddress};
use linerate_ether::phy10::link::LinkCodeWord;
use linerate_regs::Place;

/// Registers of the PHY: those of IEEE 802.3 clause 22, and its own.
mod phy {
    linerate_regs::constants!(linerate_regs::MII, "MII":
        BMCR { AN_ENABLE AN_RESTART }
        BMSR { AN_COMPLETE LINK_UP }
        ANAR
        ANLPAR
    );

    pub mod own {
        linerate_regs::constants!(linerate_regs::LAN9118, "PHY": ISR { AN_COMPLETE LINK_DOWN } IMR);
    }
}

/// The address of the PHY within the chip (section 5.4.6).
const PHY: u32 = 1;

const ABILITIES: u16 = LinkCodeWord::HUNDRED_FULL
    | LinkCodeWord::HUNDRED_HALF
    | LinkCodeWord::TEN_FULL
    | LinkCodeWord::TEN_HALF
    | LinkCodeWord::PAUSE;

/// A pause frame is due while there is still room for what comes before it takes effect: the frame that we
/// are sending first, the one that the partner has begun, and the pause frame's own time (Annex 31B).
const HEADROOM: u32 = 2 * MAX_LEN as u32 + 2 * 64;
/// From where on the partner is asked to wait, and until where, in units of 64 octets (section 5.3.22).
pub(super) const PAUSE_AT: u32 = (RX_DATA - HEADROOM) / 64;
pub(super) const GO_ON_AT: u32 = PAUSE_AT / 2;
/// The longest pause: it is taken back when there is room.
const LONGEST_PAUSE: u32 = 0xFFFF;
/// How long the medium is kept busy in place of a pause in half duplex; never, as FCANY is off then.
const NO_BACK_PRESSURE: u32 = 0;

/// What auto-negotiation came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Agreed {
    full_duplex: bool,
    pause: bool,
}

impl Agreed {
    /// Annex 28B.3: the best in common; pause where both can it in both directions.
    fn of(own: LinkCodeWord, partner: LinkCodeWord) -> Self {
        let best = own.best_in_common(partner);
        let full_duplex =
            best.is_some_and(|it| it & (LinkCodeWord::HUNDRED_FULL | LinkCodeWord::TEN_FULL) != 0);
        Self {
            full_duplex,
            pause: full_duplex && own.has(LinkCodeWord::PAUSE) && partner.has(LinkCodeWord::PAUSE),
        }
    }
}

impl<R: Registers> Chip<R> {
    /// Lets the PHY negotiate, and interrupt when the link comes and goes (section 5.5).
    pub(super) fn start_phy(&self) {
        let wanted = phy::own::ISR::AN_COMPLETE.mask() | phy::own::ISR::LINK_DOWN.mask();
        self.write_phy(phy::own::IMR, wanted);
        self.write_phy(phy::ANAR, LinkCodeWord::base_page(ABILITIES).0.into());
        let negotiate = phy::BMCR::AN_ENABLE.mask() | phy::BMCR::AN_RESTART.mask();
        self.write_phy(phy::BMCR, negotiate);
    }

    /// The link's state now. If it is up, the MAC is set to what was negotiated.
    pub(super) fn follow_link(&self) -> LinkState {
        // Reading takes the interrupt back.
        self.read_phy(phy::own::ISR);
        // A loss in the past is told once (clause 22.2.4.2.13).
        self.read_phy(phy::BMSR);
        let up = phy::BMSR::LINK_UP.mask() | phy::BMSR::AN_COMPLETE.mask();
        if self.read_phy(phy::BMSR) & up != up {
            return LinkState::Down;
        }
        let [own, partner] =
            [phy::ANAR, phy::ANLPAR].map(|it| LinkCodeWord(self.read_phy(it) as u16));
        self.set_mac(Agreed::of(own, partner));
        LinkState::Up
    }

    /// Lets the MAC send and receive as was agreed (sections 5.4.1, 5.4.8 and 5.3.22).
    fn set_mac(&self, agreed: Agreed) {
        let flow = if agreed.pause {
            mac::FLOW::FCPT.of(LONGEST_PAUSE) | mac::FLOW::FCEN.mask()
        } else {
            0
        };
        let thresholds = csr::AFC_CFG::AFC_HI.of(PAUSE_AT)
            | csr::AFC_CFG::AFC_LO.of(GO_ON_AT)
            | csr::AFC_CFG::BACK_DUR.of(NO_BACK_PRESSURE);
        let on = u32::from(agreed.pause) * csr::AFC_CFG::FCANY.mask();
        // In half duplex the chip would hear itself.
        let duplex = if agreed.full_duplex {
            mac::MAC_CR::FDPX
        } else {
            mac::MAC_CR::RCVOWN
        };
        self.while_deaf(|chip| {
            chip.write_mac(mac::FLOW, flow);
            chip.write(csr::AFC_CFG, thresholds | on);
            let kept = chip.read_mac(mac::MAC_CR) & mac::MAC_CR::HPFILT.mask();
            let on = mac::MAC_CR::TXEN.mask();
            chip.write_mac(mac::MAC_CR, kept | on | duplex.mask());
        });
    }

    /// Changes what older revisions must not have changed while they receive (smsc911x in Linux names
    /// revisions A and B; section 5.4.1 only says that the receiver may be stopped), and receives.
    fn while_deaf(&self, change: impl FnOnce(&Self)) {
        self.stop_receiving();
        change(self);
        let control = self.read_mac(mac::MAC_CR) | mac::MAC_CR::RXEN.mask();
        self.write_mac(mac::MAC_CR, control);
    }

    /// Own address and broadcasts are taken, and frames to a group whose hash is one of these (sections
    /// 5.4.4 and 5.4.5).
    pub(super) fn accept_groups(&self, groups: &[MacAddress]) {
        let table = groups
            .iter()
            .fold(0_u64, |table, it| table | 1 << hash(*it));
        self.while_deaf(|chip| {
            chip.write_mac(mac::HASHL, table as u32);
            chip.write_mac(mac::HASHH, (table >> 32) as u32);
            // After reset every frame is taken.
            let control = chip.read_mac(mac::MAC_CR) & !mac::MAC_CR::PRMS.mask();
            chip.write_mac(mac::MAC_CR, control | mac::MAC_CR::HPFILT.mask());
        });
    }

    /// The address that the chip has loaded, if it has one (sections 5.4.2 and 5.4.3: all ones otherwise).
    pub(super) fn loaded_address(&self) -> Option<MacAddress> {
        let low = self.read_mac(mac::ADDRL).to_le_bytes();
        let high = self.read_mac(mac::ADDRH).to_le_bytes();
        let address = MacAddress([low[0], low[1], low[2], low[3], high[0], high[1]]);
        (address.is_unicast() && address.0 != [0; 6]).then_some(address)
    }

    /// Gives it one.
    pub(super) fn set_address(&self, MacAddress(address): MacAddress) {
        let [low @ .., fifth, last] = address;
        self.write_mac(mac::ADDRH, u32::from_le_bytes([fifth, last, 0, 0]));
        self.write_mac(mac::ADDRL, u32::from_le_bytes(low));
    }

    /// Section 5.4.6.
    fn read_phy(&self, register: Place) -> u32 {
        self.phy_command(register, 0);
        self.read_mac(mac::MII_DATA)
    }

    fn write_phy(&self, register: Place, value: u32) {
        self.write_mac(mac::MII_DATA, value);
        self.phy_command(register, mac::MII_ACC::MII_WRITE.mask());
    }

    fn phy_command(&self, register: Place, direction: u32) {
        let which = mac::MII_ACC::PHY_ADDR.of(PHY) | mac::MII_ACC::MIIRINDA.of(register.offset);
        let busy = mac::MII_ACC::MII_BUSY;
        self.write_mac(mac::MII_ACC, busy.mask() | direction | which);
        self.settle(AFTER_WRITE);
        // 64 bits at 2.5 MHz; each look takes a tenth of a microsecond or more.
        (0..1000).any(|_| !busy.is_set(self.read_mac(mac::MII_ACC)));
    }
}

/// A group's place in the table: the upper six bits of the CRC-32 of its address, first bit uppermost
/// (section 5.4.4).
pub(super) fn hash(group: MacAddress) -> u32 {
    // The FCS is the complement, last bit uppermost.
    (!linerate_ether::fcs::crc32(&group.0)).reverse_bits() >> 26
}
