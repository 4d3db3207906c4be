//! The `http_put` measurement.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Describe, Finding, GapToLineRate, HttpGetLimits, HttpGetParams, Ledger, ReportRow, Request,
    TimeShare,
};
use crate::format;
use crate::stats;

/// Uploads of one size by the device, sequentially, each over its own TCP connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HttpPut {
    /// Parameters of the request.
    pub params: HttpGetParams,
    /// Results. Arrays have one entry per request.
    pub metrics: HttpPutMetrics,
    /// Limits of the wire.
    pub limits: HttpGetLimits,
    /// Fate of each frame of the peer.
    pub ledger: Ledger,
    /// Samples behind the metrics.
    pub samples: TransferSamples,
    /// Why it is not at line rate, largest weight first.
    pub findings: Vec<Finding>,
}

/// Metrics of an upload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HttpPutMetrics {
    /// Body bytes over the time from the first SYN on the wire until the peer's program had
    /// consumed the last byte, on the virtual clock; one entry per request.
    pub goodput_bytes_per_s: Vec<f64>,
    /// Median of the requests.
    pub goodput_bytes_per_s_p50: f64,
    /// The same on the device's own clock, from its connect call to the peer's answer.
    pub device_goodput_bytes_per_s: Vec<f64>,
    /// CRC-32 (IEEE) of the body as the peer received it; one entry per request.
    pub crc32: Vec<u32>,
    /// CRC-32 of the body that should have been sent.
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
    /// Of these, those that the peer's MAC discarded, except for collisions.
    pub device_lost_frames: u64,
    /// Transmissions of the device that collided.
    pub device_collisions: u64,
    /// Data segments that the device retransmitted.
    pub retransmitted_segments: u64,
    /// From the end of a full frame to the end of the receive interrupt, timed on the debug pin:
    /// median. Left out if the peer sent no full frame, as when only the device sends data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isr_post_processing_ns_p50: Option<u64>,
    /// The same: longest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isr_post_processing_ns_max: Option<u64>,
    /// Silence between two frames that the device sent back to back: shortest.
    pub inter_packet_gap_ns_min: u64,
    /// Time of the requests by activity.
    pub time_share: TimeShare,
    /// Time of the median request beyond the line's time for its body, by cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap_to_line_rate: Option<GapToLineRate>,
}

/// Samples of transfers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TransferSamples {
    /// One entry per request.
    pub requests: Vec<Request>,
}

impl Describe for HttpPut {
    fn detail(&self) -> String {
        format!("put {}", format::bytes(self.params.bytes))
    }

    fn one_line(&self) -> String {
        format!(
            "put {:<7} median {}, {} of the frames lost, {} collisions",
            format::bytes(self.params.bytes),
            format::rate(self.metrics.goodput_bytes_per_s_p50),
            format::percent(self.metrics.frame_loss_rate),
            self.metrics.device_collisions,
        )
    }

    fn failures(&self) -> Vec<String> {
        super::describe::crc32_mismatch(&self.metrics.crc32, &self.metrics.crc32_expected)
    }

    fn row(&self) -> Option<ReportRow> {
        let metrics = &self.metrics;
        let words = format!(
            "{} × {}: {}, {} of line rate; {} segments retransmitted, {} collisions",
            self.params.requests,
            format::bytes(self.params.bytes),
            format::rate(metrics.goodput_bytes_per_s_p50),
            format::percent(stats::ratio(
                metrics.goodput_bytes_per_s_p50,
                self.limits.line_goodput_bytes_per_s
            )),
            format::count(metrics.retransmitted_segments),
            format::count(metrics.device_collisions),
        );
        Some(ReportRow::new("upload", words, self.failures().is_empty()))
    }
}
