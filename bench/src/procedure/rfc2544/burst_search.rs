//! The search for the longest burst without loss (RFC 2544 section 26.4). No I/O, as in
//! [`super::rate_search`].

/// A search among bursts of 1 to `limit` frames. It doubles the length first, as buffers are often
/// small and bursts that fit take little time, and then bisects.
#[derive(Clone, Copy, Debug)]
pub struct BurstSearch {
    /// The longest without loss; 0: none.
    lossless: u64,
    /// The shortest with a loss; above the limit: none.
    lossy: u64,
    limit: u64,
    at: u64,
    stride: u64,
}

impl BurstSearch {
    /// Up to `limit` frames, at least one; begins at `first`, the expected result.
    pub const fn new(limit: u64, first: u64) -> Self {
        let limit = if limit == 0 { 1 } else { limit };
        let first = if first == 0 { 1 } else { first };
        Self {
            lossless: 0,
            lossy: limit + 1,
            limit,
            at: if first > limit { limit } else { first },
            stride: 1,
        }
    }

    /// The maximum number of trials.
    pub const fn max_trials(limit: u64) -> u64 {
        2 * ((if limit == 0 { 1 } else { limit }).ilog2() as u64 + 2)
    }

    /// The length to try next; `None`: the search is complete.
    pub const fn next(&self) -> Option<u64> {
        if self.lossy - self.lossless <= 1 {
            None
        } else {
            Some(self.at)
        }
    }

    /// The longest burst without loss so far; 0: not even one frame.
    pub const fn found(&self) -> u64 {
        self.lossless
    }

    /// Records the outcome of [`BurstSearch::next`].
    pub fn record(&mut self, is_lossless: bool) {
        if is_lossless {
            self.lossless = self.at;
        } else {
            self.lossy = self.at;
        }
        self.at = if self.lossy > self.limit {
            (self.lossless + self.stride).min(self.limit)
        } else if self.lossless == 0 {
            self.lossy.saturating_sub(self.stride).max(1)
        } else {
            self.lossless + (self.lossy - self.lossless) / 2
        };
        self.stride = self.stride.saturating_mul(2);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn searched(
        limit: u64,
        first: u64,
        mut is_lossless: impl FnMut(u64) -> bool,
    ) -> (Vec<u64>, u64) {
        let mut search = BurstSearch::new(limit, first);
        let mut trials = Vec::new();
        while let Some(frames) = search.next() {
            trials.push(frames);
            search.record(is_lossless(frames));
            assert!(
                trials.len() as u64 <= BurstSearch::max_trials(limit),
                "{trials:?}"
            );
        }
        (trials, search.found())
    }

    #[test]
    fn it_doubles_and_then_bisects() {
        let (trials, found) = searched(30_000, 1, |frames| frames <= 11);
        assert_eq!(found, 11);
        assert_eq!(trials, [1, 2, 4, 8, 16, 12, 10, 11]);
        // Repeated: the same length, and one more.
        let (trials, found) = searched(30_000, 11, |frames| frames <= 11);
        assert_eq!(found, 11);
        assert_eq!(trials, [11, 12]);
    }

    proptest! {
        #[test]
        fn the_longest_burst_is_found(
            limit in 1u64..40_000, first in 0u64..50_000, depth in 0u64..50_000,
        ) {
            let (trials, found) = searched(limit, first, |frames| frames <= depth);
            prop_assert_eq!(found, depth.min(limit));
            prop_assert!(trials.iter().all(|frames| (1..=limit).contains(frames)));
        }

        #[test]
        fn it_ends_whatever_the_outcomes(
            limit in 1u64..40_000, first in 0u64..50_000,
            outcomes in proptest::collection::vec(any::<bool>(), 64),
        ) {
            let mut outcomes = outcomes.into_iter().cycle();
            let (_, found) = searched(limit, first, |_| outcomes.next().expect("endless"));
            prop_assert!(found <= limit);
        }
    }
}
