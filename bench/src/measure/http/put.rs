//! From the uploads of one size, or downloads and uploads at once, to their result.

use linerate_ether::pattern;
use linerate_explain::record::{
    HttpBoth, HttpBothMetrics, HttpPut, HttpPutMetrics, TransferSamples,
};
use linerate_explain::wire::{self, Frame, Side};
use linerate_explain::{cause, stats};

use super::super::{MeasureError, ledger};
use super::batch::{Batch, Body, goodput_bytes_per_s, spans};

/// The result of uploads.
pub fn measure(mut batch: Batch<'_>) -> Result<HttpPut, MeasureError> {
    let requests = batch.requests(|round| round.up.as_ref())?;
    let (post_processing_p50, post_processing_max) = batch.post_processing_ns();
    let (device_sent, device_lost, collisions) = batch.device_frames();
    let ledger = ledger(&batch.frames, std::mem::take(&mut batch.counters));
    let bodies: Vec<&Body> = batch
        .rounds
        .iter()
        .filter_map(|round| round.up.as_ref())
        .collect();
    let goodput: Vec<f64> = requests
        .iter()
        .zip(&bodies)
        .map(|(request, body)| goodput_bytes_per_s(body.bytes, request))
        .collect();
    let metrics = HttpPutMetrics {
        goodput_bytes_per_s_p50: stats::percentile_f64(&goodput, 50.0).unwrap_or(0.0),
        gap_to_line_rate: batch.gap(&requests, &goodput, Side::Device),
        goodput_bytes_per_s: goodput,
        device_goodput_bytes_per_s: bodies
            .iter()
            .map(|body| body.device_goodput_bytes_per_s())
            .collect(),
        crc32: bodies.iter().map(|body| body.crc32).collect(),
        crc32_expected: vec![pattern::crc32(batch.bytes); bodies.len()],
        sent_frames: ledger.sent_frames,
        received_frames: ledger.delivered_frames,
        frame_loss_rate: ledger.loss_rate(),
        device_sent_frames: device_sent,
        device_lost_frames: device_lost,
        device_collisions: collisions,
        retransmitted_segments: sent_again_by_the_device(&batch.frames),
        isr_post_processing_ns_p50: post_processing_p50,
        isr_post_processing_ns_max: post_processing_max,
        inter_packet_gap_ns_min: wire::shortest_gap_ns(&batch.frames, Side::Device).unwrap_or(0),
        time_share: wire::time_share(&batch.frames, spans(&requests)),
    };
    let mut put = HttpPut {
        params: batch.params(),
        metrics,
        limits: batch.limits(Side::Device),
        samples: TransferSamples { requests },
        ledger,
        findings: Vec::new(),
    };
    put.findings = cause::of_http_put(&put);
    Ok(put)
}

/// Data segments that the device sent again: seen from the other end, the device is the peer.
fn sent_again_by_the_device(frames: &[Frame]) -> u64 {
    let other = |frame: &Frame| Frame {
        from: match frame.from {
            Side::Device => Side::Peer,
            Side::Peer => Side::Device,
        },
        packet: match &frame.packet {
            wire::Packet::Tcp(segment) => wire::Packet::Tcp(wire::Segment {
                source: segment.destination,
                destination: segment.source,
                ..*segment
            }),
            packet => packet.clone(),
        },
        ..frame.clone()
    };
    let turned: Vec<Frame> = frames.iter().map(other).collect();
    wire::tcp_figures(&turned).retransmitted_segments
}

/// The result of downloads and uploads at once.
pub fn measure_both(mut batch: Batch<'_>) -> Result<HttpBoth, MeasureError> {
    let down = batch.requests(|round| round.down.as_ref())?;
    let up = batch.requests(|round| round.up.as_ref())?;
    let (device_sent, device_lost, collisions) = batch.device_frames();
    let ledger = ledger(&batch.frames, std::mem::take(&mut batch.counters));
    let mut metrics = HttpBothMetrics {
        sent_frames: ledger.sent_frames,
        received_frames: ledger.delivered_frames,
        frame_loss_rate: ledger.loss_rate(),
        device_sent_frames: device_sent,
        device_lost_frames: device_lost,
        device_collisions: collisions,
        ..HttpBothMetrics::default()
    };
    let mut requests = Vec::new();
    for (round, (down, up)) in batch.rounds.iter().zip(down.iter().zip(&up)) {
        let bodies = [&round.down, &round.up].map(Option::as_ref);
        let [Some(get), Some(put)] = bodies else {
            continue;
        };
        let whole = batch.request(
            down.start_ns.min(up.start_ns),
            down.end_ns.max(up.end_ns),
            get.device_us.max(put.device_us),
        );
        metrics
            .goodput_bytes_per_s
            .push(goodput_bytes_per_s(get.bytes + put.bytes, &whole));
        metrics
            .download_goodput_bytes_per_s
            .push(goodput_bytes_per_s(get.bytes, down));
        metrics
            .upload_goodput_bytes_per_s
            .push(goodput_bytes_per_s(put.bytes, up));
        metrics.crc32.extend([get.crc32, put.crc32]);
        metrics
            .crc32_expected
            .extend([pattern::crc32(batch.bytes); 2]);
        requests.push(whole);
    }
    metrics.goodput_bytes_per_s_p50 =
        stats::percentile_f64(&metrics.goodput_bytes_per_s, 50.0).unwrap_or(0.0);
    Ok(HttpBoth {
        params: batch.params(),
        metrics,
        limits: batch.limits(Side::Peer),
        ledger,
        samples: TransferSamples { requests },
    })
}
