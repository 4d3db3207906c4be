//! The `rfc2544` measurement: a trial of RFC 2544.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Describe, Ledger, Setting};
use crate::format;
use crate::stats;

/// One trial of RFC 2544 section 26, toward an end station. The summary in `linerate_explain` combines
/// trials.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rfc2544 {
    /// Parameters of the request.
    pub params: Rfc2544Params,
    /// Results.
    pub metrics: Rfc2544Metrics,
    /// The fate of each frame of the trials; left out for a target that does not observe it.
    #[serde(default, skip_serializing_if = "Ledger::is_empty")]
    pub ledger: Ledger,
}

/// The test that a trial belongs to.
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
    /// Label for sentences.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Latency => "latency",
            Self::FrameLoss => "frame loss rate",
            Self::BackToBack => "back-to-back frames",
        }
    }
}

/// Method of counting the frames that arrived.
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
    /// The device reflects each frame, and the returned frames are counted.
    Reflector,
    /// The frames carry UDP datagrams, and the receiver on the device counts them.
    Datagrams,
}

impl Counting {
    /// Label for sentences.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Agent => "frames counted by an agent on the device",
            Self::Reflector => "frames sent back by an L2 reflector on the device",
            Self::Datagrams => "UDP datagrams counted by the device's server",
        }
    }
}

/// Durations and repetitions of the procedure, compared with the standard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    /// Shorter trials and fewer of them.
    #[default]
    Short,
    /// Those of the standard.
    Full,
}

/// Parameters of a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rfc2544Params {
    /// Run and conditions.
    #[serde(flatten)]
    pub setting: Setting,
    /// The test that it belongs to.
    pub test: Rfc2544Test,
    /// Durations and repetitions.
    pub extent: Extent,
    /// Method of counting the frames that arrived.
    pub counting: Counting,
    /// Octets of a frame, FCS included.
    pub frame_octets: u64,
    /// Line rate.
    pub line_bits_per_s: u64,
    /// Frames to send.
    pub frames: u64,
    /// Offered rate: line rate for a burst.
    pub offered_frames_per_s: f64,
    /// Resolution of the rate search; 0 if there was none.
    #[serde(default)]
    pub resolution_frames_per_s: f64,
    /// Repetition of its test, from 0.
    #[serde(default)]
    pub repetition: u64,
    /// Planned repetitions.
    #[serde(default)]
    pub repetitions: u64,
    /// The longest burst to try, frames; 0 if none.
    #[serde(default)]
    pub longest_burst: u64,
    /// The pause after the trial, for late frames and for the device to settle.
    #[serde(default)]
    pub pause_ns: u64,
}

/// Metrics of a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rfc2544Metrics {
    /// Frames sent.
    pub sent_frames: u64,
    /// Distinct frames that arrived.
    pub received_frames: u64,
    /// Missing frames.
    pub lost_frames: u64,
    /// Frames that arrived after one that was sent later.
    #[serde(default)]
    pub out_of_order_frames: u64,
    /// Duplicates, if the receiver reports them.
    #[serde(default)]
    pub duplicate_frames: u64,
    /// Received frames per second between the first and the last one; 0 if unknown.
    #[serde(default)]
    pub received_frames_per_s: f64,
    /// The received rate is so far below the offered one that the sender did not reach it, or the
    /// device did not keep up: the trial is not valid for that rate.
    #[serde(default)]
    pub is_below_offered: bool,
    /// Time from each frame to its return, or to the answer of a concurrent probe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trips: Option<FrameRoundTrips>,
}

/// Round trips of a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FrameRoundTrips {
    /// Number of round trips.
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
    /// The part of each that is not latency: the times of the frame itself on the line, which
    /// store-and-forward latency (RFC 1242 section 3.8) excludes.
    pub serialisation_ns: u64,
}

impl FrameRoundTrips {
    /// From `samples`; `None` without any.
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
    /// True if every frame arrived at the offered rate.
    pub const fn is_lossless(&self) -> bool {
        let metrics = &self.metrics;
        metrics.lost_frames == 0 && metrics.sent_frames > 0 && !metrics.is_below_offered
    }

    /// Missing frames as a share of those sent.
    pub fn loss_ratio(&self) -> f64 {
        match self.metrics.sent_frames {
            0 => 0.0,
            sent => self.metrics.lost_frames as f64 / sent as f64,
        }
    }

    /// Line rate for this frame size, frames per second.
    pub fn line_frames_per_s(&self) -> f64 {
        line_frames_per_s(self.params.line_bits_per_s, self.params.frame_octets)
    }

    /// Planned duration of the trial, nanoseconds.
    pub fn span_ns(&self) -> u64 {
        let rate = self.params.offered_frames_per_s;
        if rate > 0.0 {
            (self.params.frames as f64 / rate * 1e9) as u64
        } else {
            0
        }
    }
}

/// Line rate in frames per second for frames of `octets` (FCS included): each has 8 octets of
/// preamble and SFD before it and a gap of 12 after it (IEEE 802.3 clauses 3.1.1 and 4.4.2).
pub fn line_frames_per_s(line_bits_per_s: u64, octets: u64) -> f64 {
    line_bits_per_s as f64 / ((octets + 20) * 8) as f64
}

impl Describe for Rfc2544 {
    fn detail(&self) -> String {
        let params = &self.params;
        format!("{}, {} octets", params.test.label(), params.frame_octets)
    }

    fn one_line(&self) -> String {
        let (params, metrics) = (&self.params, &self.metrics);
        let offer = match params.test {
            Rfc2544Test::BackToBack => format!("burst of {}", format::count(params.frames)),
            _ => format!(
                "{:.1}% = {} frames/s",
                params.offered_frames_per_s / self.line_frames_per_s() * 100.0,
                format::count(params.offered_frames_per_s.round() as u64)
            ),
        };
        let outcome = if metrics.lost_frames > 0 {
            format!(
                "{} of {} lost ({})",
                format::count(metrics.lost_frames),
                format::count(metrics.sent_frames),
                format::percent(self.loss_ratio())
            )
        } else if metrics.is_below_offered {
            format!(
                "none of {} lost, but only {} frames/s received",
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
            "{} octets, {}: {offer}: {outcome}{times}",
            params.frame_octets,
            params.test.label()
        )
    }
}
