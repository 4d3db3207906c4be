//! The `http_both` measurement.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Describe, HttpGetLimits, HttpGetParams, Ledger, ReportRow, TransferSamples};
use crate::format;
use crate::stats;

/// A download and an upload of one size at the same time, several times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HttpBoth {
    /// Parameters of the request: `bytes` in each direction.
    pub params: HttpGetParams,
    /// Results. Arrays have one entry per round.
    pub metrics: HttpBothMetrics,
    /// Limits of the wire, one direction alone.
    pub limits: HttpGetLimits,
    /// Fate of each frame of the peer.
    pub ledger: Ledger,
    /// Rounds, from the first SYN to the last byte of the slower one.
    pub samples: TransferSamples,
}

/// Metrics of a download and an upload at the same time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HttpBothMetrics {
    /// Bytes in both directions over the time from the first SYN to the last byte of the slower one.
    pub goodput_bytes_per_s: Vec<f64>,
    /// Median of the rounds.
    pub goodput_bytes_per_s_p50: f64,
    /// The download, from its own SYN to its last byte.
    pub download_goodput_bytes_per_s: Vec<f64>,
    /// The upload, from its own SYN to its last byte.
    pub upload_goodput_bytes_per_s: Vec<f64>,
    /// CRC-32 (IEEE) of the bodies as received: download, upload, next round's download, ...
    pub crc32: Vec<u32>,
    /// Expected values.
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
}

impl Describe for HttpBoth {
    fn detail(&self) -> String {
        format!("both {}", format::bytes(self.params.bytes))
    }

    fn one_line(&self) -> String {
        format!(
            "both {:<6} median {} in both directions together, {} of the frames lost",
            format::bytes(self.params.bytes),
            format::rate(self.metrics.goodput_bytes_per_s_p50),
            format::percent(self.metrics.frame_loss_rate),
        )
    }

    fn failures(&self) -> Vec<String> {
        super::describe::crc32_mismatch(&self.metrics.crc32, &self.metrics.crc32_expected)
    }

    fn row(&self) -> Option<ReportRow> {
        let metrics = &self.metrics;
        let median =
            |rates: &[f64]| format::rate(stats::percentile_f64(rates, 50.0).unwrap_or(0.0));
        let words = format!(
            "{} × {} in each direction: {} together; download {}, upload {}; {} of the peer's frames lost",
            self.params.requests,
            format::bytes(self.params.bytes),
            format::rate(metrics.goodput_bytes_per_s_p50),
            median(&metrics.download_goodput_bytes_per_s),
            median(&metrics.upload_goodput_bytes_per_s),
            format::percent(metrics.frame_loss_rate),
        );
        Some(ReportRow::new(
            "download and upload",
            words,
            self.failures().is_empty(),
        ))
    }
}
