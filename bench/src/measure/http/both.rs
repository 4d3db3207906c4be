//! The result of simultaneous downloads and uploads of one size: `http_both`.

use linerate_capture::wire::Side;
use linerate_ether::pattern;
use linerate_results::record::{HttpBoth, HttpBothMetrics, Measurement, TransferSamples};
use linerate_results::stats;

use super::super::{MeasureError, ledger};
use super::TransferKind;
use super::batch::Batch;
use super::bodies::goodput_bytes_per_s;

pub(super) static KIND: TransferKind = TransferKind {
    program: "http_both",
    noun: "rounds",
    complete: |round| round.down.is_some() && round.up.is_some(),
    measure: |batch| measure(batch).map(Measurement::HttpBoth),
};

/// The result.
fn measure(mut batch: Batch) -> Result<HttpBoth, MeasureError> {
    let down = batch.requests(Side::Peer)?;
    let up = batch.requests(Side::Device)?;
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
