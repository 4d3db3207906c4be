//! The result of the downloads of one size: `http_get`.

use linerate_capture::wire::{self, Side};
use linerate_explain::cause;
use linerate_results::record::{HttpGet, HttpGetMetrics, HttpGetSamples, Measurement};

use super::super::{MeasureError, ledger};
use super::TransferKind;
use super::batch::Batch;
use super::bodies::Bodies;

pub(super) static KIND: TransferKind = TransferKind {
    program: "http_get",
    noun: "downloads",
    complete: |round| round.down.is_some(),
    measure: |batch| measure(batch).map(Measurement::HttpGet),
};

/// The result.
fn measure(mut batch: Batch) -> Result<HttpGet, MeasureError> {
    let bodies = Bodies::of(&batch, Side::Peer)?;
    let figures = wire::tcp_stats(&batch.frames, Side::Peer);
    let (post_processing_p50, post_processing_max) = batch.post_processing_ns();
    let ledger = ledger(&batch.frames, std::mem::take(&mut batch.counters));
    let metrics = HttpGetMetrics {
        goodput_bytes_per_s_p50: bodies.goodput_bytes_per_s_p50,
        gap_to_line_rate: bodies.gap_to_line_rate,
        goodput_bytes_per_s: bodies.goodput_bytes_per_s,
        device_goodput_bytes_per_s: bodies.device_goodput_bytes_per_s,
        crc32: bodies.crc32,
        crc32_expected: bodies.crc32_expected,
        sent_frames: ledger.sent_frames,
        received_frames: ledger.delivered_frames,
        frame_loss_rate: ledger.loss_rate(),
        device_sent_frames: batch.device_frames().0,
        isr_post_processing_ns_p50: post_processing_p50.unwrap_or(0),
        isr_post_processing_ns_max: post_processing_max.unwrap_or(0),
        inter_packet_gap_ns_min: wire::shortest_gap_ns(&batch.frames, Side::Peer).unwrap_or(0),
        device_inter_packet_gap_ns_min: wire::shortest_gap_ns(&batch.frames, Side::Device)
            .unwrap_or(0),
        retransmitted_segments: figures.retransmitted_segments,
        segment_to_ack_ns_p50: figures.segment_to_ack_ns_p50().unwrap_or(0),
        time_share: bodies.time_share,
        flash_wait_share: batch.flash_wait_share,
    };
    let mut get = HttpGet {
        params: batch.params(),
        metrics,
        limits: batch.limits(Side::Peer),
        samples: HttpGetSamples {
            requests: bodies.requests,
            retransmission_delays_ns: figures.retransmission_delays_ns,
            scope: wire::scope(&batch.frames, &batch.pulses, &batch.edges),
        },
        ledger,
        findings: Vec::new(),
    };
    get.findings = cause::explain_http_get(&get);
    Ok(get)
}
