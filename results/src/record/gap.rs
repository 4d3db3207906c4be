//! What stands between a download and the line's limit.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The time of one request beyond what the line alone needs for its bytes, divided into causes:
/// `total_ns = line_ns + the sum of the parts`, to the nanosecond.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GapToLineRate {
    /// The request of median goodput, counted from 0.
    pub request: u64,
    /// What it took, from the first SYN to the last byte consumed.
    pub total_ns: u64,
    /// What the line needs for the body: full segments back to back, with a gap behind each.
    pub line_ns: u64,
    /// The difference, by cause; causes that took no time are left out.
    pub parts: Vec<GapPart>,
}

impl GapToLineRate {
    /// Time of `cause`, nanoseconds.
    pub fn of(&self, cause: GapCause) -> i64 {
        let parts = self.parts.iter().filter(|part| part.cause == cause);
        parts.map(|part| part.ns).sum()
    }

    /// `total_ns - line_ns - the sum of the parts`: zero, or a defect in the counting.
    pub fn missing_ns(&self) -> i64 {
        let parts: i64 = self.parts.iter().map(|part| part.ns).sum();
        self.total_ns as i64 - self.line_ns as i64 - parts
    }
}

/// A cause and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GapPart {
    /// The cause.
    pub cause: GapCause,
    /// Its time. Negative where it saved some: a peer whose clock runs fast has shorter frames.
    pub ns: i64,
}

/// Why a download takes longer than the line needs.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum GapCause {
    /// Everything before the first data, and silence while the flight still grows.
    HandshakeAndSlowStart,
    /// Frames of the receiving station.
    AckAirtime,
    /// 96 bit times at each frame, beyond one for each full segment, and longer ones in a row.
    InterPacketGaps,
    /// Octets that are not body in the sender's frames beyond those of full segments, frames that
    /// are not full, and the sender's clock where it is not exact.
    HeadersAndClock,
    /// Silence that the peer ended.
    PeerTurnaround,
    /// Silence that the device ended, nothing more known.
    Device,
    /// The same, of that: interrupts.
    Interrupt,
    /// The same, of that: copying memory.
    Copies,
    /// The same, of that: checksums.
    Checksums,
    /// The same, of that: the TCP/IP stack.
    Stack,
    /// The same, of that: MAC and PHY on the main thread.
    Driver,
    /// The same, of that: the program and everything else.
    Program,
    /// The same, of that: nothing, it waits for an interrupt.
    Idle,
    /// Frames that were lost, that came again, and silence before they came again.
    Retransmission,
    /// Attempts that collided, and back-off.
    Collisions,
    /// Frames of the peer that belong to no TCP connection.
    OtherTraffic,
}

impl GapCause {
    /// Every cause, in the order in which it is shown.
    pub const ALL: [Self; 16] = [
        Self::AckAirtime,
        Self::InterPacketGaps,
        Self::HeadersAndClock,
        Self::PeerTurnaround,
        Self::Interrupt,
        Self::Driver,
        Self::Stack,
        Self::Copies,
        Self::Checksums,
        Self::Program,
        Self::Idle,
        Self::Device,
        Self::HandshakeAndSlowStart,
        Self::Retransmission,
        Self::Collisions,
        Self::OtherTraffic,
    ];

    /// Whether it is the device's processing.
    pub const fn is_device(self) -> bool {
        matches!(
            self,
            Self::Device
                | Self::Interrupt
                | Self::Copies
                | Self::Checksums
                | Self::Stack
                | Self::Driver
                | Self::Program
                | Self::Idle
        )
    }
}

impl fmt::Display for GapCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HandshakeAndSlowStart => "handshake and slow start",
            Self::AckAirtime => "acknowledgments on the air",
            Self::InterPacketGaps => "inter-packet gaps",
            Self::HeadersAndClock => "headers, short frames, clock",
            Self::PeerTurnaround => "peer turnaround",
            Self::Device => "device",
            Self::Interrupt => "device: interrupts",
            Self::Copies => "device: copies",
            Self::Checksums => "device: checksums",
            Self::Stack => "device: TCP/IP stack",
            Self::Driver => "device: MAC and PHY",
            Self::Program => "device: program",
            Self::Idle => "device: waits",
            Self::Retransmission => "retransmission",
            Self::Collisions => "collisions and back-off",
            Self::OtherTraffic => "other traffic",
        })
    }
}
