//! Symptoms that several rules use: one that explains a wait for one rule excludes the others.

use super::MIN_LOSSES;
use linerate_capture::traffic::{Path, Percentiles};
use linerate_results::stats;

/// Fewer are not significant.
const MIN_COUNT: u64 = 10;

/// Symptoms of a path.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PathSymptoms {
    /// Segments wait in a queue between the ends.
    pub(super) queued: bool,
    /// The sender sends one or two segments at this interval.
    pub(super) pacing_ns: Option<u64>,
    /// Full segments, one at a time.
    pub(super) one_in_flight: bool,
    /// Small segments, back to back.
    pub(super) small_segments: bool,
    /// Small requests and responses, with nothing to send in between.
    pub(super) request_response: bool,
    /// Nagle's algorithm and delayed acknowledgments wait for each other.
    pub(super) nagle_delayed_ack: bool,
    /// Segments arrive out of order; retransmissions are a consequence.
    pub(super) reordered: bool,
    /// Segments were lost.
    pub(super) lossy: bool,
}

impl PathSymptoms {
    pub(super) fn of(path: &Path) -> Self {
        let mean = stats::ratio(path.unique_bytes as f64, path.segments as f64);
        let mss = f64::from(path.mss);
        let full = mean >= 0.6 * mss;
        let alone = path.max_in_flight <= path.mss && path.segments >= MIN_COUNT;
        let nagle_delayed_ack = path.delayed_acks >= MIN_LOSSES;
        let one_in_flight = alone && full && path.max_window >= 3 * path.mss;
        let request_response = path.max_in_flight <= path.mss / 2;
        Self {
            queued: is_queued(path),
            pacing_ns: pacing_ns(path),
            one_in_flight,
            small_segments: mean < mss / 4.0
                && path.small_while_unacked * 2 >= path.segments
                && path.segments >= 5 * MIN_COUNT,
            request_response,
            nagle_delayed_ack,
            reordered: path.out_of_order >= MIN_COUNT && path.out_of_order >= 2 * path.lost(),
            lossy: path.lost() >= MIN_LOSSES,
        }
    }
}

/// True if round trips are several times the shortest one while several segments are in flight.
fn is_queued(path: &Path) -> bool {
    let (Some(least_ns), Some(rtt_ns)) = (path.min_rtt_ns, path.rtt_ns) else {
        return false;
    };
    rtt_ns >= 2 * least_ns && rtt_ns >= least_ns + 2_000_000 && path.max_in_flight >= 4 * path.mss
}

/// The interval at which one or two segments are sent regularly, with nothing outstanding before.
fn pacing_ns(path: &Path) -> Option<u64> {
    let gaps = path.send_gaps?;
    let bursts = path.sent_by_position[0].max(1);
    let full = path.unique_bytes >= u64::from(path.mss) / 2 * path.segments;
    (gaps.count >= 2 * MIN_COUNT && is_regular(&gaps) && path.segments <= 5 * bursts / 2 && full)
        .then_some(gaps.p50)
}

fn is_regular(times: &Percentiles) -> bool {
    times.p50 - times.p10 <= times.p50 / 5 && times.p90 - times.p50 <= times.p50 / 5
}
