//! The jabber function (IEEE 802.3 clause 14.2.1.6): a transmitter that does not end is cut off, so
//! that the others can use the medium.

use super::{from_ms, from_ns};
use crate::mac::BitTimes;
use linerate_ether::phy10::JABBER_NS;

/// The longest that is sent at a time (`xmit_max_timer`).
const MAX: BitTimes = from_ms(25);
/// How long the transmitter then stays off (`unjab_timer`: 0.5 s +- 0.25 s).
const OFF: BitTimes = from_ms(500);

const _: () =
    assert!(MAX.0 >= from_ns(*JABBER_NS.start()).0 && MAX.0 <= from_ns(*JABBER_NS.end()).0);

/// Limits what is sent at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Jabber {
    cut: Option<BitTimes>,
}

impl Jabber {
    /// The most octets that may be sent at a time, preamble and FCS included.
    pub const MAX_OCTETS: usize = (MAX.0 / 8) as usize;

    /// A transmitter that has not been cut off.
    #[must_use]
    pub const fn new() -> Self {
        Self { cut: None }
    }

    /// Whether the transmitter may send at `now`.
    pub fn may_send(&mut self, now: BitTimes) -> bool {
        if self.cut.is_some_and(|at| now.since(at).0 >= OFF.0) {
            self.cut = None;
        }
        self.cut.is_none()
    }

    /// Of `octets` that were to be sent only [`Self::MAX_OCTETS`] were, up to `now`. Says whether
    /// that was less.
    pub fn sent(&mut self, octets: usize, now: BitTimes) -> bool {
        let jabbers = octets > Self::MAX_OCTETS;
        if jabbers {
            self.cut = Some(now);
        }
        jabbers
    }
}
