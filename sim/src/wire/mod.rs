//! A 10BASE-T link between the device's pads and a station, exact to the half-bit both ways.
//!
//! Towards the device, transmissions are packed half-bits from a known time on ([`signal`]); from
//! the device, edges are tracked into half-bits and decoded when the line falls silent ([`burst`]).
//! Between them and the station sits a MAC ([`mac`]) with FCS, padding, inter-packet gap and, in
//! half duplex, carrier sense, collisions and back-off.
//!
//! Whoever runs the device calls [`Link::level`], [`Link::next_edge`] and [`Link::drive`] in the
//! order of time, and [`Link::poll`] whenever [`Link::deadline`] is reached.

pub mod burst;
pub mod config;
pub mod mac;
pub mod record;
pub mod signal;

use std::collections::VecDeque;

use linerate_ether::frame;
use linerate_ether::ledger::Drop;
use linerate_ether::phy10::{HALF_BIT_NS, decode, link::PULSE_NS};

pub use config::{
    Abilities, Ability, Config, Destination, Duplex, Flap, Hub, Impairments, Noise, OutOfRange,
    Partner, Pulses,
};
pub use record::{Content, Event, Heard, Sent, Statistics};

use self::burst::{Burst, Kind, Tracker};
use self::mac::Transmitter;
use self::signal::{LineClock, Signal};
use crate::peer::Station;
use crate::random::Random;
use crate::time::{Instant, Span, TICKS_PER_NS};

/// How often a transmission of the device is looked at: one event for many edges.
const LOOK: Span = Span::from_ns(500);
/// Widths of a lone pulse that a receiver takes for a link pulse.
const PULSE_WIDTHS: core::ops::RangeInclusive<Span> = Span::from_ticks(750)..=Span::from_ns(150);
/// Octets that a receiver keeps: more than the longest frame, so that it is told from a longer one.
const BUFFER: usize = 2048;

/// The link with the station at its far end.
#[derive(Debug)]
pub struct Link<S> {
    config: Config,
    station: S,
    signal: Signal,
    tracker: Tracker,
    transmitter: Transmitter,
    /// The next link pulse to the device.
    pulse_at: Instant,
    /// The device's frame, once it is over, met ours.
    met: bool,
    last_heard_end: Option<Instant>,
    next_heard_id: u64,
    deadline: Instant,
    events: VecDeque<Event>,
    /// Edges towards the device, while somebody wants them.
    edges: Option<Vec<(Instant, bool)>>,
    statistics: Statistics,
}

impl<S: Station> Link<S> {
    /// Plugs the cable in at time zero.
    #[must_use]
    pub fn new(config: Config, station: S) -> Self {
        let mut random = Random::new(config.seed);
        let clock = LineClock::new(
            config.impairments.clock_ppm as i32,
            Span::from_ticks((config.impairments.jitter_ns * TICKS_PER_NS as f64) as u64),
            random.next_u64(),
        );
        let half_duplex = config.duplex == Duplex::Half;
        let gap = config.inter_packet_gap;
        let mut link = Self {
            config,
            station,
            signal: Signal::new(clock),
            tracker: Tracker::default(),
            transmitter: Transmitter::new(half_duplex, config.delay, gap, random),
            pulse_at: config
                .link_pulse_interval
                .map_or(Instant::NEVER, |every| Instant::ZERO + every),
            met: false,
            last_heard_end: None,
            next_heard_id: 0,
            deadline: Instant::ZERO,
            events: VecDeque::new(),
            edges: None,
            statistics: Statistics::default(),
        };
        link.rearm();
        link
    }

    /// The station at the far end.
    #[must_use]
    pub const fn station(&self) -> &S {
        &self.station
    }

    /// The station at the far end. Whoever makes it ready to send must call [`Self::poll`] after.
    pub const fn station_mut(&mut self) -> &mut S {
        &mut self.station
    }

    /// Counts so far.
    #[must_use]
    pub const fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// The transmission to the device that is under way.
    #[must_use]
    pub fn on_the_wire(&self) -> Option<Sent> {
        self.transmitter.on_the_wire()
    }

    /// Frames that the station has handed to its MAC and that are not on the wire yet.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.transmitter.queued()
    }

    /// The level that the device's receiver sees at `at`; high is a positive signal.
    #[inline]
    pub fn level(&mut self, at: Instant) -> bool {
        self.signal.level(at)
    }

    /// The first time after `after` at which that level changes, as far as it is known.
    pub fn next_edge(&mut self, after: Instant) -> Instant {
        self.signal.next_edge(after)
    }

    /// The device drives its transmit pad to `level` at `at`.
    #[inline]
    pub fn drive(&mut self, level: bool, at: Instant) {
        let began = self.tracker.drive(level, at);
        if began {
            self.deadline = self.deadline.min(at + self.config.delay + LOOK);
        }
        if self.transmitter.is_sending()
            && self.config.duplex == Duplex::Half
            && let Some(carrier) = self.tracker.carrier_since()
        {
            self.deadline = self.deadline.min((carrier + self.config.delay).max(at));
        }
    }

    /// When [`Self::poll`] has something to do, as far as it is known.
    #[inline]
    #[must_use]
    pub const fn deadline(&self) -> Instant {
        self.deadline
    }

    /// The next thing that happened.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Keeps the edges of each transmission to the device from now on, or no longer.
    pub fn keep_edges(&mut self, keep: bool) {
        self.edges = keep.then(Vec::new);
    }

    /// The edges kept since the last call: of transmissions that are over, in the order of time.
    pub fn take_edges(&mut self) -> Vec<(Instant, bool)> {
        self.edges.as_mut().map(core::mem::take).unwrap_or_default()
    }

    fn keep_last_edges(&mut self) {
        if let Some(edges) = &mut self.edges {
            edges.extend(self.signal.last_edges());
        }
    }

    /// Does everything that is due at `now`; the device has been run up to there.
    pub fn poll(&mut self, now: Instant) {
        self.meet(now);
        while let Some(burst) = self.tracker.take(now - self.config.delay) {
            self.receive(&burst);
        }
        if let Some((sent, octets)) = self.transmitter.finish(now, &mut self.statistics) {
            self.keep_last_edges();
            self.restart_pulses(sent.end - self.config.delay);
            self.events.push_back(Event::Sent(sent, octets));
        }
        while self.transmitter.has_room() && self.station.poll_timeout() <= now {
            match self.station.poll_transmit(now) {
                Some(frame) => self.transmitter.queue(&frame),
                None => break,
            }
        }
        let carrier = self.carrier(now);
        self.transmitter.start(carrier, &mut self.signal, now);
        self.pulse(now);
        self.rearm();
        self.deadline = self.deadline.max(now + Span::from_ticks(1));
    }

    fn rearm(&mut self) {
        let station = if self.transmitter.has_room() {
            self.station.poll_timeout()
        } else {
            Instant::NEVER
        };
        let burst = self.tracker.ends_at().map_or(Instant::NEVER, |end| {
            end.max(end + LOOK - burst::SILENCE) + self.config.delay
        });
        let pulse = if self.transmitter.is_sending() {
            Instant::NEVER
        } else {
            self.pulse_at
        };
        self.deadline = self
            .transmitter
            .deadline()
            .min(station)
            .min(burst)
            .min(pulse);
        if self.config.duplex == Duplex::Half
            && self.transmitter.is_sending()
            && !self.met
            && let Some(since) = self.tracker.carrier_since()
        {
            self.deadline = self.deadline.min(since + self.config.delay);
        }
    }

    /// The device is heard sending at the peer's end at `now`.
    fn carrier(&self, now: Instant) -> bool {
        self.tracker
            .carrier_since()
            .is_some_and(|since| since + self.config.delay <= now)
    }

    /// Both send at once.
    fn meet(&mut self, now: Instant) {
        if self.config.duplex == Duplex::Half
            && self.transmitter.is_sending()
            && let Some(since) = self.tracker.carrier_since()
            && since + self.config.delay <= now
        {
            self.met = true;
            let at = since + self.config.delay;
            self.transmitter
                .collide(at, &mut self.signal, &mut self.statistics);
        }
    }

    fn pulse(&mut self, now: Instant) {
        if self.pulse_at > now || self.transmitter.is_sending() {
            return;
        }
        let len = (PULSE_NS / HALF_BIT_NS) as usize;
        self.signal
            .send(now + self.config.delay, vec![u64::MAX], len);
        self.keep_last_edges();
        self.statistics.link_pulses_sent += 1;
        self.transmitter
            .reserve(now + Span::from_ns(PULSE_NS) + Span::from_us(1));
        self.restart_pulses(now);
    }

    fn restart_pulses(&mut self, from: Instant) {
        self.pulse_at = self
            .config
            .link_pulse_interval
            .map_or(Instant::NEVER, |every| from + every);
    }

    /// The device's burst is over.
    fn receive(&mut self, burst: &Burst) {
        if let Kind::Pulse(width) = burst.kind {
            let statistics = &mut self.statistics;
            let known = PULSE_WIDTHS.contains(&width);
            statistics.link_pulses_heard += u64::from(known);
            statistics.odd_pulses += u64::from(!known);
            let (least, most) = statistics.pulse_widths.unwrap_or((width, width));
            statistics.pulse_widths = Some((least.min(width), most.max(width)));
            return;
        }
        let mut buffer = [0; BUFFER];
        let half_bits = burst.half_bits();
        let decoded = decode(half_bits, &mut buffer);
        let (len, end, fault) = match decoded {
            Ok(decoded) => {
                let octets = &buffer[..decoded.len];
                let fault = frame::check_received(octets)
                    .err()
                    .map(|error| match error.cause() {
                        Drop::BadFcs if decoded.dribble_bits > 0 => Drop::Alignment,
                        cause => cause,
                    });
                let last = Span::from_ns(decoded.end as u64 * HALF_BIT_NS);
                (decoded.len, burst.start + last, fault)
            }
            Err(error) => (error.len, burst.end, Some(error.cause())),
        };
        let met = core::mem::take(&mut self.met);
        let fault = match fault {
            _ if met => Some(Drop::Collision),
            _ if burst.jabber => Some(Drop::Oversize),
            fault => fault,
        };
        let start = burst.start + self.config.delay;
        let end = end + self.config.delay;
        self.transmitter.carrier_ended(end);
        let octets = buffer[..len].to_vec();
        let gap = self.last_heard_end.map(|last| start.since(last));
        let heard = Heard {
            id: self.next_heard_id,
            start,
            end,
            octets: len,
            content: Content::of(&octets),
            fault,
            gap: gap.unwrap_or_default(),
            edge_error: burst.edge_error,
        };
        self.next_heard_id += 1;
        self.last_heard_end = Some(end);
        let statistics = &mut self.statistics;
        statistics.frames_heard += 1;
        statistics.frames_bad += u64::from(fault.is_some());
        statistics.edge_error = statistics.edge_error.max(burst.edge_error);
        if let Some(gap) = gap {
            statistics.least_gap = Some(statistics.least_gap.map_or(gap, |least| least.min(gap)));
        }
        if fault.is_none() {
            self.station.receive(&octets[..len - 4], end);
        }
        self.events.push_back(Event::Heard(heard, octets));
    }
}

#[cfg(test)]
mod tests;
