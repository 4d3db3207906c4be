//! The gap between a transfer and line rate.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The time of one request beyond the line's time for its bytes, divided by cause:
/// `total_ns = line_ns + the sum of the parts`, to the nanosecond.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GapToLineRate {
    /// The request of median goodput, counted from 0.
    pub request: u64,
    /// Its duration, from the first SYN to the last byte consumed.
    pub total_ns: u64,
    /// The line's time for the body: full segments back to back, with a gap after each.
    pub line_ns: u64,
    /// The difference, by cause; causes without time are left out.
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
    /// Its time. Negative if it saved time: a peer with a fast clock has shorter frames.
    pub ns: i64,
}

/// Why a download takes longer than the line needs.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum GapCause {
    /// Everything before the first data, and silence during slow start.
    HandshakeAndSlowStart,
    /// Frames of the receiving station.
    AckAirtime,
    /// 96 bit times per frame, beyond one for each full segment, and longer gaps within a burst.
    InterPacketGaps,
    /// Octets other than the body in the sender's frames beyond those of full segments, short frames,
    /// and the clock error of the sender.
    HeadersAndClock,
    /// Silence that the peer ended.
    PeerTurnaround,
    /// Silence that the device ended, cause unknown.
    Device,
    /// Of the device's silence: interrupts.
    Interrupt,
    /// Of the device's silence: copying memory.
    Copies,
    /// Of the device's silence: checksums.
    Checksums,
    /// Of the device's silence: the TCP/IP stack.
    Stack,
    /// Of the device's silence: MAC and PHY on the main thread.
    Driver,
    /// Of the device's silence: the program and everything else.
    Program,
    /// Of the device's silence: idle, waiting for an interrupt.
    Idle,
    /// Lost frames, retransmitted frames, and the silence before them.
    Retransmission,
    /// Attempts that collided, and back-off.
    Collisions,
    /// Frames of the peer that belong to no TCP connection.
    OtherTraffic,
}

impl GapCause {
    /// Every cause, in display order.
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

    /// True if it is part of the device's processing.
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
            Self::AckAirtime => "acknowledgments on the wire",
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
            Self::Idle => "device: idle",
            Self::Retransmission => "retransmission",
            Self::Collisions => "collisions and back-off",
            Self::OtherTraffic => "other traffic",
        })
    }
}
