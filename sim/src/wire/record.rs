//! What went over the cable, as records that outlive it.

use linerate_ether::ledger::Drop;

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
    /// Counts frames from 0; a frame that collided is sent again under the same number.
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
    /// The collision that cut it short, by what follows from it: the frame is sent again
    /// ([`Drop::Collision`]) or given up.
    pub fault: Option<Drop>,
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
    /// A transmission to the device ended. The octets include the FCS; after a collision they are
    /// what the frame would have been.
    Sent(Sent, Vec<u8>),
    /// A transmission from the device ended. The octets include the FCS.
    Heard(Heard, Vec<u8>),
}

/// Counts at the peer's end of the cable.
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
    /// Frames from the device.
    pub frames_heard: u64,
    /// Of these, those that the peer's MAC discarded.
    pub frames_bad: u64,
    /// Link pulses from the device with a width of 62.5 to 150 ns.
    pub link_pulses_heard: u64,
    /// Lone pulses from the device of any other width.
    pub odd_pulses: u64,
    /// The narrowest and the widest lone pulse.
    pub pulse_widths: Option<(Span, Span)>,
    /// The shortest gap between two frames of the device.
    pub least_gap: Option<Span>,
    /// The greatest distance of any edge from the device from its place within a frame.
    pub edge_error: Span,
}
