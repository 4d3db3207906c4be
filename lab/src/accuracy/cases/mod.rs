//! The links, and what a procedure must find on them: a file each for what belongs together.

mod latency;
mod loss;
mod rfc2544;
mod rfc6349;
mod sweeps;
mod throughput;

use super::figures::Measured;

/// Cases that belong together: a chapter of the page.
pub struct Chapter {
    /// Its heading.
    pub title: &'static str,
    /// Words to choose it by: among them the modules of `bench/src/procedure` that it holds to account.
    pub words: &'static [&'static str],
    /// What is measured.
    pub cases: &'static [Case],
}

/// A link, a procedure on it, and figures of its.
pub struct Case {
    /// Arguments of `linerate relay`.
    pub link: &'static str,
    /// Arguments of `linerate`, with `DEVICE` for its address.
    pub command: &'static str,
    /// How often it is done: figures are medians.
    pub times: usize,
    /// What is compared.
    pub figures: &'static [Figure],
}

impl Case {
    /// Whether its frames have to be looked at.
    pub fn is_captured(&self) -> bool {
        let needs = |figure: &Figure| matches!(figure.known, Known::Announced(_));
        self.figures.iter().any(needs)
    }
}

/// A figure, and what it must be.
pub struct Figure {
    /// What it is.
    pub name: &'static str,
    /// What it is in.
    pub unit: Unit,
    /// Takes it out of the results.
    pub reported: fn(&Measured) -> Option<f64>,
    /// What it must be.
    pub known: Known,
    /// What it may be off by, where that is not the common 2%.
    pub stated: Option<Stated>,
}

/// How a figure is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Kept in bytes a second.
    BytesPerS,
    /// Kept in nanoseconds.
    Milliseconds,
    /// Kept in nanoseconds.
    Microseconds,
    /// Frames a second.
    FramesPerS,
    /// Octets.
    Octets,
    /// So many.
    Count,
    /// A part of one.
    Share,
}

impl Unit {
    /// With as many digits as a person reads.
    pub fn write(self, value: f64) -> String {
        match self {
            Self::BytesPerS => format!("{:.2} kB/s", value / 1e3),
            Self::Milliseconds => format!("{:.3} ms", value / 1e6),
            Self::Microseconds => format!("{:.1} µs", value / 1e3),
            Self::FramesPerS => format!("{value:.1} frames/s"),
            Self::Octets => format!("{value:.0} B"),
            Self::Count => format!("{value:.0}"),
            Self::Share => format!("{:.2}%", value * 100.0),
        }
    }
}

/// Where the truth comes from.
#[derive(Clone, Copy)]
pub enum Known {
    /// From the settings.
    Value(f64),
    /// From the relay's count.
    Truth(fn(&Measured) -> Option<f64>),
    /// From the TCP windows that a capture of this end's frames shows.
    Announced(fn(&Measured) -> Option<f64>),
}

/// An error that is known beforehand.
#[derive(Clone, Copy)]
pub struct Stated {
    /// So much less, in the figure's unit.
    pub below: f64,
    /// So much more.
    pub above: f64,
    /// Why.
    pub why: &'static str,
}

impl Stated {
    /// As much one way as the other.
    const fn around(by: f64, why: &'static str) -> Self {
        Self {
            below: by,
            above: by,
            why,
        }
    }
}

impl Figure {
    /// With another error than the common one.
    const fn stated(self, stated: Stated) -> Self {
        Self {
            stated: Some(stated),
            ..self
        }
    }

    /// One whose truth is in the settings.
    const fn of(
        name: &'static str,
        unit: Unit,
        reported: fn(&Measured) -> Option<f64>,
        known: f64,
    ) -> Self {
        Self {
            name,
            unit,
            reported,
            known: Known::Value(known),
            stated: None,
        }
    }
}

/// A median of so many.
const OFTEN: usize = 3;

/// Octets of a frame on the wire beside its payload of UDP over IPv4: 42 of headers, 4 of FCS, 8 of
/// preamble, 12 of gap.
const UDP_OVERHEAD: f64 = 66.0;
/// Payload of a full segment with timestamps, and its octets on the wire.
const SEGMENT: f64 = 1_448.0;
const SEGMENT_ON_WIRE: f64 = 1_538.0;

/// Payload a second of datagrams that fill a link.
const fn udp(bits_per_s: f64, payload: f64) -> f64 {
    bits_per_s / 8.0 * payload / (payload + UDP_OVERHEAD)
}

/// How long a datagram takes up a link, with its gap, nanoseconds.
const fn datagram_ns(bits_per_s: f64, payload: f64) -> f64 {
    (payload + UDP_OVERHEAD) * 8e9 / bits_per_s
}

/// Payload a second of full segments that fill a link.
const fn tcp(bits_per_s: f64) -> f64 {
    bits_per_s / 8.0 * SEGMENT / SEGMENT_ON_WIRE
}

const HALF_MS: Stated = Stated::around(
    500_000.0,
    "this machine's own time to wake and to send, there and back",
);

/// The page from its beginning to its end.
pub const CHAPTERS: [Chapter; 7] = [
    throughput::CHAPTER,
    sweeps::LOADS,
    sweeps::SENDS,
    latency::CHAPTER,
    rfc2544::CHAPTER,
    rfc6349::CHAPTER,
    loss::CHAPTER,
];
