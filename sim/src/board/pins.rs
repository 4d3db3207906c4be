//! The board's wiring: the link and the probes on the chip's pads.

use std::collections::VecDeque;

use super::Event;
use crate::pads::Pads;
use crate::peer::Peer;
use crate::time::{Instant, Span};
use crate::trace::waveform::{Edge, Pin};
use crate::trace::{TraceHash, Waveform};
use crate::wire::Link;

/// Pads by GPIO number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pins {
    /// Drives the transmit pair.
    pub tx: u8,
    /// The receive comparator's output.
    pub rx: u8,
    /// The comparator's output is low while the line is positive.
    pub rx_inverted: bool,
    /// High while the receive interrupt runs.
    pub debug: u8,
}

impl Default for Pins {
    /// As on the bit-banged ESP32-C6 board.
    fn default() -> Self {
        Self {
            tx: 5,
            rx: 6,
            rx_inverted: true,
            debug: 10,
        }
    }
}

/// The link, and the recorders of the pads.
#[derive(Debug)]
pub(super) struct BoardWiring {
    pins: Pins,
    pub link: Link<Box<dyn Peer>>,
    debug: bool,
    /// Edges of the debug pad since [`Self::take_pulses`].
    debug_edges: Vec<(Instant, bool)>,
    /// The last edge before those, and the last rising edge.
    last_debug_edge: (Instant, bool),
    rising_edge_at: Instant,
    pub waveform: Option<Waveform>,
    /// Periodic recording of edges: enabled, active now, and the recorded edges.
    sample_edges: bool,
    recording: bool,
    sampled_edges: Vec<(Instant, bool)>,
}

/// Period and length of the recordings of edges toward the device: enough for a diagram, at little
/// cost.
const EDGE_SAMPLE_PERIOD: Span = Span::from_ms(100);
const EDGE_SAMPLE_LENGTH: Span = Span::from_ms(4);

impl BoardWiring {
    pub const fn new(pins: Pins, link: Link<Box<dyn Peer>>, sample_edges: bool) -> Self {
        Self {
            pins,
            link,
            debug: false,
            debug_edges: Vec::new(),
            last_debug_edge: (Instant::ZERO, false),
            rising_edge_at: Instant::ZERO,
            waveform: None,
            sample_edges,
            recording: false,
            sampled_edges: Vec::new(),
        }
    }

    /// Records the pins from now on.
    pub fn record(&mut self, mut waveform: Waveform) {
        if self.debug {
            let at = self.last_debug_edge.0;
            waveform.edge(Edge {
                at,
                pin: Pin::Debug,
                level: true,
            });
        }
        self.waveform = Some(waveform);
        self.recording = true;
        self.link.record_edges(true);
    }

    /// Processes the link's events up to `now`, each at its own time.
    pub fn poll(&mut self, now: Instant) {
        while self.link.deadline() <= now {
            let due = self.link.deadline();
            self.link.poll(due);
        }
        if self.recording {
            let edges = self.link.take_edges();
            self.add_edges(edges);
        }
        let recorded = self.waveform.as_ref().is_some_and(|w| now < w.until());
        let wanted = recorded || self.sample_edges && in_edge_sample(now);
        if wanted != self.recording {
            self.recording = wanted;
            self.link.record_edges(wanted);
        }
    }

    fn add_edges(&mut self, edges: Vec<(Instant, bool)>) {
        if let Some(waveform) = &mut self.waveform {
            for &(at, level) in &edges {
                waveform.edge(Edge {
                    at,
                    pin: Pin::Receive,
                    level,
                });
            }
        }
        if self.sample_edges && edges.first().is_some_and(|first| in_edge_sample(first.0)) {
            self.sampled_edges.extend(edges);
        }
    }

    /// Edges recorded periodically since the last call.
    pub fn take_edges(&mut self) -> Vec<(Instant, bool)> {
        core::mem::take(&mut self.sampled_edges)
    }

    /// The debug pad's level at `at`, which is not before the last [`Self::take_pulses`], and the
    /// time of its last change.
    pub fn debug_at(&self, at: Instant) -> (bool, Instant) {
        let before = self.debug_edges.partition_point(|&(edge, _)| edge <= at);
        let (since, level) = match before.checked_sub(1) {
            Some(last) => self.debug_edges[last],
            None => self.last_debug_edge,
        };
        (level, since)
    }

    /// Appends the pulses that have ended to `events`.
    pub fn take_pulses(&mut self, events: &mut VecDeque<Event>, hash: &mut TraceHash) {
        for &(at, level) in &self.debug_edges {
            hash.event(b'd', at, &[u8::from(level)]);
            if level {
                self.rising_edge_at = at;
            } else {
                events.push_back(Event::Pulse {
                    start: self.rising_edge_at,
                    end: at,
                });
            }
        }
        if let Some(&last) = self.debug_edges.last() {
            self.last_debug_edge = last;
            self.debug_edges.clear();
        }
    }

    fn record_edge(&mut self, at: Instant, pin: Pin, level: bool) {
        if let Some(waveform) = &mut self.waveform {
            waveform.edge(Edge { at, pin, level });
        }
    }
}

fn in_edge_sample(at: Instant) -> bool {
    at.ticks() % EDGE_SAMPLE_PERIOD.ticks() < EDGE_SAMPLE_LENGTH.ticks()
}

impl Pads for BoardWiring {
    #[inline]
    fn level(&mut self, pad: u8, at: Instant) -> bool {
        pad == self.pins.rx && self.link.level(at) != self.pins.rx_inverted
    }

    #[inline]
    fn next_edge(&mut self, pad: u8, after: Instant) -> Instant {
        if pad == self.pins.rx {
            self.link.next_edge(after)
        } else {
            Instant::NEVER
        }
    }

    #[inline]
    fn drive(&mut self, pad: u8, level: bool, at: Instant) {
        if pad == self.pins.tx {
            self.link.drive(level, at);
            self.record_edge(at, Pin::Transmit, level);
        } else if pad == self.pins.debug && level != self.debug {
            self.debug = level;
            self.debug_edges.push((at, level));
            self.record_edge(at, Pin::Debug, level);
        }
    }

    #[inline]
    fn deadline(&self) -> Instant {
        self.link.deadline()
    }
}
