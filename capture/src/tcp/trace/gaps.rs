//! How long after each segment the next one came.

/// Where the first range ends.
const FIRST_NS: u64 = 1_000;
/// Three ranges a decade, from a microsecond to more than an hour.
const RANGES: usize = 30;

/// GapHistogram of about one length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GapRange {
    /// How many there were.
    pub count: u64,
    /// The time of all of them together.
    pub total_ns: u64,
}

/// The time between one segment of a sender and its next, by length.
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

    /// Where the range at `at` ends and the next one begins: 1, 2 and 5 in each decade.
    pub fn end_ns(at: usize) -> u64 {
        [1, 2, 5][at % 3] * 10_u64.pow((at / 3) as u32) * FIRST_NS
    }

    /// All ranges; the first begins at nothing, the last has no end.
    pub fn ranges(&self) -> &[GapRange] {
        &self.ranges
    }
}
