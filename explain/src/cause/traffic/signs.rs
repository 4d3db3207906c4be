//! Signs that several rules go by: what says why a path waits says that another does not.

use super::FEWEST_LOSSES;
use linerate_capture::traffic::{Path, Percentiles};
use linerate_results::stats;

/// Fewer of a kind tell nothing.
const FEWEST: u64 = 10;

/// What a path shows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Signs {
    /// Segments wait in a queue between the ends.
    pub(super) queued: bool,
    /// The sender sends this often, a segment or two.
    pub(super) paced_ns: Option<u64>,
    /// Full segments, one at a time.
    pub(super) one_in_flight: bool,
    /// Small segments, one behind the other.
    pub(super) small: bool,
    /// Small messages to and fro, with nothing to send between: a dialogue.
    pub(super) talks: bool,
    /// Nagle's algorithm and delayed acknowledgments wait for each other.
    pub(super) held_back: bool,
    /// Segments overtake each other; what is sent again is a consequence.
    pub(super) reordered: bool,
    /// Segments were lost.
    pub(super) lossy: bool,
}

impl Signs {
    pub(super) fn of(path: &Path) -> Self {
        let mean = stats::ratio(path.unique_bytes as f64, path.segments as f64);
        let mss = f64::from(path.mss);
        let full = mean >= 0.6 * mss;
        let alone = path.max_in_flight <= path.mss && path.segments >= FEWEST;
        let held_back = path.delayed_acks >= FEWEST_LOSSES;
        let one_in_flight = alone && full && path.max_window >= 3 * path.mss;
        let talks = path.max_in_flight <= path.mss / 2;
        Self {
            queued: queued(path),
            paced_ns: paced(path),
            one_in_flight,
            small: mean < mss / 4.0
                && path.small_while_unacked * 2 >= path.segments
                && path.segments >= 5 * FEWEST,
            talks,
            held_back,
            reordered: path.out_of_order >= FEWEST && path.out_of_order >= 2 * path.lost(),
            lossy: path.lost() >= FEWEST_LOSSES,
        }
    }
}

/// Round trips are several times the shortest with several segments under way.
fn queued(path: &Path) -> bool {
    let (Some(least_ns), Some(rtt_ns)) = (path.min_rtt_ns, path.rtt_ns) else {
        return false;
    };
    rtt_ns >= 2 * least_ns && rtt_ns >= least_ns + 2_000_000 && path.max_in_flight >= 4 * path.mss
}

/// It sends one segment or two at regular times, with nothing outstanding before.
fn paced(path: &Path) -> Option<u64> {
    let gaps = path.send_gaps?;
    let bursts = path.sent_by_position[0].max(1);
    let full = path.unique_bytes >= u64::from(path.mss) / 2 * path.segments;
    (gaps.count >= 2 * FEWEST && is_regular(&gaps) && path.segments <= 5 * bursts / 2 && full)
        .then_some(gaps.p50)
}

fn is_regular(times: &Percentiles) -> bool {
    times.p50 - times.p10 <= times.p50 / 5 && times.p90 - times.p50 <= times.p50 / 5
}
