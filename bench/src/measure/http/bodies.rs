//! The bodies sent in one direction, and the figures common to downloads and uploads.

use linerate_capture::wire::{self, Side};
use linerate_ether::pattern;
use linerate_results::record::{GapToLineRate, Request, TimeShare};
use linerate_results::stats;

use super::super::MeasureError;
use super::batch::{Batch, Body};

/// Figures of the bodies of one sender; each list has one entry per request.
pub struct Bodies {
    pub requests: Vec<Request>,
    pub goodput_bytes_per_s: Vec<f64>,
    pub goodput_bytes_per_s_p50: f64,
    /// By the device's own clock.
    pub device_goodput_bytes_per_s: Vec<f64>,
    /// As received, and as expected.
    pub crc32: Vec<u32>,
    pub crc32_expected: Vec<u32>,
    pub gap_to_line_rate: Option<GapToLineRate>,
    pub time_share: TimeShare,
}

impl Bodies {
    /// The bodies that `sender` sent in `batch`.
    pub fn of(batch: &Batch, sender: Side) -> Result<Self, MeasureError> {
        let requests = batch.requests(sender)?;
        let sent = || batch.rounds.iter().filter_map(|round| round.body(sender));
        let goodput: Vec<f64> = requests
            .iter()
            .zip(sent())
            .map(|(request, body)| goodput_bytes_per_s(body.bytes, request))
            .collect();
        let crc32: Vec<u32> = sent().map(|body| body.crc32).collect();
        let spans = requests.iter().map(|one| (one.start_ns, one.end_ns));
        Ok(Self {
            goodput_bytes_per_s_p50: stats::percentile_f64(&goodput, 50.0).unwrap_or(0.0),
            gap_to_line_rate: batch.gap(&requests, &goodput, sender),
            goodput_bytes_per_s: goodput,
            device_goodput_bytes_per_s: sent().map(Body::device_goodput_bytes_per_s).collect(),
            crc32_expected: vec![pattern::crc32(batch.bytes); crc32.len()],
            crc32,
            time_share: wire::time_share(&batch.frames, spans),
            requests,
        })
    }
}

/// Bytes a second of `bytes` in the time of `request`.
pub fn goodput_bytes_per_s(bytes: u64, request: &Request) -> f64 {
    bytes as f64 * 1e9 / (request.end_ns - request.start_ns).max(1) as f64
}
