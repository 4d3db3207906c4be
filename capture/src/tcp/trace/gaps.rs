//! Histogram of the gaps between consecutive segments.

/// End of the first range.
const FIRST_NS: u64 = 1_000;
/// Three ranges per decade, from a microsecond to more than an hour.
const RANGES: usize = 30;

/// Gaps within one range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GapRange {
    /// Number of gaps.
    pub count: u64,
    /// Their total time.
    pub total_ns: u64,
}

/// Gaps between consecutive segments of a sender, by duration.
#[derive(Clone, Debug, Default)]
pub struct GapHistogram {
    ranges: [GapRange; RANGES],
}

impl GapHistogram {
    pub(super) fn add(&mut self, ns: u64) {
        let at = (0..RANGES - 1).find(|at| ns < Self::end_ns(*at));
        let gap = &mut self.ranges[at.unwrap_or(RANGES - 1)];
        gap.count += 1;
        gap.total_ns = gap.total_ns.saturating_add(ns);
    }

    /// End of the range `at`, where the next one starts: 1, 2 and 5 in each decade.
    pub fn end_ns(at: usize) -> u64 {
        [1, 2, 5][at % 3] * 10_u64.pow((at / 3) as u32) * FIRST_NS
    }

    /// All ranges; the first starts at 0, the last has no end.
    pub fn ranges(&self) -> &[GapRange] {
        &self.ranges
    }
}
