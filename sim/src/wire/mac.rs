//! The peer's MAC, transmit side: gap, deferring, collision, back-off (IEEE 802.3 clause 4.2).

use std::collections::VecDeque;

use linerate_ether::frame;
use linerate_ether::ledger::Drop;
use linerate_ether::phy10::{
    ATTEMPT_LIMIT, BACK_OFF_LIMIT, HalfBitWriter, JAM_BITS, SLOT_TIME_NS, TP_IDL_HALF_BITS, encode,
    encode_octet, encoded_len,
};

use super::record::{Content, Sent, Statistics};
use super::signal::Signal;
use crate::random::Random;
use crate::time::{Instant, Span};

/// Frames that the adapter takes from the host before the first is on the wire.
pub const RING: usize = 256;
/// Preamble and SFD are finished before a jam.
const PREAMBLE_HALF_BITS: usize = 128;

/// A frame on its way to the wire.
#[derive(Debug, Clone)]
struct Outgoing {
    number: u64,
    /// With padding and FCS.
    octets: Vec<u8>,
    attempts: u32,
    deferred: bool,
}

/// A frame on the wire. Times are the peer's.
#[derive(Debug, Clone)]
struct Sending {
    frame: Outgoing,
    start: Instant,
    /// End of the last bit, or of the jam.
    end: Instant,
    half_bits: usize,
    collided: bool,
    late: bool,
    id: u64,
}

impl Sending {
    fn fault(&self) -> Option<Drop> {
        if !self.collided {
            None
        } else if self.late {
            Some(Drop::LateCollision)
        } else if self.frame.attempts >= ATTEMPT_LIMIT {
            Some(Drop::ExcessiveCollisions)
        } else {
            Some(Drop::Collision)
        }
    }
}

/// The transmitter.
#[derive(Debug)]
pub struct Transmitter {
    half_duplex: bool,
    delay: Span,
    gap: Span,
    random: Random,
    ring: VecDeque<Outgoing>,
    sending: Option<Sending>,
    /// The medium may be used again from here on.
    free_at: Instant,
    /// Back-off ends here.
    wait_until: Instant,
    next_id: u64,
    next_number: u64,
}

impl Transmitter {
    /// A transmitter with nothing to send.
    #[must_use]
    pub const fn new(half_duplex: bool, delay: Span, gap: Span, random: Random) -> Self {
        Self {
            half_duplex,
            delay,
            gap,
            random,
            ring: VecDeque::new(),
            sending: None,
            free_at: Instant::ZERO,
            wait_until: Instant::ZERO,
            next_id: 0,
            next_number: 0,
        }
    }

    /// Whether another frame may be queued.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.ring.len() < RING
    }

    /// Frames not yet on the wire.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.ring.len()
    }

    /// Queues a frame without padding and FCS.
    pub fn queue(&mut self, frame: &[u8]) {
        let len = frame.len();
        let mut octets = vec![0; len.max(frame::MIN_LEN) + 4];
        octets[..len].copy_from_slice(frame);
        // The buffer has room for padding and FCS, which is all that could be wrong.
        let whole = frame::finish(&mut octets, len).unwrap_or(0);
        octets.truncate(whole);
        let number = self.next_number;
        self.next_number += 1;
        self.ring.push_back(Outgoing {
            number,
            octets,
            attempts: 0,
            deferred: false,
        });
    }

    /// The wire is in use by this transmitter.
    #[must_use]
    pub const fn is_sending(&self) -> bool {
        self.sending.is_some()
    }

    /// What is on the wire, as it will be recorded.
    #[must_use]
    pub fn on_the_wire(&self) -> Option<Sent> {
        self.sending.as_ref().map(|sending| self.record(sending))
    }

    /// When [`Self::start`] or [`Self::finish`] has something to do, if the device stays silent.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        match &self.sending {
            Some(sending) => sending.end,
            None if self.ring.is_empty() => Instant::NEVER,
            None => self.free_at.max(self.wait_until),
        }
    }

    /// Keeps the wire free until `until`: something else is on it.
    pub fn reserve(&mut self, until: Instant) {
        self.free_at = self.free_at.max(until);
    }

    /// Starts the next frame if the medium is free. `carrier`: the device sends, as far as it can
    /// be heard here.
    pub fn start(&mut self, carrier: bool, signal: &mut Signal, now: Instant) -> bool {
        if self.sending.is_some() || self.ring.is_empty() || self.deadline() > now {
            return false;
        }
        if self.half_duplex && carrier {
            if let Some(frame) = self.ring.front_mut() {
                frame.deferred |= frame.attempts == 0;
            }
            // The end of the carrier sets `free_at`.
            self.free_at = Instant::NEVER;
            return false;
        }
        let Some(mut frame) = self.ring.pop_front() else {
            return false;
        };
        frame.attempts += 1;
        let half_bits = encoded_len(frame.octets.len());
        let mut words = vec![0; half_bits.div_ceil(64)];
        // The words were counted for exactly this frame.
        let _ = encode(&frame.octets, &mut HalfBitWriter::new(&mut words));
        signal.send(now + self.delay, words, half_bits);
        let end = now
            + signal
                .clock()
                .half_bits((half_bits - TP_IDL_HALF_BITS) as u64);
        let id = self.next_id;
        self.next_id += 1;
        self.sending = Some(Sending {
            frame,
            start: now,
            end,
            half_bits,
            collided: false,
            late: false,
            id,
        });
        true
    }

    /// The medium falls silent at `end`, after the device's transmission.
    pub fn carrier_ended(&mut self, end: Instant) {
        if self.half_duplex && self.sending.is_none() {
            let free_at = end + self.gap;
            let waits = self.free_at == Instant::NEVER;
            self.free_at = if waits {
                free_at
            } else {
                self.free_at.max(free_at)
            };
        }
    }

    /// The device's carrier is heard at `at` while this transmitter sends: jam.
    pub fn collide(&mut self, at: Instant, signal: &mut Signal, statistics: &mut Statistics) {
        let Some(sending) = self.sending.as_mut().filter(|sending| !sending.collided) else {
            return;
        };
        if !self.half_duplex || at >= sending.end {
            return;
        }
        sending.collided = true;
        sending.late = at.since(sending.start) > Span::from_ns(SLOT_TIME_NS);
        statistics.collisions += 1;
        let half_bit = signal.clock().half_bits(1).ticks().max(1);
        let sent = (at.since(sending.start).ticks() / half_bit) as usize;
        // Up to the end of the bit, and never without the preamble.
        let keep = (sent.next_multiple_of(2) + 2).max(PREAMBLE_HALF_BITS);
        let keep = keep.min(sending.half_bits - TP_IDL_HALF_BITS);
        let mut words = [0; 2];
        let mut jam = HalfBitWriter::new(&mut words);
        for _ in 0..JAM_BITS / 8 {
            // Alternating ones and zeros; any pattern that is not the frame's FCS will do.
            let _ = jam.push_bits(u64::from(encode_octet(0xAA)), 16);
        }
        let _ = jam.push_level(true, TP_IDL_HALF_BITS);
        signal.replace_tail(keep, jam.finish());
        sending.end = sending.start + signal.clock().half_bits((keep + 2 * JAM_BITS) as u64);
    }

    /// Ends the transmission if it is over at `now`; returns its record and octets.
    pub fn finish(&mut self, now: Instant, statistics: &mut Statistics) -> Option<(Sent, Vec<u8>)> {
        let sending = self.sending.take_if(|sending| sending.end <= now)?;
        let record = self.record(&sending);
        self.free_at = sending.end + self.gap;
        let mut frame = sending.frame;
        let octets = frame.octets.clone();
        if frame.attempts == 1 {
            statistics.frames_sent += 1;
            statistics.deferred += u64::from(frame.deferred);
        }
        match record.fault {
            None => {}
            Some(Drop::LateCollision) => statistics.late_collisions += 1,
            Some(Drop::ExcessiveCollisions) => statistics.excessive_collisions += 1,
            Some(_) => {
                let slots = self.random.below(1 << frame.attempts.min(BACK_OFF_LIMIT));
                self.wait_until = sending.end + Span::from_ns(SLOT_TIME_NS * slots);
                frame.deferred = false;
                self.ring.push_front(frame);
            }
        }
        Some((record, octets))
    }

    fn record(&self, sending: &Sending) -> Sent {
        Sent {
            id: sending.id,
            frame: sending.frame.number,
            attempt: sending.frame.attempts,
            start: sending.start + self.delay,
            end: sending.end + self.delay,
            octets: sending.frame.octets.len(),
            content: Content::of(&sending.frame.octets),
            fault: sending.fault(),
        }
    }
}
