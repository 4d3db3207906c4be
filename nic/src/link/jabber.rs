//! The jabber function (IEEE 802.3 clause 14.2.1.6): a transmitter that sends for too long is cut
//! off, so that other stations can use the medium.

use super::{from_ms, from_ns};
use crate::mac::BitTimes;
use linerate_ether::phy10::JABBER_NS;

/// Longest transmission (`xmit_max_timer`).
const XMIT_MAX: BitTimes = from_ms(25);
/// Time for which the transmitter then stays disabled (`unjab_timer`: 0.5 s +- 0.25 s).
const UNJAB: BitTimes = from_ms(500);

const _: () = assert!(
    XMIT_MAX.0 >= from_ns(*JABBER_NS.start()).0 && XMIT_MAX.0 <= from_ns(*JABBER_NS.end()).0
);

/// Limits the duration of a transmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Jabber {
    cut: Option<BitTimes>,
}

impl Jabber {
    /// Maximum octets of a transmission, preamble and FCS included.
    pub const MAX_OCTETS: usize = (XMIT_MAX.0 / 8) as usize;

    /// A transmitter that has not been cut off.
    #[must_use]
    pub const fn new() -> Self {
        Self { cut: None }
    }

    /// Enables the transmitter again when its time is over; true if it may send at `now`.
    pub fn poll_enabled(&mut self, now: BitTimes) -> bool {
        if self.cut.is_some_and(|at| now.since(at).0 >= UNJAB.0) {
            self.cut = None;
        }
        self.cut.is_none()
    }

    /// Processes the end, at `now`, of a transmission of `octets`, of which at most
    /// [`Self::MAX_OCTETS`] were sent. Returns `true` if it was cut off.
    pub fn on_sent(&mut self, octets: usize, now: BitTimes) -> bool {
        let jabbers = octets > Self::MAX_OCTETS;
        if jabbers {
            self.cut = Some(now);
        }
        jabbers
    }
}
