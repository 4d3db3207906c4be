//! Dialogues by UDP that wait for a timer: a datagram or its answer was lost, and nothing else shows that.

use crate::cause::scored::{PathFinding, evidence};
use linerate_capture::traffic::Timeouts;
use linerate_results::format;
use linerate_results::record::{Cause, Finding};
use linerate_results::stats;

/// Less in all is not noticed as slow (ITU-T G.1010: a transaction below 2 s).
const MIN_WAITED_NS: u64 = 2_000_000_000;
/// For a smaller share of the dialogue's time, it is no reason why it is slow.
const MIN_SHARE: f64 = 0.2;
/// Fewer may be those of the opening and the end of a dialogue, which nobody waits for.
const MIN_WAITS: u64 = 8;
/// Fewer silences that are twice as long as the one before may be chance, and so may a row without two of them.
const MIN_DOUBLINGS: u64 = 3;
const MIN_RUN: u64 = 2;

/// The dialogues that wait for timers.
pub(super) fn timeouts(all: &[Timeouts], duration_ns: u64) -> Vec<PathFinding> {
    let found = all.iter().filter_map(|it| finding(it, duration_ns));
    found.collect()
}

fn finding(it: &Timeouts, duration_ns: u64) -> Option<PathFinding> {
    let backs_off = it.timer.doublings >= MIN_DOUBLINGS && it.timer.longest_run >= MIN_RUN;
    let share = stats::ratio(it.timer.waited_ns as f64, it.duration_ns as f64);
    // Without rows of them, silences that are twice as long as the one before are those of a clock, too.
    let shown = if backs_off {
        it.timer.waits
    } else {
        it.timer.repeated
    };
    if shown < MIN_WAITS || it.timer.waited_ns < MIN_WAITED_NS || share < MIN_SHARE {
        return None;
    }
    let [first, second] = it.ends.map(|(address, _)| address);
    let shows = match (it.timer.repeated, backs_off) {
        (0, _) => "each wait in a row takes twice as long as the one before, as those of retransmission timers do".to_owned(),
        (repeated, _) => format!(
            "{} the same datagram came again then",
            format::times(repeated)
        ),
    };
    Some(PathFinding {
        alternative_to: None,
        sender: Some(first.to_string()),
        receiver: Some(second.to_string()),
        share_of_time: stats::ratio(it.timer.waited_ns as f64, duration_ns as f64).min(1.0),
        finding: Finding {
            cause: Cause::RetransmissionStalls,
            confidence: 0.75,
            summary: format!(
                "The datagrams between {first} port {} and {second} port {} stop {} until a timer of one of them runs out, for {} at \
                 most: {shows}. These waits take {}, {} of the dialogue's time.",
                it.ends[0].1,
                it.ends[1].1,
                format::times(it.timer.waits),
                format::time(it.timer.longest_ns),
                format::time(it.timer.waited_ns),
                format::percent(share.min(1.0)),
            ),
            evidence: evidence([
                ("timer_waits", it.timer.waits as f64),
                ("repeated_datagrams", it.timer.repeated as f64),
                ("doubled_waits", it.timer.doublings as f64),
                ("waited_ns", it.timer.waited_ns as f64),
                ("waited_share", share.min(1.0)),
                ("longest_ns", it.timer.longest_ns as f64),
                ("dialogue_ns", it.duration_ns as f64),
                ("first_packet", it.timer.first_packet as f64),
                ("last_packet", it.timer.last_packet as f64),
            ]),
            advice: "Find what loses the datagrams: errors of the adapters (ethtool -S), a radio, a socket's receive buffer (netstat -su), \
                     or a program that does not answer. A protocol whose timer follows the round trip (RFC 6298) waits less for each."
                .to_owned(),
        },
    })
}
