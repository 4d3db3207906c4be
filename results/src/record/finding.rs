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
            Self::OneInFlight => "one segment in flight",
            Self::SmallWrites => "small writes",
            Self::HostPacing => "paced by the sending host",
            Self::Bufferbloat => "bufferbloat",
            Self::Collisions => "collisions",
            Self::HostReceiveDrops => "drops by the measuring host",
            Self::HostSendLimit => "limit of the measuring host",
            Self::ReceiveLivelock => "receive livelock",
            Self::PerFrameCost => "per-frame cost",
            Self::CaptureIncomplete => "capture is incomplete",
            Self::AtLineRate => "at line rate",
        })
    }
}
