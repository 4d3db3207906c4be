//! PHYs that are managed through MDIO (IEEE 802.3 clause 22.2.4).
//!
//! - [`MdioBus`]: the MDIO access that a MAC provides.
//! - [`Phy`]: a PHY at its address: identity, abilities and advertisement.
//! - [`negotiation`]: the result of a negotiation.

pub mod negotiation;

use core::fmt;
use linerate_regs::RegisterRef;
pub use negotiation::{Abilities, FlowControl, LinkSettings, Speed};

/// The registers.
pub mod mii {
    linerate_regs::constants!(linerate_regs::MII, "MII":
        BMCR { RESET AN_ENABLE AN_RESTART }
        BMSR { LINK_UP AN_COMPLETE AN_ABLE EXT_STATUS X_100_FULL X_100_HALF T_10_FULL T_10_HALF }
        PHYID1
        PHYID2 { OUI MODEL REVISION }
        ANAR { TX_100_FULL TX_100_HALF T_10_FULL T_10_HALF PAUSE ASM_DIR SELECTOR { IEEE_802_3 } }
        ANLPAR
        CTRL1000 { T_1000_FULL T_1000_HALF }
        STAT1000 { LP_1000_FULL LP_1000_HALF }
        ESTATUS { T_1000_FULL T_1000_HALF }
    );
}

/// Error of an access to a PHY.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MdioError {
    /// The MAC did not signal the end of the transfer.
    Timeout,
    /// No PHY responds at this address.
    NoPhy(u8),
    /// The PHY at this address stays in reset.
    InReset(u8),
}

impl fmt::Display for MdioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timeout => write!(f, "an MDIO transfer timed out"),
            Self::NoPhy(address) => write!(f, "no PHY at address {address}"),
            Self::InReset(address) => write!(f, "the PHY at address {address} stays in reset"),
        }
    }
}

impl core::error::Error for MdioError {}

/// MDIO access with frames of clause 22.2.4.5. A transfer takes 64 periods of MDC: 26 us at 2.5
/// MHz.
pub trait MdioBus {
    /// Reads a register of the PHY at this address.
    ///
    /// # Errors
    /// [`MdioError::Timeout`]. Without a PHY at the address all bits read as 1.
    fn read(&self, phy: u8, register: RegisterRef) -> Result<u16, MdioError>;

    /// Writes a register of the PHY at this address.
    ///
    /// # Errors
    /// [`MdioError::Timeout`].
    fn write(&self, phy: u8, register: RegisterRef, value: u16) -> Result<(), MdioError>;
}

/// Number of PHY addresses (clause 22.2.4.5.5).
const ADDRESSES: u8 = 32;
/// Maximum reads of BMCR until a reset is over: a PHY may take half a second (clause 22.2.4.1.1).
const RESET_READS: u32 = 20_000;

/// Identity of a PHY (clause 22.2.4.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// Bits 3 to 24 of the manufacturer's identifier (OUI).
    pub manufacturer: u32,
    /// The model, 6 bits.
    pub model: u8,
    /// The revision, 4 bits.
    pub revision: u8,
}

/// A PHY.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phy {
    address: u8,
    identity: Identity,
}

impl Phy {
    /// The PHY at this address.
    ///
    /// # Errors
    /// [`MdioError`]: no PHY responds there.
    pub fn at(bus: &impl MdioBus, address: u8) -> Result<Self, MdioError> {
        let [high, low] = [mii::PHYID1, mii::PHYID2].map(|it| bus.read(address, it));
        let (high, low) = (u32::from(high?), u32::from(low?));
        // An undriven bus is pulled up; no manufacturer has the identifier 0.
        if matches!((high, low), (0xffff, 0xffff) | (0, 0)) {
            return Err(MdioError::NoPhy(address));
        }
        let identity = Identity {
            manufacturer: high << mii::PHYID2::OUI.count | mii::PHYID2::OUI.get(low),
            model: mii::PHYID2::MODEL.get(low) as u8,
            revision: mii::PHYID2::REVISION.get(low) as u8,
        };
        Ok(Self { address, identity })
    }

    /// The first PHY on the bus.
    ///
    /// # Errors
    /// [`MdioError`]: no PHY responds at any address (the error names the last one).
    pub fn find(bus: &impl MdioBus) -> Result<Self, MdioError> {
        let mut found = Err(MdioError::NoPhy(ADDRESSES - 1));
        for address in 0..ADDRESSES {
            found = Self::at(bus, address);
            if !matches!(found, Err(MdioError::NoPhy(_))) {
                break;
            }
        }
        found
    }

    /// Address of the PHY.
    #[must_use]
    pub const fn address(&self) -> u8 {
        self.address
    }

    /// Identity of the PHY.
    #[must_use]
    pub const fn identity(&self) -> Identity {
        self.identity
    }

    /// Resets the PHY and waits until the reset is over.
    ///
    /// # Errors
    /// [`MdioError`]: the reset does not end.
    pub fn reset(&self, bus: &impl MdioBus) -> Result<(), MdioError> {
        bus.write(self.address, mii::BMCR, mii::BMCR::RESET.mask() as u16)?;
        for _ in 0..RESET_READS {
            let control = bus.read(self.address, mii::BMCR)?;
            if !mii::BMCR::RESET.is_set(control.into()) {
                return Ok(());
            }
        }
        Err(MdioError::InReset(self.address))
    }

    /// Starts a negotiation of the modes in `wanted` that the PHY supports. Returns the advertised
    /// ones. The link is down until it is complete.
    ///
    /// # Errors
    /// [`MdioError::Timeout`].
    pub fn negotiate(&self, bus: &impl MdioBus, wanted: Abilities) -> Result<Abilities, MdioError> {
        let status = bus.read(self.address, mii::BMSR)?;
        let is_extended = mii::BMSR::EXT_STATUS.is_set(status.into());
        let extended = if is_extended {
            bus.read(self.address, mii::ESTATUS)?
        } else {
            0
        };
        let offered = wanted.limited_to(Abilities::of_phy(status, extended));
        bus.write(self.address, mii::ANAR, offered.base_page())?;
        if is_extended {
            // The setting for master and slave is kept.
            let both = mii::CTRL1000::T_1000_FULL.mask() | mii::CTRL1000::T_1000_HALF.mask();
            let kept = bus.read(self.address, mii::CTRL1000)? & !(both as u16);
            bus.write(self.address, mii::CTRL1000, kept | offered.gigabit())?;
        }
        let restart = mii::BMCR::AN_ENABLE.mask() | mii::BMCR::AN_RESTART.mask();
        bus.write(self.address, mii::BMCR, restart as u16)?;
        Ok(offered)
    }

    /// The negotiated mode, once the link is up and negotiation complete; `None` before, and while
    /// the link is down. A link loss since the last call is reported once as down.
    ///
    /// # Errors
    /// [`MdioError::Timeout`].
    pub fn link(&self, bus: &impl MdioBus) -> Result<Option<LinkSettings>, MdioError> {
        let status = bus.read(self.address, mii::BMSR)?;
        let ready = mii::BMSR::LINK_UP.mask() | mii::BMSR::AN_COMPLETE.mask();
        if u32::from(status) & ready != ready {
            return Ok(None);
        }
        let page = |register| bus.read(self.address, register);
        let (mut gigabit, mut partners_gigabit) = (0, 0);
        if mii::BMSR::EXT_STATUS.is_set(status.into()) {
            gigabit = page(mii::CTRL1000)?;
            partners_gigabit = page(mii::STAT1000)?;
        }
        let own = Abilities::advertised(page(mii::ANAR)?, gigabit);
        let partners = Abilities::of_partner(page(mii::ANLPAR)?, partners_gigabit);
        Ok(own.resolve(partners))
    }
}

#[cfg(test)]
mod tests;
