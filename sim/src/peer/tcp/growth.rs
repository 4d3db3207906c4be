//! The congestion window's growth and reduction by the chosen algorithm.

use super::cubic::Cubic;
use super::reno::Reno;
use crate::time::{Instant, Span};

/// Congestion control of a connection, by its name in Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Congestion {
    /// `cubic`, the default of most distributions (RFC 9438).
    #[default]
    Cubic,
    /// `reno` (RFC 5681).
    Reno,
}

/// State of the chosen algorithm. Windows are in segments.
#[derive(Debug, Clone)]
pub(super) enum Growth {
    Cubic(Cubic),
    Reno(Reno),
}

impl Growth {
    pub(super) fn new(congestion: Congestion) -> Self {
        match congestion {
            Congestion::Cubic => Self::Cubic(Cubic::default()),
            Congestion::Reno => Self::Reno(Reno::default()),
        }
    }

    /// A loss with `window` segments allowed: returns the new slow-start threshold.
    pub(super) fn on_loss(&mut self, window: u32) -> u32 {
        match self {
            Self::Cubic(cubic) => cubic.on_loss(window),
            Self::Reno(reno) => reno.on_loss(window),
        }
    }

    /// The retransmission timer expired.
    pub(super) fn on_timeout(&mut self) {
        match self {
            Self::Cubic(cubic) => cubic.on_timeout(),
            Self::Reno(_) => {}
        }
    }

    /// The connection was idle.
    pub(super) fn on_idle(&mut self) {
        match self {
            Self::Cubic(cubic) => cubic.on_idle(),
            Self::Reno(_) => {}
        }
    }

    /// `acknowledged` segments arrived in congestion avoidance; returns the new window.
    pub(super) fn on_ack(
        &mut self,
        window: u32,
        acknowledged: u32,
        now: Instant,
        round_trip: Span,
    ) -> u32 {
        match self {
            Self::Cubic(cubic) => cubic.on_ack(window, acknowledged, now, round_trip),
            Self::Reno(reno) => reno.on_ack(window, acknowledged),
        }
    }
}
