//! Access to the medium: start, collision and end of transmissions.

use linerate_ether::ledger::Drop;

use super::Link;
use super::mac::{Airing, Transmitter};
use super::record::{Event, StationStatistics};
use super::shape::{jam, shape};
use super::timing::FRACTION;
use crate::peer::Station;
use crate::time::Instant;

/// Signal on the line towards the device. Times are at the stations.
#[derive(Debug, Clone, Copy)]
pub(super) struct OnAir {
    /// Station whose frame it is, or was before a collision.
    owner: usize,
    start: Instant,
    period: u64,
    /// After a collision: the half-bit from which on the signal is a jam.
    keep: Option<usize>,
}

impl<S: Station> Link<S> {
    /// The peer's transmitter, then those of the further stations.
    pub(super) fn transmitters(&self) -> impl Iterator<Item = &Transmitter> {
        let extras = self.extras.iter().map(|extra| &extra.transmitter);
        core::iter::once(&self.transmitter).chain(extras)
    }

    pub(super) fn transmitters_mut(&mut self) -> impl Iterator<Item = &mut Transmitter> {
        let extras = self.extras.iter_mut();
        let extras = extras.map(|extra| &mut extra.transmitter);
        core::iter::once(&mut self.transmitter).chain(extras)
    }

    fn transmitter_at(&mut self, station: usize) -> &mut Transmitter {
        match station.checked_sub(1) {
            None => &mut self.transmitter,
            Some(extra) => &mut self.extras[extra].transmitter,
        }
    }

    /// True if the device's carrier is detected at the stations at `now`.
    fn carrier(&self, now: Instant) -> bool {
        self.tracker
            .carrier_since()
            .is_some_and(|since| since + self.config.delay <= now)
    }

    /// True if `station` detects the carrier of another station at `now`.
    fn others(&self, station: usize, now: Instant) -> bool {
        self.transmitters().enumerate().any(|(other, transmitter)| {
            let heard = |(start, _): (Instant, Instant)| start + self.sense <= now;
            other != station && transmitter.on_air().is_some_and(heard)
        })
    }

    /// Starts the transmissions that may start at `now`.
    pub(super) fn start(&mut self, now: Instant) {
        for station in 0..=self.extras.len() {
            let carrier = self.half_duplex && (self.carrier(now) || self.others(station, now));
            let transmitter = match station.checked_sub(1) {
                None => &mut self.transmitter,
                Some(extra) => &mut self.extras[extra].transmitter,
            };
            let Some((octets, manner)) = transmitter.next(carrier, now) else {
                continue;
            };
            let wire = &self.config.impairments;
            let mut shaped = shape(octets, &manner, wire, &mut self.shapes);
            let period = self.signal.period(now);
            let arrives = now + self.config.delay;
            let cut = shaped.cut(wire.flap, arrives, period);
            let mut airing = Airing {
                id: self.next_sent_id,
                start: now,
                period,
                half_bits: shaped.bits,
                spoiled: match () {
                    () if cut => Some(Drop::LinkDown),
                    () if shaped.corrupted => Some(Drop::Corrupted),
                    () => None,
                },
                noisy: false,
            };
            self.next_sent_id += 1;
            let alone = self.on_air.is_none();
            if alone {
                let start = self.signal.send(arrives, shaped.words, shaped.len);
                airing.start = start - self.config.delay;
                let end = start + super::timing::half_bits(period, shaped.bits as u64);
                airing.noisy = self.signal.is_noisy(start, end);
                self.on_air = Some(OnAir {
                    owner: station,
                    start: airing.start,
                    period,
                    keep: None,
                });
            }
            let transmitter = self.transmitter_at(station);
            transmitter.begin(airing);
            if let Some(sent) = transmitter.on_the_wire() {
                self.events.push_back(Event::Begun(sent));
            }
            if !alone {
                // Neither had detected the other when it started.
                self.collide(now + self.sense);
            }
        }
    }

    /// Detects a collision of the device with a station.
    pub(super) fn meet(&mut self, now: Instant) {
        if self.half_duplex
            && self.on_air.is_some()
            && let Some(since) = self.tracker.carrier_since()
            && since + self.config.delay <= now
        {
            self.met = true;
            self.collide(since + self.config.delay);
        }
    }

    /// All sending stations detect a collision at `at`.
    fn collide(&mut self, at: Instant) {
        let Some(mut on_air) = self.on_air else {
            return;
        };
        let mut collided = false;
        for (station, transmitter) in (0..).zip(self.transmitters_mut()) {
            if let Some(keep) = transmitter.collide(at) {
                collided = true;
                if station == on_air.owner && on_air.keep.is_none() {
                    on_air.keep = Some(keep);
                }
            }
        }
        self.on_air = Some(on_air);
        let ends = self.transmitters().filter_map(Transmitter::on_air);
        let last = ends.map(|(_, end)| end).max();
        if let (true, Some(keep), Some(end)) = (collided, on_air.keep, last) {
            let ticks = end.since(on_air.start).ticks();
            let whole = ((ticks << FRACTION) + on_air.period / 2) / on_air.period;
            let jam = jam((whole as usize).saturating_sub(keep));
            self.signal.replace_tail(keep, jam.view());
        }
        self.count();
    }

    /// Ends the transmissions that are complete at `now`.
    pub(super) fn finish(&mut self, now: Instant) {
        let mut ended = None;
        for station in 0..=self.extras.len() {
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
        self.count();
        if self
            .transmitters()
            .all(|transmitter| !transmitter.is_sending())
        {
            self.on_air = None;
            self.keep_last_edges();
            self.partner.frame_sent(end);
            self.pulse_before(now);
        }
    }

    /// Sends the pulse requested before the peer's next frame.
    fn pulse_before(&mut self, now: Instant) {
        if let Some((at, width)) = self.transmitter.pulse_before()
            && at > now
            && self.extras.is_empty()
            && !self.config.impairments.flap.is_down(at)
        {
            self.signal.pulse(at + self.config.delay, width);
            self.keep_last_edges();
            self.hold(at + width);
        }
    }

    /// Updates the transmit statistics.
    pub(super) fn count(&mut self) {
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
