//! The `http_get` measurement.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Describe, Finding, GapToLineRate, Ledger, ScopeTrace, Setting};
use crate::format;
use crate::stats;

/// Downloads of one size, sequentially, each over its own TCP connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HttpGet {
    /// Parameters of the request.
    pub params: HttpGetParams,
    /// Results. Arrays have one entry per request.
    pub metrics: HttpGetMetrics,
    /// Limits of the wire.
    pub limits: HttpGetLimits,
    /// Fate of each frame.
    pub ledger: Ledger,
    /// Samples behind the metrics.
    pub samples: HttpGetSamples,
    /// Why it is not at line rate, largest weight first.
    pub findings: Vec<Finding>,
}

/// Parameters of a download.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HttpGetParams {
    /// Run and conditions.
    #[serde(flatten)]
    pub setting: Setting,
    /// Bytes of the body.
    pub bytes: u64,
    /// Requests of this size.
    pub requests: u64,
}

/// Metrics of a download.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HttpGetMetrics {
    /// Body bytes over the time from the first SYN on the wire to the last byte consumed, on the
    /// virtual clock; one entry per request.
    pub goodput_bytes_per_s: Vec<f64>,
    /// Median of the requests.
    pub goodput_bytes_per_s_p50: f64,
    /// The same on the device's own clock, from its connect call; one entry per request.
    pub device_goodput_bytes_per_s: Vec<f64>,
    /// CRC-32 (IEEE) of the body as the device received it; one entry per request.
    pub crc32: Vec<u32>,
    /// CRC-32 of the body as the peer served it; one entry per request.
    pub crc32_expected: Vec<u32>,
    /// Frames that the peer sent to the device.
    pub sent_frames: u64,
    /// Frames that the device's stack accepted.
    pub received_frames: u64,
    /// Share of the peer's frames that did not arrive, not counting repeated attempts and frames in flight at the
    /// end of the run.
    pub frame_loss_rate: f64,
    /// Frames that the device put on the wire.
    pub device_sent_frames: u64,
    /// From the end of a frame to the end of the receive interrupt, timed on the debug pin: median.
    pub isr_post_processing_ns_p50: u64,
    /// The same: longest.
    pub isr_post_processing_ns_max: u64,
    /// Silence between two frames that the peer sent back to back: shortest.
    pub inter_packet_gap_ns_min: u64,
    /// The same between two frames of the device; zero when it sent none back to back.
    #[serde(default)]
    pub device_inter_packet_gap_ns_min: u64,
    /// Data segments that the peer retransmitted.
    pub retransmitted_segments: u64,
    /// From the end of a lone data segment to the acknowledgment that covers it: median; zero
    /// when there was none.
    pub segment_to_ack_ns_p50: u64,
    /// Time of the requests by activity.
    pub time_share: TimeShare,
    /// Share of the time that the hart waited for the flash cache, if the target reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flash_wait_share: Option<f64>,
    /// Time of the median request beyond the line's time for its body, by cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap_to_line_rate: Option<GapToLineRate>,
}

/// The time from first SYN to last byte by activity, as seen on the wire. The shares add up to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimeShare {
    /// The peer's frames with new data, with the gaps between them.
    pub receiving: f64,
    /// The peer's frames without new data, or lost.
    pub repeating: f64,
    /// The device's frames.
    pub transmitting: f64,
    /// Silence that the device ended: it was working.
    pub device: f64,
    /// Silence that the peer ended in answer to the device.
    pub peer: f64,
    /// Silence that a retransmission ended: a station waited for its timer.
    pub retransmission_timer: f64,
}

impl TimeShare {
    /// The sum of the shares.
    pub fn total(&self) -> f64 {
        self.parts().iter().map(|(_, share)| share).sum()
    }

    /// The parts with their display names, in the order in which they are drawn.
    pub fn parts(&self) -> [(&'static str, f64); 6] {
        [
            ("receiving new data", self.receiving),
            ("receiving repeated or lost frames", self.repeating),
            ("transmitting", self.transmitting),
            ("waiting for the device", self.device),
            ("waiting for the peer", self.peer),
            (
                "waiting for a retransmission timer",
                self.retransmission_timer,
            ),
        ]
    }
}

/// Limits of a download.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HttpGetLimits {
    /// Endless full segments back to back, nothing else on the wire.
    pub line_goodput_bytes_per_s: f64,
    /// The minimum silence between two frames.
    pub inter_packet_gap_ns: u64,
}

/// Samples of a download.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HttpGetSamples {
    /// One entry per request.
    pub requests: Vec<Request>,
    /// For each retransmitted data segment, the time since the same octet was last sent.
    pub retransmission_delays_ns: Vec<u64>,
    /// Two frames in a row as an oscilloscope would show them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<ScopeTrace>,
}

/// One request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Request {
    /// First bit of the first SYN on the wire, on the virtual clock.
    pub start_ns: u64,
    /// The last byte of the body was consumed.
    pub end_ns: u64,
    /// The duration on the device's clock.
    pub device_duration_ns: u64,
    /// Frames that the peer sent to the device.
    pub sent_frames: u64,
    /// Frames that the stack accepted.
    pub received_frames: u64,
    /// Data segments that the peer retransmitted.
    pub retransmitted_segments: u64,
    /// The longest silence on the wire.
    pub longest_silence_ns: u64,
}

impl HttpGet {
    /// Median goodput over the line's limit.
    pub fn share_of_line_rate(&self) -> f64 {
        stats::ratio(
            self.metrics.goodput_bytes_per_s_p50,
            self.limits.line_goodput_bytes_per_s,
        )
    }
}

impl Describe for HttpGet {
    fn detail(&self) -> String {
        format::bytes(self.params.bytes)
    }

    fn one_line(&self) -> String {
        format!(
            "get {:<7} median {}, {} of line rate, {} of the frames lost",
            format::bytes(self.params.bytes),
            format::rate(self.metrics.goodput_bytes_per_s_p50),
            format::percent(self.share_of_line_rate()),
            format::percent(self.metrics.frame_loss_rate),
        )
    }

    fn failures(&self) -> Vec<String> {
        super::describe::crc32_mismatch(&self.metrics.crc32, &self.metrics.crc32_expected)
    }
}
