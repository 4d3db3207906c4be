//! The MAC and its PHY, up to a negotiated link.

use linerate_nic::dwmac::{Config, InitError, Mac};
use linerate_nic::mdio::{Abilities, LinkSettings, Phy};
use linerate_nic::mmio::Mmio;

use crate::machine::{PHY, now};

/// Longest time that negotiation may take, in ns.
const NEGOTIATES_FOR: u64 = 5_000_000_000;

/// Resets the MAC and negotiates.
pub fn connect(
    registers: Mmio,
    config: Config,
    abilities: Abilities,
) -> Result<(Mac<Mmio>, Phy, Option<LinkSettings>), InitError> {
    let mac = Mac::reset(registers, config)?;
    let phy = Phy::at(&mac, PHY)?;
    phy.negotiate(&mac, abilities)?;
    let latest = now().ns() + NEGOTIATES_FOR;
    let mut link = phy.link(&mac)?;
    while link.is_none() && now().ns() < latest {
        link = phy.link(&mac)?;
    }
    Ok((mac, phy, link))
}
