//! The `http_both` measurement.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{HttpGetLimits, HttpGetParams, Ledger, Row, Told, TransferSamples};
use crate::format;
use crate::stats;

/// A download and an upload of one size at the same time, several times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HttpBoth {
    /// What was asked for: `bytes` each way.
    pub params: HttpGetParams,
    /// What came out. Arrays have one entry a round.
    pub metrics: HttpBothMetrics,
    /// What the wire allows, one way alone.
    pub limits: HttpGetLimits,
    /// Where each frame of the peer went.
    pub ledger: Ledger,
    /// Rounds, from the first SYN to the last byte of the slower one.
    pub samples: TransferSamples,
}

/// Metrics of a download and an upload at the same time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HttpBothMetrics {
    /// Bytes both ways over the time from the first SYN to the last byte of the slower one.
    pub goodput_bytes_per_s: Vec<f64>,
    /// Median of the rounds.
    pub goodput_bytes_per_s_p50: f64,
    /// The download, from its own SYN to its last byte.
    pub download_goodput_bytes_per_s: Vec<f64>,
    /// The upload, from its own SYN to its last byte.
    pub upload_goodput_bytes_per_s: Vec<f64>,
    /// CRC-32 (IEEE) of the bodies as received: download, upload, next round's download, ...
    pub crc32: Vec<u32>,
    /// What they should be.
    pub crc32_expected: Vec<u32>,
    /// Frames that the peer sent to the device.
    pub sent_frames: u64,
    /// Frames that the device's stack accepted.
    pub received_frames: u64,
    /// Part of the peer's frames that did not arrive: repeated attempts, and frames under way at the
    /// end of the run, apart.
    pub frame_loss_rate: f64,
    /// Frames that the device put on the wire.
    pub device_sent_frames: u64,
    /// Of these, those that the peer's MAC discarded, collisions apart.
    pub device_lost_frames: u64,
    /// Transmissions of the device that collided.
    pub device_collisions: u64,
}

impl Told for HttpBoth {
    fn detail(&self) -> String {
        format!("both {}", format::bytes(self.params.bytes))
    }

    fn line(&self) -> String {
        format!(
            "both {:<6} median {} both ways together, {} of the frames lost",
            format::bytes(self.params.bytes),
            format::rate(self.metrics.goodput_bytes_per_s_p50),
            format::percent(self.metrics.frame_loss_rate),
        )
    }

    fn failures(&self) -> Vec<String> {
        super::told::crc32_differs(&self.metrics.crc32, &self.metrics.crc32_expected)
    }

    fn row(&self) -> Option<Row> {
        let metrics = &self.metrics;
        let median =
            |rates: &[f64]| format::rate(stats::percentile_f64(rates, 50.0).unwrap_or(0.0));
        let words = format!(
            "{} × {} each way: {} together; download {}, upload {}; {} of the peer's frames lost",
            self.params.requests,
            format::bytes(self.params.bytes),
            format::rate(metrics.goodput_bytes_per_s_p50),
            median(&metrics.download_goodput_bytes_per_s),
            median(&metrics.upload_goodput_bytes_per_s),
            format::percent(metrics.frame_loss_rate),
        );
        Some(Row::new("both at once", words, self.failures().is_empty()))
    }
}
