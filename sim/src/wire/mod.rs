//! A 10BASE-T link between the device's pads and a station, exact to the half-bit in both directions.
//!
//! Towards the device, transmissions are packed half-bits with a start time ([`signal`]), modified by
//! the line's impairments of bits ([`shape`]) and edges ([`timing`]); from the device, edges are
//! converted into half-bits and decoded when the line is silent ([`burst`]). Between them and the
//! station is a MAC ([`mac`]) with FCS, padding, inter-packet gap and, in half duplex, carrier sense,
//! collisions and back-off; further stations may share the medium ([`hub`]). The link partner
//! implements link pulses and auto-negotiation ([`partner`]).
//!
//! Networks of 10 to 1000 Mbit/s with a MAC in the chip are simulated frame by frame ([`frame_link`]).
//!
//! The caller calls [`Link::level`], [`Link::next_edge`] and [`Link::drive`] in the order of time, and
//! [`Link::poll`] whenever [`Link::deadline`] is reached.

pub mod burst;
pub mod config;
pub mod frame_link;
pub mod hub;
pub mod mac;
mod medium;
pub mod partner;
mod receive;
pub mod record;
pub mod shape;
pub mod signal;
pub mod timing;

use std::collections::VecDeque;

use linerate_ether::phy10::link::PULSE_NS;

pub use config::{
    Abilities, Ability, Config, Destination, Duplex, Flap, Hub, Impairments, Noise, OutOfRange,
    Partner, Pulses,
};
pub use frame_link::{FrameLink, FrameLinkConfig};
pub use partner::{LinkReport, Resolution};
pub use record::{Content, Event, ReceivedFrame, SentFrame, StationStatistics, Statistics};

use self::burst::EdgeTracker;
use self::hub::{HubStation, REPEATER_DELAY};
use self::mac::Transmitter;
use self::medium::LineSignal;
use self::partner::LinkPartner;
use self::signal::Signal;
use crate::peer::Station;
use crate::random::Random;
use crate::time::{Instant, Span};

/// Granularity of polling a transmission of the device: one event for many edges.
const POLL_INTERVAL: Span = Span::from_ns(500);
/// Idle line after a pulse.
const AFTER_PULSE: Span = Span::from_us(1);
/// Distinguishes the seed of the line's bit errors from that of the back-off.
const SHAPE_SEED: u64 = 0x5348_4150_4553;

/// The link with the station at its far end.
#[derive(Debug)]
pub struct Link<S> {
    config: Config,
    station: S,
    signal: Signal,
    tracker: EdgeTracker,
    transmitter: Transmitter,
    hub_stations: Vec<HubStation>,
    partner: LinkPartner,
    /// Half duplex is in use.
    half_duplex: bool,
    /// Delay from one station to another through the hub.
    sense_delay: Span,
    /// Signal on the line towards the device.
    line_signal: Option<LineSignal>,
    /// End of the current or next pulse, with the idle time after it.
    pulse_until: Instant,
    /// Random source of bit impairments.
    shape_random: Random,
    next_sent_id: u64,
    /// The device's current frame collided.
    device_collided: bool,
    last_received_end: Option<Instant>,
    next_received_id: u64,
    deadline: Instant,
    events: VecDeque<Event>,
    /// Edges towards the device, while they are recorded.
    edges: Option<Vec<(Instant, bool)>>,
    statistics: Statistics,
}

impl<S: Station> Link<S> {
    /// A link whose cable is plugged in at time zero.
    #[must_use]
    pub fn new(config: Config, station: S) -> Self {
        let mut random = Random::new(config.seed);
        let signal = Signal::new(&config.impairments, random.next_u64());
        let partner = LinkPartner::new(&config);
        let stations = config.hub.stations.min(Hub::MAX_STATIONS);
        // A repeater is half duplex.
        let half_duplex = stations > 0 || partner.report().duplex == Duplex::Half;
        let delay = config.delay;
        let gap = config.inter_packet_gap;
        let transmitter = Transmitter::new(half_duplex, 0, delay, gap, random.clone());
        let hub_stations = (1..=stations).map(|station| {
            let mut random = Random::new(random.next_u64());
            let source = Random::new(random.next_u64());
            let transmitter = Transmitter::new(true, station, delay, gap, random);
            HubStation::new(config.hub, station, transmitter, source)
        });
        let mut link = Self {
            config,
            station,
            signal,
            tracker: EdgeTracker::default(),
            transmitter,
            hub_stations: hub_stations.collect(),
            partner,
            half_duplex,
            sense_delay: delay + delay + REPEATER_DELAY,
            line_signal: None,
            pulse_until: Instant::ZERO,
            shape_random: Random::new(config.seed ^ SHAPE_SEED),
            next_sent_id: 0,
            device_collided: false,
            last_received_end: None,
            next_received_id: 0,
            deadline: Instant::ZERO,
            events: VecDeque::new(),
            edges: None,
            statistics: Statistics::default(),
        };
        link.update_statistics();
        link.rearm();
        link
    }

    /// The station at the far end.
    #[must_use]
    pub const fn station(&self) -> &S {
        &self.station
    }

    /// The station at the far end. A caller that gives it something to send must call [`Self::poll`]
    /// afterwards.
    pub const fn station_mut(&mut self) -> &mut S {
        &mut self.station
    }

    /// Statistics so far.
    #[must_use]
    pub const fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// The partner's view of the link: up or down, and its duplex mode.
    #[must_use]
    pub fn report(&self) -> LinkReport {
        let mut report = self.partner.report();
        if self.half_duplex {
            report.duplex = Duplex::Half;
        }
        report
    }

    /// Transmissions to the device in progress, in the order of their ids.
    pub fn transmissions_in_progress(&self) -> impl Iterator<Item = SentFrame> {
        let mut sent: Vec<_> = self
            .transmitters()
            .filter_map(Transmitter::current_record)
            .collect();
        sent.sort_by_key(|sent| sent.id);
        sent.into_iter()
    }

    /// Number of frames that the station has handed to its MAC and that are not on the wire yet.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.transmitter.queued()
    }

    /// Current statistics of each transmitter: the peer's, then those of further stations on the hub.
    pub fn stations(&self) -> impl Iterator<Item = &StationStatistics> {
        self.transmitters().map(Transmitter::statistics)
    }

    /// Number of frames that the station has handed to its MAC and that were never on the wire.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.transmitter.waiting()
    }

    /// True if a transmission of the device has begun and is not received yet.
    #[must_use]
    pub fn is_receiving(&self) -> bool {
        self.tracker.ends_at().is_some()
    }

    /// Level at the device's receiver at `at`; high is a positive signal.
    #[inline]
    pub fn level(&mut self, at: Instant) -> bool {
        self.signal.level(at)
    }

    /// First time after `after` at which that level changes, as far as known.
    pub fn next_edge(&mut self, after: Instant) -> Instant {
        self.signal.next_edge(after)
    }

    /// The device drives its transmit pad to `level` at `at`.
    #[inline]
    pub fn drive(&mut self, level: bool, at: Instant) {
        let level = level && !self.config.impairments.flap.is_down(at);
        let began = self.tracker.drive(level, at);
        if began {
            self.deadline = self.deadline.min(at + self.config.delay + POLL_INTERVAL);
        }
        if self.line_signal.is_some()
            && self.half_duplex
            && let Some(carrier) = self.tracker.carrier_since()
        {
            self.deadline = self.deadline.min((carrier + self.config.delay).max(at));
        }
    }

    /// Next time [`Self::poll`] must be called, as far as known.
    #[inline]
    #[must_use]
    pub const fn deadline(&self) -> Instant {
        self.deadline
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Starts or stops recording the edges of transmissions to the device.
    pub fn record_edges(&mut self, keep: bool) {
        self.edges = keep.then(Vec::new);
    }

    /// Edges recorded since the last call: of completed transmissions, in the order of time.
    pub fn take_edges(&mut self) -> Vec<(Instant, bool)> {
        self.edges.as_mut().map(core::mem::take).unwrap_or_default()
    }

    fn record_last_edges(&mut self) {
        if let Some(edges) = &mut self.edges {
            edges.extend(self.signal.last_edges());
        }
    }

    /// Performs everything that is due at `now`; the device must have been run up to `now`.
    pub fn poll(&mut self, now: Instant) {
        self.detect_device_collision(now);
        while let Some(burst) = self.tracker.take(now - self.config.delay) {
            self.receive(&burst);
        }
        self.finish_transmissions(now);
        self.take_frames(now);
        self.start_transmissions(now);
        self.send_link_pulse(now);
        self.apply_negotiation();
        self.rearm();
        self.deadline = self.deadline.max(now + Span::from_ticks(1));
    }

    fn rearm(&mut self) {
        let station = if self.transmitter.has_queue_space() {
            self.station.poll_timeout()
        } else {
            Instant::NEVER
        };
        let burst = self.tracker.ends_at().map_or(Instant::NEVER, |end| {
            end.max(end + POLL_INTERVAL - burst::SILENCE) + self.config.delay
        });
        let sending = self.line_signal.is_some();
        // The partner sends no pulse before the end of the current one.
        let partner = self.partner.deadline(sending).max(self.pulse_until);
        let mut deadline = station.min(burst).min(partner);
        for transmitter in self.transmitters() {
            deadline = deadline.min(transmitter.deadline());
        }
        for hub_station in &self.hub_stations {
            deadline = deadline.min(hub_station.ready_at());
        }
        self.deadline = deadline;
        if self.half_duplex
            && sending
            && !self.device_collided
            && let Some(since) = self.tracker.carrier_since()
        {
            self.deadline = self.deadline.min(since + self.config.delay);
        }
    }

    /// Takes frames from the stations.
    fn take_frames(&mut self, now: Instant) {
        let up = self.partner.report().up;
        if !up {
            self.statistics.frames_withheld += self.transmitter.discard() as u64;
        }
        while self.transmitter.has_queue_space() && self.station.poll_timeout() <= now {
            match self.station.poll_outgoing(now) {
                Some(outgoing) if up => self.transmitter.queue(&outgoing),
                Some(_) => self.statistics.frames_withheld += 1,
                None => break,
            }
        }
        for hub_station in &mut self.hub_stations {
            hub_station.fill(now);
        }
    }

    /// Runs the partner's timers, and sends its next link pulse.
    fn send_link_pulse(&mut self, now: Instant) {
        let busy = self.line_signal.is_some() || self.pulse_until > now;
        if !self.partner.poll(now, busy) {
            return;
        }
        self.statistics.link_pulses_sent += 1;
        let wire = &self.config.impairments;
        // The receiver does not output a negative pulse.
        if !wire.swapped_polarity && !wire.flap.is_down(now) {
            let width = Span::from_ns(PULSE_NS);
            self.signal.pulse(now + self.config.delay, width);
            self.record_last_edges();
        }
        self.reserve_line(now + Span::from_ns(PULSE_NS));
    }

    /// Reserves the line for a pulse that ends at `end`, and for the idle time after it.
    fn reserve_line(&mut self, end: Instant) {
        self.pulse_until = end + AFTER_PULSE;
        let until = self.pulse_until;
        for transmitter in self.transmitters_mut() {
            transmitter.reserve(until);
        }
    }

    /// Applies the partner's counts and negotiated duplex mode.
    fn apply_negotiation(&mut self) {
        let statistics = &mut self.statistics;
        let counts = self.partner.counts();
        statistics.link_bursts_received = counts.bursts;
        statistics.link_bursts_broken = counts.broken;
        statistics.link_word_received = counts.last;
        let half = !self.hub_stations.is_empty() || self.partner.report().duplex == Duplex::Half;
        if half != self.half_duplex {
            self.half_duplex = half;
            self.transmitter.set_half_duplex(half);
        }
    }
}

#[cfg(test)]
mod tests;
