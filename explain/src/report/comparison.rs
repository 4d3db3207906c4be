//! Downloads of one size, which can be compared with each other.

use crate::published::ignores_sack;
use linerate_results::record::{HttpGet, Run};

/// The downloads of one size, one of each run that has this size.
pub(super) struct Comparison<'a> {
    /// Bytes of each.
    pub bytes: u64,
    /// In the order of the runs.
    pub gets: Vec<&'a HttpGet>,
}

impl<'a> Comparison<'a> {
    /// The downloads of the size that most runs have, the largest of these; `None` without downloads.
    pub fn of(run: &'a Run) -> Option<Self> {
        let of_size = |bytes: u64| run.http_gets().filter(move |get| get.params.bytes == bytes);
        let sizes = run.http_gets().map(|get| get.params.bytes);
        let bytes = sizes.max_by_key(|bytes| (of_size(*bytes).count(), *bytes))?;
        Some(Self {
            bytes,
            gets: of_size(bytes).collect(),
        })
    }

    /// The download with the highest median.
    pub fn fastest(&self) -> Option<&'a HttpGet> {
        let by_goodput = |a: &&&HttpGet, b: &&&HttpGet| goodput(a).total_cmp(&goodput(b));
        self.gets.iter().max_by(by_goodput).copied()
    }

    /// The download with the lowest median, if it is of another run than the fastest.
    pub fn slowest(&self) -> Option<&'a HttpGet> {
        let by_goodput = |a: &&&HttpGet, b: &&&HttpGet| goodput(a).total_cmp(&goodput(b));
        let slowest = self.gets.iter().min_by(by_goodput).copied()?;
        (label(slowest) != label(self.fastest()?)).then_some(slowest)
    }

    /// The download of the run called `name`.
    pub fn of_run(&self, name: &str) -> Option<&'a HttpGet> {
        self.gets.iter().find(|get| label(get) == name).copied()
    }

    /// The download by the same variant with a peer that uses SACK blocks.
    pub fn with_sack(&self, run: &Run, get: &HttpGet) -> Option<&'a HttpGet> {
        let same = |other: &&&HttpGet| other.params.setting.variant == get.params.setting.variant;
        let mut same = self.gets.iter().filter(same);
        same.find(|other| !ignores_sack(run, other)).copied()
    }
}

/// The name of a download.
pub(super) fn label(get: &HttpGet) -> &str {
    get.params.setting.name()
}

fn goodput(get: &HttpGet) -> f64 {
    get.metrics.goodput_bytes_per_s_p50
}
