//! Access to the medium: start, collision and end of transmissions.

use linerate_ether::ledger::DropCause;

use super::Link;
use super::mac::{Transmission, Transmitter};
use super::record::{Event, StationStatistics};
use super::shape::{jam, shape};
use super::timing::FRACTION;
use crate::peer::Station;
use crate::time::Instant;

/// Signal on the line towards the device. Times are at the stations.
#[derive(Debug, Clone, Copy)]
pub(super) struct LineSignal {
    /// Station whose frame it is, or was before a collision.
    owner: usize,
    start: Instant,
    period: u64,
    /// After a collision: the half-bit from which on the signal is a jam.
    jam_start: Option<usize>,
}

impl<S: Station> Link<S> {
    /// The peer's transmitter, then those of the further stations.
    pub(super) fn transmitters(&self) -> impl Iterator<Item = &Transmitter> {
        let hub_stations = self
            .hub_stations
            .iter()
            .map(|hub_station| &hub_station.transmitter);
        core::iter::once(&self.transmitter).chain(hub_stations)
    }

    pub(super) fn transmitters_mut(&mut self) -> impl Iterator<Item = &mut Transmitter> {
        let hub_stations = self.hub_stations.iter_mut();
        let hub_stations = hub_stations.map(|hub_station| &mut hub_station.transmitter);
        core::iter::once(&mut self.transmitter).chain(hub_stations)
    }

    fn transmitter_at(&mut self, station: usize) -> &mut Transmitter {
        match station.checked_sub(1) {
            None => &mut self.transmitter,
            Some(hub_station) => &mut self.hub_stations[hub_station].transmitter,
        }
    }

    /// True if the device's carrier is detected at the stations at `now`.
    fn carrier(&self, now: Instant) -> bool {
        self.tracker
            .carrier_since()
            .is_some_and(|since| since + self.config.delay <= now)
    }

    /// True if `station` detects the carrier of another station at `now`.
    fn senses_other(&self, station: usize, now: Instant) -> bool {
        self.transmitters().enumerate().any(|(other, transmitter)| {
            let sensed = |(start, _): (Instant, Instant)| start + self.sense_delay <= now;
            other != station && transmitter.active_interval().is_some_and(sensed)
        })
    }

    /// Starts the transmissions that may start at `now`.
    pub(super) fn start_transmissions(&mut self, now: Instant) {
        for station in 0..=self.hub_stations.len() {
            let carrier =
                self.half_duplex && (self.carrier(now) || self.senses_other(station, now));
            let transmitter = match station.checked_sub(1) {
                None => &mut self.transmitter,
                Some(hub_station) => &mut self.hub_stations[hub_station].transmitter,
            };
            let Some((octets, options)) = transmitter.next_frame(carrier, now) else {
                continue;
            };
            let wire = &self.config.impairments;
            let mut shaped = shape(octets, &options, wire, &mut self.shape_random);
            let period = self.signal.period(now);
            let arrives = now + self.config.delay;
            let cut = shaped.apply_flap(wire.flap, arrives, period);
            let mut transmission = Transmission {
                id: self.next_sent_id,
                start: now,
                period,
                half_bits: shaped.bits,
                line_fault: match () {
                    () if cut => Some(DropCause::LinkDown),
                    () if shaped.corrupted => Some(DropCause::Corrupted),
                    () => None,
                },
                noisy: false,
            };
            self.next_sent_id += 1;
            let alone = self.line_signal.is_none();
            if alone {
                let start = self.signal.send(arrives, shaped.words, shaped.len);
                transmission.start = start - self.config.delay;
                let end = start + super::timing::half_bits(period, shaped.bits as u64);
                transmission.noisy = self.signal.is_noisy(start, end);
                self.line_signal = Some(LineSignal {
                    owner: station,
                    start: transmission.start,
                    period,
                    jam_start: None,
                });
            }
            let transmitter = self.transmitter_at(station);
            transmitter.begin(transmission);
            if let Some(sent) = transmitter.current_record() {
                self.events.push_back(Event::Started(sent));
            }
            if !alone {
                // Neither had detected the other when it started.
                self.collide(now + self.sense_delay);
            }
        }
    }

    /// Detects a collision of the device with a station.
    pub(super) fn detect_device_collision(&mut self, now: Instant) {
        if self.half_duplex
            && self.line_signal.is_some()
            && let Some(since) = self.tracker.carrier_since()
            && since + self.config.delay <= now
        {
            self.device_collided = true;
            self.collide(since + self.config.delay);
        }
    }

    /// All sending stations detect a collision at `at`.
    fn collide(&mut self, at: Instant) {
        let Some(mut line_signal) = self.line_signal else {
            return;
        };
        let mut collided = false;
        for (station, transmitter) in (0..).zip(self.transmitters_mut()) {
            if let Some(jam_start) = transmitter.collide(at) {
                collided = true;
                if station == line_signal.owner && line_signal.jam_start.is_none() {
                    line_signal.jam_start = Some(jam_start);
                }
            }
        }
        self.line_signal = Some(line_signal);
        let ends = self.transmitters().filter_map(Transmitter::active_interval);
        let last = ends.map(|(_, end)| end).max();
        if let (true, Some(jam_start), Some(end)) = (collided, line_signal.jam_start, last) {
            let ticks = end.since(line_signal.start).ticks();
            let whole = ((ticks << FRACTION) + line_signal.period / 2) / line_signal.period;
            let jam = jam((whole as usize).saturating_sub(jam_start));
            self.signal.replace_tail(jam_start, jam.view());
        }
        self.update_statistics();
    }

    /// Ends the transmissions that are complete at `now`.
    pub(super) fn finish_transmissions(&mut self, now: Instant) {
        let mut ended = None;
        for station in 0..=self.hub_stations.len() {
            let Some((sent, octets)) = self.transmitter_at(station).finish(now) else {
                continue;
            };
            let end = sent.end - self.config.delay;
            ended = ended.max(Some(end));
            self.events.push_back(Event::Sent(sent, octets));
            for (other, transmitter) in (0..).zip(self.transmitters_mut()) {
                if other != station {
                    transmitter.carrier_ended(end);
                }
            }
        }
        let Some(end) = ended else { return };
        self.update_statistics();
        if self
            .transmitters()
            .all(|transmitter| !transmitter.is_sending())
        {
            self.line_signal = None;
            self.record_last_edges();
            self.partner.frame_sent(end);
            self.send_pulse_before(now);
        }
    }

    /// Sends the pulse requested before the peer's next frame.
    fn send_pulse_before(&mut self, now: Instant) {
        if let Some((at, width)) = self.transmitter.pulse_before()
            && at > now
            && self.hub_stations.is_empty()
            && !self.config.impairments.flap.is_down(at)
        {
            self.signal.pulse(at + self.config.delay, width);
            self.record_last_edges();
            self.reserve_line(at + width);
        }
    }

    /// Updates the transmit statistics.
    pub(super) fn update_statistics(&mut self) {
        let stations: Vec<_> = self
            .transmitters()
            .map(|transmitter| *transmitter.statistics())
            .collect();
        let sum = |of: fn(&StationStatistics) -> u64| stations.iter().map(of).sum();
        let statistics = &mut self.statistics;
        statistics.frames_sent = sum(|station| station.frames_sent);
        statistics.collisions = sum(|station| station.collisions);
        statistics.late_collisions = sum(|station| station.late_collisions);
        statistics.excessive_collisions = sum(|station| station.excessive_collisions);
        statistics.deferred = sum(|station| station.deferred);
        statistics.stations = stations;
    }
}
