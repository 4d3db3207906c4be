//! A device that consists of a receive pin and a transmit pin.

use linerate_ether::frame;
use linerate_ether::phy10::{HALF_BIT_NS, HalfBitWriter, HalfBits, INTER_PACKET_GAP_NS, encode};
use linerate_ether::phy10::{decode, encoded_len};
use linerate_sim::random::Random;
use linerate_sim::time::{Instant, Span, TICKS_PER_NS};
use linerate_sim::wire::Link;
use linerate_sim::wire::burst::EdgeTracker;

use super::{Peer, Source, padded};

const HALF_BIT: Span = Span::from_ns(HALF_BIT_NS);
/// Half-bits of the longest transmission.
const LONGEST: usize = encoded_len(1518);
/// Low half-bits that end a reception: more than occur within a frame.
const SILENCE: u32 = 3;

/// Method of reception.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reception {
    /// Samples in the middle of each half-bit, counted from the first edge on, like a loop of fixed
    /// length.
    Samples,
    /// Measures the time from edge to edge.
    Edges,
}

/// A sampled reception in progress.
struct Sampler {
    next_at: Instant,
    words: Vec<u64>,
    len: usize,
    low: u32,
}

pub struct Device {
    reception: Reception,
    sampler: Option<Sampler>,
    tracker: EdgeTracker,
    /// The next edge at the receive pin, as far as known, and the last time examined.
    edge: Option<Instant>,
    listened: Instant,
    /// Edges to send, in reverse order.
    edges: Vec<(Instant, bool)>,
    free_at: Instant,
    source: Source,
    clock_ppm: f64,
    jitter_ticks: u64,
    random: Random,
    pub received: u64,
    pub pulses: u64,
}

impl Device {
    pub fn new(reception: Reception, source: Source, clock_ppm: f64, jitter_ns: f64) -> Self {
        Self {
            reception,
            sampler: None,
            tracker: EdgeTracker::default(),
            edge: None,
            listened: Instant::ZERO,
            edges: Vec::new(),
            free_at: Instant::ZERO,
            source,
            clock_ppm,
            jitter_ticks: (jitter_ns * TICKS_PER_NS as f64) as u64,
            random: Random::new(3),
            received: 0,
            pulses: 0,
        }
    }

    /// True if everything was sent.
    pub fn is_done(&self) -> bool {
        self.source.left == 0 && self.edges.is_empty()
    }

    /// Discards the known next edge: the link may have new ones.
    pub fn refresh_edge(&mut self) {
        self.edge = None;
    }

    /// Time of this device's next action.
    pub fn next_at(&mut self, link: &mut Link<Peer>) -> Instant {
        let hearing = if let Some(sampler) = &self.sampler {
            sampler.next_at
        } else {
            let listened = self.listened;
            let edge = *self.edge.get_or_insert_with(|| link.next_edge(listened));
            edge.min(self.tracker.ends_at().unwrap_or(Instant::NEVER))
        };
        let sending = match self.edges.last() {
            Some(&(at, _)) => at,
            None if self.source.left > 0 => self.free_at.max(self.source.next_at),
            None => Instant::NEVER,
        };
        hearing.min(sending)
    }

    /// Performs what is due at `at`.
    pub fn act(&mut self, link: &mut Link<Peer>, at: Instant) {
        if let Some(&(_, level)) = self.edges.last().filter(|&&(edge, _)| edge == at) {
            self.edges.pop();
            link.drive(level, at);
        } else if self.sampler.as_ref().is_some_and(|s| s.next_at == at) {
            self.sample(link, at);
        } else if self.sampler.is_none() && self.edge == Some(at) {
            self.on_edge(link, at);
        } else if self.tracker.ends_at().is_some_and(|end| end <= at) {
            if let Some(burst) = self.tracker.take(at) {
                self.take(link, burst.half_bits());
            }
        } else {
            self.send(link, at);
        }
    }

    fn on_edge(&mut self, link: &mut Link<Peer>, at: Instant) {
        self.edge = None;
        self.listened = at;
        match self.reception {
            Reception::Edges => {
                self.tracker.drive(link.level(at), at);
            }
            Reception::Samples => {
                self.sampler = Some(Sampler {
                    next_at: at + Span::from_ns(HALF_BIT_NS / 2),
                    words: vec![0; LONGEST.div_ceil(64) + 1],
                    len: 0,
                    low: 0,
                });
            }
        }
    }

    fn sample(&mut self, link: &mut Link<Peer>, at: Instant) {
        let Some(sampler) = &mut self.sampler else {
            return;
        };
        let level = link.level(at);
        sampler.words[sampler.len / 64] |= u64::from(level) << (sampler.len % 64);
        sampler.len += 1;
        sampler.low = if level { 0 } else { sampler.low + 1 };
        sampler.next_at = at + HALF_BIT;
        if sampler.low < SILENCE {
            return;
        }
        self.listened = at;
        if let Some(done) = self.sampler.take() {
            self.take(link, HalfBits::new(&done.words).slice(0, done.len));
        }
    }

    /// Checks that the reception is the frame that the peer sent, or a link pulse.
    fn take(&mut self, link: &mut Link<Peer>, half_bits: HalfBits<'_>) {
        let edges = (1..half_bits.len()).filter(|&i| half_bits.get(i) != half_bits.get(i - 1));
        if edges.take(2).count() < 2 {
            self.pulses += 1;
            return;
        }
        let mut octets = [0; 1600];
        let decoded = decode(half_bits, &mut octets).expect("a frame");
        let frame = frame::check_received(&octets[..decoded.len]).expect("a good frame");
        let peer = link.station_mut();
        assert_eq!(Some(frame.as_bytes()), peer.sent.pop_front().as_deref());
        peer.hash.event(2, self.listened, frame.as_bytes());
        self.received += 1;
    }

    /// Starts to send the next frame.
    fn send(&mut self, link: &mut Link<Peer>, at: Instant) {
        let Some(frame) = self.source.frame(at) else {
            return;
        };
        let mut octets = [0; 1518];
        octets[..frame.len()].copy_from_slice(&frame);
        let len = frame::finish(&mut octets, frame.len()).expect("room");
        link.station_mut().expected.push_back(padded(frame));
        let mut words = [0; LONGEST.div_ceil(64)];
        let mut writer = HalfBitWriter::new(&mut words);
        encode(&octets[..len], &mut writer).expect("room");
        let half_bits = writer.finish();
        let mut level = false;
        for (index, next) in half_bits.iter().chain([false]).enumerate() {
            if next != level {
                level = next;
                let place = self.place(at, index);
                self.edges.push((place, level));
            }
        }
        self.edges.reverse();
        self.free_at = self.place(at, half_bits.len()) + Span::from_ns(INTER_PACKET_GAP_NS);
    }

    /// Start of half-bit `index` of a transmission.
    fn place(&mut self, start: Instant, index: usize) -> Instant {
        let exact = index as f64 * HALF_BIT.ticks() as f64 * (1.0 - self.clock_ppm / 1e6);
        let jitter = self.random.below(2 * self.jitter_ticks + 1);
        Instant::from_ticks(start.ticks() + self.jitter_ticks + exact as u64 + jitter)
            - Span::from_ticks(self.jitter_ticks)
    }
}
