//! The `rfc2544` measurement: a trial of RFC 2544.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Finding, Ledger, Setting, Told};
use crate::format;
use crate::stats;

/// One trial of RFC 2544 section 26, toward an end station. What trials mean together is found by
/// [`crate::summary`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rfc2544 {
    /// What was asked for.
    pub params: Rfc2544Params,
    /// What came out.
    pub metrics: Rfc2544Metrics,
    /// Frames are not followed here: empty.
    #[serde(default)]
    pub ledger: Ledger,
    /// Why it is not faster.
    #[serde(default)]
    pub findings: Vec<Finding>,
}

/// What a trial is part of.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Rfc2544Test {
    /// Section 26.1: the highest rate without loss.
    #[default]
    Throughput,
    /// Section 26.2: the latency at that rate.
    Latency,
    /// Section 26.3: loss over offered rate.
    FrameLoss,
    /// Section 26.4 and RFC 9004: the longest burst without loss.
    BackToBack,
}

impl Rfc2544Test {
    /// For sentences.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Latency => "latency",
            Self::FrameLoss => "frame loss rate",
            Self::BackToBack => "back-to-back frames",
        }
    }
}

/// How it is known which frames arrived.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Counting {
    /// An agent on the device counts them.
    #[default]
    Agent,
    /// The device sends each one back, and those that come back are counted.
    Reflector,
    /// They carry UDP datagrams, and what receives those on the device counts them.
    Datagrams,
}

impl Counting {
    /// For sentences.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Agent => "frames counted by an agent on the device",
            Self::Reflector => "frames sent back by an L2 reflector on the device",
            Self::Datagrams => "UDP datagrams counted by the device's server",
        }
    }
}

/// Whether the procedure is the standard's in its lengths and repetitions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    /// Shorter trials and fewer of them.
    #[default]
    Short,
    /// The standard's.
    Full,
}

/// Parameters of a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rfc2544Params {
    /// Variant of the firmware, where there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub variant: String,
    /// Run and conditions.
    #[serde(flatten)]
    pub setting: Setting,
    /// What it is part of.
    pub test: Rfc2544Test,
    /// Whether lengths and repetitions are the standard's.
    pub extent: Extent,
    /// How it is known which frames arrived.
    pub counting: Counting,
    /// Octets of a frame, FCS included.
    pub frame_octets: u64,
    /// What the line carries.
    pub line_bits_per_s: u64,
    /// Frames that were to be sent.
    pub frames: u64,
    /// At which rate: the line's own for a burst.
    pub offered_frames_per_s: f64,
    /// In which steps the rate was searched; 0 where it was not.
    #[serde(default)]
    pub resolution_frames_per_s: f64,
    /// Which repetition of its test it belongs to, from 0.
    #[serde(default)]
    pub repetition: u64,
    /// How many repetitions were planned.
    #[serde(default)]
    pub repetitions: u64,
    /// The longest burst that was to be tried, frames; 0 where none was.
    #[serde(default)]
    pub longest_burst: u64,
    /// The pause behind the trial, for frames that are late and for the device to settle.
    #[serde(default)]
    pub pause_ns: u64,
}

/// Metrics of a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rfc2544Metrics {
    /// Frames sent.
    pub sent_frames: u64,
    /// Different frames that arrived.
    pub received_frames: u64,
    /// Those missing.
    pub lost_frames: u64,
    /// Arrived behind one that was sent later.
    #[serde(default)]
    pub out_of_order_frames: u64,
    /// Arrived again, where the receiver tells them.
    #[serde(default)]
    pub duplicate_frames: u64,
    /// Of what arrived, frames a second between the first and the last one; 0 where nobody tells.
    #[serde(default)]
    pub received_frames_per_s: f64,
    /// What arrived came so much slower than it was to be sent that the sender can't have kept the
    /// rate, or the device has not kept up with it: the trial says nothing about that rate.
    #[serde(default)]
    pub is_below_offered: bool,
    /// From each frame to its return, or to the answer of a probe beside the frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trips: Option<FrameRoundTrips>,
}

/// Round trips of a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FrameRoundTrips {
    /// How many.
    pub count: u64,
    /// Of the tagged frame: the first one sent in the second half of the stream that came back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tagged_ns: Option<u64>,
    /// Shortest.
    pub min_ns: u64,
    /// Median.
    pub p50_ns: u64,
    /// Mean.
    pub mean_ns: u64,
    /// Longest.
    pub max_ns: u64,
    /// What of each of them is no latency: the times that the frame itself takes on the line, which
    /// store-and-forward latency (RFC 1242 section 3.8) does not hold.
    pub serialisation_ns: u64,
}

impl FrameRoundTrips {
    /// Of `samples`; `None` without any.
    pub fn of(samples: &[u64], tagged_ns: Option<u64>, serialisation_ns: u64) -> Option<Self> {
        let (min_ns, max_ns) = (*samples.iter().min()?, *samples.iter().max()?);
        let sum: u128 = samples.iter().copied().map(u128::from).sum();
        Some(Self {
            count: samples.len() as u64,
            tagged_ns,
            min_ns,
            p50_ns: stats::percentile(samples, 50.0)?,
            mean_ns: (sum / samples.len() as u128) as u64,
            max_ns,
            serialisation_ns,
        })
    }
}

impl Rfc2544 {
    /// Whether every frame arrived, at the rate that was asked for.
    pub const fn is_lossless(&self) -> bool {
        let metrics = &self.metrics;
        metrics.lost_frames == 0 && metrics.sent_frames > 0 && !metrics.is_below_offered
    }

    /// Those missing, of all that were sent.
    pub fn loss_ratio(&self) -> f64 {
        match self.metrics.sent_frames {
            0 => 0.0,
            sent => self.metrics.lost_frames as f64 / sent as f64,
        }
    }

    /// Frames of this size that the line carries in a second.
    pub fn line_frames_per_s(&self) -> f64 {
        line_frames_per_s(self.params.line_bits_per_s, self.params.frame_octets)
    }

    /// For how long frames were to be sent, nanoseconds.
    pub fn span_ns(&self) -> u64 {
        let rate = self.params.offered_frames_per_s;
        if rate > 0.0 {
            (self.params.frames as f64 / rate * 1e9) as u64
        } else {
            0
        }
    }
}

/// The most frames of `octets` (FCS included) that a line carries in a second: each has 8 octets of
/// preamble and SFD before it and a gap of 12 behind it (IEEE 802.3 clauses 3.1.1 and 4.4.2).
pub fn line_frames_per_s(line_bits_per_s: u64, octets: u64) -> f64 {
    line_bits_per_s as f64 / ((octets + 20) * 8) as f64
}

impl Told for Rfc2544 {
    fn detail(&self) -> String {
        let params = &self.params;
        format!("{}, {} octets", params.test.words(), params.frame_octets)
    }

    fn line(&self) -> String {
        let (params, metrics) = (&self.params, &self.metrics);
        let offer = match params.test {
            Rfc2544Test::BackToBack => format!("burst of {}", format::count(params.frames)),
            _ => format!(
                "{:.1}% = {} frames/s",
                params.offered_frames_per_s / self.line_frames_per_s() * 100.0,
                format::count(params.offered_frames_per_s.round() as u64)
            ),
        };
        let came = if metrics.lost_frames > 0 {
            format!(
                "{} of {} lost ({})",
                format::count(metrics.lost_frames),
                format::count(metrics.sent_frames),
                format::percent(self.loss_ratio())
            )
        } else if metrics.is_below_offered {
            format!(
                "none of {} lost, but only {} frames/s arrived",
                format::count(metrics.sent_frames),
                format::count(metrics.received_frames_per_s.round() as u64)
            )
        } else {
            format!("none of {} lost", format::count(metrics.sent_frames))
        };
        let times = match (params.test, metrics.round_trips) {
            (Rfc2544Test::Latency, Some(times)) => format!(
                ", round trips {} to {}",
                format::time(times.min_ns),
                format::time(times.max_ns)
            ),
            _ => String::new(),
        };
        format!(
            "{} octets, {}: {offer}: {came}{times}",
            params.frame_octets,
            params.test.words()
        )
    }
}
