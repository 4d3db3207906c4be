//! A full-duplex link of 10, 100 or 1000 Mbit/s between the MAC of a device and a station, frame by frame.
//!
//! Each frame takes the time of its octets, with preamble and gap; the station's MAC obeys pause frames. There are no
//! impairments.

use std::collections::VecDeque;

use linerate_ether::fcs;
use linerate_ether::frame::{self, EtherType, MacAddress};
use linerate_ether::ledger::DropCause;
use linerate_ether::pause::Pause;

use super::record::{Content, Event, ReceivedFrame, SentFrame, StationStatistics, Statistics};
use crate::device::{LineFrame, LinkMode, Partner};
use crate::peer::{Outgoing, Station};
use crate::time::{Instant, Span};

/// Frames in the transmit ring of the station's adapter.
const TX_RING_FRAMES: usize = 256;

/// Configuration of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameLinkConfig {
    /// Abilities of the station.
    pub partner: Partner,
    /// Propagation delay, with that of both PHYs.
    pub delay: Span,
}

impl Default for FrameLinkConfig {
    /// 1000 Mbit/s with pause frames; half a microsecond: 10 m of cable and two PHYs (a guess).
    fn default() -> Self {
        Self {
            partner: Partner {
                mbit_per_s: 1000,
                pause: true,
            },
            delay: Span::from_ns(500),
        }
    }
}

/// A frame of the station on the line; times are at the station.
#[derive(Debug)]
struct Sending {
    record: SentFrame,
    octets: Vec<u8>,
    end: Instant,
}

/// The link with the station at its far end.
#[derive(Debug)]
pub struct FrameLink<S> {
    config: FrameLinkConfig,
    station: S,
    mode: Option<LinkMode>,
    tx_ring: VecDeque<Outgoing>,
    sending: Option<Sending>,
    /// End of the gap after the last frame, and of the device's request for silence.
    free_at: Instant,
    pause_until: Instant,
    /// Time goes on between two polls.
    not_before: Instant,
    /// Frames of the device that are on their way; times are at the station.
    incoming: VecDeque<LineFrame>,
    /// Frames for the device.
    outgoing: VecDeque<LineFrame>,
    next_sent: u64,
    next_received: u64,
    last_received_end: Option<Instant>,
    events: VecDeque<Event>,
    statistics: Statistics,
}

impl<S: Station> FrameLink<S> {
    /// A link that is down.
    pub fn new(config: FrameLinkConfig, station: S) -> Self {
        let statistics = Statistics {
            stations: vec![StationStatistics::default()],
            ..Statistics::default()
        };
        Self {
            config,
            station,
            mode: None,
            tx_ring: VecDeque::new(),
            sending: None,
            free_at: Instant::ZERO,
            pause_until: Instant::ZERO,
            not_before: Instant::ZERO,
            incoming: VecDeque::new(),
            outgoing: VecDeque::new(),
            next_sent: 0,
            next_received: 0,
            last_received_end: None,
            events: VecDeque::new(),
            statistics,
        }
    }

    /// The station at the far end.
    pub const fn station(&self) -> &S {
        &self.station
    }

    /// The same at `now`: what it gets to send is not sent before, whatever time it would have been due.
    pub fn station_at(&mut self, now: Instant) -> &mut S {
        self.not_before = self.not_before.max(now);
        &mut self.station
    }

    /// Configuration.
    pub const fn config(&self) -> &FrameLinkConfig {
        &self.config
    }

    /// Statistics so far.
    pub const fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Mode of the link; `None` while it is down.
    pub const fn mode(&self) -> Option<LinkMode> {
        self.mode
    }

    /// Sets the mode that device and station have resolved. Frames that wait are discarded when the link goes down.
    pub fn set_mode(&mut self, mode: Option<LinkMode>) {
        self.mode = mode;
        if mode.is_none() {
            self.statistics.frames_withheld += self.tx_ring.len() as u64;
            self.tx_ring.clear();
        }
    }

    /// Frames that the station has handed to its MAC and that were never on the line.
    pub fn waiting(&self) -> usize {
        self.tx_ring.len()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The next frame for the device; its times are in the future.
    pub fn take_frame(&mut self) -> Option<LineFrame> {
        self.outgoing.pop_front()
    }

    /// The device has sent `frame`: it arrives later by the delay.
    pub fn receive(&mut self, frame: LineFrame) {
        self.incoming.push_back(LineFrame {
            start: frame.start + self.config.delay,
            end: frame.end + self.config.delay,
            ..frame
        });
    }

    /// Next time at which [`Self::poll`] must be called.
    pub fn deadline(&self) -> Instant {
        let incoming = self.incoming.front().map_or(Instant::NEVER, |it| it.end);
        let station = if self.tx_ring.len() < TX_RING_FRAMES {
            self.station.poll_timeout()
        } else {
            Instant::NEVER
        };
        let sending = match (&self.sending, self.tx_ring.is_empty()) {
            (Some(sending), _) => sending.end,
            (None, false) => self.free_at.max(self.pause_until),
            (None, true) => Instant::NEVER,
        };
        incoming.min(station).min(sending).max(self.not_before)
    }

    /// Performs what is due at `now`.
    pub fn poll(&mut self, now: Instant) {
        while let Some(frame) = self.incoming.pop_front_if(|it| it.end <= now) {
            self.deliver(frame);
        }
        if let Some(sending) = self.sending.take_if(|it| it.end <= now) {
            self.finish(sending);
        }
        while self.tx_ring.len() < TX_RING_FRAMES && self.station.poll_timeout() <= now {
            let Some(outgoing) = self.station.poll_outgoing(now) else {
                break;
            };
            if self.mode.is_some() {
                self.tx_ring.push_back(outgoing);
            } else {
                self.statistics.frames_withheld += 1;
            }
        }
        self.send(now);
        self.not_before = now + Span::from_ticks(1);
    }

    /// Starts the next frame, if the line is free.
    fn send(&mut self, now: Instant) {
        let is_free = self.sending.is_none() && self.free_at.max(self.pause_until) <= now;
        let (Some(mode), true) = (self.mode, is_free) else {
            return;
        };
        let Some(outgoing) = self.tx_ring.pop_front() else {
            return;
        };
        let octets = outgoing.complete();
        let end = mode.arrival(now, octets.len());
        let record = SentFrame {
            id: self.next_sent,
            station: 0,
            frame: self.next_sent,
            attempt: 1,
            start: now + self.config.delay,
            end: end + self.config.delay,
            octets: octets.len(),
            content: Content::of(&octets),
            fault: None,
            noisy: false,
            tag: outgoing.options.tag,
        };
        self.next_sent += 1;
        self.outgoing
            .push_back(LineFrame::new(octets.clone(), record.start, mode));
        self.events.push_back(Event::Started(record.clone()));
        self.statistics.stations[0].transmissions += 1;
        self.statistics.stations[0].frames_begun += 1;
        self.sending = Some(Sending {
            record,
            octets,
            end,
        });
    }

    fn finish(&mut self, sending: Sending) {
        let gap = self
            .mode
            .map_or(Span::ZERO, |mode| mode.duration(LinkMode::GAP));
        self.free_at = sending.end + gap;
        let mut record = sending.record;
        if self.mode.is_none() {
            record.fault = Some(DropCause::LinkDown);
        }
        self.statistics.frames_sent += 1;
        let station = &mut self.statistics.stations[0];
        station.frames_sent += 1;
        station.octets_sent += sending.octets.len() as u64;
        station.airtime = station.airtime + record.end.since(record.start) + gap;
        self.events.push_back(Event::Sent(record, sending.octets));
    }

    /// A frame of the device has arrived.
    fn deliver(&mut self, frame: LineFrame) {
        let LineFrame {
            octets, start, end, ..
        } = frame;
        let fault = frame
            .fault
            .or_else(|| Some(frame::check_received(&octets).err()?.cause()));
        let gap = self
            .last_received_end
            .map_or(Span::ZERO, |it| start.since(it));
        self.last_received_end = Some(end);
        let record = ReceivedFrame {
            id: self.next_received,
            start,
            end,
            octets: octets.len(),
            content: Content::of(&octets),
            fault,
            gap,
            edge_error: Span::ZERO,
        };
        self.next_received += 1;
        let statistics = &mut self.statistics;
        statistics.frames_received += 1;
        if fault.is_some() {
            statistics.frames_bad += 1;
        } else {
            statistics.octets_received += octets.len() as u64;
            statistics.airtime_received = statistics.airtime_received + end.since(start);
            let content = &octets[..octets.len() - fcs::LEN];
            match (pause_of(content), self.mode) {
                (Some(pause), Some(mode)) => {
                    self.pause_until = end + mode.quanta(pause.quanta.into());
                }
                _ => self.station.receive(content, end),
            }
        }
        self.events.push_back(Event::Received(record, octets));
    }
}

/// The request for silence in a frame.
fn pause_of(frame: &[u8]) -> Option<Pause> {
    let is_control = frame.starts_with(&MacAddress::MAC_CONTROL.0)
        && frame.get(12..14) == Some(&EtherType::MAC_CONTROL.0.to_be_bytes());
    is_control.then(|| Pause::parse(frame).ok()).flatten()
}
