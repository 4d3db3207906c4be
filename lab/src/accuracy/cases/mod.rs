//! The links, and the figures expected on them; one file per chapter or two.

mod latency;
mod loss;
mod rfc2544;
mod rfc6349;
mod stock;
mod sweeps;
mod throughput;

use super::figures::Measured;

/// A chapter of the page: related cases.
pub struct Chapter {
    /// Its heading.
    pub title: &'static str,
    /// Words that select it, including the modules of `bench/src/procedure` that it checks.
    pub words: &'static [&'static str],
    /// Text below its tables; empty if there is none.
    pub notes: &'static str,
    /// Its cases.
    pub cases: &'static [Case],
}

/// A link, a procedure on it, and the figures to check.
pub struct Case {
    /// Arguments of `linerate relay`.
    pub link: &'static str,
    /// The device.
    pub server: Server,
    /// Arguments of `linerate`, with `DEVICE` for its address.
    pub command: &'static str,
    /// Number of runs, of which the median counts.
    pub times: usize,
    /// The figures to check.
    pub figures: &'static [Figure],
}

/// Program that is the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    /// `linerate serve`.
    Linerate,
    /// Stock iperf 2.
    Iperf2,
    /// Stock iperf 3.
    Iperf3,
}

impl Case {
    /// One run with `linerate serve` as the device.
    const fn once(link: &'static str, command: &'static str, figures: &'static [Figure]) -> Self {
        Self {
            link,
            server: Server::Linerate,
            command,
            times: 1,
            figures,
        }
    }

    /// As many runs as figures with random variation need.
    const fn repeated(
        link: &'static str,
        command: &'static str,
        figures: &'static [Figure],
    ) -> Self {
        Self {
            times: REPEATED,
            ..Self::once(link, command, figures)
        }
    }

    /// The same with another program as the device.
    const fn with(self, server: Server) -> Self {
        Self { server, ..self }
    }

    /// True if it needs a capture.
    pub fn is_captured(&self) -> bool {
        let needs = |figure: &Figure| matches!(figure.known, Known::Announced(_));
        self.figures.iter().any(needs)
    }
}

/// A figure with its expected value.
pub struct Figure {
    /// Its name.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Reads it from the results.
    pub reported: fn(&Measured) -> Option<f64>,
    /// Its expected value.
    pub known: Known,
    /// Its permitted error, if not the common 2%.
    pub permitted: Option<PermittedError>,
}

/// Unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Stored in bytes per second.
    BytesPerS,
    /// Stored in nanoseconds.
    Milliseconds,
    /// Stored in nanoseconds.
    Microseconds,
    /// Frames per second.
    FramesPerS,
    /// Octets.
    Octets,
    /// A count.
    Count,
    /// A share, 0 to 1.
    Share,
}

impl Unit {
    /// Formats `value` with its unit.
    pub fn write(self, value: f64) -> String {
        match self {
            Self::BytesPerS => format!("{:.3} Mbit/s ({:.2} kB/s)", value * 8.0 / 1e6, value / 1e3),
            Self::Milliseconds => format!("{:.3} ms", value / 1e6),
            Self::Microseconds => format!("{:.1} µs", value / 1e3),
            Self::FramesPerS => format!("{value:.1} frames/s"),
            Self::Octets => format!("{value:.0} B"),
            Self::Count => format!("{value:.0}"),
            Self::Share => format!("{:.2}%", value * 100.0),
        }
    }
}

/// Source of the expected value.
#[derive(Clone, Copy)]
pub enum Known {
    /// The settings of the link.
    Setting(f64),
    /// The relay's counts.
    Counted(fn(&Measured) -> Option<f64>),
    /// The TCP windows in a capture of this end's frames.
    Announced(fn(&Measured) -> Option<f64>),
}

/// A permitted error with its reason.
#[derive(Clone, Copy)]
pub struct PermittedError {
    /// Limit below the expected value, in the figure's unit.
    pub below: f64,
    /// Limit above it.
    pub above: f64,
    /// The reason.
    pub why: &'static str,
}

impl PermittedError {
    /// The same limit on both sides.
    const fn around(by: f64, why: &'static str) -> Self {
        Self {
            below: by,
            above: by,
            why,
        }
    }
}

impl Figure {
    /// Sets a permitted error other than the common one.
    const fn permitting(self, permitted: PermittedError) -> Self {
        Self {
            permitted: Some(permitted),
            ..self
        }
    }

    /// A figure that is compared with the relay's counts.
    const fn counted(
        name: &'static str,
        unit: Unit,
        reported: fn(&Measured) -> Option<f64>,
        truth: fn(&Measured) -> Option<f64>,
    ) -> Self {
        Self {
            known: Known::Counted(truth),
            ..Self::of(name, unit, reported, 0.0)
        }
    }

    /// A figure whose expected value follows from the settings.
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
            known: Known::Setting(known),
            permitted: None,
        }
    }
}

/// Number of runs of a case with random variation.
const REPEATED: usize = 3;

/// Octets of a frame on the wire besides its UDP payload: 42 of Ethernet, IPv4 and UDP headers, 4 of FCS, 8 of
/// preamble, 12 of inter-packet gap.
const UDP_OVERHEAD: f64 = 66.0;
/// Payload of a full segment with timestamps, and its octets on the wire.
const SEGMENT: f64 = 1_448.0;
const SEGMENT_ON_WIRE: f64 = 1_538.0;

/// Payload rate of datagrams that fill a link, bytes per second.
const fn udp(bits_per_s: f64, payload: f64) -> f64 {
    bits_per_s / 8.0 * payload / (payload + UDP_OVERHEAD)
}

/// Time of a datagram on the link, with gap, nanoseconds.
const fn datagram_ns(bits_per_s: f64, payload: f64) -> f64 {
    (payload + UDP_OVERHEAD) * 8e9 / bits_per_s
}

/// Payload rate of full segments that fill a link, bytes per second.
const fn tcp(bits_per_s: f64) -> f64 {
    bits_per_s / 8.0 * SEGMENT / SEGMENT_ON_WIRE
}

const HALF_MS: PermittedError = PermittedError::around(
    500_000.0,
    "this machine's time to wake up and send, in both directions",
);

/// The highest received rate of a load sweep.
fn most_received(it: &Measured) -> Option<f64> {
    it.combined("load sweep", "most_received_bytes_per_s")
}

/// The rate of a link of 5 Mbit/s, as a load sweep finds it.
const SATURATION: [Figure; 1] = [Figure::of(
    "rate at saturation",
    Unit::BytesPerS,
    most_received,
    udp(5e6, 1_470.0),
)];

/// The chapters in the order of the page.
pub const CHAPTERS: [Chapter; 9] = [
    throughput::CHAPTER,
    sweeps::LOADS,
    stock::RATES,
    stock::LOSSES,
    sweeps::SIZES_WINDOWS_GAPS,
    latency::CHAPTER,
    rfc2544::CHAPTER,
    rfc6349::CHAPTER,
    loss::CHAPTER,
];
