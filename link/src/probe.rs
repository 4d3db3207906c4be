//! Probes: two time stamps of each end, as in STAMP (RFC 8762).

use crate::time::Instant;

/// Time stamps of a probe and its answer. Each is the `now` of the call that handled the octet, so its resolution is
/// that of the caller's loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Probe {
    /// Number of the probe, modulo 256.
    pub number: u8,
    /// First octet of the probe sent, on this end's clock.
    pub sent: Instant,
    /// Last octet of the probe received, on the peer's clock.
    pub peer_received: Instant,
    /// First octet of the answer sent, on the peer's clock.
    pub peer_sent: Instant,
    /// Last octet of the answer received, on this end's clock.
    pub received: Instant,
}

impl Probe {
    /// Time on the link in both directions, without the peer's: microseconds.
    #[must_use]
    pub const fn round_trip_us(&self) -> u32 {
        let all = self.received.us_since(self.sent);
        all.wrapping_sub(self.peer_sent.us_since(self.peer_received))
    }

    /// Time to the peer plus an unknown constant, the offset of the two clocks: microseconds modulo 2^32. The
    /// differences between probes are the spread of the one-way delay.
    #[must_use]
    pub const fn forward_us(&self) -> u32 {
        self.peer_received.us_since(self.sent)
    }

    /// Time from the peer less the same constant.
    #[must_use]
    pub const fn backward_us(&self) -> u32 {
        self.received.us_since(self.peer_sent)
    }
}

/// Probes of both directions in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Probes {
    pub(crate) request_due: bool,
    pub(crate) reply_due: bool,
    /// Number of the last own probe, and of the peer's.
    pub(crate) number: u8,
    pub(crate) peer_number: u8,
    /// Stamps of the frame that is being sent; before that, of the answer that is due.
    pub(crate) stamps: [Instant; 3],
    pub(crate) reply: [Instant; 2],
}

impl Probes {
    /// Octet of the payload of the frame that is being sent.
    pub(crate) fn octet(&self, at: usize) -> u8 {
        let stamp = self.stamps.get(at / 4).copied().unwrap_or_default();
        stamp.us().to_le_bytes()[at % 4]
    }
}
