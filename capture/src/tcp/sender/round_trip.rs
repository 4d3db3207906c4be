//! Round trips: how long an acknowledgment takes, and how long a sender waits for one.

/// Linux's shortest retransmission time-out; RFC 6298 would have a second.
const LEAST_TIME_OUT_NS: u64 = 200_000_000;

/// Shorter silences are the scheduling of a host.
const LEAST_SILENCE_NS: u64 = 10_000_000;

/// The round trip as a sender knows it: RFC 6298 section 2.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RoundTrip {
    pub(super) smooth_ns: u64,
    variation_ns: u64,
}

impl RoundTrip {
    /// Takes note of one.
    #[inline]
    pub(super) fn add(&mut self, rtt_ns: u64) {
        if self.smooth_ns == 0 {
            self.smooth_ns = rtt_ns;
            self.variation_ns = rtt_ns / 2;
            return;
        }
        let off = self.smooth_ns.abs_diff(rtt_ns);
        self.variation_ns = (3 * self.variation_ns + off) / 4;
        self.smooth_ns = (7 * self.smooth_ns + rtt_ns) / 8;
    }

    /// Whether an acknowledgment was to be expected sooner: like the time-out, but sooner than that.
    #[inline]
    pub(super) fn is_overdue(&self, ns: u64) -> bool {
        let known = self.smooth_ns > 0;
        known && ns > LEAST_SILENCE_NS && ns > self.smooth_ns + 4 * self.variation_ns
    }

    /// How long the sender waits for an acknowledgment at least.
    pub(super) fn time_out_ns(&self) -> u64 {
        LEAST_TIME_OUT_NS.max(self.smooth_ns + 4 * self.variation_ns) / 20 * 19
    }
}

/// What was sent since something came back.
#[derive(Clone, Copy, Debug)]
pub(super) enum Alone {
    None,
    One { end: u32, sent_ns: u64 },
    Several,
}
