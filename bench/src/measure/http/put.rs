//! The result of the uploads of one size: `http_put`.

use linerate_capture::wire::{self, Side};
use linerate_explain::cause;
use linerate_results::record::{HttpPut, HttpPutMetrics, Measurement, TransferSamples};

use super::super::{MeasureError, ledger};
use super::TransferKind;
use super::batch::Batch;
use super::bodies::Bodies;

pub(super) static KIND: TransferKind = TransferKind {
    program: "http_put",
    noun: "uploads",
    complete: |round| round.up.is_some(),
    measure: |batch| measure(batch).map(Measurement::HttpPut),
};

/// The result.
fn measure(mut batch: Batch) -> Result<HttpPut, MeasureError> {
    let bodies = Bodies::of(&batch, Side::Device)?;
    let (post_processing_p50, post_processing_max) = batch.post_processing_ns();
    let (device_sent, device_lost, collisions) = batch.device_frames();
    let retransmissions = wire::tcp_stats(&batch.frames, Side::Device);
    let ledger = ledger(&batch.frames, std::mem::take(&mut batch.counters));
    let metrics = HttpPutMetrics {
        goodput_bytes_per_s_p50: bodies.goodput_bytes_per_s_p50,
        gap_to_line_rate: bodies.gap_to_line_rate,
        goodput_bytes_per_s: bodies.goodput_bytes_per_s,
        device_goodput_bytes_per_s: bodies.device_goodput_bytes_per_s,
        crc32: bodies.crc32,
        crc32_expected: bodies.crc32_expected,
        sent_frames: ledger.sent_frames,
        received_frames: ledger.delivered_frames,
        frame_loss_rate: ledger.loss_rate(),
        device_sent_frames: device_sent,
        device_lost_frames: device_lost,
        device_collisions: collisions,
        retransmitted_segments: retransmissions.retransmitted_segments,
        isr_post_processing_ns_p50: post_processing_p50,
        isr_post_processing_ns_max: post_processing_max,
        inter_packet_gap_ns_min: wire::shortest_gap_ns(&batch.frames, Side::Device).unwrap_or(0),
        time_share: bodies.time_share,
    };
    let mut put = HttpPut {
        params: batch.params(),
        metrics,
        limits: batch.limits(Side::Device),
        samples: TransferSamples {
            requests: bodies.requests,
        },
        ledger,
        findings: Vec::new(),
    };
    put.findings = cause::explain_http_put(&put);
    Ok(put)
}
