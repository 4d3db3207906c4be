//! The connections of a capture that a host served, as the device and the host sent them.

use std::collections::BTreeMap;
use std::io::Read;

use core::net::Ipv4Addr as Ipv4Address;
use linerate_capture::reader::{
    Address, Datagram, Frame, FramePayload, OpenError, Protocol, Reader,
};
use linerate_capture::tcp::Segment as Captured;
use linerate_sim::peer::tcp::segment::to_position;
use linerate_sim::peer::tcp::{Control, Segment};
use linerate_sim::time::{Instant, Span};

/// Data beyond the last octet seen of a connection that the capture cuts off.
const UNSEEN_OCTETS: u64 = 64 * 1024;

/// A segment with fewer octets is short. (With timestamps a full one on Ethernet has 1448.)
const FULL_OCTETS: u64 = 1440;

/// A capture that cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum FlowError {
    /// Not a capture.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Damaged.
    #[error(transparent)]
    Damaged(#[from] linerate_capture::reader::ReadError),
}

/// A segment with data or FIN: the positions that it occupies in the host's stream, and when it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentRange {
    /// Time of sending, from the first packet of the capture.
    pub at: Instant,
    /// First position; the first octet of the stream is at 1.
    pub start: u64,
    /// Position after the last, FIN included.
    pub end: u64,
    /// It carries FIN.
    pub fin: bool,
    /// Nothing of it was sent before.
    pub first: bool,
}

impl SentRange {
    /// The same, `by` earlier.
    pub(super) fn earlier(mut self, by: Span) -> Self {
        self.at = Instant::ZERO + self.at.since(Instant::ZERO + by);
        self
    }

    /// Octets of payload.
    #[must_use]
    pub const fn octets(&self) -> u64 {
        self.end - self.start - self.fin as u64
    }

    /// The range of `segment`, if it carries data or FIN. `first` is not known of a single segment, and false.
    #[must_use]
    pub fn of(segment: &Segment, initial_sequence: u32, at: Instant) -> Option<Self> {
        let start = to_position(initial_sequence, segment.sequence, 1 << 31)?;
        // The nearest position to 2^31 within 2^31 of it: streams here are shorter.
        let end = start + segment.sequence_len();
        (end > start).then_some(Self {
            at,
            start,
            end,
            fin: segment.control == Control::Fin,
            first: false,
        })
    }
}

/// A connection that a device opened to a host.
#[derive(Debug, Clone)]
pub struct Flow {
    /// Number of the SYN's packet in the capture.
    pub packet: u64,
    /// The device's address.
    pub device: Ipv4Address,
    /// The host's initial sequence number.
    pub initial_sequence: u32,
    /// The device's segments with their times of capture, the SYN first.
    pub from_device: Vec<(Instant, Segment)>,
    /// The host's segments with data or FIN.
    pub sent: Vec<SentRange>,
    /// Octets of the stream that the host's program had written when they were sent: a segment ends there that is
    /// short although the window has room.
    pub written: Vec<u64>,
    /// First position beyond the window that the device has offered.
    window_end: u64,
    /// Shift of the device's windows.
    window_shift: u8,
    /// Octets of the host's stream; a little beyond what was seen if the capture cuts it off.
    pub stream_octets: u64,
    /// The host sent FIN.
    pub finished: bool,
    /// Time of the last packet.
    pub end: Instant,
}

/// The connections of the capture over IPv4 whose handshake it has, in the order of opening. Times count from the
/// first packet; they are those of the capturing station, which must be the host.
///
/// # Errors
/// [`FlowError`] if it is not a capture or damaged.
pub fn flows(capture: impl Read) -> Result<Vec<Flow>, FlowError> {
    let mut reader = Reader::new(capture)?;
    let mut flows: Vec<Flow> = Vec::new();
    let mut open: BTreeMap<(Address, Address, u16, u16), usize> = BTreeMap::new();
    let mut first_ns = None;
    while let Some(packet) = reader.next() {
        let first_ns = *first_ns.get_or_insert(packet.time_ns);
        let at = Instant::from_ns(packet.time_ns.saturating_sub(first_ns));
        let FramePayload::Ip { octets, length } = Frame::parse(&packet).payload else {
            continue;
        };
        let Some(datagram) = Datagram::parse(octets, length)
            .filter(|it| it.protocol == Protocol::Tcp && !it.fragment && it.source.is_v4())
        else {
            continue;
        };
        let Some(captured) = Captured::parse(datagram.payload, datagram.length) else {
            continue;
        };
        let (from, to) = (datagram.source, datagram.destination);
        let as_device = (from, to, captured.source, captured.destination);
        let as_host = (to, from, captured.destination, captured.source);
        if captured.is_initial_syn() {
            open.insert(as_device, flows.len());
            flows.push(Flow {
                packet: packet.number,
                device: v4(from),
                initial_sequence: 0,
                from_device: Vec::new(),
                sent: Vec::new(),
                written: Vec::new(),
                window_end: 0,
                window_shift: 0,
                stream_octets: 0,
                finished: false,
                end: at,
            });
        }
        if let Some(flow) = open.get(&as_device).and_then(|&at| flows.get_mut(at)) {
            flow.device_sent(segment(&captured), at);
        } else if let Some(flow) = open.get(&as_host).and_then(|&at| flows.get_mut(at)) {
            flow.host_sent(&segment(&captured), at);
        }
    }
    if let Some(error) = reader.error() {
        return Err(error.clone().into());
    }
    for flow in &mut flows {
        if !flow.finished {
            flow.stream_octets += UNSEEN_OCTETS;
        }
    }
    flows.retain(|flow| flow.initial_sequence != 0 && !flow.sent.is_empty());
    Ok(flows)
}

impl Flow {
    /// The same flow, `by` later, and the device's segments later by `turnaround`, too.
    pub(super) fn later(&self, by: Span, turnaround: Span) -> Self {
        let mut flow = self.clone();
        for (at, _) in &mut flow.from_device {
            *at = *at + by + turnaround;
        }
        for sent in &mut flow.sent {
            sent.at += by;
        }
        flow.end += by;
        flow
    }

    fn device_sent(&mut self, segment: Segment, at: Instant) {
        if segment.control == Control::Syn {
            self.window_shift = segment.window_scale.unwrap_or(0);
        } else if let Some(ack) = segment.ack {
            let acknowledged = u64::from(ack.wrapping_sub(self.initial_sequence));
            let window = u64::from(segment.window) << self.window_shift;
            self.window_end = self.window_end.max(acknowledged + window);
        }
        self.from_device.push((at, segment));
        self.end = at;
    }

    fn host_sent(&mut self, segment: &Segment, at: Instant) {
        self.end = at;
        if segment.control == Control::Syn {
            self.initial_sequence = segment.sequence;
            return;
        }
        if segment.control == Control::Reset {
            return;
        }
        if let Some(mut range) = SentRange::of(segment, self.initial_sequence, at) {
            range.first = range.end > self.stream_octets + 1 && range.octets() > 0;
            self.stream_octets = self.stream_octets.max(range.start + range.octets() - 1);
            self.finished |= range.fin;
            if range.first && range.octets() < FULL_OCTETS && range.end != self.window_end {
                self.written.push(self.stream_octets);
            }
            self.sent.push(range);
        }
    }
}

fn v4(address: Address) -> Ipv4Address {
    let [.., a, b, c, d] = address.0;
    Ipv4Address::new(a, b, c, d)
}

/// A captured segment as the simulated host takes it; its octets are zeros.
fn segment(captured: &Captured<'_>) -> Segment {
    let options = captured.parse_options();
    let mut sack = [None; 3];
    for (slot, block) in sack.iter_mut().zip(options.sack.blocks()) {
        *slot = Some(block);
    }
    let control = if captured.has_any(Captured::RST) {
        Control::Reset
    } else if captured.has_any(Captured::SYN) {
        Control::Syn
    } else if captured.has_any(Captured::FIN) {
        Control::Fin
    } else if captured.has_any(Captured::PSH) {
        Control::Push
    } else {
        Control::None
    };
    Segment {
        source_port: captured.source,
        destination_port: captured.destination,
        sequence: captured.seq,
        ack: captured.has_any(Captured::ACK).then_some(captured.ack),
        control,
        window: captured.window,
        mss: options.mss,
        window_scale: options.window_shift,
        sack_permitted: options.sack_permitted,
        sack,
        timestamp: options.timestamps,
        payload: vec![0; captured.len as usize],
    }
}
