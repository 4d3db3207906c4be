//! Statistics of a connection's sender, as visible in a capture.

use crate::time::{Instant, Span};

/// Reason for a retransmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RetransmitReason {
    /// Tail-loss probe (RFC 8985 section 7).
    TailLossProbe,
    /// Fast retransmit, triggered by RACK or by three duplicate acknowledgments.
    FastRetransmit,
    /// Retransmission timeout.
    Timeout,
    /// In slow start after a timeout, without waiting for another.
    AfterTimeout,
}

impl RetransmitReason {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::TailLossProbe,
        Self::FastRetransmit,
        Self::Timeout,
        Self::AfterTimeout,
    ];
}

/// One retransmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retransmission {
    /// Reason.
    pub reason: RetransmitReason,
    /// Time of sending.
    pub at: Instant,
    /// Stream offset of its first octet.
    pub offset: u64,
    /// Octets of payload.
    pub octets: u64,
    /// Time since the previous transmission of this segment.
    pub waited: Span,
    /// Consecutive timeouts so far: 1 at the first, more while backing off.
    pub backoff_step: u32,
}

/// Counts of one connection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Data or FIN segments sent for the first time.
    pub segments: u64,
    /// Octets of payload sent for the first time.
    pub octets: u64,
    /// All retransmissions in the order of time.
    pub retransmissions: Vec<Retransmission>,
    /// Duplicate acknowledgments (RFC 5681 section 2).
    pub duplicate_acks: u64,
    /// Zero-window probes.
    pub window_probes: u64,
    /// Recoveries undone because they proved unnecessary.
    pub undone_recoveries: u64,
}

impl Statistics {
    pub(super) fn sent(&mut self, octets: u64) {
        self.segments += 1;
        self.octets += octets;
    }

    pub(super) fn retransmitted(
        &mut self,
        reason: RetransmitReason,
        at: Instant,
        offset: u64,
        octets: u64,
        waited: Span,
        backoff_step: u32,
    ) {
        let retransmission = Retransmission {
            reason,
            at,
            offset,
            octets,
            waited,
            backoff_step,
        };
        self.retransmissions.push(retransmission);
    }

    /// Number of retransmissions for `reason`.
    #[must_use]
    pub fn count(&self, reason: RetransmitReason) -> u64 {
        self.retransmissions
            .iter()
            .filter(|event| event.reason == reason)
            .count() as u64
    }
}
