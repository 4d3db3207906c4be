//! Frames of any length over the wire in both directions simultaneously, encoded to half-bits and
//! decoded to octets; and files over bad links, in [`tcp`].
//!
//! With `LINERATE_LONG` set (`cargo xtask test --long`) a million frames, else a few hundred.

mod device;
#[allow(dead_code)]
#[path = "../../src/peer/tests/link.rs"]
mod link;
#[allow(dead_code)]
#[path = "../../src/peer/tests/station.rs"]
mod station;
mod tcp;

use std::collections::VecDeque;

use device::{Device, Reception};
use linerate_ether::frame;
// `link` and `station` of the peer's unit tests import these from their crate's root.
use linerate_sim::trace::hash::TraceHash;
use linerate_sim::wire::config::Impairments;
use linerate_sim::wire::{Config, Duplex, Link};
use linerate_sim::{peer, random, time};
use peer::Station;
use random::Random;
use time::{Instant, Span};

/// A link and the device's method of reception.
#[derive(Debug, Clone, Copy)]
struct Conditions {
    /// Clock offsets of the peer, and of the device's transmitter; the device's receiver is exact.
    clock_ppm: [f64; 2],
    /// Maximum displacement of edges, ns: of the peer and of the device.
    jitter_ns: [f64; 2],
    delay: Span,
    reception: Reception,
}

/// Sampling half-bits from the first edge on tolerates 25 ns of drift and jitter; a receiver that
/// tracks the edges tolerates the standard's limits.
const CONDITIONS: [Conditions; 4] = [
    conditions([0.0, 0.0], [0.0, 0.0], 50, Reception::Samples),
    conditions([10.0, -100.0], [3.5, 3.5], 500, Reception::Samples),
    conditions([100.0, 100.0], [10.0, 3.5], 50, Reception::Edges),
    conditions([-100.0, 50.0], [3.5, 0.0], 1, Reception::Edges),
];

const fn conditions(
    clock_ppm: [f64; 2],
    jitter_ns: [f64; 2],
    delay_ns: u64,
    reception: Reception,
) -> Conditions {
    Conditions {
        clock_ppm,
        jitter_ns,
        delay: Span::from_ns(delay_ns),
        reception,
    }
}

/// Frames over all links in both directions together.
fn frames() -> u64 {
    if std::env::var_os("LINERATE_LONG").is_some() {
        1_000_000
    } else {
        800
    }
}

/// A source of frames without FCS of all lengths, most of them short.
#[derive(Debug)]
struct Source {
    random: Random,
    left: u64,
    /// Earliest time of the next one.
    next_at: Instant,
}

impl Source {
    fn new(seed: u64, left: u64) -> Self {
        Self {
            random: Random::new(seed),
            left,
            next_at: Instant::ZERO,
        }
    }

    fn frame(&mut self, now: Instant) -> Option<Vec<u8>> {
        if self.left == 0 || now < self.next_at {
            return None;
        }
        self.left -= 1;
        // Mostly as fast as the wire allows, so that bursts and pauses both occur.
        if self.random.chance(1, 50) {
            self.next_at = now + Span::from_us(self.random.below(40_000));
        }
        let longest = if self.random.chance(1, 4) { 1514 } else { 150 };
        let len = 14 + self.random.below(longest - 14 + 1) as usize;
        let mut frame: Vec<_> = (0..len).map(|_| self.random.next_u64() as u8).collect();
        // A type that is neither a length nor a tag.
        frame[12..14].copy_from_slice(&[0x88, 0xB5]);
        Some(frame)
    }
}

/// The frame as it arrives: padded to the minimum length.
fn padded(mut frame: Vec<u8>) -> Vec<u8> {
    frame.resize(frame.len().max(frame::MIN_LEN - 4), 0);
    frame
}

/// The station at the far end.
#[derive(Debug)]
struct Peer {
    source: Source,
    /// Frames that it sent and the device has not received yet.
    sent: VecDeque<Vec<u8>>,
    /// Frames that the device sent and that have not arrived yet.
    expected: VecDeque<Vec<u8>>,
    hash: TraceHash,
}

impl Station for Peer {
    fn receive(&mut self, frame: &[u8], now: Instant) {
        assert_eq!(Some(frame), self.expected.pop_front().as_deref(), "{now:?}");
        self.hash.event(1, now, frame);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Vec<u8>> {
        let frame = self.source.frame(now)?;
        self.sent.push_back(padded(frame.clone()));
        Some(frame)
    }

    fn poll_timeout(&self) -> Instant {
        if self.source.left == 0 {
            Instant::NEVER
        } else {
            self.source.next_at
        }
    }
}

/// Sends `frames` in both directions simultaneously; returns a hash over all arrivals and their times.
fn exchange(conditions: Conditions, frames: u64, seed: u64) -> u64 {
    let config = Config {
        duplex: Duplex::Full,
        delay: conditions.delay,
        impairments: Impairments {
            clock_ppm: conditions.clock_ppm[0],
            jitter_ns: conditions.jitter_ns[0],
            ..Impairments::default()
        },
        seed,
        ..Config::default()
    };
    let peer = Peer {
        source: Source::new(seed, frames),
        sent: VecDeque::new(),
        expected: VecDeque::new(),
        hash: TraceHash::new(),
    };
    let mut link = Link::new(config, peer);
    let mut device = Device::new(
        conditions.reception,
        Source::new(seed + 1, frames),
        conditions.clock_ppm[1],
        conditions.jitter_ns[1],
    );
    // A frame lasts at most 1.24 ms, and every fiftieth is followed by a pause of 40 ms.
    let limit = Instant::ZERO + Span::from_ms(10 * frames + 1000);
    loop {
        let at = device.next_at(&mut link).min(link.deadline());
        assert!(at < limit, "{conditions:?}: frames are missing");
        if at == link.deadline() {
            link.poll(at);
            while link.poll_event().is_some() {}
            device.refresh_edge();
        } else {
            device.act(&mut link, at);
        }
        let peer = link.station();
        if device.received == frames && peer.expected.is_empty() && device.is_done() {
            break;
        }
    }
    let statistics = link.statistics();
    assert_eq!(statistics.frames_sent, frames, "{conditions:?}");
    assert_eq!(statistics.frames_received, frames, "{conditions:?}");
    assert_eq!(statistics.frames_bad, 0, "{conditions:?}");
    assert_eq!(device.pulses, statistics.link_pulses_sent, "{conditions:?}");
    link.station().hash.value()
}

#[test]
fn every_frame_arrives_octet_for_octet_in_both_directions() {
    for conditions in CONDITIONS {
        exchange(conditions, frames() / 2 / CONDITIONS.len() as u64, 1);
    }
}

#[test]
fn equal_seeds_give_equal_hashes_and_different_seeds_different_ones() {
    let hash = |seed| exchange(CONDITIONS[1], 100, seed);
    assert_eq!(hash(1), hash(1));
    assert_ne!(hash(1), hash(2));
}
