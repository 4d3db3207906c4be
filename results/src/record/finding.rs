//! Why a measurement is not at line rate.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A named cause with its evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The cause.
    pub cause: Cause,
    /// From 0 (a guess) to 1 (counted, no other explanation).
    pub confidence: f64,
    /// The effect on this measurement, in one sentence with figures.
    pub summary: String,
    /// The underlying figures, units in the names.
    pub evidence: BTreeMap<String, f64>,
    /// The recommended change, in one sentence.
    pub advice: String,
}

/// The causes that linerate distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The receive interrupt is not ready again when the next frame begins.
    InterruptOverrunsGap,
    /// Code on the receive path waits for instruction fetches from flash.
    CodeInFlash,
    /// The sender may send more than the receive queue holds.
    QueueOverflow,
    /// The sender waits for its retransmission timer while the wire is idle.
    RetransmissionStalls,
    /// The wire is idle while the device processes received data.
    MainThreadBound,
    /// The wire is idle while the peer prepares its answer.
    PeerTurnaround,
    /// The device's own frames occupy the wire (half duplex) or block the receiver.
    TransmitHoldsReceiver,
    /// Bits were lost or corrupted on the wire.
    WireErrors,
    /// The ledger does not balance: no counter accounts for some frames.
    LedgerImbalance,
    /// A receiver loses segments that closely follow others.
    LossInBursts,
    /// Segments are lost regardless of their position in a burst.
    RandomLoss,
    /// Segments arrive out of order.
    Reordering,
    /// The receiver's window limits the sender.
    ReceiveWindow,
    /// The receiving application does not read as fast as segments arrive.
    ReceiverReadsSlowly,
    /// The sender holds small segments back for acknowledgments that the receiver holds back.
    DelayedAckWithNagle,
    /// Acknowledgments are sent later than possible.
    LateAcks,
    /// The sender has nothing ready to send.
    SenderIdle,
    /// The congestion window limits the sender.
    CongestionWindow,
    /// Broadcast frames keep every station busy.
    BroadcastStorm,
    /// Pause frames stop a sender.
    Paused,
    /// Only one segment is in flight at a time.
    OneInFlight,
    /// Segments are much smaller than the MSS.
    SmallWrites,
    /// The sending host paces its segments.
    HostPacing,
    /// Waiting in a queue on the path dominates the round trip.
    Bufferbloat,
    /// Stations on a half-duplex medium transmit at the same time.
    Collisions,
    /// The measuring host drops datagrams that have arrived.
    HostReceiveDrops,
    /// The measuring host sends less than requested.
    HostSendLimit,
    /// The receiver delivers less as the offered load rises.
    ReceiveLivelock,
    /// Most of a frame's time does not depend on its length.
    PerFrameCost,
    /// The slowest link of the path is full, and slower than the line of either end.
    PathRate,
    /// A policer on the path drops what exceeds its rate.
    Policed,
    /// The queue before the slowest link holds less than the path needs.
    ShallowQueue,
    /// Nothing answers the requests to open a connection.
    NoAnswer,
    /// The other end refuses or resets the connection.
    Refused,
    /// Opening the connection takes longer than a round trip.
    SlowHandshake,
    /// The server takes time between a request and its answer.
    ServerThinkTime,
    /// The client takes time between an answer and its next request.
    ClientThinkTime,
    /// One end does not offer selective acknowledgments, so each loss costs more.
    NoSack,
    /// One end does not offer window scaling, so at most 65,535 bytes are in flight.
    NoWindowScaling,
    /// The maximum segment size is smaller than the link permits.
    SmallMss,
    /// The receiver advertises windows of less than a segment.
    SillyWindow,
    /// The receiver acknowledges many segments at once.
    StretchAcks,
    /// Acknowledgments queue on the way back.
    AckPathFull,
    /// One end of a link uses full duplex, the other half duplex.
    DuplexMismatch,
    /// The sender's buffer holds less than the path needs.
    SendBuffer,
    /// Large packets vanish without an ICMP message.
    MtuBlackHole,
    /// Looking up a name takes the time.
    NameResolution,
    /// More datagrams are sent than the path carries.
    AbovePathRate,
    /// The receiver stops at intervals.
    ReceiverStalls,
    /// The sender stops at intervals.
    SenderStalls,
    /// A station sleeps when idle and wakes up late.
    WakeUpLatency,
    /// Frames arrive more than once.
    DuplicateFrames,
    /// Packets arrive with a wrong checksum.
    ChecksumErrors,
    /// The link was down for a while.
    LinkInterrupted,
    /// The capture misses packets.
    CaptureIncomplete,
    /// The transfer runs at line rate.
    AtLineRate,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InterruptOverrunsGap => "interrupt overruns the gap",
            Self::CodeInFlash => "code in flash",
            Self::QueueOverflow => "receive queue overflows",
            Self::RetransmissionStalls => "retransmission stalls",
            Self::MainThreadBound => "main-thread bound",
            Self::PeerTurnaround => "peer turnaround",
            Self::TransmitHoldsReceiver => "transmission blocks the receiver",
            Self::WireErrors => "wire errors",
            Self::LedgerImbalance => "ledger does not balance",
            Self::LossInBursts => "loss inside bursts",
            Self::RandomLoss => "random loss",
            Self::Reordering => "reordering",
            Self::ReceiveWindow => "receive window",
            Self::ReceiverReadsSlowly => "receiver reads slowly",
            Self::DelayedAckWithNagle => "delayed acknowledgments with Nagle's algorithm",
            Self::LateAcks => "late acknowledgments",
            Self::SenderIdle => "sender has nothing to send",
            Self::CongestionWindow => "congestion window",
            Self::BroadcastStorm => "broadcast storm",
            Self::Paused => "pause frames",
            Self::OneInFlight => "one in flight",
            Self::SmallWrites => "small writes",
            Self::HostPacing => "paced by the sending host",
            Self::Bufferbloat => "bufferbloat",
            Self::Collisions => "collisions",
            Self::HostReceiveDrops => "drops by the measuring host",
            Self::HostSendLimit => "limit of the measuring host",
            Self::ReceiveLivelock => "receive livelock",
            Self::PerFrameCost => "per-frame cost",
            Self::PathRate => "rate of the path",
            Self::Policed => "policed",
            Self::ShallowQueue => "shallow queue",
            Self::NoAnswer => "no answer",
            Self::Refused => "refused",
            Self::SlowHandshake => "slow handshake",
            Self::ServerThinkTime => "server think time",
            Self::ClientThinkTime => "client think time",
            Self::NoSack => "no selective acknowledgments",
            Self::NoWindowScaling => "no window scaling",
            Self::SmallMss => "small MSS",
            Self::SillyWindow => "silly window",
            Self::StretchAcks => "stretch acknowledgments",
            Self::AckPathFull => "acknowledgment path is full",
            Self::DuplexMismatch => "duplex mismatch",
            Self::SendBuffer => "send buffer",
            Self::MtuBlackHole => "path MTU black hole",
            Self::NameResolution => "name resolution",
            Self::AbovePathRate => "above the path's rate",
            Self::ReceiverStalls => "receiver stalls",
            Self::SenderStalls => "sender stalls",
            Self::WakeUpLatency => "wake-up latency",
            Self::DuplicateFrames => "duplicate frames",
            Self::ChecksumErrors => "checksum errors",
            Self::LinkInterrupted => "link interrupted",
            Self::CaptureIncomplete => "capture is incomplete",
            Self::AtLineRate => "at line rate",
        })
    }
}
