//! The result format: schema 1.
//!
//! One [`Run`] is one JSON file. It is complete: every finding and the whole report can be regenerated
//! from it without the device. Units are in the names. Fields are only ever added; a reader
//! ignores unknown ones.

mod blast;
mod conformance;
mod describe;
mod device_counters;
mod distribution;
mod finding;
mod flood;
mod flow;
mod frame_counts;
mod gap;
mod http_both;
mod http_get;
mod http_put;
mod hub_share;
mod instruction_profile;
mod latency;
mod ledger;
mod loss_surface;
mod matrix;
mod negotiation;
mod observation;
mod packet_gaps;
mod phy_conformance;
mod ping;
mod profile;
mod provenance;
mod relay;
mod rfc2544;
mod rfc6349;
mod scope;
mod setting;
mod size_sweep;
mod storm;
mod throughput;
mod udp_sweep;
mod window_sweep;

pub use blast::{Blast, BlastLimits, BlastMetrics, BlastParams, HostNoise};
pub use conformance::{Conformance, ConformanceMetrics, ConformanceParams};
pub use describe::{Describe, ReportRow};
pub use device_counters::DeviceCounters;
pub use distribution::{Bucket, Distribution};
pub use finding::{Cause, Finding};
pub use flood::{Flood, FloodMetrics, FloodParams, Rounds};
pub use flow::{CountedAt, Datagrams, Direction, Flow, Interval, Transport};
pub use frame_counts::{CaptureCounts, FrameCounts, PeerCounts, UnheardCounts, WireCounts};
pub use gap::{GapCause, GapPart, GapToLineRate};
pub use http_both::{HttpBoth, HttpBothMetrics};
pub use http_get::{
    HttpGet, HttpGetLimits, HttpGetMetrics, HttpGetParams, HttpGetSamples, Request, TimeShare,
};
pub use http_put::{HttpPut, HttpPutMetrics, TransferSamples};
pub use hub_share::{HubShare, HubShareMetrics, HubShareParams};
pub use instruction_profile::{
    FunctionCost, InstructionCost, InstructionProfile, InstructionProfileMetrics,
    InstructionProfileParams, Layer, Workload,
};
pub use latency::{Latency, LatencyLimits, LatencyMetrics, LatencyParams, Load};
pub use ledger::Ledger;
pub use loss_surface::{LossSurface, LossSurfaceMetrics, LossSurfaceParams};
pub use matrix::{AxisValue, Matrix, MatrixAxis, MatrixCell, Objective};
pub use negotiation::{Negotiation, NegotiationMetrics, NegotiationParams};
pub use observation::{
    CaptureFinding, HostLink, InterfaceCounters, Observation, TcpConnection, TcpSample,
    TransferCapture,
};
pub use packet_gaps::{PacketGaps, PacketGapsMetrics, PacketGapsParams};
pub use phy_conformance::{PhyConformance, PhyConformanceMetrics, PhyConformanceParams};
pub use ping::{Ping, PingLimits, PingMetrics, PingParams, PingSamples, RttNs};
pub use profile::{Profile, ProfileStack};
pub use provenance::{Duplex, PeerModel, Provenance, SourceKind, TimingEntry};
pub use relay::{Relay, RelayCounts, RelayDirection, RelayMetrics, RelayParams};
pub use rfc2544::{
    Counting, Extent, FrameRoundTrips, Rfc2544, Rfc2544Metrics, Rfc2544Params, Rfc2544Test,
    line_frames_per_s,
};
pub use rfc6349::{Rfc6349, Rfc6349Metrics, Rfc6349Params, Rfc6349Step};
pub use scope::{Burst, Edges, Mark, Pulse, ScopeTrace};
pub use setting::{Conditions, Setting};
pub use size_sweep::{SizeSweep, SizeSweepMetrics, SizeSweepParams};
pub use storm::{Storm, StormMetrics, StormParams};
pub use throughput::{Throughput, ThroughputMetrics, ThroughputParams};
pub use udp_sweep::{UdpSweep, UdpSweepMetrics, UdpSweepParams};
pub use window_sweep::{WindowSweep, WindowSweepMetrics, WindowSweepParams};

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of the format that this code writes.
pub const SCHEMA: u32 = 1;

/// Everything that one command measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "linerate results")]
pub struct Run {
    /// Version of this format.
    pub schema: u32,
    /// Name of the scenario.
    pub scenario: String,
    /// Title from the scenario.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Target, tool and host of the run.
    pub provenance: Provenance,
    /// The scenario's matrix, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matrix: Option<Matrix>,
    /// One entry per measurement, in the scenario's order.
    pub results: Vec<Measurement>,
    /// Findings across measurements of targets, in the order in which to check them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// Requested measurements that were not possible.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_measured: Vec<NotMeasured>,
    /// Limits that were not kept, and errors that ended a measurement, each in a sentence: expectations of a scenario,
    /// and figures worse than those of a baseline.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
    /// Processor cycles, by `program-variant`, of the runs that request a profile.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub profiles: BTreeMap<String, Profile>,
    /// Frames of each run of a firmware, counted independently of the ledger, by `measurement-run` in a scenario and
    /// by `trial-number-label` on a simulated target.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub frame_counts: BTreeMap<String, CountedFrames>,
}

/// Frames of a run of a firmware: their fates, and the counts that do not depend on them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CountedFrames {
    /// Sum of the ledgers of the run's results, without counters: those of the whole run are in `device`.
    pub ledger: Ledger,
    /// Independent counts.
    #[serde(flatten)]
    pub counts: FrameCounts,
}

impl CountedFrames {
    /// The counts that contradict each other, each in a sentence.
    pub fn discrepancies(&self) -> Vec<String> {
        self.counts.discrepancies(&self.ledger)
    }
}

/// A requested measurement that was not possible.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotMeasured {
    /// The measurement, in a few words.
    pub what: String,
    /// The reason, in a sentence.
    pub why: String,
}

/// Generates everything that covers all measurements from one list.
macro_rules! measurements {
    ($($(#[$about:meta])* $name:literal $kind:ident $all:ident,)*) => {
        /// One measurement. The kind is in `measurement`.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "measurement", rename_all = "snake_case")]
        pub enum Measurement {
            $($(#[$about])* $kind($kind),)*
        }

        impl Measurement {
            /// The name of each kind in results and scenarios.
            pub const NAMES: &[&str] = &[$($name),*];

            /// Its name in results and scenarios.
            pub const fn kind(&self) -> &'static str {
                match self {
                    $(Self::$kind(_) => $name,)*
                }
            }

            /// The variant of the firmware.
            pub fn variant(&self) -> &str {
                &self.setting().variant
            }

            /// Run and conditions.
            pub fn setting(&self) -> &Setting {
                match self {
                    $(Self::$kind(result) => &result.params.setting,)*
                }
            }

            /// Run and conditions, mutable.
            pub fn setting_mut(&mut self) -> &mut Setting {
                match self {
                    $(Self::$kind(result) => &mut result.params.setting,)*
                }
            }

            /// Fate of each frame.
            pub fn ledger(&self) -> &Ledger {
                match self {
                    $(Self::$kind(result) => &result.ledger,)*
                }
            }

            /// Fate of each frame, mutable.
            pub fn ledger_mut(&mut self) -> &mut Ledger {
                match self {
                    $(Self::$kind(result) => &mut result.ledger,)*
                }
            }

            /// Its description.
            pub fn describe(&self) -> &dyn Describe {
                match self {
                    $(Self::$kind(result) => result,)*
                }
            }
        }

        impl Run {
            $(
                #[doc = concat!("The results of `", $name, "`, in order.")]
                pub fn $all(&self) -> impl Iterator<Item = &$kind> {
                    self.results.iter().filter_map(|result| match result {
                        Measurement::$kind(result) => Some(result),
                        _ => None,
                    })
                }
            )*
        }
    };
}

// Every measurement: its name in results and scenarios, its record (a module of that name), and the
// method of `Run` that returns all of them.
measurements! {
    /// ICMP echo requests sent by the device.
    "ping" Ping pings,
    /// Downloads over HTTP by the device, all of one size.
    "http_get" HttpGet http_gets,
    /// Uploads over HTTP by the device, all of one size.
    "http_put" HttpPut http_puts,
    /// A download and an upload at the same time.
    "http_both" HttpBoth http_boths,
    /// A conformance case of a 10BASE-T receiver.
    "phy_conformance" PhyConformance phy_conformances,
    /// Loss at one clock offset and one jitter.
    "loss_surface" LossSurface loss_surface,
    /// A storm of frames, and the recovery after it.
    "storm" Storm storms,
    /// Shares of a medium that several stations contend for.
    "hub_share" HubShare hub_shares,
    /// Auto-negotiation of device and link partner.
    "negotiation" Negotiation negotiations,
    /// A transfer between bench and target.
    "throughput" Throughput throughputs,
    /// A trial of RFC 2544.
    "rfc2544" Rfc2544 rfc2544s,
    /// Datagrams offered at one rate: a point of a load sweep.
    "udp_sweep" UdpSweep udp_sweeps,
    /// A transfer with sends of one size: a point of a sweep over sizes.
    "size_sweep" SizeSweep size_sweeps,
    /// TCP with socket buffers of one size: a point of a sweep over windows.
    "window_sweep" WindowSweep window_sweeps,
    /// Round trips, idle or under a load.
    "latency" Latency latencies,
    /// Gaps between datagrams of one size.
    "packet_gaps" PacketGaps packet_gaps,
    /// A step of RFC 6349.
    "rfc6349" Rfc6349 rfc6349_steps,
    /// A conformance case of a driver.
    "conformance" Conformance conformances,
    /// More frames than an emulated board can receive.
    "flood" Flood floods,
    /// Raw frames sent from an interface of this machine.
    "blast" Blast blasts,
    /// Frames that passed an emulated link.
    "relay" Relay relays,
    /// Instructions per frame, by layer and by function.
    "instruction_profile" InstructionProfile instruction_profiles,
}

/// Why a result file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Not JSON, or not in this format.
    #[error("line {}, column {}: {}", error.line(), error.column(), without_position(error))]
    Json {
        /// Error of the JSON reader.
        error: serde_json::Error,
    },
    /// Written by a later version.
    #[error("unknown schema {found}; this linerate reads schema {SCHEMA}")]
    Schema {
        /// The version in the file.
        found: u32,
    },
}

impl From<serde_json::Error> for ReadError {
    fn from(error: serde_json::Error) -> Self {
        Self::Json { error }
    }
}

/// The reader's message without the position at its end, which is reported before it.
fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ")
        .map_or(text.clone(), |(message, _)| message.to_owned())
}

impl Run {
    /// A run without results.
    pub fn new(scenario: &str, title: String, provenance: Provenance) -> Self {
        Self {
            schema: SCHEMA,
            scenario: scenario.to_owned(),
            title,
            provenance,
            matrix: None,
            results: Vec::new(),
            findings: Vec::new(),
            not_measured: Vec::new(),
            failures: Vec::new(),
            profiles: BTreeMap::new(),
            frame_counts: BTreeMap::new(),
        }
    }

    /// Reads a result file.
    ///
    /// # Errors
    /// [`ReadError`] gives the position at which the text does not match the format.
    pub fn from_json(text: &str) -> Result<Self, ReadError> {
        #[derive(Deserialize)]
        struct Version {
            schema: u32,
        }
        let Version { schema } = serde_json::from_str(text)?;
        if schema != SCHEMA {
            return Err(ReadError::Schema { found: schema });
        }
        Ok(serde_json::from_str(text)?)
    }

    /// The file's text, ending in a new line.
    pub fn to_json(&self) -> String {
        // The types hold no map with keys other than strings and no non-finite float survives
        // the constructors, so serialising cannot fail.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// The counts of frames that contradict each other, each in a sentence after the name of its run.
    pub fn contradictions(&self) -> Vec<String> {
        let counted = self.frame_counts.iter();
        let found = counted.flat_map(|(name, frames)| {
            let found = frames.discrepancies().into_iter();
            found.map(move |what| format!("{name}: {what}"))
        });
        found.collect()
    }

    /// The variants that were measured, each once, in order.
    pub fn variants(&self) -> Vec<&str> {
        let mut variants: Vec<&str> = Vec::new();
        for result in &self.results {
            if !variants.contains(&result.variant()) {
                variants.push(result.variant());
            }
        }
        variants
    }
}

/// The published JSON schema of [`Run`], ending in a new line.
pub fn schema_json() -> String {
    let mut text = serde_json::to_string_pretty(&schemars::schema_for!(Run)).unwrap_or_default();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests;
