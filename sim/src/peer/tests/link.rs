//! A full-duplex 10 Mbit/s cable between two stations, with faults, and a record of its frames.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::peer::Station;
use crate::peer::host::packet::Packet;
use crate::peer::tcp::{Control, Segment};
use crate::time::{Instant, Span};

/// Fate of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Arrive,
    Vanish,
    Double,
    /// Arrives later by this span, after others.
    Late(Span),
}

/// One end of the cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    Host,
    Device,
}

/// A frame that was sent.
#[derive(Debug, Clone)]
pub struct Sent {
    pub at: Instant,
    pub by: End,
    pub frame: Vec<u8>,
    pub fate: Fate,
}

impl Sent {
    /// Its TCP segment, if any.
    pub fn segment(&self) -> Option<Segment> {
        let packet = Packet::parse(self.frame.get(14..)?)?;
        Segment::parse(&packet.payload, packet.source, packet.destination)
    }

    /// A line as in a capture, with sequence numbers relative to `host` and `device`.
    pub fn line(&self, host: u32, device: u32) -> Option<String> {
        let segment = self.segment()?;
        let (own, other, by) = match self.by {
            End::Host => (host, device, "host  "),
            End::Device => (device, host, "device"),
        };
        let flag = match segment.control {
            Control::None => "",
            Control::Push => " psh",
            Control::Syn => " syn",
            Control::Fin => " fin",
            Control::Reset => " rst",
        };
        let ack = segment.ack.map_or(0, |ack| ack.wrapping_sub(other));
        let mut sack = String::new();
        for (from, to) in segment.sack.iter().flatten() {
            let (from, to) = (from.wrapping_sub(other), to.wrapping_sub(other));
            let _ = write!(sack, " sack {from}-{to}");
        }
        let lost = if self.fate == Fate::Vanish {
            " LOST"
        } else {
            ""
        };
        Some(format!(
            "{:>9.3} ms {by} {}+{} ack {ack}{flag}{sack}{lost}",
            self.at.as_secs_f64() * 1e3,
            segment.sequence.wrapping_sub(own),
            segment.payload.len(),
        ))
    }
}

/// The cable.
pub struct Link<F> {
    pub delay: Span,
    pub fault: F,
    pub sent: Vec<Sent>,
    in_flight: BTreeMap<(Instant, u64), (End, Vec<u8>)>,
    free_at: [Instant; 2],
    count: u64,
    pub now: Instant,
}

impl<F: FnMut(&Sent) -> Fate> Link<F> {
    pub fn new(delay: Span, fault: F) -> Self {
        Self {
            delay,
            fault,
            sent: Vec::new(),
            in_flight: BTreeMap::new(),
            free_at: [Instant::ZERO; 2],
            count: 0,
            now: Instant::ZERO,
        }
    }

    /// Runs both stations until `until` or until both are idle.
    pub fn run(&mut self, host: &mut dyn Station, device: &mut dyn Station, until: Instant) {
        loop {
            self.collect(End::Host, host);
            self.collect(End::Device, device);
            let arrival = self
                .in_flight
                .keys()
                .next()
                .map_or(Instant::NEVER, |&(at, _)| at);
            let next = arrival.min(host.poll_timeout()).min(device.poll_timeout());
            if next > until || next == Instant::NEVER {
                self.now = until;
                return;
            }
            self.now = self.now.max(next);
            if arrival <= self.now
                && let Some((_, (by, frame))) = self.in_flight.pop_first()
            {
                match by {
                    End::Host => device.receive(&frame, self.now),
                    End::Device => host.receive(&frame, self.now),
                }
            }
        }
    }

    fn collect(&mut self, by: End, station: &mut dyn Station) {
        while let Some(frame) = station.poll_transmit(self.now) {
            // Preamble, FCS and gap are 24 octets beyond the padded frame.
            let time = Span::from_ns(800 * (frame.len().max(60) as u64 + 24));
            let start = self.free_at[by as usize].max(self.now);
            self.free_at[by as usize] = start + time;
            let arrival = start + time + self.delay;
            let mut sent = Sent {
                at: start,
                by,
                frame,
                fate: Fate::Arrive,
            };
            sent.fate = (self.fault)(&sent);
            let (copies, arrival) = match sent.fate {
                Fate::Arrive => (1, arrival),
                Fate::Vanish => (0, arrival),
                Fate::Double => (2, arrival),
                Fate::Late(by) => (1, arrival + by),
            };
            for _ in 0..copies {
                self.count += 1;
                self.in_flight
                    .insert((arrival, self.count), (by, sent.frame.clone()));
            }
            self.sent.push(sent);
        }
    }

    /// The TCP segments sent, as a table for a snapshot.
    pub fn table(&self) -> String {
        let first = |by| {
            let mut frames = self.sent.iter().filter(move |sent| sent.by == by);
            frames
                .find_map(Sent::segment)
                .map_or(0, |segment| segment.sequence)
        };
        let (host, device) = (first(End::Host), first(End::Device));
        let lines: Vec<_> = self
            .sent
            .iter()
            .filter_map(|sent| sent.line(host, device))
            .collect();
        lines.join("\n")
    }

    /// Data segments sent by the host, with their times.
    pub fn host_data(&self) -> Vec<(Instant, Segment)> {
        let host = self.sent.iter().filter(|sent| sent.by == End::Host);
        host.filter_map(|sent| Some((sent.at, sent.segment()?)))
            .filter(|(_, segment)| !segment.payload.is_empty())
            .collect()
    }
}
