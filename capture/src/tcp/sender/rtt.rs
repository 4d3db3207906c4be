//! Round-trip time and retransmission timeout of a sender.

/// Linux's minimum RTO; RFC 6298 would have one second.
pub(super) const LINUX_MIN_RTO_NS: u64 = 200_000_000;

/// SRTT and RTTVAR of a sender: RFC 6298 section 2.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RtoEstimator {
    pub(super) srtt_ns: u64,
    rttvar_ns: u64,
}

impl RtoEstimator {
    /// Adds a measurement.
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

    /// Lower bound of the RTO.
    pub(super) fn min_rto_ns(&self) -> u64 {
        LINUX_MIN_RTO_NS.max(self.srtt_ns + 4 * self.rttvar_ns) / 20 * 19
    }
}

/// Data sent since the last acknowledgment.
#[derive(Clone, Copy, Debug)]
pub(super) enum SentSinceAck {
    None,
    One { end: u32, sent_ns: u64 },
    Several,
}
