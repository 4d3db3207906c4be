//! The levels of the pins over a time range, for a waveform viewer or a drawing.

use std::io::{self, Write};

use crate::time::{Instant, Span, TICKS_PER_NS};

/// A recorded pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pin {
    /// The signal towards the device, positive is high.
    Receive,
    /// The device's transmit pad.
    Transmit,
    /// The device's debug pad.
    Debug,
}

impl Pin {
    /// All pins.
    pub const ALL: [Self; 3] = [Self::Receive, Self::Transmit, Self::Debug];

    /// Name of the pin in a waveform.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Receive => "rx",
            Self::Transmit => "tx",
            Self::Debug => "debug",
        }
    }
}

/// A change of a pin's level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// Time of the change.
    pub at: Instant,
    /// The pin.
    pub pin: Pin,
    /// The new level.
    pub level: bool,
}

/// Edges in a time range. Edges of one pin are in order; edges of different pins may be in any order.
#[derive(Debug, Clone, Default)]
pub struct Waveform {
    from: Instant,
    until: Instant,
    edges: Vec<Edge>,
    /// Levels at `from`, by [`Pin`].
    initial: [bool; 3],
    dropped: u64,
}

/// Maximum number of edges: a full-length frame has 24,000, so this is 100 frames, some 60 MB.
const LIMIT: usize = 2_500_000;

impl Waveform {
    /// Records from `from` for `span`.
    #[must_use]
    pub fn new(from: Instant, span: Span) -> Self {
        Self {
            from,
            until: from + span,
            ..Self::default()
        }
    }

    /// End of the recording.
    #[must_use]
    pub const fn until(&self) -> Instant {
        self.until
    }

    /// Records a change of a pin. Outside the time range, or beyond the memory limit, it is dropped.
    pub fn edge(&mut self, edge: Edge) {
        if edge.at < self.from {
            self.initial[edge.pin as usize] = edge.level;
        } else if edge.at < self.until {
            if self.edges.len() < LIMIT {
                self.edges.push(edge);
            } else {
                self.dropped += 1;
            }
        }
    }

    /// Number of edges dropped for lack of memory.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The levels at `from`, and the edges within `from..until` in the order of time.
    #[must_use]
    pub fn excerpt(&self, from: Instant, until: Instant) -> ([bool; 3], Vec<Edge>) {
        let mut edges = self.edges.clone();
        edges.sort_unstable();
        let mut initial = self.initial;
        for edge in edges.iter().filter(|edge| edge.at < from) {
            initial[edge.pin as usize] = edge.level;
        }
        edges.retain(|edge| edge.at >= from && edge.at < until);
        (initial, edges)
    }

    /// Writes a Value Change Dump (IEEE 1364-2005 clause 18) in units of 10 ps, in which a
    /// cycle of 160 MHz is a whole number.
    ///
    /// # Errors
    /// Errors of writing.
    pub fn write_vcd(&self, to: impl Write, board: &str) -> io::Result<()> {
        let mut writer = vcd::Writer::new(to);
        writer.comment("linerate: levels of the pads; rx is high while the line is positive")?;
        writer.timescale(10, vcd::TimescaleUnit::PS)?;
        writer.add_module(board)?;
        let codes = Pin::ALL.map(|pin| writer.add_wire(1, pin.name()));
        let [receive, transmit, debug] = codes;
        let codes = [receive?, transmit?, debug?];
        writer.upscope()?;
        writer.enddefinitions()?;
        let (initial, edges) = self.excerpt(self.from, self.until);
        writer.timestamp(unit(self.from))?;
        writer.begin(vcd::SimulationCommand::Dumpvars)?;
        for (code, level) in codes.iter().zip(initial) {
            writer.change_scalar(*code, level)?;
        }
        writer.end()?;
        let mut now = unit(self.from);
        for edge in edges {
            if unit(edge.at) != now {
                now = unit(edge.at);
                writer.timestamp(now)?;
            }
            writer.change_scalar(codes[edge.pin as usize], edge.level)?;
        }
        writer.timestamp(unit(self.until))?;
        writer.flush()
    }
}

/// A time in units of 10 ps.
const fn unit(at: Instant) -> u64 {
    (at.ticks() as u128 * 100 / TICKS_PER_NS as u128) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(ns: u64, pin: Pin, level: bool) -> Edge {
        Edge {
            at: Instant::from_ns(ns),
            pin,
            level,
        }
    }

    fn waveform() -> Waveform {
        let mut waveform = Waveform::new(Instant::from_ns(100), Span::from_ns(900));
        waveform.edge(edge(50, Pin::Debug, true));
        for (ns, level) in [(200, true), (250, false), (2000, true)] {
            waveform.edge(edge(ns, Pin::Receive, level));
        }
        waveform.edge(edge(150, Pin::Transmit, true));
        waveform.edge(edge(250, Pin::Transmit, false));
        waveform
    }

    #[test]
    fn a_vcd_has_the_levels_at_its_start_and_every_edge_in_order() {
        let mut vcd = Vec::new();
        waveform().write_vcd(&mut vcd, "board").unwrap();
        insta::assert_snapshot!(String::from_utf8(vcd).unwrap());
    }

    #[test]
    fn a_vcd_reads_back_as_it_was_written() {
        let mut bytes = Vec::new();
        waveform().write_vcd(&mut bytes, "board").unwrap();
        let mut parser = vcd::Parser::new(&bytes[..]);
        let header = parser.parse_header().unwrap();
        assert_eq!(header.timescale, Some((10, vcd::TimescaleUnit::PS)));
        let transmit = header.find_var(&["board", "tx"]).unwrap().code;
        let mut now = 0;
        let mut changes = Vec::new();
        for command in parser {
            match command.unwrap() {
                vcd::Command::Timestamp(at) => now = at,
                vcd::Command::ChangeScalar(code, value) if code == transmit => {
                    changes.push((now, value == vcd::Value::V1));
                }
                _ => {}
            }
        }
        assert_eq!(changes, [(10_000, false), (15_000, true), (25_000, false)]);
    }

    #[test]
    fn an_excerpt_has_the_levels_at_its_start() {
        let (initial, edges) = waveform().excerpt(Instant::from_ns(210), Instant::from_ns(300));
        assert_eq!(initial, [true, true, true]);
        assert_eq!(edges.len(), 2);
        assert_eq!(edges[0], edge(250, Pin::Receive, false));
    }
}
