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
    /// The most segments of a step, whatever the time after them.
    pub most_segments: u64,
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
/// The same for segments that arrive: none comes a whole interval late, and then together with the next one.
const MIN_ARRIVING_PART: f64 = 0.03;
/// An interval is set by the way back if at least this share of the time passes in such intervals.
const MIN_SHARE: f64 = 0.5;
/// An interval is typical for a number of segments if at least this share of theirs has it.
const MIN_TYPICAL: f64 = 0.5;

impl AckInterval {
    /// The interval of the acknowledgments. `None` if intervals are not equal, or if all acknowledge as much.
    /// A receiver that `is_selective` repeats an acknowledgment without a report for nothing.
    pub(super) fn of(view: &DirectionView, is_selective: bool) -> Option<Self> {
        interval(
            &acknowledged(view, is_selective),
            |few| (2 * few).max(1),
            MIN_PART,
        )
    }

    /// The interval of segments that arrive together, by their number. `None` if a sender that sets its own pace in octets, or
    /// a link, accounts for it: then two segments are followed by twice the interval of one.
    pub fn of_arrivals(view: &DirectionView) -> Option<Self> {
        let steps = arrived(view)?;
        let segments: u64 = steps.iter().map(|(segments, _)| segments).sum();
        let is_released = segments <= MOST_RELEASED * steps.len() as u64;
        // A window that grows adds one segment to two.
        interval(&steps, |few| few + 1, MIN_ARRIVING_PART).filter(|_| is_released)
    }
}

/// A delayed acknowledgment is for two segments (RFC 9293 section 3.8.6.3) and releases two more in slow start (RFC 5681 section 3.1). More
/// are the flight of a round trip, which takes as long whatever its size.
const MOST_RELEASED: u64 = 4;
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

/// Octets of an acknowledgment without options on an Ethernet link, without FCS (IEEE 802.3 clause 3, RFC 791, RFC 9293).
const BARE_OCTETS: u64 = 14 + 20 + 20;

/// Segments that each acknowledgment covers, and its time on a link that is full of acknowledgments, for one with the fewest options;
/// 0 segments for one that is repeated for nothing. During a recovery, one that reports more behind a lost segment covers one
/// (RFC 5681 section 4.2), and one that advances may cover all that arrived behind it.
fn acknowledged(view: &DirectionView, is_selective: bool) -> Vec<Step> {
    let least = view.least_options_len().unwrap_or(0);
    let is_report = |ack: &Acknowledgment| ack.options_len >= least + SACK_OCTETS;
    let octets = |options_len: u8| BARE_OCTETS + u64::from(options_len);
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
        let ns = (pair[1].time_ns - pair[0].time_ns) * octets(least) / octets(pair[1].options_len);
        let segments = (pair[1].ack.saturating_sub(pair[0].ack) + full / 2) / full;
        let is_of_report = is_selective && segments == 0 && is_report(&pair[1]);
        let is_needless = is_selective && segments == 0 && pair[1].is_bare && !is_report(&pair[1]);
        if is_of_report && !pair[1].has_dsack {
            steps.push((1, ns));
        } else if pair[0].ack >= recovered && !is_duplicate {
            steps.push((segments, ns));
        }
        is_duplicate = segments == 0 && !is_needless;
    }
    steps
}

fn interval(steps: &[Step], least_more: fn(u64) -> u64, min_part: f64) -> Option<AckInterval> {
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
    // Those after this many segments, and those of them that are equal, like the one before: what a host holds back for an interval
    // comes together with the next.
    let count = |segments: &dyn Fn(u64) -> bool| {
        let of = steps.windows(2).filter(|pair| segments(pair[1].0));
        let all = of.clone().count();
        let equal = of.filter(|pair| pair.iter().all(|(_, ns)| is_equal(*ns)));
        (all, equal.count())
    };
    let is_typical = |(all, equal): (usize, usize)| {
        equal >= MIN_COUNT && equal as f64 >= MIN_TYPICAL * all as f64
    };
    let ns: u64 = best.iter().sum();
    let share_of_time = ns as f64 / total_ns.max(1) as f64;
    let counts = (0..=2).find_map(|few| {
        let (fewer, more) = (count(&|it| it == few), count(&|it| it >= least_more(few)));
        let is_mixed = fewer.1.min(more.1) as f64 >= min_part * (fewer.1 + more.1) as f64;
        (is_typical(fewer) && is_typical(more) && is_mixed).then_some([fewer.1, more.1])
    })?;
    (share_of_time >= MIN_SHARE).then(|| AckInterval {
        ns: best[best.len() / 2],
        share_of_time,
        counts,
        most_segments: steps.iter().map(|it| it.0).max().unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::view::Transmission;

    const MS: u64 = 1_000_000;

    fn of_acks(steps: &[Step]) -> Option<AckInterval> {
        interval(steps, |few| 2 * few, MIN_PART)
    }

    #[test]
    fn acknowledgments_for_nothing_do_not_hide_those_for_one_segment_and_for_two() {
        let steps: Vec<Step> = (0..400)
            .map(|at| (if at % 40 == 0 { 0 } else { 1 + at % 2 }, 8 * MS))
            .collect();
        let found = interval(&steps, |few| (2 * few).max(1), MIN_PART);
        assert_eq!(found.expect("an interval").counts, [190, 200]);
    }

    #[test]
    fn what_is_held_back_for_an_interval_comes_together_with_the_next() {
        // Two in turn: one is an interval late.
        let late: Vec<Step> = (0..300)
            .map(|at| match at % 10 {
                0 => (1, 16 * MS),
                1 => (2, 8 * MS),
                _ => (1, 8 * MS),
            })
            .collect();
        assert_eq!(of_acks(&late), None);
        let together = late.into_iter().map(|(segments, _)| (segments, 8 * MS));
        assert!(of_acks(&together.collect::<Vec<_>>()).is_some());
    }

    /// Acknowledgments of two segments each take 8 ms, and reports of one segment `report_ns`.
    fn with_reports(report_ns: u64) -> Option<AckInterval> {
        let mut view = DirectionView::default();
        let (mut now_ns, mut acked) = (0, 0);
        for at in 0..300_u64 {
            let is_report = at % 4 == 3;
            acked += if is_report { 0 } else { 2_000 };
            now_ns += if is_report { report_ns } else { 8 * MS };
            view.sent.push(Transmission::full(at, now_ns));
            view.acks.push(Acknowledgment {
                time_ns: now_ns,
                ack: acked,
                window: 60_000,
                timestamp: 0,
                is_bare: true,
                options_len: if is_report { 40 } else { 12 },
                has_dsack: false,
                number: 0,
            });
        }
        AckInterval::of(&view, true)
    }

    #[test]
    fn a_link_full_of_acknowledgments_takes_longer_for_those_with_reports() {
        // 94 octets take 42% longer than 66.
        assert!(with_reports(8 * MS * 94 / 66).is_some());
        assert_eq!(with_reports(4 * MS), None, "a link full of data");
    }

    #[test]
    fn a_way_back_full_of_acknowledgments_passes_each_in_the_same_time() {
        // Delayed acknowledgments cover two segments, those at the beginning one.
        let steps: Vec<Step> = (0..200)
            .map(|at| (if at % 4 == 0 { 1 } else { 2 }, 8 * MS + at % 3 * 20_000))
            .collect();
        let interval = of_acks(&steps).expect("an interval");
        assert!(interval.ns.abs_diff(8 * MS) < MS / 10);
        assert_eq!(interval.counts, [49, 150]);
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
        assert_eq!(of_acks(&steps), None);
    }

    #[test]
    fn a_few_acknowledgments_of_other_size_do_not_decide() {
        let steps: Vec<Step> = (0..1_000)
            .map(|at| (if at % 50 == 0 { 1 } else { 2 }, 3 * MS))
            .collect();
        assert_eq!(of_acks(&steps), None);
    }

    #[test]
    fn acknowledgments_that_all_cover_as_much_do_not_decide() {
        assert_eq!(of_acks(&[(2, 8 * MS); 200]), None);
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
        let flights = arrivals(|at| 2 + at % 4 * 2, |_| 10 * MS);
        assert_eq!(of(&flights), None, "flights of a round trip");
    }
}
