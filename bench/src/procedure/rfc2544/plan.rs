//! The tests to run, their durations and repetitions.

use std::time::Duration;

use linerate_results::record::{Counting, Extent, Rfc2544Test, line_frames_per_s};

use super::burst_search::BurstSearch;
use super::rate_search;

/// The frame sizes of RFC 2544 section 9.1 for Ethernet, octets with FCS.
pub const SIZES: [u16; 7] = [64, 128, 256, 512, 1024, 1280, 1518];

/// All four tests.
pub const TESTS: [Rfc2544Test; 4] = [
    Rfc2544Test::Throughput,
    Rfc2544Test::Latency,
    Rfc2544Test::FrameLoss,
    Rfc2544Test::BackToBack,
];

/// Maximum number of rates in the loss test (section 26.3).
const LOSS_STEPS: u64 = 10;

/// Time of a trial beyond its frames: connection, repeated ends of a stream (3 s in iperf 2) and report.
pub(super) const TRIAL_OVERHEAD: Duration = Duration::from_secs(4);

/// The plan of a benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Full (the standard's durations and repetitions) or short.
    pub extent: Extent,
    /// Octets of the frames, FCS included.
    pub sizes: Vec<u16>,
    /// The tests. Latency and back-to-back need the throughput, which is searched for them, too.
    pub tests: Vec<Rfc2544Test>,
    /// The counting method; `None`: the best that the target supports, in the order agent,
    /// reflector, datagrams.
    pub counting: Option<Counting>,
    /// The line rate.
    pub line_bits_per_s: u64,
    /// Number of steps of the line rate: 100 for steps of one per cent.
    pub steps: u32,
    /// Duration of search trials and of those of the loss test.
    pub trial: Duration,
    /// Duration of the trials that confirm a throughput.
    pub final_trial: Duration,
    /// Duration of the stream for a latency.
    pub stream: Duration,
    /// Number of latency measurements.
    pub latency_repetitions: u32,
    /// Duration of the longest burst that is tried.
    pub longest_burst_span: Duration,
    /// Number of searches for the longest burst.
    pub burst_repetitions: u32,
    /// The pause after a trial, on a target that is not simulated.
    pub pause: Duration,
}

impl Plan {
    /// The standard's durations and repetitions: takes many hours.
    pub fn full(line_bits_per_s: u64) -> Self {
        Self {
            extent: Extent::Full,
            sizes: SIZES.to_vec(),
            tests: TESTS.to_vec(),
            counting: None,
            line_bits_per_s,
            steps: 1_000,
            trial: Duration::from_mins(1),
            final_trial: Duration::from_mins(1),
            stream: Duration::from_mins(2),
            latency_repetitions: 20,
            longest_burst_span: Duration::from_secs(2),
            burst_repetitions: 50,
            // Two seconds for late frames, five for the device (section 23).
            pause: Duration::from_secs(7),
        }
    }

    /// Minutes instead of hours: for a first look, and for comparing one firmware with the next.
    pub fn short(line_bits_per_s: u64) -> Self {
        let trial = Duration::from_secs(2);
        Self {
            extent: Extent::Short,
            steps: 100,
            trial,
            final_trial: trial,
            stream: trial,
            latency_repetitions: 3,
            burst_repetitions: 5,
            pause: Duration::from_millis(200),
            ..Self::full(line_bits_per_s)
        }
    }

    /// The same with `span` as the duration of all timed trials: in shorter ones, buffers hide more
    /// of an overload.
    #[must_use]
    pub fn with_trials_of(self, span: Duration) -> Self {
        Self {
            trial: span,
            final_trial: span,
            stream: span,
            ..self
        }
    }

    /// True if `test` is selected, or another one that needs it.
    pub fn includes(&self, test: Rfc2544Test) -> bool {
        let rests = [Rfc2544Test::Latency, Rfc2544Test::BackToBack];
        self.tests.contains(&test)
            || test == Rfc2544Test::Throughput && rests.iter().any(|it| self.tests.contains(it))
    }

    /// Minimum duration: if nothing is lost.
    pub fn min_duration(&self) -> Duration {
        let mut each = Duration::ZERO;
        if self.includes(Rfc2544Test::Throughput) {
            each += self.trial + self.final_trial + 2 * self.pause;
        }
        if self.includes(Rfc2544Test::Latency) {
            each += (self.stream + self.pause) * self.latency_repetitions;
        }
        if self.includes(Rfc2544Test::FrameLoss) {
            each += (self.trial + self.pause) * 2;
        }
        each * self.sizes.len() as u32
    }

    /// Maximum duration: of all trials that the searches may need.
    pub fn max_duration(&self) -> Duration {
        let sizes = self.sizes.iter();
        sizes.map(|octets| self.max_duration_of(*octets)).sum()
    }

    fn max_duration_of(&self, octets: u16) -> Duration {
        let trials = |span: Duration, count: u64| {
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            (span + TRIAL_OVERHEAD + self.pause) * count
        };
        let mut all = Duration::ZERO;
        if self.includes(Rfc2544Test::Throughput) {
            let longest = self.trial.max(self.final_trial);
            all += trials(longest, rate_search::max_trials(self.steps));
        }
        if self.includes(Rfc2544Test::Latency) {
            all += trials(self.stream, self.latency_repetitions.into());
        }
        if self.includes(Rfc2544Test::FrameLoss) {
            all += trials(self.trial, LOSS_STEPS);
        }
        if self.includes(Rfc2544Test::BackToBack) {
            // Once by doubling; then mostly the same length again.
            let limit = self.longest_burst(octets);
            let again = u64::from(self.burst_repetitions.saturating_sub(1));
            let searched = BurstSearch::max_trials(limit) + 2 * again;
            all += trials(self.longest_burst_span, searched);
        }
        all
    }

    /// The longest burst that is tried with frames of `octets`.
    pub fn longest_burst(&self, octets: u16) -> u64 {
        let line = line_frames_per_s(self.line_bits_per_s, u64::from(octets));
        ((line * self.longest_burst_span.as_secs_f64()) as u64).max(1)
    }

    /// The rate of a step, frames a second.
    pub fn rate(&self, octets: u16, step: u32) -> f64 {
        let line = line_frames_per_s(self.line_bits_per_s, u64::from(octets));
        line * f64::from(step) / f64::from(self.steps.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_full_variant_has_the_standard_s_figures_and_takes_hours() {
        let plan = Plan::full(10_000_000);
        assert!(plan.final_trial >= Duration::from_mins(1));
        assert!(plan.stream >= Duration::from_mins(2) && plan.latency_repetitions >= 20);
        assert!(plan.longest_burst_span >= Duration::from_secs(2) && plan.burst_repetitions >= 50);
        // Latency alone: 7 sizes, 20 times 127 seconds.
        assert!(plan.min_duration() > Duration::from_secs(7 * 20 * 127));
        assert!(plan.max_duration() > plan.min_duration() * 2);
        assert_eq!(plan.longest_burst(64), 29_761);
        assert!((plan.rate(1518, 1_000) - 812.743_82).abs() < 1e-4);
    }

    #[test]
    fn the_short_variant_takes_minutes() {
        let plan = Plan::short(10_000_000);
        assert!(plan.min_duration() < Duration::from_mins(3));
        assert!(plan.max_duration() < Duration::from_hours(2));
        assert_eq!(plan.sizes, SIZES);
    }

    #[test]
    fn the_throughput_that_a_test_needs_is_measured_too() {
        let only = |test| Plan {
            tests: vec![test],
            ..Plan::short(10_000_000)
        };
        assert!(only(Rfc2544Test::Latency).includes(Rfc2544Test::Throughput));
        assert!(only(Rfc2544Test::BackToBack).includes(Rfc2544Test::Throughput));
        assert!(!only(Rfc2544Test::FrameLoss).includes(Rfc2544Test::Throughput));
        assert!(!only(Rfc2544Test::Latency).includes(Rfc2544Test::FrameLoss));
    }
}
