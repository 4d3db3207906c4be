//! What went over the cable, as records that outlive it.

use linerate_ether::ledger::Drop;
use linerate_ether::phy10::link::LinkCodeWord;

use crate::time::{Instant, Span};

/// What a frame carries, for a reader of a report.
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
    /// What `frame`, from its destination address on, carries.
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

/// A transmission to the device. Times are those at the device's end of the cable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// Counts transmissions from 0.
    pub id: u64,
    /// Who sent it: 0 for the peer, from 1 on further stations on the hub.
    pub station: u8,
    /// Counts the station's frames from 0; a frame that collided is sent again under the same number.
    pub frame: u64,
    /// Which attempt at this frame it is, from 1.
    pub attempt: u32,
    /// When its first half-bit began.
    pub start: Instant,
    /// When its last bit, or the jam, ended.
    pub end: Instant,
    /// Octets from destination address to FCS.
    pub octets: usize,
    /// What it carries.
    pub content: Content,
    /// What the wire did to it. A collision that cut it short is told by what follows from it: the
    /// frame is sent again ([`Drop::Collision`]) or given up. Bits may have been turned over
    /// ([`Drop::Corrupted`]), the cable may have been out ([`Drop::LinkDown`]).
    pub fault: Option<Drop>,
    /// Noise was on the line meanwhile, which may or may not have done harm.
    pub noisy: bool,
    /// What the station wrote on it ([`crate::peer::Manner::tag`]).
    pub tag: u32,
}

/// A transmission from the device. Times are those at the peer's end of the cable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// Counts the device's frames, good or not, from 0.
    pub id: u64,
    /// The first edge.
    pub start: Instant,
    /// The end of the last bit.
    pub end: Instant,
    /// Octets from destination address to FCS, as far as there are any.
    pub octets: usize,
    /// What it carries.
    pub content: Content,
    /// Why the peer's MAC discarded it, if it did.
    pub fault: Option<Drop>,
    /// Idle line before it: from the end of the device's previous frame. Zero at the first.
    pub gap: Span,
    /// The greatest distance of an edge from its place.
    pub edge_error: Span,
}

/// Something that happened on the cable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A transmission to the device begins, as it will be if nothing comes between.
    Begun(Sent),
    /// A transmission to the device ended. The octets include the FCS; after a collision they are
    /// what the frame would have been.
    Sent(Sent, Vec<u8>),
    /// A transmission from the device ended. The octets include the FCS.
    Heard(Heard, Vec<u8>),
}

/// Counts of one station's transmitter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StationStatistics {
    /// Frames sent, each counted once however often it collided.
    pub frames_sent: u64,
    /// Octets with FCS of those that did not collide.
    pub octets_sent: u64,
    /// Time on the line of those, preamble and the standard's gap included.
    pub airtime: Span,
    /// Transmissions that collided.
    pub collisions: u64,
    /// Of these, later than a slot time: never repeated.
    pub late_collisions: u64,
    /// Frames given up after 16 attempts.
    pub excessive_collisions: u64,
    /// Frames whose first attempt waited for a carrier.
    pub deferred: u64,
}

/// Counts at the peer's end of the cable. Those of sending are of all stations together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Frames sent to the device, each counted once however often it collided.
    pub frames_sent: u64,
    /// Link pulses sent to the device.
    pub link_pulses_sent: u64,
    /// Transmissions that collided.
    pub collisions: u64,
    /// Of these, later than a slot time: never repeated.
    pub late_collisions: u64,
    /// Frames given up after 16 attempts.
    pub excessive_collisions: u64,
    /// Frames whose first attempt waited for the device's carrier.
    pub deferred: u64,
    /// Each station's own counts: the peer's, then those of further stations on the hub.
    pub stations: Vec<StationStatistics>,
    /// Frames that the peer had for the device while the link was down: never on the line.
    pub frames_withheld: u64,
    /// Frames from the device.
    pub frames_heard: u64,
    /// Octets with FCS of those that were good.
    pub octets_heard: u64,
    /// Time on the line of those, preamble and the standard's gap included.
    pub airtime_heard: Span,
    /// Of these, those that the peer's MAC discarded.
    pub frames_bad: u64,
    /// Pulses from the device with a width of 62.5 to 150 ns, those of bursts among them.
    pub link_pulses_heard: u64,
    /// Fast link pulse bursts from the device.
    pub link_bursts_heard: u64,
    /// Pulses from the device that resemble no burst.
    pub link_bursts_broken: u64,
    /// What the last burst said.
    pub link_word_heard: Option<LinkCodeWord>,
    /// Lone pulses from the device of any other width.
    pub odd_pulses: u64,
    /// The narrowest and the widest lone pulse.
    pub pulse_widths: Option<(Span, Span)>,
    /// The shortest gap between two frames of the device.
    pub least_gap: Option<Span>,
    /// The greatest distance of any edge from the device from its place within a frame.
    pub edge_error: Span,
}
