//! The `http_put` and `http_both` measurements.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Finding, GapToLineRate, HttpGetLimits, HttpGetParams, Ledger, Request, TimeShare};

/// Uploads of one size by the device, one after the other, each over a TCP connection of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HttpPut {
    /// What was asked for.
    pub params: HttpGetParams,
    /// What came out. Arrays have one entry a request.
    pub metrics: HttpPutMetrics,
    /// What the wire allows.
    pub limits: HttpGetLimits,
    /// Where each frame of the peer went.
    pub ledger: Ledger,
    /// What the metrics were made from.
    pub samples: TransferSamples,
    /// Why it is not at line rate, the weightiest first.
    pub findings: Vec<Finding>,
}

/// Metrics of an upload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HttpPutMetrics {
    /// Body bytes over the time from the first SYN on the wire until the peer's program had
    /// consumed the last byte, on the virtual clock; one entry a request.
    pub goodput_bytes_per_s: Vec<f64>,
    /// Median of the requests.
    pub goodput_bytes_per_s_p50: f64,
    /// The same on the device's own clock, from its connect call to the peer's answer.
    pub device_goodput_bytes_per_s: Vec<f64>,
    /// CRC-32 (IEEE) of the body as the peer received it; one entry a request.
    pub crc32: Vec<u32>,
    /// CRC-32 of the body that should have been sent.
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
    /// Data segments that the device sent again.
    pub retransmitted_segments: u64,
    /// From the end of a full frame to the end of the receive interrupt, timed on the debug pin:
    /// median. Left out where the peer sent no full frame, as it does not when all the data is the
    /// device's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isr_post_processing_ns_p50: Option<u64>,
    /// The same: longest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isr_post_processing_ns_max: Option<u64>,
    /// Silence between two frames that the device sent back to back: shortest.
    pub inter_packet_gap_ns_min: u64,
    /// Where the time of the requests went.
    pub time_share: TimeShare,
    /// What the median request took beyond the line's time for its body, by cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap_to_line_rate: Option<GapToLineRate>,
}

/// Samples of transfers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TransferSamples {
    /// One entry a request.
    pub requests: Vec<Request>,
}

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
