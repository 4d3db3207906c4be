//! Round trips: how long an acknowledgment takes, and how long a sender waits for one.

/// Linux's shortest retransmission time-out; RFC 6298 would have a second.
const LINUX_MIN_RTO_NS: u64 = 200_000_000;

/// Shorter silences are the scheduling of a host.
const MIN_OVERDUE_NS: u64 = 10_000_000;

/// The round trip as a sender knows it: RFC 6298 section 2.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RtoEstimator {
    pub(super) srtt_ns: u64,
    rttvar_ns: u64,
}

impl RtoEstimator {
    /// Takes note of one.
    #[inline]
    pub(super) fn add(&mut self, rtt_ns: u64) {
        if self.srtt_ns == 0 {
            self.srtt_ns = rtt_ns;
            self.rttvar_ns = rtt_ns / 2;
            return;
        }
        let off = self.srtt_ns.abs_diff(rtt_ns);
        self.rttvar_ns = (3 * self.rttvar_ns + off) / 4;
        self.srtt_ns = (7 * self.srtt_ns + rtt_ns) / 8;
    }

    /// Whether an acknowledgment was to be expected sooner: like the time-out, but sooner than that.
    #[inline]
    pub(super) fn is_overdue(&self, ns: u64) -> bool {
        let known = self.srtt_ns > 0;
        known && ns > MIN_OVERDUE_NS && ns > self.srtt_ns + 4 * self.rttvar_ns
    }

    /// How long the sender waits for an acknowledgment at least.
    pub(super) fn min_rto_ns(&self) -> u64 {
        LINUX_MIN_RTO_NS.max(self.srtt_ns + 4 * self.rttvar_ns) / 20 * 19
    }
}

/// What was sent since something came back.
#[derive(Clone, Copy, Debug)]
pub(super) enum SentSinceAck {
    None,
    One { end: u32, sent_ns: u64 },
    Several,
}
