//! Status of the link, for people and programs.

use crate::device::LinkState;
use core::fmt;
use linerate_ether::phy10::link::LinkCodeWord;

/// Duplex mode of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duplex {
    /// One at a time: carrier sense and collisions.
    Half,
    /// Both at the same time.
    Full,
}

impl Duplex {
    /// Name as printed on the console: `half`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Half => "half",
            Self::Full => "full",
        }
    }
}

/// Method by which the link was established.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EstablishedBy {
    /// By configuration.
    Forced,
    /// By auto-negotiation (IEEE 802.3 clause 28).
    Negotiation,
    /// The partner does not negotiate, but sends link pulses (clause 28.2.3.1).
    ParallelDetection,
}

impl EstablishedBy {
    /// Name as printed on the console: `auto-negotiation`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Forced => "forced",
            Self::Negotiation => "auto-negotiation",
            Self::ParallelDetection => "parallel detection",
        }
    }
}

/// Fault of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkFault {
    /// The stations have no mode in common; the link stays down.
    NothingInCommon,
    /// The partner reports a fault at its end (clause 28.2.1.2.4).
    Remote,
    /// An apparent partner without auto-negotiation disappeared before it was confirmed (clause
    /// 28.2.3.1).
    ParallelDetection,
}

impl LinkFault {
    /// Name as printed on the console: `remote fault`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NothingInCommon => "nothing in common",
            Self::Remote => "remote fault",
            Self::ParallelDetection => "parallel detection fault",
        }
    }
}

/// Status of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// State of the link: up if frames can be sent and received.
    pub state: LinkState,
    /// Duplex mode of the link.
    pub duplex: Duplex,
    /// Method by which the link was established, or would be if it is down.
    pub established_by: EstablishedBy,
    /// Abilities advertised by the partner, if it negotiated.
    pub partner: Option<LinkCodeWord>,
    /// The fault, if any.
    pub fault: Option<LinkFault>,
}

impl Status {
    /// A link without negotiation.
    pub(super) const fn forced(duplex: Duplex, state: LinkState) -> Self {
        Self {
            state,
            duplex,
            established_by: EstablishedBy::Forced,
            partner: None,
            fault: None,
        }
    }
}

/// Formats the abilities of a base page as a list, `10BASE-T half, 100BASE-TX full`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abilities(pub LinkCodeWord);

impl fmt::Display for Abilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            (LinkCodeWord::TEN_HALF, "10BASE-T half"),
            (LinkCodeWord::TEN_FULL, "10BASE-T full"),
            (LinkCodeWord::HUNDRED_HALF, "100BASE-TX half"),
            (LinkCodeWord::HUNDRED_FULL, "100BASE-TX full"),
            (LinkCodeWord::T4, "100BASE-T4"),
            (LinkCodeWord::PAUSE, "PAUSE"),
            (LinkCodeWord::ASYMMETRIC_PAUSE, "asymmetric PAUSE"),
        ];
        let mut first = true;
        for (flag, name) in names {
            if self.0.has(flag) {
                f.write_str(if first { "" } else { ", " })?;
                f.write_str(name)?;
                first = false;
            }
        }
        if first {
            f.write_str("nothing")
        } else {
            Ok(())
        }
    }
}
