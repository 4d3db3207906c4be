//! What a packet is, seen with those before it: under the names that tshark has for it.

use std::ops::BitOrAssign;

/// What is remarkable about a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnalysisFlags(u16);

impl AnalysisFlags {
    /// SendClass before, and neither of the next two.
    pub const RETRANSMISSION: Self = Self(1);
    /// SendClass again because of duplicate acknowledgments.
    pub const FAST_RETRANSMISSION: Self = Self(1 << 1);
    /// SendClass again although it was acknowledged.
    pub const SPURIOUS_RETRANSMISSION: Self = Self(1 << 2);
    /// Comes behind what was sent after it.
    pub const OUT_OF_ORDER: Self = Self(1 << 3);
    /// Repeats an acknowledgment.
    pub const DUPLICATE_ACK: Self = Self(1 << 4);
    /// Allows nothing to be sent.
    pub const ZERO_WINDOW: Self = Self(1 << 5);
    /// Asks whether that still holds.
    pub const ZERO_WINDOW_PROBE: Self = Self(1 << 6);
    /// Says that it does.
    pub const ZERO_WINDOW_PROBE_ACK: Self = Self(1 << 7);
    /// Fills the window.
    pub const WINDOW_FULL: Self = Self(1 << 8);
    /// Changes nothing but the window.
    pub const WINDOW_UPDATE: Self = Self(1 << 9);
    /// Asks whether the other end is still there.
    pub const KEEP_ALIVE: Self = Self(1 << 10);
    /// Says that it is.
    pub const KEEP_ALIVE_ACK: Self = Self(1 << 11);
    /// Comes behind something that was not captured before it.
    pub const LOST_SEGMENT: Self = Self(1 << 12);
    /// Acknowledges what was not captured.
    pub const ACK_LOST_SEGMENT: Self = Self(1 << 13);
    /// Opens another connection between ports that had one.
    pub const REUSED_PORTS: Self = Self(1 << 14);

    /// Each of them with the field of tshark 4.0 that tells the same.
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

    /// Whether nothing is remarkable.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether all of `others` hold.
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
