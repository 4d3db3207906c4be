//! Abilities of two stations and the result of their auto-negotiation (IEEE 802.3 Annexes 28B and
//! 40C).

use super::mii;
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
pub struct Pauses {
    /// The partner obeys our PAUSE frames.
    pub send: bool,
    /// This station obeys PAUSE frames of the partner.
    pub receive: bool,
}

/// Negotiated mode of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// The speed.
    pub speed: Speed,
    /// True for full duplex.
    pub full_duplex: bool,
    /// PAUSE frames; only in full duplex.
    pub pauses: Pauses,
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let speed = self.speed.mbit_per_s();
        let duplex = if self.full_duplex { "full" } else { "half" };
        let pauses = match (self.pauses.send, self.pauses.receive) {
            (true, true) => "both ways",
            (true, false) => "sent",
            (false, true) => "obeyed",
            (false, false) => "none",
        };
        write!(f, "{speed} Mbit/s, {duplex} duplex, pause frames: {pauses}")
    }
}

/// Abilities of a PHY, or those advertised by a station.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Abilities {
    /// One bit per mode, by its index in [`LINK_MODES`].
    ways: u8,
    /// Symmetric PAUSE.
    pub pause: bool,
    /// Asymmetric PAUSE: only towards the partner, or with `pause` also only from the partner.
    pub asymmetric: bool,
}

/// A mode of a link, and the bits that represent it.
struct Way {
    speed: Speed,
    full_duplex: bool,
    /// In BMSR, ANAR and ANLPAR; for 1000BASE-T in ESTATUS, CTRL1000 and STAT1000.
    able: Bits,
    ours: Bits,
    partners: Bits,
}

/// All modes, by descending priority (Annex 28B.3; without 100BASE-T2 and 100BASE-T4, which no
/// current PHY supports).
const WAYS: [Way; 6] = [
    Way {
        speed: Speed::Mbit1000,
        full_duplex: true,
        able: mii::ESTATUS::T_1000_FULL,
        ours: mii::CTRL1000::T_1000_FULL,
        partners: mii::STAT1000::LP_1000_FULL,
    },
    Way {
        speed: Speed::Mbit1000,
        full_duplex: false,
        able: mii::ESTATUS::T_1000_HALF,
        ours: mii::CTRL1000::T_1000_HALF,
        partners: mii::STAT1000::LP_1000_HALF,
    },
    Way {
        speed: Speed::Mbit100,
        full_duplex: true,
        able: mii::BMSR::X_100_FULL,
        ours: mii::ANAR::TX_100_FULL,
        partners: mii::ANAR::TX_100_FULL,
    },
    Way {
        speed: Speed::Mbit100,
        full_duplex: false,
        able: mii::BMSR::X_100_HALF,
        ours: mii::ANAR::TX_100_HALF,
        partners: mii::ANAR::TX_100_HALF,
    },
    Way {
        speed: Speed::Mbit10,
        full_duplex: true,
        able: mii::BMSR::T_10_FULL,
        ours: mii::ANAR::T_10_FULL,
        partners: mii::ANAR::T_10_FULL,
    },
    Way {
        speed: Speed::Mbit10,
        full_duplex: false,
        able: mii::BMSR::T_10_HALF,
        ours: mii::ANAR::T_10_HALF,
        partners: mii::ANAR::T_10_HALF,
    },
];

impl Abilities {
    /// All speeds and duplex modes, without PAUSE.
    pub const ALL_SPEEDS: Self = Self {
        ways: (1 << WAYS.len()) - 1,
        pause: false,
        asymmetric: false,
    };

    /// The same, with PAUSE in both directions, or at least one.
    #[must_use]
    pub const fn with_pauses(self) -> Self {
        Self {
            pause: true,
            asymmetric: true,
            ..self
        }
    }

    /// The same, limited to this speed.
    #[must_use]
    pub fn up_to(self, speed: Speed) -> Self {
        self.only(|way| way.speed <= speed)
    }

    /// The same, without half duplex.
    #[must_use]
    pub fn full_duplex(self) -> Self {
        self.only(|way| way.full_duplex)
    }

    fn only(self, keeps: impl Fn(&Way) -> bool) -> Self {
        Self {
            ways: self.ways & ways(keeps),
            ..self
        }
    }

    /// Abilities of a PHY, from BMSR and ESTATUS.
    pub(super) fn of_phy(base: u16, gigabit: u16) -> Self {
        Self {
            ways: set(base, gigabit, |way| way.able),
            ..Self::default()
        }
    }

    /// Own advertised abilities, from ANAR and CTRL1000.
    pub(super) fn advertised(base: u16, gigabit: u16) -> Self {
        Self {
            ways: set(base, gigabit, |way| way.ours),
            ..pauses(base)
        }
    }

    /// Abilities advertised by the partner, from ANLPAR and STAT1000.
    pub(super) fn of_partner(base: u16, gigabit: u16) -> Self {
        Self {
            ways: set(base, gigabit, |way| way.partners),
            ..pauses(base)
        }
    }

    /// These abilities, limited to those of a PHY.
    pub(super) const fn that(self, phy: Self) -> Self {
        Self {
            ways: self.ways & phy.ways,
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
        let here = |way: &Way| (way.speed == Speed::Mbit1000) == gigabit;
        let chosen = WAYS
            .iter()
            .enumerate()
            .filter(|(n, way)| self.ways >> n & 1 != 0 && here(way));
        chosen.fold(0, |bits, (_, way)| bits | way.ours.mask() as u16)
    }

    /// Resolves the negotiation: the common mode of highest priority (Annex 28B.3), and PAUSE by
    /// Table 28B-3. `None` if the stations have no mode in common.
    #[must_use]
    pub fn agreed(self, partner: Self) -> Option<Link> {
        let common = self.ways & partner.ways;
        let best = WAYS.get(common.trailing_zeros() as usize)?;
        let both = self.pause && partner.pause;
        let one = self.asymmetric && partner.asymmetric;
        let pauses = Pauses {
            send: both || one && partner.pause,
            receive: both || one && self.pause,
        };
        Some(Link {
            speed: best.speed,
            full_duplex: best.full_duplex,
            pauses: if best.full_duplex {
                pauses
            } else {
                Pauses::default()
            },
        })
    }
}

/// The modes that satisfy a predicate.
fn ways(holds: impl Fn(&Way) -> bool) -> u8 {
    let chosen = WAYS.iter().enumerate().filter(|(_, way)| holds(way));
    chosen.fold(0, |ways, (n, _)| ways | 1 << n)
}

/// The modes whose bit is set in their register.
fn set(base: u16, gigabit: u16, bit: impl Fn(&Way) -> Bits) -> u8 {
    ways(|way| {
        let register = if way.speed == Speed::Mbit1000 {
            gigabit
        } else {
            base
        };
        bit(way).is_set(register.into())
    })
}

/// PAUSE abilities in a base page: ANAR and ANLPAR have the same bits.
fn pauses(base: u16) -> Abilities {
    Abilities {
        ways: 0,
        pause: mii::ANAR::PAUSE.is_set(base.into()),
        asymmetric: mii::ANAR::ASM_DIR.is_set(base.into()),
    }
}
