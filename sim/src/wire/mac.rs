//! Transmit side of a station's MAC: gap, deferring, collision, back-off (IEEE 802.3 clause 4.2).
//!
//! It decides when to send and how to react to a collision; propagation is part of the link.

use std::collections::VecDeque;

use linerate_ether::ledger::DropCause;
use linerate_ether::phy10::{
    ATTEMPT_LIMIT, BACK_OFF_LIMIT, INTER_PACKET_GAP_NS, JAM_BITS, SLOT_TIME_NS,
};

use super::record::{Content, SentFrame, StationStatistics};
use super::timing::half_bits;
use crate::peer::{Outgoing, TxOptions};
use crate::random::Random;
use crate::time::{Instant, Span};

/// Size of the adapter's transmit ring in frames.
pub const TX_RING_FRAMES: usize = 256;
/// Half-bits of preamble and SFD, which are completed before a jam.
const PREAMBLE_HALF_BITS: usize = 128;

/// A queued frame.
#[derive(Debug, Clone)]
struct QueuedFrame {
    number: u64,
    /// Including padding and FCS.
    octets: Vec<u8>,
    options: TxOptions,
    attempts: u32,
    deferred: bool,
}

/// A frame on the wire. Times are at the station.
#[derive(Debug, Clone)]
struct ActiveTransmission {
    frame: QueuedFrame,
    transmission: Transmission,
    /// End of the last bit, or of the jam.
    end: Instant,
    collided: bool,
    late: bool,
}

/// Properties of a transmission that are known when it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmission {
    /// Number of the transmission on this link.
    pub id: u64,
    /// Start of the first half-bit, at the station.
    pub start: Instant,
    /// Ticks of a half-bit, with [`super::timing::FRACTION`] fraction bits.
    pub period: u64,
    /// Half-bits up to the end of the last bit.
    pub half_bits: usize,
    /// Damage by the line that no receiver can repair.
    pub line_fault: Option<DropCause>,
    /// Noise overlapped it.
    pub noisy: bool,
}

impl ActiveTransmission {
    fn collision(&self) -> Option<DropCause> {
        if !self.collided {
            None
        } else if self.late {
            Some(DropCause::LateCollision)
        } else if self.frame.attempts >= ATTEMPT_LIMIT {
            Some(DropCause::ExcessiveCollisions)
        } else {
            Some(DropCause::Collision)
        }
    }
}

/// The transmit side of a MAC.
#[derive(Debug)]
pub struct Transmitter {
    half_duplex: bool,
    station: u8,
    /// Propagation delay from the station to the device.
    delay: Span,
    gap: Span,
    random: Random,
    tx_ring: VecDeque<QueuedFrame>,
    sending: Option<ActiveTransmission>,
    /// End of the last use of the medium, if any.
    busy_until: Option<Instant>,
    /// End of other activity of this station on the line.
    reserved_until: Instant,
    /// End of the back-off.
    wait_until: Instant,
    /// The first frame waits for the end of the carrier.
    deferring: bool,
    next_number: u64,
    statistics: StationStatistics,
}

impl Transmitter {
    /// An idle transmitter of station number `station`.
    #[must_use]
    pub fn new(half_duplex: bool, station: u8, delay: Span, gap: Span, random: Random) -> Self {
        Self {
            half_duplex,
            station,
            delay,
            gap,
            random,
            tx_ring: VecDeque::new(),
            sending: None,
            busy_until: None,
            reserved_until: Instant::ZERO,
            wait_until: Instant::ZERO,
            deferring: false,
            next_number: 0,
            statistics: StationStatistics::default(),
        }
    }

    /// Statistics so far.
    #[must_use]
    pub const fn statistics(&self) -> &StationStatistics {
        &self.statistics
    }

    /// Sets the duplex mode. In full duplex the station does not defer.
    pub const fn set_half_duplex(&mut self, half_duplex: bool) {
        self.half_duplex = half_duplex;
        self.deferring &= half_duplex;
    }

    /// True if another frame can be queued.
    #[must_use]
    pub fn has_queue_space(&self) -> bool {
        self.tx_ring.len() < TX_RING_FRAMES
    }

    /// Number of frames not yet on the wire.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.tx_ring.len()
    }

    /// Queues a frame.
    pub fn queue(&mut self, outgoing: &Outgoing) {
        let number = self.next_number;
        self.next_number += 1;
        self.tx_ring.push_back(QueuedFrame {
            number,
            octets: outgoing.complete(),
            options: outgoing.options,
            attempts: 0,
            deferred: false,
        });
    }

    /// Number of frames that were never on the wire.
    #[must_use]
    pub fn waiting(&self) -> usize {
        let waits = |frame: &&QueuedFrame| frame.attempts == 0;
        self.tx_ring.iter().filter(waits).count()
    }

    /// Discards the queued frames; returns the number of those that were never on the wire.
    pub fn discard(&mut self) -> usize {
        let count = self.waiting();
        self.tx_ring.clear();
        self.deferring = false;
        count
    }

    /// True while a frame is on the wire.
    #[must_use]
    pub const fn is_sending(&self) -> bool {
        self.sending.is_some()
    }

    /// Start and expected end of the current transmission.
    #[must_use]
    pub fn active_interval(&self) -> Option<(Instant, Instant)> {
        let sending = self.sending.as_ref()?;
        Some((sending.transmission.start, sending.end))
    }

    /// Preliminary record of the current transmission.
    #[must_use]
    pub fn current_record(&self) -> Option<SentFrame> {
        self.sending.as_ref().map(|sending| self.record(sending))
    }

    /// Time at which [`Self::next_frame`] or [`Self::finish`] is due if the medium stays free.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        match (&self.sending, self.tx_ring.front()) {
            (Some(sending), _) => sending.end,
            // Deferring ends with the carrier.
            (None, Some(_)) if self.deferring => Instant::NEVER,
            (None, Some(frame)) => {
                let gap = frame.options.gap.unwrap_or(self.gap);
                let gap_ends = self.busy_until.map_or(Instant::ZERO, |end| end + gap);
                gap_ends.max(self.reserved_until).max(self.wait_until)
            }
            (None, None) => Instant::NEVER,
        }
    }

    /// Reserves the line until `until` for other activity of this station.
    pub fn reserve(&mut self, until: Instant) {
        self.reserved_until = self.reserved_until.max(until);
    }

    /// Time and width of the pulse requested before the next frame, in the middle of its gap.
    #[must_use]
    pub fn pulse_before(&self) -> Option<(Instant, Span)> {
        let frame = self.tx_ring.front()?;
        let width = frame.options.pulse_before?;
        let gap = frame.options.gap.unwrap_or(self.gap);
        let middle = Span::from_ticks(gap.ticks().saturating_sub(width.ticks()) / 2);
        Some((self.busy_until? + middle, width))
    }

    /// Octets and options of the next frame, if it is due and `carrier` does not defer it.
    /// [`Self::begin`] must follow.
    pub fn next_frame(&mut self, carrier: bool, now: Instant) -> Option<(&[u8], TxOptions)> {
        if self.sending.is_some() || self.deadline() > now {
            return None;
        }
        let frame = self.tx_ring.front_mut()?;
        if self.half_duplex && carrier {
            frame.deferred |= frame.attempts == 0;
            self.deferring = true;
            return None;
        }
        Some((&frame.octets, frame.options))
    }

    /// Starts the transmission of the frame returned by [`Self::next_frame`].
    pub fn begin(&mut self, transmission: Transmission) {
        if let Some(mut frame) = self.tx_ring.pop_front() {
            frame.attempts += 1;
            self.statistics.transmissions += 1;
            self.statistics.frames_begun += u64::from(frame.attempts == 1);
            self.sending = Some(ActiveTransmission {
                end: transmission.start
                    + half_bits(transmission.period, transmission.half_bits as u64),
                frame,
                transmission,
                collided: false,
                late: false,
            });
        }
    }

    /// The transmission of another station ends at `end`.
    pub fn carrier_ended(&mut self, end: Instant) {
        if self.half_duplex && self.sending.is_none() {
            self.busy_until = self.busy_until.max(Some(end));
            self.deferring = false;
        }
    }

    /// Another station is detected at `at` while this one sends: jam. Returns the half-bit up to
    /// which the frame is sent.
    pub fn collide(&mut self, at: Instant) -> Option<usize> {
        let sending = self.sending.as_mut().filter(|sending| !sending.collided)?;
        if !self.half_duplex || at >= sending.end {
            return None;
        }
        let Transmission {
            start,
            period,
            half_bits: whole,
            ..
        } = sending.transmission;
        sending.collided = true;
        sending.late = at.since(start) > Span::from_ns(SLOT_TIME_NS);
        self.statistics.collisions += 1;
        let half_bit = half_bits(period, 1).ticks().max(1);
        let sent = (at.since(start).ticks() / half_bit) as usize;
        // Up to the end of the bit, at least the preamble.
        let keep = (sent.next_multiple_of(2) + 2).max(PREAMBLE_HALF_BITS);
        let keep = keep.min(whole);
        sending.end = start + half_bits(period, (keep + 2 * JAM_BITS) as u64);
        Some(keep)
    }

    /// Ends the transmission if it is complete at `now`; returns its record and octets.
    pub fn finish(&mut self, now: Instant) -> Option<(SentFrame, Vec<u8>)> {
        let sending = self.sending.take_if(|sending| sending.end <= now)?;
        let record = self.record(&sending);
        self.busy_until = self.busy_until.max(Some(sending.end));
        let collision = sending.collision();
        let mut frame = sending.frame;
        let octets = frame.octets.clone();
        let statistics = &mut self.statistics;
        if frame.attempts == 1 {
            statistics.frames_sent += 1;
            statistics.deferred += u64::from(frame.deferred);
        }
        match collision {
            None => {
                let octets = octets.len() as u64;
                statistics.octets_sent += octets;
                let air = sending.end.since(sending.transmission.start);
                statistics.airtime = statistics.airtime + air + Span::from_ns(INTER_PACKET_GAP_NS);
            }
            Some(DropCause::LateCollision) => statistics.late_collisions += 1,
            Some(DropCause::ExcessiveCollisions) => statistics.excessive_collisions += 1,
            Some(_) => {
                let slots = self.random.below(1 << frame.attempts.min(BACK_OFF_LIMIT));
                self.wait_until = sending.end + Span::from_ns(SLOT_TIME_NS * slots);
                frame.deferred = false;
                self.tx_ring.push_front(frame);
            }
        }
        Some((record, octets))
    }

    fn record(&self, sending: &ActiveTransmission) -> SentFrame {
        SentFrame {
            id: sending.transmission.id,
            station: self.station,
            frame: sending.frame.number,
            attempt: sending.frame.attempts,
            start: sending.transmission.start + self.delay,
            end: sending.end + self.delay,
            octets: sending.frame.octets.len(),
            content: Content::of(&sending.frame.octets),
            fault: sending.collision().or(sending.transmission.line_fault),
            noisy: sending.transmission.noisy,
            tag: sending.frame.options.tag,
        }
    }
}
