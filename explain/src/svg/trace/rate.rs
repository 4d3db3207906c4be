//! Payload per second.

use std::fmt::Write as _;

use super::{Panel, Picture, path};
use linerate_results::format;
use linerate_results::stats;

const HEIGHT: f64 = 110.0;
/// Maximum number of bins.
const MAX_BINS: u64 = 120;

/// The panel.
pub(super) fn panel(picture: &Picture<'_>) -> Panel {
    let trace = picture.trace;
    let columns = picture.duration_ns / trace.width_ns() + 1;
    // Bins of whole columns: all are equally long.
    let each = columns.div_ceil(MAX_BINS);
    let width_ns = each * trace.width_ns();
    let mut bins = vec![(0_u64, 0_u64); columns.div_ceil(each) as usize];
    for column in trace.columns() {
        if let Some((new, again)) = bins.get_mut((column.index / each) as usize) {
            *new += column.new_bytes;
            *again += column.retransmitted_bytes;
        }
    }
    let rate = |bytes: u64| stats::ratio(bytes as f64 * 1e9, width_ns as f64);
    let most = bins.iter().map(|(new, again)| rate(new + again));
    let top = most.fold(picture.bytes_per_s, f64::max).max(1.0);
    let y = |rate: f64| HEIGHT - rate / top * HEIGHT;

    let (mut all, mut new) = (String::new(), String::new());
    for (at, (bytes, again)) in bins.iter().enumerate() {
        let from = picture.x(at as u64 * width_ns);
        let to = picture.x((at as u64 + 1) * width_ns);
        for (data, bytes) in [(&mut all, *bytes + *again), (&mut new, *bytes)] {
            if bytes > 0 {
                let _ = write!(
                    data,
                    "M{from} {HEIGHT}V{:.1}H{to}V{HEIGHT}z",
                    y(rate(bytes))
                );
            }
        }
    }
    let bins = format!("in bins of {}", format::time(width_ns));
    let mut curves = path("k-again-rate", &format!("retransmitted, {bins}"), &all);
    curves += &path("k-rate", &format!("sent for the first time, {bins}"), &new);
    let average = y(picture.bytes_per_s);
    curves += &path(
        "k-average",
        "average",
        &format!("M0 {average:.1}H{}", super::ALONG),
    );
    Panel {
        name: "payload per second",
        figures: format!("average {}", format::rate(picture.bytes_per_s)),
        curves,
        height: HEIGHT,
        top: (top * 8.0) as u64,
        format_value: |bits_per_s| format::bits(bits_per_s as f64),
    }
}
