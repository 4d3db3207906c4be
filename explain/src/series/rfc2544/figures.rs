//! Results of RFC 2544, derived from its trials.

use std::collections::BTreeMap;

use linerate_results::record::Rfc2544;

/// The highest rate without loss (RFC 2544 section 26.1).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Throughput {
    /// Line rate, frames per second.
    pub(crate) line: f64,
    /// Resolution of the rate search.
    pub(crate) resolution: f64,
    /// The highest rate with at least two lossless trials and no lossy one.
    pub(crate) lossless: Option<f64>,
    /// If there is none: the highest lossless rate, not confirmed by a second trial.
    pub(crate) unconfirmed: Option<f64>,
    /// Lossy trials at lower rates: the loss does not depend on the rate alone.
    pub(crate) lossy_below: usize,
}

impl Throughput {
    /// From the trials of one size; `None` without any.
    pub(crate) fn of(trials: &[&Rfc2544]) -> Option<Self> {
        let first = trials.first()?;
        // Rates are positive, so their bit patterns sort like their values.
        let mut rates: BTreeMap<u64, (usize, usize)> = BTreeMap::new();
        for trial in trials {
            let (lossless, lossy) = rates
                .entry(trial.params.offered_frames_per_s.to_bits())
                .or_default();
            *(if trial.is_lossless() { lossless } else { lossy }) += 1;
        }
        let highest = |least: usize| {
            let holds = |(lossless, lossy): (usize, usize)| lossless >= least && lossy == 0;
            let found = rates.iter().rev().find(|(_, it)| holds(**it));
            found.map(|(rate, _)| *rate)
        };
        let lossless = highest(2);
        let below = |rate: u64| rates.range(..rate).map(|(_, (_, lossy))| lossy).sum();
        Some(Self {
            line: first.line_frames_per_s(),
            resolution: first.params.resolution_frames_per_s,
            lossless: lossless.map(f64::from_bits),
            unconfirmed: match lossless {
                Some(_) => None,
                None => highest(1).map(f64::from_bits),
            },
            lossy_below: lossless.map_or(0, below),
        })
    }

    /// As a share of the line rate.
    pub(crate) fn share(&self) -> Option<f64> {
        self.lossless.map(|rate| rate / self.line)
    }

    /// True at line rate.
    pub(crate) fn is_line_rate(&self) -> bool {
        self.share().is_some_and(|share| share > 1.0 - 1e-9)
    }
}

/// Latency at that rate (section 26.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Latency {
    /// Number of measurements.
    pub(crate) repetitions: u64,
    /// Of the tagged frames: mean, minimum, maximum.
    pub(crate) mean_ns: u64,
    pub(crate) min_ns: u64,
    pub(crate) max_ns: u64,
    /// Trials that lost frames although the rate had been lossless.
    pub(crate) lossy: u64,
}

impl Latency {
    pub(crate) fn of(trials: &[&Rfc2544]) -> Option<Self> {
        let tagged: Vec<u64> = trials
            .iter()
            .filter_map(|trial| {
                let times = trial.metrics.round_trips?;
                Some(times.tagged_ns?.saturating_sub(times.serialisation_ns))
            })
            .collect();
        let sum: u128 = tagged.iter().copied().map(u128::from).sum();
        Some(Self {
            repetitions: tagged.len() as u64,
            mean_ns: u64::try_from(sum.checked_div(tagged.len() as u128)?).unwrap_or(u64::MAX),
            min_ns: *tagged.iter().min()?,
            max_ns: *tagged.iter().max()?,
            lossy: trials.iter().filter(|it| !it.is_lossless()).count() as u64,
        })
    }
}

/// The longest burst without loss (section 26.4, RFC 9004 section 6).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Bursts {
    /// Number of completed searches.
    pub(crate) repetitions: u64,
    /// Frames: mean, minimum, maximum, standard deviation.
    pub(crate) mean: f64,
    pub(crate) min: u64,
    pub(crate) max: u64,
    pub(crate) deviation: f64,
    /// At least one search reached the longest burst tried.
    pub(crate) is_limited: bool,
    /// Line rate, frames per second.
    pub(crate) line: f64,
}

impl Bursts {
    pub(crate) fn of(trials: &[&Rfc2544]) -> Option<Self> {
        let first = trials.first()?;
        let limit = first.params.longest_burst;
        let mut searches: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        for trial in trials {
            let frames = trial.params.frames;
            let search = searches.entry(trial.params.repetition);
            let (lossless, lossy) = search.or_insert((0, limit + 1));
            if trial.metrics.lost_frames == 0 {
                *lossless = frames.max(*lossless);
            } else {
                *lossy = frames.min(*lossy);
            }
        }
        // A search that was cut off has no result.
        let whole = searches.values().filter(|it| it.1 <= it.0 + 1);
        let longest: Vec<u64> = whole.map(|it| it.0).collect();
        let repetitions = longest.len() as u64;
        let mean = longest.iter().sum::<u64>() as f64 / repetitions.max(1) as f64;
        let squares = longest.iter().map(|it| (*it as f64 - mean).powi(2));
        let degrees = repetitions.saturating_sub(1).max(1) as f64;
        Some(Self {
            repetitions,
            mean,
            min: *longest.iter().min()?,
            max: *longest.iter().max()?,
            deviation: (squares.sum::<f64>() / degrees).sqrt(),
            is_limited: longest.contains(&limit),
            line: first.line_frames_per_s(),
        })
    }

    /// Duration for which the device receives at line rate without loss, nanoseconds.
    pub(crate) fn implied_ns(&self) -> f64 {
        self.mean / self.line * 1e9
    }

    /// The same, corrected for the frames that the device processes meanwhile at its throughput
    /// (RFC 9004 section 6): the size of the buffer in nanoseconds at line rate.
    pub(crate) fn corrected_ns(&self, throughput_frames_per_s: f64) -> f64 {
        self.implied_ns() * (1.0 - throughput_frames_per_s / self.line)
    }
}
