//! A short waveform, coarse enough to be drawn and stored.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Receive line, transmit line and debug pin over a short time. Times are on the virtual clock,
/// in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScopeTrace {
    /// Left edge of the picture.
    pub start_ns: u64,
    /// Right edge of the picture.
    pub end_ns: u64,
    /// Frames from the peer.
    pub rx: Vec<Burst>,
    /// Frames from the device.
    pub tx: Vec<Burst>,
    /// The debug pin is high.
    pub debug: Vec<Pulse>,
    /// Marked time spans.
    pub marks: Vec<Mark>,
    /// Recorded levels of the lines; the picture uses them where available.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edges: Vec<Edges>,
}

/// Every level change of a line over a time span, as recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Edges {
    /// True for the line toward the device, false for the line from it.
    pub rx: bool,
    /// Recorded from here.
    pub start_ns: u64,
    /// To here.
    pub end_ns: u64,
    /// Level at the start.
    pub high: bool,
    /// Each change, in tenths of a nanosecond after the start.
    pub changes_at_100ps: Vec<u64>,
}

/// A frame on a line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Burst {
    /// First preamble bit.
    pub start_ns: u64,
    /// Last FCS bit.
    pub end_ns: u64,
    /// Octets with FCS.
    pub bytes: u64,
    /// Its fate, in a word or two; empty if unknown.
    pub fate: String,
}

/// A period in which a pin was high.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pulse {
    /// Rising edge.
    pub start_ns: u64,
    /// Falling edge.
    pub end_ns: u64,
}

/// A time span with a name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mark {
    /// Its label.
    pub label: String,
    /// Its start.
    pub start_ns: u64,
    /// Its end.
    pub end_ns: u64,
}
