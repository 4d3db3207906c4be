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
    /// From 0 (a guess) to 1 (counted, nothing else fits).
    pub confidence: f64,
    /// What it does to this measurement, in one sentence with figures.
    pub summary: String,
    /// The figures it rests on, units in the names.
    pub evidence: BTreeMap<String, f64>,
    /// What to change, in one sentence.
    pub advice: String,
}

/// The causes that are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The receive interrupt is not ready again when the next frame begins.
    InterruptOverrunsGap,
    /// Code on the receive path is fetched from flash and waits for it.
    CodeInFlash,
    /// The sender may send more than the receive queue holds.
    QueueOverflow,
    /// The sender waits for its retransmission timer while nothing moves.
    RetransmissionStalls,
    /// The wire is silent while the device works through what it received.
    MainThreadBound,
    /// The wire is silent while the peer prepares its answer.
    PeerTurnaround,
    /// The device's own frames take the wire's time (half duplex) or hold the receiver.
    TransmitHoldsReceiver,
    /// Bits were lost or damaged on the wire.
    WireErrors,
    /// The ledger does not add up: frames are missing that nothing counted.
    LedgerImbalance,
    /// A receiver loses segments that follow closely behind others.
    LossInBursts,
    /// Segments are lost wherever they stand.
    RandomLoss,
    /// Segments overtake each other.
    Reordering,
    /// The receiver grants no more.
    ReceiveWindow,
    /// The receiver's program does not read as fast as segments come.
    ReceiverReadsSlowly,
    /// The sender holds small segments back for acknowledgments that the receiver holds back.
    DelayedAckWithNagle,
    /// Acknowledgments come later than they could.
    LateAcks,
    /// The sender has nothing ready to send.
    SenderIdle,
    /// The sender dares no more.
    CongestionWindow,
    /// Frames to everybody keep every station busy.
    BroadcastStorm,
    /// Pause frames stop a sender.
    Paused,
    /// One segment is under way at a time.
    OneInFlight,
    /// Segments are much smaller than they could be.
    SmallWrites,
    /// The sender's system lets its segments go one after the other, at a rate.
    HostPacing,
    /// A queue on the path is so long that segments wait in it for longer than anything else takes.
    Bufferbloat,
    /// Stations on a half-duplex medium send at the same time.
    Collisions,
    /// The host that measures drops what has already arrived.
    HostReceiveDrops,
    /// The host that measures sends less than it was to.
    HostSendLimit,
    /// The more a receiver is offered, the less it delivers.
    ReceiveLivelock,
    /// Most of a frame's time is the same whatever its length.
    PerFrameCost,
    /// The capture does not have all that passed.
    CaptureIncomplete,
    /// Nothing keeps it from line rate.
    AtLineRate,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InterruptOverrunsGap => "interrupt overruns the gap",
            Self::CodeInFlash => "code in flash",
            Self::QueueOverflow => "receive queue overflows",
            Self::RetransmissionStalls => "retransmission stalls",
            Self::MainThreadBound => "main thread bound",
            Self::PeerTurnaround => "peer turnaround",
            Self::TransmitHoldsReceiver => "transmitting holds the receiver",
            Self::WireErrors => "wire errors",
            Self::LedgerImbalance => "ledger does not add up",
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
            Self::OneInFlight => "one segment in flight",
            Self::SmallWrites => "small writes",
            Self::HostPacing => "paced by the sending host",
            Self::Bufferbloat => "bufferbloat",
            Self::Collisions => "collisions",
            Self::HostReceiveDrops => "drops by the measuring host",
            Self::HostSendLimit => "limit of the measuring host",
            Self::ReceiveLivelock => "receive livelock",
            Self::PerFrameCost => "cost of each frame",
            Self::CaptureIncomplete => "capture is incomplete",
            Self::AtLineRate => "at line rate",
        })
    }
}
