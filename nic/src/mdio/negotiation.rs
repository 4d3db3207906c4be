//! Abilities of two stations and the result of their auto-negotiation (IEEE 802.3 Annexes 28B and
//! 40C).

use super::mii;
use crate::device::LinkState;
use core::fmt;
use linerate_regs::Bits;

/// Speed of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Speed {
    /// 10 Mbit/s.
    Mbit10,
    /// 100 Mbit/s.
    Mbit100,
    /// 1000 Mbit/s.
    Mbit1000,
}

impl Speed {
    /// The speed in Mbit/s.
    #[must_use]
    pub const fn mbit_per_s(self) -> u32 {
        match self {
            Self::Mbit10 => 10,
            Self::Mbit100 => 100,
            Self::Mbit1000 => 1000,
        }
    }
}

/// Directions in which PAUSE frames are used, seen from this station.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FlowControl {
    /// The partner obeys our PAUSE frames.
    pub send: bool,
    /// This station obeys PAUSE frames of the partner.
    pub receive: bool,
}

/// Negotiated mode of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkSettings {
    /// The speed.
    pub speed: Speed,
    /// True for full duplex.
    pub full_duplex: bool,
    /// PAUSE frames; only in full duplex.
    pub flow_control: FlowControl,
}

impl LinkSettings {
    /// Settings of a MAC while its link is down.
    pub(crate) const NO_LINK: Self = Self {
        speed: Speed::Mbit100,
        full_duplex: true,
        flow_control: FlowControl {
            send: false,
            receive: false,
        },
    };
}

impl From<Option<LinkSettings>> for LinkState {
    fn from(link: Option<LinkSettings>) -> Self {
        link.map_or(Self::Down, |_| Self::Up)
    }
}

impl fmt::Display for LinkSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let speed = self.speed.mbit_per_s();
        let duplex = if self.full_duplex { "full" } else { "half" };
        let flow_control = match (self.flow_control.send, self.flow_control.receive) {
            (true, true) => "both ways",
            (true, false) => "sent",
            (false, true) => "obeyed",
            (false, false) => "none",
        };
        write!(
            f,
            "{speed} Mbit/s, {duplex} duplex, pause frames: {flow_control}"
        )
    }
}

/// Abilities of a PHY, or those advertised by a station.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Abilities {
    /// One bit per mode, by its index in [`LINK_MODES`].
    modes: u8,
    /// Symmetric PAUSE.
    pub pause: bool,
    /// Asymmetric PAUSE: only towards the partner, or with `pause` also only from the partner.
    pub asymmetric: bool,
}

/// A mode of a link, and the bits that represent it.
struct LinkMode {
    speed: Speed,
    full_duplex: bool,
    /// In BMSR, ANAR and ANLPAR; for 1000BASE-T in ESTATUS, CTRL1000 and STAT1000.
    ability: Bits,
    advertised: Bits,
    partner: Bits,
}

/// All modes, by descending priority (Annex 28B.3; without 100BASE-T2 and 100BASE-T4, which no
/// current PHY supports).
const LINK_MODES: [LinkMode; 6] = [
    LinkMode {
        speed: Speed::Mbit1000,
        full_duplex: true,
        ability: mii::ESTATUS::T_1000_FULL,
        advertised: mii::CTRL1000::T_1000_FULL,
        partner: mii::STAT1000::LP_1000_FULL,
    },
    LinkMode {
        speed: Speed::Mbit1000,
        full_duplex: false,
        ability: mii::ESTATUS::T_1000_HALF,
        advertised: mii::CTRL1000::T_1000_HALF,
        partner: mii::STAT1000::LP_1000_HALF,
    },
    LinkMode {
        speed: Speed::Mbit100,
        full_duplex: true,
        ability: mii::BMSR::X_100_FULL,
        advertised: mii::ANAR::TX_100_FULL,
        partner: mii::ANAR::TX_100_FULL,
    },
    LinkMode {
        speed: Speed::Mbit100,
        full_duplex: false,
        ability: mii::BMSR::X_100_HALF,
        advertised: mii::ANAR::TX_100_HALF,
        partner: mii::ANAR::TX_100_HALF,
    },
    LinkMode {
        speed: Speed::Mbit10,
        full_duplex: true,
        ability: mii::BMSR::T_10_FULL,
        advertised: mii::ANAR::T_10_FULL,
        partner: mii::ANAR::T_10_FULL,
    },
    LinkMode {
        speed: Speed::Mbit10,
        full_duplex: false,
        ability: mii::BMSR::T_10_HALF,
        advertised: mii::ANAR::T_10_HALF,
        partner: mii::ANAR::T_10_HALF,
    },
];

impl Abilities {
    /// All speeds and duplex modes, without PAUSE.
    pub const ALL_SPEEDS: Self = Self {
        modes: (1 << LINK_MODES.len()) - 1,
        pause: false,
        asymmetric: false,
    };

    /// The same, with PAUSE in both directions, or at least one.
    #[must_use]
    pub const fn with_flow_control(self) -> Self {
        Self {
            pause: true,
            asymmetric: true,
            ..self
        }
    }

    /// The same, limited to this speed.
    #[must_use]
    pub fn up_to(self, speed: Speed) -> Self {
        self.retain(|mode| mode.speed <= speed)
    }

    /// The same, without half duplex.
    #[must_use]
    pub fn full_duplex(self) -> Self {
        self.retain(|mode| mode.full_duplex)
    }

    fn retain(self, keeps: impl Fn(&LinkMode) -> bool) -> Self {
        Self {
            modes: self.modes & modes(keeps),
            ..self
        }
    }

    /// Abilities of a PHY, from BMSR and ESTATUS.
    pub(super) fn of_phy(base: u16, gigabit: u16) -> Self {
        Self {
            modes: modes_set(base, gigabit, |mode| mode.ability),
            ..Self::default()
        }
    }

    /// Own advertised abilities, from ANAR and CTRL1000.
    pub(super) fn advertised(base: u16, gigabit: u16) -> Self {
        Self {
            modes: modes_set(base, gigabit, |mode| mode.advertised),
            ..flow_control(base)
        }
    }

    /// Abilities advertised by the partner, from ANLPAR and STAT1000.
    pub(super) fn of_partner(base: u16, gigabit: u16) -> Self {
        Self {
            modes: modes_set(base, gigabit, |mode| mode.partner),
            ..flow_control(base)
        }
    }

    /// These abilities, limited to those of a PHY.
    pub(super) const fn limited_to(self, phy: Self) -> Self {
        Self {
            modes: self.modes & phy.modes,
            ..self
        }
    }

    /// Value of ANAR.
    pub(super) fn base_page(self) -> u16 {
        let pause = mii::ANAR::PAUSE.of(self.pause.into());
        let asymmetric = mii::ANAR::ASM_DIR.of(self.asymmetric.into());
        let selector = mii::ANAR::SELECTOR.of(mii::ANAR::SELECTOR::IEEE_802_3);
        self.bits(false) | (pause | asymmetric | selector) as u16
    }

    /// The advertisement bits of CTRL1000.
    pub(super) fn gigabit(self) -> u16 {
        self.bits(true)
    }

    fn bits(self, gigabit: bool) -> u16 {
        let here = |mode: &LinkMode| (mode.speed == Speed::Mbit1000) == gigabit;
        let chosen = LINK_MODES
            .iter()
            .enumerate()
            .filter(|(n, mode)| self.modes >> n & 1 != 0 && here(mode));
        chosen.fold(0, |bits, (_, mode)| bits | mode.advertised.mask() as u16)
    }

    /// Resolves the negotiation: the common mode of highest priority (Annex 28B.3), and PAUSE by
    /// Table 28B-3. `None` if the stations have no mode in common.
    #[must_use]
    pub fn resolve(self, partner: Self) -> Option<LinkSettings> {
        let common = self.modes & partner.modes;
        let best = LINK_MODES.get(common.trailing_zeros() as usize)?;
        let both = self.pause && partner.pause;
        let one = self.asymmetric && partner.asymmetric;
        let flow_control = FlowControl {
            send: both || one && partner.pause,
            receive: both || one && self.pause,
        };
        Some(LinkSettings {
            speed: best.speed,
            full_duplex: best.full_duplex,
            flow_control: if best.full_duplex {
                flow_control
            } else {
                FlowControl::default()
            },
        })
    }
}

/// The modes that satisfy a predicate.
fn modes(holds: impl Fn(&LinkMode) -> bool) -> u8 {
    let chosen = LINK_MODES
        .iter()
        .enumerate()
        .filter(|(_, mode)| holds(mode));
    chosen.fold(0, |modes, (n, _)| modes | 1 << n)
}

/// The modes whose bit is set in their register.
fn modes_set(base: u16, gigabit: u16, bit: impl Fn(&LinkMode) -> Bits) -> u8 {
    modes(|mode| {
        let register = if mode.speed == Speed::Mbit1000 {
            gigabit
        } else {
            base
        };
        bit(mode).is_set(register.into())
    })
}

/// PAUSE abilities in a base page: ANAR and ANLPAR have the same bits.
fn flow_control(base: u16) -> Abilities {
    Abilities {
        modes: 0,
        pause: mii::ANAR::PAUSE.is_set(base.into()),
        asymmetric: mii::ANAR::ASM_DIR.is_set(base.into()),
    }
}
