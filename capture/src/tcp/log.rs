//! The packets of a connection in a few octets each, for an analysis that needs to know the whole connection first.

use super::End;
use super::segment::{Segment, seq_le};
use super::sender::{RetransmitReason, SendClass};

/// Packets of one connection that are logged; the analysis covers these.
const MAX_LOGGED: usize = 1 << 16;

/// A packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoggedPacket {
    /// Time since the first packet of the connection.
    pub time_ns: u64,
    /// Its number in the capture, modulo 2^32.
    pub number: u32,
    /// Sequence number of its first octet.
    pub seq: u32,
    /// Acknowledgment number.
    pub ack: u32,
    /// Octets of payload.
    pub len: u32,
    /// `TSval` and `TSecr`; 0 if it has none.
    pub timestamps: (u32, u32),
    /// Window field, unscaled.
    pub window: u16,
    /// Identification of its IPv4 packet; 0 if it is unknown, or identifies nothing.
    pub identification: u16,
    /// Hop limit of its packet; 0 if it is unknown.
    pub hop_limit: u8,
    /// Control bits.
    pub flags: u8,
    /// Its effect on its sender's state.
    pub class: PacketClass,
    /// True if the second end sent it.
    pub is_from_second: bool,
    /// Octets of its options on the link, also of those that were not captured.
    pub options_len: u8,
    /// True if its first SACK block reports octets that arrived twice (RFC 2883 section 4).
    pub has_dsack: bool,
}

/// Effect of a packet on its sender's state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PacketClass {
    /// Takes no sequence space.
    #[default]
    NoData,
    /// New data.
    NewData,
    /// Data that others overtook.
    Reordered,
    /// A retransmission that duplicate ACKs or SACK requested, or a further one of the same recovery.
    FastRetransmission,
    /// A retransmission after a timeout.
    TimeoutRetransmission,
    /// A tail loss probe.
    Probe,
    /// A retransmission of acknowledged data.
    SpuriousRetransmission,
}

impl From<SendClass> for PacketClass {
    fn from(class: SendClass) -> Self {
        match class {
            SendClass::NoData => Self::NoData,
            SendClass::NewData => Self::NewData,
            SendClass::Reordered => Self::Reordered,
            SendClass::Retransmission(reason) => match reason {
                RetransmitReason::Fast | RetransmitReason::Recovery => Self::FastRetransmission,
                RetransmitReason::Rto { .. } => Self::TimeoutRetransmission,
                RetransmitReason::TailLossProbe => Self::Probe,
                RetransmitReason::Spurious => Self::SpuriousRetransmission,
            },
        }
    }
}

impl LoggedPacket {
    /// True if it acknowledges all octets before this sequence number (RFC 9293 section 3.4).
    pub const fn acknowledges(&self, seq: u32) -> bool {
        self.has_any(Segment::ACK) && seq_le(seq, self.ack)
    }

    /// The end that sent it.
    pub fn from(&self) -> End {
        if self.is_from_second {
            End::Second
        } else {
            End::First
        }
    }

    /// True if any of the control bits is set.
    pub const fn has_any(&self, bits: u8) -> bool {
        self.flags & bits != 0
    }

    /// True if the same octets were captured before.
    pub const fn is_retransmission(&self) -> bool {
        !matches!(
            self.class,
            PacketClass::NoData | PacketClass::NewData | PacketClass::Reordered
        )
    }

    /// Sequence numbers that it takes; SYN and FIN take one each.
    pub const fn sequence_len(&self) -> u32 {
        self.len + self.has_any(Segment::SYN) as u32 + self.has_any(Segment::FIN) as u32
    }
}

/// True if the first SACK block is acknowledged, or lies within the second one.
pub(super) fn is_dsack(segment: &Segment<'_>) -> bool {
    let sack = segment.sack();
    let mut blocks = sack.blocks();
    let Some((left, right)) = blocks.next() else {
        return false;
    };
    let within = |(outer_left, outer_right)| seq_le(outer_left, left) && seq_le(right, outer_right);
    seq_le(right, segment.ack) || blocks.next().is_some_and(within)
}

/// The first 65,536 packets of a connection.
#[derive(Clone, Debug, Default)]
pub struct PacketLog {
    packets: Vec<LoggedPacket>,
    is_full: bool,
    is_discarded: bool,
}

impl PacketLog {
    #[inline]
    pub(super) fn push(
        &mut self,
        end: End,
        segment: &Segment<'_>,
        class: SendClass,
        time_ns: u64,
        number: u64,
    ) {
        if self.is_complete() || self.is_discarded {
            self.is_full = true;
            return;
        }
        // Capture clocks may step back.
        let before_ns = self.packets.last().map_or(0, |before| before.time_ns);
        self.packets.push(LoggedPacket {
            time_ns: time_ns.max(before_ns),
            number: number as u32,
            seq: segment.seq,
            ack: segment.ack,
            len: segment.len,
            timestamps: segment.timestamps().unwrap_or_default(),
            window: segment.window,
            identification: segment.identification,
            hop_limit: segment.hop_limit,
            flags: segment.flags,
            class: class.into(),
            is_from_second: end == End::Second,
            options_len: segment.options_len.max(segment.options.len() as u8),
            has_dsack: is_dsack(segment),
        });
    }

    /// The packets in capture order.
    pub fn packets(&self) -> &[LoggedPacket] {
        &self.packets
    }

    /// True if further packets were not logged.
    pub fn is_truncated(&self) -> bool {
        self.is_full
    }

    /// True if no further packet will be logged, because there are enough.
    #[inline]
    pub(super) fn is_complete(&self) -> bool {
        self.packets.len() == MAX_LOGGED
    }

    /// Discards the packets, and logs no further ones.
    pub(super) fn discard(&mut self) {
        self.packets = Vec::new();
        self.is_discarded = true;
    }
}
