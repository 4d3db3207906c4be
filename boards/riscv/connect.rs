//! The MAC and its PHY, up to a negotiated link. The program calls the driver's module `mac`.

use linerate_nic::mdio::{Abilities, LinkSettings, Phy};
use linerate_nic::mmio::Mmio;

use crate::mac::{Config, InitError, Mac};
use crate::machine::{PHY, now};

/// Longest duration of auto-negotiation, in ns.
const NEGOTIATION_NS: u64 = 5_000_000_000;

/// Resets the MAC and negotiates.
pub fn connect(
    registers: Mmio,
    config: Config,
    abilities: Abilities,
) -> Result<(Mac<Mmio>, Phy, Option<LinkSettings>), InitError> {
    let mac = Mac::reset(registers, config)?;
    let phy = Phy::at(&mac, PHY)?;
    phy.negotiate(&mac, abilities)?;
    let latest = now().ns() + NEGOTIATION_NS;
    let mut link = phy.link(&mac)?;
    while link.is_none() && now().ns() < latest {
        link = phy.link(&mac)?;
    }
    Ok((mac, phy, link))
}
