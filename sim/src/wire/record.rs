//! Records and statistics of the traffic on the cable.

use linerate_ether::ledger::DropCause;
use linerate_ether::phy10::link::LinkCodeWord;

use crate::time::{Instant, Span};

/// Protocol of a frame, for reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Content {
    /// ARP.
    Arp,
    /// ICMP over IPv4.
    Icmp,
    /// TCP over IPv4.
    Tcp,
    /// UDP over IPv4.
    Udp,
    /// Anything else.
    Other,
}

impl Content {
    /// Protocol of `frame`, which begins at its destination address.
    #[must_use]
    pub fn of(frame: &[u8]) -> Self {
        match (frame.get(12..14), frame.get(23)) {
            (Some([0x08, 0x06]), _) => Self::Arp,
            (Some([0x08, 0x00]), Some(1)) => Self::Icmp,
            (Some([0x08, 0x00]), Some(6)) => Self::Tcp,
            (Some([0x08, 0x00]), Some(17)) => Self::Udp,
            _ => Self::Other,
        }
    }
}

/// A transmission to the device. Times are at the device's end of the cable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentFrame {
    /// Number of the transmission, from 0.
    pub id: u64,
    /// Sending station: 0 for the peer, from 1 on for further stations on the hub.
    pub station: u8,
    /// Number of the station's frame, from 0; a frame that collided is sent again with the same number.
    pub frame: u64,
    /// Number of the attempt to send this frame, from 1.
    pub attempt: u32,
    /// Start of the first half-bit.
    pub start: Instant,
    /// End of the last bit, or of the jam.
    pub end: Instant,
    /// Octets from destination address to FCS.
    pub octets: usize,
    /// Protocol.
    pub content: Content,
    /// Damage by the wire. A collision is recorded by its consequence: the frame is sent again
    /// ([`DropCause::Collision`]) or given up. Bits may have been inverted ([`DropCause::Corrupted`]), the cable
    /// may have been unplugged ([`DropCause::LinkDown`]).
    pub fault: Option<DropCause>,
    /// Noise overlapped the transmission, which may or may not have damaged it.
    pub noisy: bool,
    /// The station's tag ([`crate::peer::TxOptions::tag`]).
    pub tag: u32,
}

/// A transmission from the device. Times are at the peer's end of the cable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedFrame {
    /// Number of the device's frame, good or not, from 0.
    pub id: u64,
    /// The first edge.
    pub start: Instant,
    /// The end of the last bit.
    pub end: Instant,
    /// Octets received from destination address to FCS.
    pub octets: usize,
    /// Protocol.
    pub content: Content,
    /// Reason why the peer's MAC discarded it, if it did.
    pub fault: Option<DropCause>,
    /// Idle line before it, from the end of the device's previous frame. Zero for the first.
    pub gap: Span,
    /// Maximum distance of an edge from its expected position.
    pub edge_error: Span,
}

/// An event on the cable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A transmission to the device begins. Its record assumes that nothing interrupts it.
    Started(SentFrame),
    /// A transmission to the device ended. The octets include the FCS; after a collision they are
    /// those of the complete frame.
    Sent(SentFrame, Vec<u8>),
    /// A transmission from the device ended. The octets include the FCS.
    Received(ReceivedFrame, Vec<u8>),
}

/// Statistics of one station's transmitter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StationStatistics {
    /// Transmissions that began, each attempt counted.
    pub transmissions: u64,
    /// Frames whose first attempt began.
    pub frames_begun: u64,
    /// Frames sent, each counted once regardless of collisions.
    pub frames_sent: u64,
    /// Octets with FCS of the transmissions that did not collide.
    pub octets_sent: u64,
    /// Line time of these frames, including preamble and the standard's gap.
    pub airtime: Span,
    /// Transmissions that collided.
    pub collisions: u64,
    /// Of these, collisions after the slot time: not retried.
    pub late_collisions: u64,
    /// Frames given up after 16 attempts.
    pub excessive_collisions: u64,
    /// Frames whose first attempt deferred to a carrier.
    pub deferred: u64,
}

/// Statistics at the peer's end of the cable. Transmit counts are sums over all stations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Frames sent to the device, each counted once regardless of collisions.
    pub frames_sent: u64,
    /// Link pulses sent to the device.
    pub link_pulses_sent: u64,
    /// Transmissions that collided.
    pub collisions: u64,
    /// Of these, collisions after the slot time: not retried.
    pub late_collisions: u64,
    /// Frames given up after 16 attempts.
    pub excessive_collisions: u64,
    /// Frames whose first attempt deferred to the device's carrier.
    pub deferred: u64,
    /// Statistics by station: the peer, then further stations on the hub.
    pub stations: Vec<StationStatistics>,
    /// Frames of the peer for the device while the link was down: never on the line.
    pub frames_withheld: u64,
    /// Frames from the device.
    pub frames_received: u64,
    /// Octets with FCS of the good frames.
    pub octets_received: u64,
    /// Line time of these frames, including preamble and the standard's gap.
    pub airtime_received: Span,
    /// Frames from the device that the peer's MAC discarded.
    pub frames_bad: u64,
    /// Of these, transmissions that collided.
    pub frames_collided: u64,
    /// Pulses from the device with a width of 62.5 to 150 ns, including those of bursts.
    pub link_pulses_received: u64,
    /// Fast link pulse bursts from the device.
    pub link_bursts_received: u64,
    /// Pulse sequences from the device that are not a valid burst.
    pub link_bursts_broken: u64,
    /// Word of the last burst.
    pub link_word_received: Option<LinkCodeWord>,
    /// Lone pulses from the device with any other width.
    pub odd_pulses: u64,
    /// Widths of the narrowest and the widest lone pulse.
    pub pulse_widths: Option<(Span, Span)>,
    /// Shortest gap between two frames of the device.
    pub min_gap: Option<Span>,
    /// Maximum distance of any edge of the device's frames from its expected position.
    pub edge_error: Span,
}
