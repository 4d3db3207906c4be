//! What is soldered to the chip's pads.

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
    /// High while the receive interrupt works.
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

/// The link, and what watches the pads.
#[derive(Debug)]
pub(super) struct Soldered {
    pins: Pins,
    pub link: Link<Box<dyn Peer>>,
    debug: bool,
    /// Edges of the debug pad since [`Self::take_pulses`].
    debug_edges: Vec<(Instant, bool)>,
    /// The last edge before those, and the last rising one.
    debug_before: (Instant, bool),
    rose_at: Instant,
    pub waveform: Option<Waveform>,
    /// Whether edges are kept now and then, whether they are just now, and those that were.
    glimpses: bool,
    keeping: bool,
    glimpsed: Vec<(Instant, bool)>,
}

/// How often a glimpse of the edges toward the device is kept, and how long it is: what a picture
/// needs, at little cost.
const GLIMPSE_EVERY: Span = Span::from_ms(100);
const GLIMPSE: Span = Span::from_ms(4);

impl Soldered {
    pub const fn new(pins: Pins, link: Link<Box<dyn Peer>>, glimpses: bool) -> Self {
        Self {
            pins,
            link,
            debug: false,
            debug_edges: Vec::new(),
            debug_before: (Instant::ZERO, false),
            rose_at: Instant::ZERO,
            waveform: None,
            glimpses,
            keeping: false,
            glimpsed: Vec::new(),
        }
    }

    /// Records the pins from now on.
    pub fn record(&mut self, mut waveform: Waveform) {
        if self.debug {
            let at = self.debug_before.0;
            waveform.edge(Edge {
                at,
                pin: Pin::Debug,
                level: true,
            });
        }
        self.waveform = Some(waveform);
        self.keeping = true;
        self.link.record_edges(true);
    }

    /// Lets the link do what is due up to `now`, each thing at its own time.
    pub fn poll(&mut self, now: Instant) {
        while self.link.deadline() <= now {
            let due = self.link.deadline();
            self.link.poll(due);
        }
        if self.keeping {
            let edges = self.link.take_edges();
            self.keep(edges);
        }
        let recorded = self.waveform.as_ref().is_some_and(|w| now < w.until());
        let wanted = recorded || self.glimpses && is_glimpse(now);
        if wanted != self.keeping {
            self.keeping = wanted;
            self.link.record_edges(wanted);
        }
    }

    fn keep(&mut self, edges: Vec<(Instant, bool)>) {
        if let Some(waveform) = &mut self.waveform {
            for &(at, level) in &edges {
                waveform.edge(Edge {
                    at,
                    pin: Pin::Receive,
                    level,
                });
            }
        }
        if self.glimpses && edges.first().is_some_and(|first| is_glimpse(first.0)) {
            self.glimpsed.extend(edges);
        }
    }

    /// Edges that were kept in glimpses since the last call.
    pub fn take_edges(&mut self) -> Vec<(Instant, bool)> {
        core::mem::take(&mut self.glimpsed)
    }

    /// The debug pad's level at `at`, which is not before the last [`Self::take_pulses`], and when
    /// it had changed.
    pub fn debug_at(&self, at: Instant) -> (bool, Instant) {
        let before = self.debug_edges.partition_point(|&(edge, _)| edge <= at);
        let (since, level) = match before.checked_sub(1) {
            Some(last) => self.debug_edges[last],
            None => self.debug_before,
        };
        (level, since)
    }

    /// Hands out the pulses that have ended.
    pub fn take_pulses(&mut self, events: &mut VecDeque<Event>, hash: &mut TraceHash) {
        for &(at, level) in &self.debug_edges {
            hash.event(b'd', at, &[u8::from(level)]);
            if level {
                self.rose_at = at;
            } else {
                events.push_back(Event::Pulse {
                    start: self.rose_at,
                    end: at,
                });
            }
        }
        if let Some(&last) = self.debug_edges.last() {
            self.debug_before = last;
            self.debug_edges.clear();
        }
    }

    fn record_edge(&mut self, at: Instant, pin: Pin, level: bool) {
        if let Some(waveform) = &mut self.waveform {
            waveform.edge(Edge { at, pin, level });
        }
    }
}

fn is_glimpse(at: Instant) -> bool {
    at.ticks() % GLIMPSE_EVERY.ticks() < GLIMPSE.ticks()
}

impl Pads for Soldered {
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
