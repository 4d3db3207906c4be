//! What limits a connection's speed.

use serde::{Serialize, Serializer};

/// Limit of a connection's speed during an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit {
    /// Before the first payload.
    Handshake,
    /// Segments passed at the fastest rate that the path showed.
    PathRate,
    /// The receiver's window was full.
    ReceiveWindow,
    /// The receiver's window was closed.
    ClosedWindow,
    /// Data was in flight, less than the window permits, and the next segment followed an acknowledgment: the congestion
    /// window or the send buffer was full.
    InFlight,
    /// The same while each round trip carried more than the one before, before the first loss (RFC 5681 section 3.1).
    SlowStart,
    /// The acknowledgment took longer than the path.
    LateAck,
    /// The sending program had no data, or did not send it.
    SenderIdle,
    /// Lost segments were retransmitted on request.
    FastRecovery,
    /// The sender waited for its retransmission timer.
    Timeout,
    /// After the last payload.
    Tail,
}

impl Limit {
    /// All limits.
    pub const ALL: [Self; 11] = [
        Self::Handshake,
        Self::PathRate,
        Self::ReceiveWindow,
        Self::ClosedWindow,
        Self::InFlight,
        Self::SlowStart,
        Self::LateAck,
        Self::SenderIdle,
        Self::FastRecovery,
        Self::Timeout,
        Self::Tail,
    ];

    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Handshake => "handshake",
            Self::PathRate => "path_rate",
            Self::ReceiveWindow => "receive_window",
            Self::ClosedWindow => "closed_window",
            Self::InFlight => "in_flight",
            Self::SlowStart => "slow_start",
            Self::LateAck => "late_ack",
            Self::SenderIdle => "sender_application",
            Self::FastRecovery => "fast_recovery",
            Self::Timeout => "time_out_stall",
            Self::Tail => "tail",
        }
    }
}

impl Serialize for Limit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Nanoseconds by [`Limit`].
pub type Shares = [u64; Limit::ALL.len()];
