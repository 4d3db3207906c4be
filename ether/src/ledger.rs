//! The fate of each frame: the names under which everything is counted.
//!
//! [`Counter`] lists what a device counts; [`DropCause`] lists all causes by which a frame can be lost
//! or set aside between the sender's queue and the receiving program. A device counts what it can
//! observe; a simulator or a capture supplies the rest (a frame that arrives while the receiver is
//! off leaves no trace in any counter). For one direction of one run the causes add up:
//!
//! ```text
//! frames sent by the peer = frames delivered + sum over all causes
//! ```
//!
//! A frame has exactly one cause: the first event that made its delivery impossible.
//!
//! Received frames pass three stages, each with its own balance:
//!
//! - PHY: every detected transmission ends as [`Counter::RxFrames`], [`Counter::RxLinkPulses`] or
//!   one of the losses of the PHY, unless there was no room for it ([`Counter::RxQueueFull`],
//!   [`Counter::RxRingFull`]).
//! - MAC, in the order of the queue: every `RxFrames` becomes [`Counter::RxValid`] or one of the
//!   MAC's losses.
//! - Stack: every `RxValid` becomes [`Counter::RxDelivered`] when the stack consumes its token, or
//!   [`Counter::RxStackRejected`] when the stack drops the token unread.
//!
//! Standard names come from RFC 2863 (`if...`), RFC 3635 (`dot3...`) and RFC 2819 (`etherStats...`)
//! and are given where the meaning is the same.

/// Declares an enum together with tables of the names, docs and one row of data for each variant.
macro_rules! tabulated {
    (
        $(#[$meta:meta])*
        $enum:ident: $row_type:ty {
            $($(#[doc = $doc:literal])* $variant:ident => $row:expr,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(usize)]
        pub enum $enum {
            $($(#[doc = $doc])* $variant,)*
        }

        impl $enum {
            /// Every variant, in the order of its number.
            pub const ALL: [Self; Self::COUNT] = [$(Self::$variant,)*];
            /// The number of variants: the length of an array indexed by `self as usize`.
            pub const COUNT: usize = [$(stringify!($variant),)*].len();
            const IDENTIFIERS: [&'static str; Self::COUNT] = [$(stringify!($variant),)*];
            const DOCS: [&'static str; Self::COUNT] = [$(concat!($($doc),*),)*];
            const ROWS: [$row_type; Self::COUNT] = [$($row,)*];

            /// Explanation of the variant for a person, in one or two sentences.
            #[must_use]
            pub const fn explanation(self) -> &'static str {
                Self::DOCS[self as usize].trim_ascii()
            }
        }

        impl core::fmt::Display for $enum {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

/// A counter's standard name, if one exists for the same thing, and the cause of loss it counts.
struct CounterRow {
    standard: Option<&'static str>,
    drop_cause: Option<DropCause>,
}

const fn standard(name: &'static str) -> CounterRow {
    CounterRow {
        standard: Some(name),
        drop_cause: None,
    }
}

const fn no_standard() -> CounterRow {
    CounterRow {
        standard: None,
        drop_cause: None,
    }
}

impl CounterRow {
    const fn counts(mut self, cause: DropCause) -> Self {
        self.drop_cause = Some(cause);
        self
    }
}

tabulated! {
    /// A counter of a device. Counters start at zero and wrap at 2^32; octets include the MAC
    /// header and the FCS, never preamble and SFD (RFC 3635 section 3.2.6).
    ///
    /// `Tx` counters belong to the device's own transmitter, `Rx` counters to its receiver.
    Counter: CounterRow {
        /// Frames sent completely.
        TxFrames => no_standard(),
        /// Octets of the frames sent.
        TxOctets => standard("ifOutOctets"),
        /// Frames sent to a multicast address other than broadcast.
        TxMulticast => standard("ifOutMulticastPkts"),
        /// Frames sent to the broadcast address.
        TxBroadcast => standard("ifOutBroadcastPkts"),
        /// MAC control frames with the PAUSE opcode sent.
        TxPause => standard("dot3OutPauseFrames"),
        /// Normal link pulses sent.
        TxLinkPulses => no_standard(),
        /// Fast link pulse bursts sent.
        TxLinkBursts => no_standard(),
        /// Frames whose first attempt waited because the medium was busy.
        TxDeferred => standard("dot3StatsDeferredTransmissions"),
        /// Frames sent after exactly one collision.
        TxSingleCollisions => standard("dot3StatsSingleCollisionFrames"),
        /// Frames sent after more than one collision.
        TxMultipleCollisions => standard("dot3StatsMultipleCollisionFrames"),
        /// Frames dropped because of a collision later than one slot time (512 bit times).
        TxLateCollisions => standard("dot3StatsLateCollisions").counts(DropCause::LateCollision),
        /// Frames dropped after 16 attempts that collided.
        TxExcessiveCollisions =>
            standard("dot3StatsExcessiveCollisions").counts(DropCause::ExcessiveCollisions),
        /// Frames dropped because the medium stayed busy for longer than twice the duration of the
        /// longest frame (802.3 clause 5.2.4.1, maxDeferTime).
        TxExcessiveDeferrals => no_standard().counts(DropCause::ExcessiveDeferral),
        /// Frames dropped because carrier was lost or never detected while sending.
        TxCarrierSenseErrors =>
            standard("dot3StatsCarrierSenseErrors").counts(DropCause::CarrierLost),
        /// Frames truncated because the transmitter's FIFO ran empty.
        TxUnderruns =>
            standard("dot3StatsInternalMacTransmitErrors").counts(DropCause::FifoUnderrun),
        /// Frames rejected because they were longer than the medium allows.
        TxOversize => no_standard().counts(DropCause::TransmitOversize),
        /// Transmissions truncated because they exceeded the longest permitted duration, and frames
        /// dropped while the transmitter is disabled for that reason (IEEE 802.3 clause 14.2.1.6,
        /// jabber).
        TxJabbers => no_standard().counts(DropCause::Jabber),
        /// Frames discarded because the link was down.
        TxLinkDown => no_standard().counts(DropCause::TransmitLinkDown),
        /// Frames discarded because the transmit queue was full.
        TxQueueFull => standard("ifOutDiscards").counts(DropCause::TransmitQueueFull),

        /// Transmissions received to their end and passed to the MAC, not yet checked.
        RxFrames => no_standard(),
        /// Normal link pulses received.
        RxLinkPulses => no_standard(),
        /// Fast link pulse bursts received.
        RxLinkBursts => no_standard(),
        /// Transmissions that ended without TP_IDL: truncated, or received only from the middle on.
        RxTruncated => no_standard().counts(DropCause::Truncated),
        /// Transmissions abandoned at a half-bit pair that is not a Manchester symbol.
        RxSymbolErrors => standard("dot3StatsSymbolErrors").counts(DropCause::SymbolError),
        /// Packets sent by the device that overlapped a transmission of the partner, which was
        /// therefore not received, on a full-duplex link. Close to the number of lost frames:
        /// several that overlap one packet count once, and one that overlaps two packets counts
        /// twice.
        RxWhileSending => no_standard().counts(DropCause::DeafWhileSending),
        /// Receive events that found no room in the queue. Each may represent one lost frame.
        RxQueueFull => no_standard().counts(DropCause::QueueFull),
        /// Frames that found no free descriptor in the receive ring.
        RxRingFull => no_standard().counts(DropCause::RingFull),
        /// Frames truncated because the receiver's FIFO was not emptied in time.
        RxFifoOverruns =>
            standard("dot3StatsInternalMacReceiveErrors").counts(DropCause::FifoOverrun),

        /// Received transmissions without a start frame delimiter at the expected position.
        RxBadSfd => no_standard().counts(DropCause::BadSfd),
        /// Frames of a whole number of octets with a wrong FCS.
        RxBadFcs => standard("dot3StatsFCSErrors").counts(DropCause::BadFcs),
        /// Frames with a wrong FCS that are not a whole number of octets.
        RxAlignmentErrors => standard("dot3StatsAlignmentErrors").counts(DropCause::Alignment),
        /// Frames shorter than 64 octets.
        RxRunts => standard("etherStatsUndersizePkts").counts(DropCause::Runt),
        /// Receptions of less than 64 octets with a wrong FCS: fragments of a collision.
        RxFragments => standard("etherStatsFragments").counts(DropCause::Collision),
        /// Frames longer than 1518 octets (1522 with a tag).
        RxOversize => standard("dot3StatsFrameTooLongs").counts(DropCause::Oversize),
        /// Frames whose 802.3 length field exceeds their payload.
        RxLengthErrors => no_standard().counts(DropCause::LengthMismatch),
        /// Intact frames addressed to another station.
        RxFiltered => no_standard().counts(DropCause::Filtered),
        /// Intact MAC control frames with the PAUSE opcode, obeyed and not passed to the stack.
        RxPause => standard("dot3InPauseFrames").counts(DropCause::MacControl),
        /// Intact MAC control frames with an unknown opcode.
        RxUnknownOpcodes => standard("dot3ControlInUnknownOpcodes").counts(DropCause::UnknownOpcode),
        /// Intact frames dropped on behalf of the stack: the checksum of their IPv4 header, or of
        /// the TCP, UDP or ICMP in them, is wrong.
        RxBadChecksum => no_standard().counts(DropCause::BadChecksum),
        /// Frames that passed all checks of the MAC and were offered to the stack.
        RxValid => no_standard(),
        /// Octets of the frames counted as valid.
        RxOctets => no_standard(),
        /// Valid frames to a multicast address other than broadcast.
        RxMulticast => standard("ifInMulticastPkts"),
        /// Valid frames to the broadcast address.
        RxBroadcast => standard("ifInBroadcastPkts"),

        /// Valid frames that the stack consumed.
        RxDelivered => no_standard(),
        /// Valid frames that the stack dropped unread.
        RxStackRejected => standard("ifInDiscards").counts(DropCause::StackRejected),
        /// Frames accepted by the stack whose payload did not fit into the socket.
        RxSocketFull => no_standard().counts(DropCause::SocketFull),

        /// Times the link went from down to up.
        LinkUps => no_standard(),
        /// Times the link went from up to down.
        LinkDowns => no_standard(),
        /// Times the partner's auto-negotiation reported a fault at its end.
        RemoteFaults => no_standard(),
        /// Times the receive pair was found to be swapped and the polarity was corrected.
        PolarityCorrections => no_standard(),
    }
}

impl Counter {
    /// The variant's identifier, `RxFrames`, as in console lines and result files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        Self::IDENTIFIERS[self as usize]
    }

    /// The object of RFC 2863, RFC 3635 or RFC 2819 that counts the same, if one exists.
    #[must_use]
    pub const fn standard_name(self) -> Option<&'static str> {
        Self::ROWS[self as usize].standard
    }

    /// The cause of loss that this counter counts, if it counts one.
    #[must_use]
    pub const fn drop_cause(self) -> Option<DropCause> {
        Self::ROWS[self as usize].drop_cause
    }

    /// The counter called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|counter| counter.name() == name)
    }
}

/// Layer at which a frame was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// On the cable, or before it in the sender.
    Wire,
    /// In the receiver's line code: samples, symbols, the end of the frame.
    Phy,
    /// In the checks on a received frame.
    Mac,
    /// In a FIFO between wire and memory.
    Fifo,
    /// At the descriptor ring: no free descriptor.
    Ring,
    /// In a queue of whole frames.
    Queue,
    /// In the network stack.
    Stack,
    /// In a socket's buffer.
    Socket,
}

impl Layer {
    /// All layers, from the wire up.
    pub const ALL: [Self; 8] = [
        Self::Wire,
        Self::Phy,
        Self::Mac,
        Self::Fifo,
        Self::Ring,
        Self::Queue,
        Self::Stack,
        Self::Socket,
    ];

    /// The layer's name in results, `wire`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wire => "wire",
            Self::Phy => "phy",
            Self::Mac => "mac",
            Self::Fifo => "fifo",
            Self::Ring => "ring",
            Self::Queue => "queue",
            Self::Stack => "stack",
            Self::Socket => "socket",
        }
    }
}

impl core::fmt::Display for Layer {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.name())
    }
}

/// Layer of a cause and its name in results.
type DropCauseRow = (Layer, &'static str);

tabulated! {
    /// Cause why a sent frame did not reach the program it was addressed to.
    DropCause: DropCauseRow {
        /// Two stations sent at the same time on a shared medium; the frame was jammed within its
        /// first slot time and this attempt is lost.
        Collision => (Layer::Wire, "collision"),
        /// A collision later than one slot time (512 bit times), after which no sender retransmits.
        LateCollision => (Layer::Wire, "late_collision"),
        /// The sender gave up after 16 attempts that collided.
        ExcessiveCollisions => (Layer::Wire, "excessive_collisions"),
        /// The sender gave up because the medium stayed busy for too long.
        ExcessiveDeferral => (Layer::Wire, "excessive_deferral"),
        /// The sender cut off its own transmission: it exceeded the longest permitted duration.
        Jabber => (Layer::Wire, "jabber"),
        /// The sender lost carrier while sending.
        CarrierLost => (Layer::Wire, "carrier_lost"),
        /// The link was down, or not connected, while the frame was on the wire.
        LinkDown => (Layer::Wire, "link_down"),
        /// The wire changed bits of the frame: noise, or a loss that the experiment requested.
        Corrupted => (Layer::Wire, "corrupted"),
        /// Still on the wire when the run ended.
        InFlight => (Layer::Wire, "in_flight"),
        /// The sender rejected the frame because it is longer than the medium allows.
        TransmitOversize => (Layer::Wire, "transmit_oversize"),
        /// The sender discarded the frame because its link was down.
        TransmitLinkDown => (Layer::Wire, "transmit_link_down"),

        /// No receiver was active when the frame began: it was switched off, sending, or still busy
        /// with the previous frame, and did not register this one.
        Unheard => (Layer::Phy, "unheard"),
        /// The receiver was sending at the same time on a full-duplex link, and detected only
        /// activity.
        DeafWhileSending => (Layer::Phy, "deaf_while_sending"),
        /// Only part of the frame was received: reception began in the middle, or the signal
        /// stopped without the end-of-frame mark.
        Truncated => (Layer::Phy, "truncated"),
        /// A half-bit pair within the frame that is not a Manchester symbol.
        SymbolError => (Layer::Phy, "symbol_error"),

        /// No start frame delimiter at the expected position, usually because the receiver started
        /// in the middle of the frame.
        BadSfd => (Layer::Mac, "bad_sfd"),
        /// The frame check sequence is wrong although the wire did not change the frame: it was
        /// sampled at the wrong time, or received only from the middle on.
        BadFcs => (Layer::Mac, "bad_fcs"),
        /// The frame check sequence is wrong and the frame is not a whole number of octets.
        Alignment => (Layer::Mac, "alignment"),
        /// Shorter than 64 octets.
        Runt => (Layer::Mac, "runt"),
        /// Longer than 1518 octets (1522 with a tag).
        Oversize => (Layer::Mac, "oversize"),
        /// The 802.3 length field exceeds the payload.
        LengthMismatch => (Layer::Mac, "length_mismatch"),
        /// Addressed to another station.
        Filtered => (Layer::Mac, "filtered"),
        /// A PAUSE frame: obeyed by the MAC and not passed to the stack.
        MacControl => (Layer::Mac, "mac_control"),
        /// A MAC control frame with an unknown opcode.
        UnknownOpcode => (Layer::Mac, "unknown_opcode"),

        /// The receiver's FIFO was not emptied in time.
        FifoOverrun => (Layer::Fifo, "fifo_overrun"),
        /// The sender's FIFO ran empty in the middle of the frame.
        FifoUnderrun => (Layer::Fifo, "fifo_underrun"),

        /// No free descriptor in the receive ring.
        RingFull => (Layer::Ring, "ring_full"),

        /// The frame arrived, but the receive queue had no room for it.
        QueueFull => (Layer::Queue, "queue_full"),
        /// The sender's queue had no room for the frame.
        TransmitQueueFull => (Layer::Queue, "transmit_queue_full"),
        /// Received, but still in a queue when the run ended.
        LeftInQueue => (Layer::Queue, "left_in_queue"),

        /// The stack dropped the frame without reading it.
        StackRejected => (Layer::Stack, "stack_rejected"),

        /// A checksum of the packet in the frame is wrong although the frame is intact.
        BadChecksum => (Layer::Stack, "bad_checksum"),
        /// The stack accepted the frame, but the socket had no room for its payload.
        SocketFull => (Layer::Socket, "socket_full"),
    }
}

impl DropCause {
    /// The cause's name in results, `bad_fcs`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        Self::ROWS[self as usize].1
    }

    /// The variant's identifier, `BadFcs`.
    #[must_use]
    pub const fn identifier(self) -> &'static str {
        Self::IDENTIFIERS[self as usize]
    }

    /// Layer at which the frame was lost.
    #[must_use]
    pub const fn layer(self) -> Layer {
        Self::ROWS[self as usize].0
    }

    /// Device counter for this cause; `None` if a device cannot detect it.
    #[must_use]
    pub fn counter(self) -> Option<Counter> {
        Counter::ALL
            .into_iter()
            .find(|counter| counter.drop_cause() == Some(self))
    }

    /// The cause called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|cause| cause.name() == name)
    }
}

#[cfg(test)]
mod tests;
