//! Whether events repeat at an interval.

use linerate_capture::model::Span;

/// Interval of repeated events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rhythm {
    /// Median interval between the starts of two events.
    pub(super) period_ns: u64,
    /// True if half of the intervals are within 20% of it.
    pub(super) is_regular: bool,
}

/// Fewer events have no interval.
const MIN_EVENTS: usize = 3;

impl Rhythm {
    /// The rhythm of events that start at these times; `None` if there are too few.
    pub(super) fn of(starts: impl Iterator<Item = u64>) -> Option<Self> {
        let starts: Vec<u64> = starts.collect();
        if starts.len() < MIN_EVENTS {
            return None;
        }
        let mut intervals: Vec<u64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        intervals.sort_unstable();
        let period_ns = intervals[intervals.len() / 2];
        let near = |it: &&u64| it.abs_diff(period_ns) <= period_ns / 5;
        Some(Self {
            period_ns,
            is_regular: intervals.iter().filter(near).count() * 2 >= intervals.len(),
        })
    }

    /// The rhythm of these stalls. `None` also if they take longer on average than the interval from one to the next: then
    /// a few long ones stand beside many short ones, and have none.
    pub(super) fn of_stalls(stalls: &[Span]) -> Option<Self> {
        let rhythm = Self::of(stalls.iter().map(|span| span.start_ns))?;
        let total_ns: u64 = stalls.iter().map(Span::ns).sum();
        (total_ns <= rhythm.period_ns * stalls.len() as u64).then_some(rhythm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regular_events_have_their_period_and_others_only_a_median() {
        let regular = Rhythm::of([0, 1000, 1990, 3010].into_iter());
        assert_eq!(
            regular.map(|it| (it.period_ns, it.is_regular)),
            Some((1000, true))
        );
        let irregular = Rhythm::of([0, 10, 1000, 1500, 5000].into_iter());
        assert_eq!(irregular.map(|it| it.is_regular), Some(false));
        assert_eq!(Rhythm::of([0, 10].into_iter()), None);
    }

    #[test]
    fn a_few_long_stalls_beside_short_ones_have_no_rhythm() {
        let stalls = |times: &[(u64, u64)]| {
            let span = |(start_ns, ns): &(u64, u64)| Span {
                start_ns: *start_ns,
                end_ns: start_ns + ns,
                limit: linerate_capture::model::Limit::SenderIdle,
                number: 1,
            };
            Rhythm::of_stalls(&times.iter().map(span).collect::<Vec<_>>())
        };
        let even = stalls(&[(0, 60), (100, 70), (200, 60), (300, 50)]);
        assert_eq!(even.map(|it| it.period_ns), Some(100));
        assert_eq!(stalls(&[(0, 60), (100, 70), (200, 60), (300, 900)]), None);
    }
}
