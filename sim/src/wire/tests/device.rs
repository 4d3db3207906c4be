//! A device that works on half-bits, and a station that records frames.

use std::collections::VecDeque;

use linerate_ether::frame;
use linerate_ether::phy10::{
    HALF_BIT_NS, HalfBitWriter, INTER_PACKET_GAP_NS, decode, encode, encoded_len,
};

use crate::peer::Station;
use crate::time::{Instant, Span};
use crate::wire::Link;
use crate::wire::burst::{BurstKind, EdgeTracker};

/// A station that sends the given frames and records received ones.
#[derive(Default)]
pub struct Recorder {
    pub to_send: VecDeque<(Instant, Vec<u8>)>,
    pub received: Vec<(Instant, Vec<u8>)>,
}

impl Station for Recorder {
    fn receive(&mut self, frame: &[u8], now: Instant) {
        self.received.push((now, frame.to_vec()));
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Vec<u8>> {
        (self.poll_timeout() <= now)
            .then(|| self.to_send.pop_front())?
            .map(|(_, frame)| frame)
    }

    fn poll_timeout(&self) -> Instant {
        self.to_send.front().map_or(Instant::NEVER, |&(at, _)| at)
    }
}

/// A device that receives by edges and sends half-bits for a station.
pub struct Device<D> {
    pub station: D,
    pub tracker: EdgeTracker,
    /// Edges to drive.
    pub edges: VecDeque<(Instant, bool)>,
    pub last_edge: Instant,
    pub frames: Vec<(Instant, Vec<u8>)>,
    pub pulses: Vec<Instant>,
    pub damaged: usize,
    pub free_at: Instant,
    /// Time after a received frame in which it sends nothing.
    pub reaction: Span,
}

impl<D: Station> Device<D> {
    pub fn new(station: D) -> Self {
        Self {
            station,
            tracker: EdgeTracker::default(),
            edges: VecDeque::new(),
            last_edge: Instant::ZERO,
            frames: Vec::new(),
            pulses: Vec::new(),
            damaged: 0,
            free_at: Instant::ZERO,
            reaction: Span::ZERO,
        }
    }

    /// Sends raw octets with preamble and `TP_IDL`, without carrier sense.
    pub fn send(&mut self, octets: &[u8], at: Instant) {
        let mut words = vec![0; encoded_len(octets.len()).div_ceil(64)];
        let mut writer = HalfBitWriter::new(&mut words);
        encode(octets, &mut writer).unwrap();
        let half_bits = writer.finish();
        let place = |index: usize| at + Span::from_ns(index as u64 * HALF_BIT_NS);
        for (index, level) in half_bits.iter().enumerate() {
            self.edges.push_back((place(index), level));
        }
        self.edges.push_back((place(half_bits.len()), false));
        self.free_at = place(half_bits.len()) + Span::from_ns(INTER_PACKET_GAP_NS);
    }

    /// Runs link and device until `until`.
    pub fn run<S: Station>(&mut self, link: &mut Link<S>, until: Instant) {
        loop {
            let edge = link.next_edge(self.last_edge);
            let drive = self.edges.front().map_or(Instant::NEVER, |&(at, _)| at);
            let burst = self.tracker.ends_at().unwrap_or(Instant::NEVER);
            let ready = self.station.poll_timeout().max(self.free_at);
            let at = [edge, drive, burst, ready, link.deadline()]
                .into_iter()
                .min()
                .unwrap();
            if at > until {
                return;
            }
            if at == edge {
                self.last_edge = edge;
                self.tracker.drive(link.level(edge), edge);
            } else if at == drive {
                let (at, level) = self.edges.pop_front().unwrap();
                link.drive(level, at);
            } else if at == burst {
                self.take(at);
            } else if at == ready {
                match self.station.poll_transmit(at) {
                    Some(frame) => {
                        let mut octets = vec![0; frame.len().max(60) + 4];
                        octets[..frame.len()].copy_from_slice(&frame);
                        let len = frame::finish(&mut octets, frame.len()).unwrap();
                        self.send(&octets[..len], at);
                    }
                    None => self.free_at = at + Span::from_us(1),
                }
            } else {
                link.poll(at);
            }
        }
    }

    fn take(&mut self, now: Instant) {
        let burst = self.tracker.take(now).unwrap();
        if matches!(burst.kind, BurstKind::Pulse(_)) {
            self.pulses.push(burst.start);
            return;
        }
        let mut octets = [0; 2048];
        match decode(burst.half_bits(), &mut octets) {
            Ok(decoded) if frame::check_received(&octets[..decoded.len]).is_ok() => {
                let octets = octets[..decoded.len - 4].to_vec();
                self.station.receive(&octets, now);
                self.free_at = self.free_at.max(now + self.reaction);
                self.frames.push((burst.start, octets));
            }
            _ => self.damaged += 1,
        }
    }
}
