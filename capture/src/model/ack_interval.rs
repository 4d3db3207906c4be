//! The interval that a narrow way back sets between acknowledgments.
//!
//! A link that is full of data passes acknowledgments at the distance of the octets that they acknowledge: those for two
//! segments are twice as far apart as those for one. A link that is full of acknowledgments passes each at the same
//! distance, whatever it acknowledges (RFC 3449 section 3.1).
//!
//! Near the receiver, the segments that one acknowledgment releases arrive together, and those of the next one follow at the
//! same interval, however many they are.

use super::round_trip::percentile;
use super::view::{Acknowledgment, DirectionView, SACK_OCTETS};

/// Equal intervals between acknowledgments of different numbers of segments, outside of recoveries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AckInterval {
    /// Median interval.
    pub ns: u64,
    /// Share of the time that passes in such intervals.
    pub share_of_time: f64,
    /// Intervals after few segments, and after at least twice as many.
    pub counts: [usize; 2],
}

/// Shorter intervals are those of hosts.
const MIN_NS: u64 = 200_000;
/// Intervals within this factor are equal: clocks and hosts jitter. Those for twice as many octets differ by a factor of 2.
const WIDTH: f64 = 1.25;
/// Fewer intervals after one number of segments show nothing.
const MIN_COUNT: usize = 8;
/// Each number of segments has at least this share of the equal intervals: on a path full of data, too, a few come after
/// more or fewer segments than all others.
const MIN_PART: f64 = 0.05;
/// An interval is set by the way back if at least this share of the time passes in such intervals.
const MIN_SHARE: f64 = 0.5;
/// An interval is typical for a number of segments if at least this share of theirs has it.
const MIN_TYPICAL: f64 = 0.5;

impl AckInterval {
    /// The interval of the acknowledgments. `None` if intervals are not equal, or if all acknowledge as much.
    /// A receiver that `is_selective` repeats an acknowledgment without a report for nothing.
    pub(super) fn of(view: &DirectionView, is_selective: bool) -> Option<Self> {
        interval(&acknowledged(view, is_selective), |few| (2 * few).max(1))
    }

    /// The interval of segments that arrive together, by their number. `None` if a sender that sets its own pace in octets, or
    /// a link, accounts for it: then two segments are followed by twice the interval of one.
    pub fn of_arrivals(view: &DirectionView) -> Option<Self> {
        let steps = arrived(view)?;
        let segments: u64 = steps.iter().map(|(segments, _)| segments).sum();
        let is_released = segments <= MOST_RELEASED * steps.len() as u64;
        // A window that grows adds one segment to two.
        interval(&steps, |few| few + 1).filter(|_| is_released)
    }
}

/// A delayed acknowledgment is for two segments (RFC 9293 section 3.8.6.3) and releases one more while the window grows. More
/// are the flight of a round trip, which takes as long whatever its size.
const MOST_RELEASED: u64 = 3;
/// Segments closer together arrive at once.
const TOGETHER_NS: u64 = 400_000;

/// Numbers of segments that arrive together, each with the time until the next ones.
fn arrived(view: &DirectionView) -> Option<Vec<Step>> {
    let sent = view.sent.iter().filter(|it| it.len > 0);
    let times: Vec<u64> = sent.map(|it| it.time_ns).collect();
    let gaps = times.windows(2).map(|pair| pair[1] - pair[0]);
    let together_ns = TOGETHER_NS.max(percentile(gaps.collect(), 90)? / 4);
    let (mut steps, mut segments, mut since_ns) = (Vec::new(), 1, *times.first()?);
    for pair in times.windows(2) {
        if pair[1] - pair[0] > together_ns {
            steps.push((segments, pair[1] - since_ns));
            (segments, since_ns) = (1, pair[1]);
        } else {
            segments += 1;
        }
    }
    Some(steps)
}

/// Segments of a step, and the time since the step before.
type Step = (u64, u64);

/// Segments that each acknowledgment covers; 0 for one that is repeated for nothing. During a recovery, one covers all that arrived
/// behind a lost segment.
fn acknowledged(view: &DirectionView, is_selective: bool) -> Vec<Step> {
    let least = view.least_options_len().unwrap_or(0);
    let is_report = |ack: &Acknowledgment| !is_selective || ack.options_len >= least + SACK_OCTETS;
    let full = u64::from(view.full_segment()).max(1);
    let mut sent = view.sent.iter().peekable();
    // Highest octet sent, and that until which the last recovery lasts.
    let (mut highest, mut recovered) = (0, 0);
    let mut is_duplicate = false;
    let mut steps = Vec::new();
    for pair in view.acks.windows(2) {
        while let Some(it) = sent.next_if(|it| it.number < pair[1].number) {
            if it.is_retransmission() {
                recovered = highest;
            }
            highest = highest.max(it.end);
        }
        let segments = (pair[1].ack.saturating_sub(pair[0].ack) + full / 2) / full;
        let is_needless = segments == 0 && pair[1].is_bare && !is_report(&pair[1]);
        if pair[0].ack >= recovered && !is_duplicate {
            steps.push((segments, pair[1].time_ns - pair[0].time_ns));
        }
        is_duplicate = segments == 0 && !is_needless;
    }
    steps
}

fn interval(steps: &[Step], least_more: fn(u64) -> u64) -> Option<AckInterval> {
    let total_ns: u64 = steps.iter().map(|(_, ns)| ns).sum();
    let mut sorted: Vec<u64> = steps.iter().map(|(_, ns)| *ns).collect();
    sorted.retain(|ns| *ns >= MIN_NS);
    sorted.sort_unstable();
    let mut end = 0;
    let mut best: &[u64] = &[];
    for start in 0..sorted.len() {
        while end < sorted.len() && sorted[end] as f64 <= sorted[start] as f64 * WIDTH {
            end += 1;
        }
        if end - start > best.len() {
            best = &sorted[start..end];
        }
    }
    let (least, most) = (*best.first()?, *best.last()?);
    let is_equal = |ns: u64| (least..=most).contains(&ns);
    // Those after this many segments, and those of them that are equal.
    let count = |segments: &dyn Fn(u64) -> bool| {
        let of = steps.iter().filter(|(after, _)| segments(*after));
        let all = of.clone().count();
        (all, of.filter(|(_, ns)| is_equal(*ns)).count())
    };
    let is_typical = |(all, equal): (usize, usize)| {
        equal >= MIN_COUNT && equal as f64 >= MIN_TYPICAL * all as f64
    };
    let few = (0..=2).find(|few| is_typical(count(&|it| it == *few)))?;
    let (fewer, more) = (count(&|it| it == few), count(&|it| it >= least_more(few)));
    let ns: u64 = best.iter().sum();
    let share_of_time = ns as f64 / total_ns.max(1) as f64;
    let is_mixed = fewer.1.min(more.1) as f64 >= MIN_PART * (fewer.1 + more.1) as f64;
    (is_typical(more) && is_mixed && share_of_time >= MIN_SHARE).then(|| AckInterval {
        ns: best[best.len() / 2],
        share_of_time,
        counts: [fewer.1, more.1],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::view::Transmission;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_way_back_full_of_acknowledgments_passes_each_in_the_same_time() {
        // Delayed acknowledgments cover two segments, those at the beginning one.
        let steps: Vec<Step> = (0..200)
            .map(|at| (if at % 4 == 0 { 1 } else { 2 }, 8 * MS + at % 3 * 20_000))
            .collect();
        let interval = interval(&steps, |few| 2 * few).expect("an interval");
        assert!(interval.ns.abs_diff(8 * MS) < MS / 10);
        assert_eq!(interval.counts, [50, 150]);
    }

    #[test]
    fn a_way_full_of_data_passes_acknowledgments_at_the_distance_of_their_octets() {
        let steps: Vec<Step> = (0..200)
            .map(|at| {
                if at % 4 == 0 {
                    (1, 4 * MS)
                } else {
                    (2, 8 * MS)
                }
            })
            .collect();
        assert_eq!(interval(&steps, |few| 2 * few), None);
    }

    #[test]
    fn a_few_acknowledgments_of_other_size_do_not_decide() {
        let steps: Vec<Step> = (0..1_000)
            .map(|at| (if at % 50 == 0 { 1 } else { 2 }, 3 * MS))
            .collect();
        assert_eq!(interval(&steps, |few| 2 * few), None);
    }

    #[test]
    fn acknowledgments_that_all_cover_as_much_do_not_decide() {
        assert_eq!(interval(&vec![(2, 8 * MS); 200], |few| 2 * few), None);
    }

    /// Segments that arrive together, `count` of them for each step, each step `interval_ns` of its count after the one before.
    fn arrivals(count: impl Fn(u64) -> u64, interval_ns: impl Fn(u64) -> u64) -> DirectionView {
        let mut view = DirectionView::default();
        let mut now_ns = 0;
        for at in 0..200 {
            for segment in 0..count(at) {
                let place = view.sent.len() as u64;
                let sent_ns = now_ns + segment * 10_000;
                view.sent.push(Transmission::full(place, sent_ns));
            }
            now_ns += interval_ns(count(at));
        }
        view
    }

    #[test]
    fn segments_that_a_narrow_way_back_releases_arrive_at_one_interval() {
        let one_or_two = |at: u64| 1 + u64::from(at.is_multiple_of(5));
        let of = |view: &DirectionView| AckInterval::of_arrivals(view);
        let interval = of(&arrivals(one_or_two, |_| 10 * MS)).expect("an interval");
        assert!(interval.ns.abs_diff(10 * MS) < MS / 10);
        assert!(of(&arrivals(|at| 1 + one_or_two(at), |_| 10 * MS)).is_some());
        let in_octets = arrivals(one_or_two, |segments| segments * 10 * MS);
        assert_eq!(of(&in_octets), None, "a pace in octets");
        assert_eq!(of(&arrivals(|_| 2, |_| 10 * MS)), None, "always as many");
        let flights = arrivals(|at| 2 + at % 4, |_| 10 * MS);
        assert_eq!(of(&flights), None, "flights of a round trip");
    }
}
