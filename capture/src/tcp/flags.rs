//! tshark's analysis flags of a packet.

use std::ops::BitOrAssign;

/// Set of analysis flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnalysisFlags(u16);

impl AnalysisFlags {
    /// Sent before, and neither of the next two.
    pub const RETRANSMISSION: Self = Self(1);
    /// Retransmitted because of duplicate ACKs.
    pub const FAST_RETRANSMISSION: Self = Self(1 << 1);
    /// Retransmitted although acknowledged.
    pub const SPURIOUS_RETRANSMISSION: Self = Self(1 << 2);
    /// Arrives after later data.
    pub const OUT_OF_ORDER: Self = Self(1 << 3);
    /// Repeats an acknowledgment.
    pub const DUPLICATE_ACK: Self = Self(1 << 4);
    /// Closes the window.
    pub const ZERO_WINDOW: Self = Self(1 << 5);
    /// Probes a closed window.
    pub const ZERO_WINDOW_PROBE: Self = Self(1 << 6);
    /// Answers such a probe with a closed window.
    pub const ZERO_WINDOW_PROBE_ACK: Self = Self(1 << 7);
    /// Fills the window.
    pub const WINDOW_FULL: Self = Self(1 << 8);
    /// Changes only the window.
    pub const WINDOW_UPDATE: Self = Self(1 << 9);
    /// Probes an idle connection.
    pub const KEEP_ALIVE: Self = Self(1 << 10);
    /// Answers such a probe.
    pub const KEEP_ALIVE_ACK: Self = Self(1 << 11);
    /// Follows data that was not captured.
    pub const LOST_SEGMENT: Self = Self(1 << 12);
    /// Acknowledges data that was not captured.
    pub const ACK_LOST_SEGMENT: Self = Self(1 << 13);
    /// Opens another connection between the same ports.
    pub const REUSED_PORTS: Self = Self(1 << 14);

    /// Each flag with its field in tshark 4.0.
    pub const NAMES: [(Self, &str); 15] = [
        (Self::RETRANSMISSION, "tcp.analysis.retransmission"),
        (
            Self::FAST_RETRANSMISSION,
            "tcp.analysis.fast_retransmission",
        ),
        (
            Self::SPURIOUS_RETRANSMISSION,
            "tcp.analysis.spurious_retransmission",
        ),
        (Self::OUT_OF_ORDER, "tcp.analysis.out_of_order"),
        (Self::DUPLICATE_ACK, "tcp.analysis.duplicate_ack"),
        (Self::ZERO_WINDOW, "tcp.analysis.zero_window"),
        (Self::ZERO_WINDOW_PROBE, "tcp.analysis.zero_window_probe"),
        (
            Self::ZERO_WINDOW_PROBE_ACK,
            "tcp.analysis.zero_window_probe_ack",
        ),
        (Self::WINDOW_FULL, "tcp.analysis.window_full"),
        (Self::WINDOW_UPDATE, "tcp.analysis.window_update"),
        (Self::KEEP_ALIVE, "tcp.analysis.keep_alive"),
        (Self::KEEP_ALIVE_ACK, "tcp.analysis.keep_alive_ack"),
        (Self::LOST_SEGMENT, "tcp.analysis.lost_segment"),
        (Self::ACK_LOST_SEGMENT, "tcp.analysis.ack_lost_segment"),
        (Self::REUSED_PORTS, "tcp.analysis.reused_ports"),
    ];

    /// True if no flag is set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// True if all of `others` are set.
    #[inline]
    pub const fn contains(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }
}

impl BitOrAssign for AnalysisFlags {
    #[inline]
    fn bitor_assign(&mut self, others: Self) {
        self.0 |= others.0;
    }
}
