//! Where each frame went: the names under which everything is counted.
//!
//! [`Counter`] lists what a device counts; [`Drop`] lists every way in which a frame can be lost or
//! set aside between the sender's queue and the receiving program. A device counts what it can see;
//! a simulator or a capture knows the rest (a frame that met a deaf receiver leaves no trace in any
//! counter). For one direction of one run the causes add up:
//!
//! ```text
//! frames sent by the peer = frames delivered + sum over all causes
//! ```
//!
//! A frame has exactly one cause: the first thing that made its delivery impossible.
//!
//! Received frames pass three stages, each with its own balance:
//!
//! - PHY: every transmission heard ends as [`Counter::RxFrames`], [`Counter::RxLinkPulses`] or one
//!   of the PHY's losses, unless there was no room for it ([`Counter::RxQueueFull`],
//!   [`Counter::RxRingFull`]).
//! - MAC, in the order of the queue: every `RxFrames` becomes [`Counter::RxValid`] or one of the
//!   MAC's losses.
//! - Stack: every `RxValid` becomes [`Counter::RxDelivered`] when the stack consumes its token, or
//!   [`Counter::RxStackRejected`] when the stack lets go of it unread.
//!
//! Standard names are those of RFC 2863 (`if...`), RFC 3635 (`dot3...`) and RFC 2819
//! (`etherStats...`), given where the meaning is the same.

/// Declares an enum and, beside it, tables of its variants' names, docs and a row of data each.
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

            /// What the variant means, in a sentence or two for a person to read.
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

/// A counter's standard name, if there is one for the same thing, and the cause of loss it counts.
struct CounterRow {
    standard: Option<&'static str>,
    drop: Option<Drop>,
}

const fn standard(name: &'static str) -> CounterRow {
    CounterRow {
        standard: Some(name),
        drop: None,
    }
}

const fn own() -> CounterRow {
    CounterRow {
        standard: None,
        drop: None,
    }
}

impl CounterRow {
    const fn counts(mut self, drop: Drop) -> Self {
        self.drop = Some(drop);
        self
    }
}

tabulated! {
    /// What a device counts. Counters start at zero and wrap at 2^32; octets include the MAC header
    /// and the FCS, never preamble and SFD (RFC 3635 section 3.2.6).
    ///
    /// `Tx` counters are of the device's own transmitter, `Rx` of its receiver.
    Counter: CounterRow {
        /// Frames sent completely.
        TxFrames => own(),
        /// Octets of the frames sent.
        TxOctets => standard("ifOutOctets"),
        /// Frames sent to a multicast address other than broadcast.
        TxMulticast => standard("ifOutMulticastPkts"),
        /// Frames sent to the broadcast address.
        TxBroadcast => standard("ifOutBroadcastPkts"),
        /// MAC control frames with the PAUSE opcode sent.
        TxPause => standard("dot3OutPauseFrames"),
        /// Normal link pulses sent.
        TxLinkPulses => own(),
        /// Fast link pulse bursts sent.
        TxLinkBursts => own(),
        /// Frames whose first attempt waited because the medium was busy.
        TxDeferred => standard("dot3StatsDeferredTransmissions"),
        /// Frames sent after exactly one collision.
        TxSingleCollisions => standard("dot3StatsSingleCollisionFrames"),
        /// Frames sent after more than one collision.
        TxMultipleCollisions => standard("dot3StatsMultipleCollisionFrames"),
        /// Frames given up because a collision came later than one slot time (512 bit times).
        TxLateCollisions => standard("dot3StatsLateCollisions").counts(Drop::LateCollision),
        /// Frames given up after 16 attempts that collided.
        TxExcessiveCollisions =>
            standard("dot3StatsExcessiveCollisions").counts(Drop::ExcessiveCollisions),
        /// Frames given up because the medium stayed busy for longer than two of the longest frames
        /// take (802.3 clause 5.2.4.1, maxDeferTime).
        TxExcessiveDeferrals => own().counts(Drop::ExcessiveDeferral),
        /// Frames given up because carrier was lost or never seen while sending.
        TxCarrierSenseErrors =>
            standard("dot3StatsCarrierSenseErrors").counts(Drop::CarrierLost),
        /// Frames cut short because the transmitter's FIFO ran empty.
        TxUnderruns =>
            standard("dot3StatsInternalMacTransmitErrors").counts(Drop::FifoUnderrun),
        /// Frames refused because they were longer than the medium allows.
        TxOversize => own().counts(Drop::TransmitOversize),
        /// Transmissions cut short because they lasted longer than a station may send, and frames
        /// given up while the transmitter is off for that (IEEE 802.3 clause 14.2.1.6, jabber).
        TxJabbers => own().counts(Drop::Jabber),
        /// Frames discarded because the link was down.
        TxLinkDown => own().counts(Drop::TransmitLinkDown),
        /// Frames discarded because the transmit queue was full.
        TxQueueFull => standard("ifOutDiscards").counts(Drop::TransmitQueueFull),

        /// Transmissions received up to their end and handed to the MAC, still unchecked.
        RxFrames => own(),
        /// Normal link pulses received.
        RxLinkPulses => own(),
        /// Fast link pulse bursts received.
        RxLinkBursts => own(),
        /// Transmissions that ended without TP_IDL: cut short, or heard from the middle on.
        RxTruncated => own().counts(Drop::Truncated),
        /// Transmissions given up at a half-bit pair that is no Manchester symbol.
        RxSymbolErrors => standard("dot3StatsSymbolErrors").counts(Drop::SymbolError),
        /// Packets of the device's own that met a transmission of the partner, which was not heard for
        /// it, on a link where both may send at once. Nearly the number of frames lost: several that
        /// meet one packet count once, and one that meets two packets counts twice.
        RxWhileSending => own().counts(Drop::DeafWhileSending),
        /// Receive events that found no room in the queue. Each may stand for one lost frame.
        RxQueueFull => own().counts(Drop::QueueFull),
        /// Frames that found no free descriptor in the receive ring.
        RxRingFull => own().counts(Drop::RingFull),
        /// Frames cut short because the receiver's FIFO was not emptied in time.
        RxFifoOverruns =>
            standard("dot3StatsInternalMacReceiveErrors").counts(Drop::FifoOverrun),

        /// Received transmissions without a start frame delimiter where one belongs.
        RxBadSfd => own().counts(Drop::BadSfd),
        /// Frames of a whole number of octets whose FCS is wrong.
        RxBadFcs => standard("dot3StatsFCSErrors").counts(Drop::BadFcs),
        /// Frames whose FCS is wrong and that are no whole number of octets.
        RxAlignmentErrors => standard("dot3StatsAlignmentErrors").counts(Drop::Alignment),
        /// Frames shorter than 64 octets.
        RxRunts => standard("etherStatsUndersizePkts").counts(Drop::Runt),
        /// Less than 64 octets whose FCS is wrong, too: what a collision leaves.
        RxFragments => standard("etherStatsFragments").counts(Drop::Collision),
        /// Frames longer than 1518 octets (1522 with a tag).
        RxOversize => standard("dot3StatsFrameTooLongs").counts(Drop::Oversize),
        /// Frames whose 802.3 length field asks for more than they hold.
        RxLengthErrors => own().counts(Drop::LengthMismatch),
        /// Intact frames for another station's address.
        RxFiltered => own().counts(Drop::Filtered),
        /// Intact MAC control frames with the PAUSE opcode, obeyed and not passed on.
        RxPause => standard("dot3InPauseFrames").counts(Drop::MacControl),
        /// Intact MAC control frames with an opcode that is not understood.
        RxUnknownOpcodes => standard("dot3ControlInUnknownOpcodes").counts(Drop::UnknownOpcode),
        /// Intact frames refused on the stack's behalf: the checksum of their IPv4 header, or of the
        /// TCP, UDP or ICMP in them, is wrong.
        RxBadChecksum => own().counts(Drop::BadChecksum),
        /// Frames that passed every check of the MAC and were offered to the stack.
        RxValid => own(),
        /// Octets of the frames counted as valid.
        RxOctets => own(),
        /// Valid frames to a multicast address other than broadcast.
        RxMulticast => standard("ifInMulticastPkts"),
        /// Valid frames to the broadcast address.
        RxBroadcast => standard("ifInBroadcastPkts"),

        /// Valid frames that the stack consumed.
        RxDelivered => own(),
        /// Valid frames that the stack let go of unread.
        RxStackRejected => standard("ifInDiscards").counts(Drop::StackRejected),
        /// Frames accepted by the stack whose payload its socket had no room for.
        RxSocketFull => own().counts(Drop::SocketFull),

        /// Times the link went from down to up.
        LinkUps => own(),
        /// Times the link went from up to down.
        LinkDowns => own(),
        /// Times the partner's auto-negotiation reported a fault at its end.
        RemoteFaults => own(),
        /// Times the receive pair was found to be swapped and was corrected.
        PolarityCorrections => own(),
    }
}

impl Counter {
    /// The variant's identifier, `RxFrames`; how a console line or a result file names it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        Self::IDENTIFIERS[self as usize]
    }

    /// The object of RFC 2863, RFC 3635 or RFC 2819 that counts the same, if there is one.
    #[must_use]
    pub const fn standard_name(self) -> Option<&'static str> {
        Self::ROWS[self as usize].standard
    }

    /// The cause of loss that this counter counts, if it counts one.
    #[must_use]
    pub const fn drop_cause(self) -> Option<Drop> {
        Self::ROWS[self as usize].drop
    }

    /// The counter called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|counter| counter.name() == name)
    }
}

/// Where on its way a frame was lost.
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
    /// For want of a descriptor.
    Ring,
    /// In a queue of whole frames.
    Queue,
    /// In the network stack.
    Stack,
    /// In a socket's buffer.
    Socket,
}

impl Layer {
    /// Every layer, from the wire up.
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

/// A cause's layer and its name in results.
type DropRow = (Layer, &'static str);

tabulated! {
    /// Why a frame that somebody sent did not reach the program it was for.
    Drop: DropRow {
        /// Two stations sent at once on a shared medium; the frame was jammed within its first slot
        /// time and this attempt is lost.
        Collision => (Layer::Wire, "collision"),
        /// A collision later than one slot time (512 bit times), which no sender repeats.
        LateCollision => (Layer::Wire, "late_collision"),
        /// The sender gave up after 16 attempts that collided.
        ExcessiveCollisions => (Layer::Wire, "excessive_collisions"),
        /// The sender gave up because the medium stayed busy for too long.
        ExcessiveDeferral => (Layer::Wire, "excessive_deferral"),
        /// The sender cut itself short: it had sent for longer than a station may.
        Jabber => (Layer::Wire, "jabber"),
        /// The sender lost its own carrier while sending.
        CarrierLost => (Layer::Wire, "carrier_lost"),
        /// The link was down, or not connected, while the frame was on the wire.
        LinkDown => (Layer::Wire, "link_down"),
        /// The wire changed bits of the frame: noise, or a loss that the experiment asked for.
        Corrupted => (Layer::Wire, "corrupted"),
        /// Still on the wire when the run ended.
        InFlight => (Layer::Wire, "in_flight"),
        /// The sender refused the frame as longer than the medium allows.
        TransmitOversize => (Layer::Wire, "transmit_oversize"),
        /// The sender discarded the frame because its link was down.
        TransmitLinkDown => (Layer::Wire, "transmit_link_down"),

        /// Nobody listened when the frame began: the receiver was switched off, sending, or still
        /// busy with the frame before, and took no note of this one.
        Unheard => (Layer::Phy, "unheard"),
        /// The receiver was sending meanwhile, on a link where both may, and noticed only that there
        /// was something.
        DeafWhileSending => (Layer::Phy, "deaf_while_sending"),
        /// The receiver heard part of the frame: it began listening in the middle, or the signal
        /// stopped without the end-of-frame mark.
        Truncated => (Layer::Phy, "truncated"),
        /// A half-bit pair that is no Manchester symbol, at the wrong place.
        SymbolError => (Layer::Phy, "symbol_error"),

        /// No start frame delimiter where one belongs, most often because the receiver woke up in
        /// the middle of the frame.
        BadSfd => (Layer::Mac, "bad_sfd"),
        /// The frame check sequence is wrong although nothing changed the frame on the wire:
        /// sampled at the wrong time, or heard from the middle on.
        BadFcs => (Layer::Mac, "bad_fcs"),
        /// The frame check sequence is wrong and the frame is no whole number of octets.
        Alignment => (Layer::Mac, "alignment"),
        /// Shorter than 64 octets.
        Runt => (Layer::Mac, "runt"),
        /// Longer than 1518 octets (1522 with a tag).
        Oversize => (Layer::Mac, "oversize"),
        /// The 802.3 length field asks for more than the frame holds.
        LengthMismatch => (Layer::Mac, "length_mismatch"),
        /// Addressed to another station.
        Filtered => (Layer::Mac, "filtered"),
        /// A PAUSE frame: obeyed by the MAC and not passed on.
        MacControl => (Layer::Mac, "mac_control"),
        /// A MAC control frame with an opcode that is not understood.
        UnknownOpcode => (Layer::Mac, "unknown_opcode"),

        /// The receiver's FIFO was not emptied in time.
        FifoOverrun => (Layer::Fifo, "fifo_overrun"),
        /// The sender's FIFO ran empty in the middle of the frame.
        FifoUnderrun => (Layer::Fifo, "fifo_underrun"),

        /// No free descriptor in the receive ring.
        RingFull => (Layer::Ring, "ring_full"),

        /// The frame was heard, but the receive queue had no room for it.
        QueueFull => (Layer::Queue, "queue_full"),
        /// The sender's queue had no room for the frame.
        TransmitQueueFull => (Layer::Queue, "transmit_queue_full"),
        /// Received, but still in a queue when the run ended.
        LeftInQueue => (Layer::Queue, "left_in_queue"),

        /// The stack let go of the frame without reading it.
        StackRejected => (Layer::Stack, "stack_rejected"),

        /// A checksum of the packet in the frame is wrong, though the frame is intact.
        BadChecksum => (Layer::Stack, "bad_checksum"),
        /// The stack accepted the frame, but the socket had no room for its payload.
        SocketFull => (Layer::Socket, "socket_full"),
    }
}

impl Drop {
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

    /// Where on its way the frame was lost.
    #[must_use]
    pub const fn layer(self) -> Layer {
        Self::ROWS[self as usize].0
    }

    /// The device counter that counts this cause; `None` when a device cannot notice it.
    #[must_use]
    pub fn counter(self) -> Option<Counter> {
        Counter::ALL
            .into_iter()
            .find(|counter| counter.drop_cause() == Some(self))
    }

    /// The cause called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|drop| drop.name() == name)
    }
}

#[cfg(test)]
mod tests;
