//! The trials of RFC 2544 by counting method, frame size and test.

mod figures;

use std::collections::BTreeMap;

pub(crate) use figures::{Bursts, Latency, Throughput};
use linerate_results::record::{Counting, Rfc2544, Rfc2544Test, Run};

/// The trials of each test, by frame size.
pub(crate) type TrialsBySize<'a> = BTreeMap<u64, BTreeMap<Rfc2544Test, Vec<&'a Rfc2544>>>;

/// All trials, by counting method.
pub(crate) fn by_counting(run: &Run) -> BTreeMap<Counting, TrialsBySize<'_>> {
    let mut methods: BTreeMap<Counting, TrialsBySize<'_>> = BTreeMap::new();
    for trial in run.rfc2544s() {
        let params = &trial.params;
        let sizes = methods.entry(params.counting).or_default();
        let tests = sizes.entry(params.frame_octets).or_default();
        tests.entry(params.test).or_default().push(trial);
    }
    methods
}

/// The trials of `test`, by size; sizes without any are left out.
pub(crate) fn trials<'a, 's>(
    sizes: &'s TrialsBySize<'a>,
    test: Rfc2544Test,
) -> impl Iterator<Item = (u64, &'s [&'a Rfc2544])> {
    sizes
        .iter()
        .filter_map(move |(octets, tests)| Some((*octets, tests.get(&test)?.as_slice())))
}

/// The trials of `test` with frames of `octets`; empty without any.
pub(crate) fn trials_of_size<'a, 's>(
    sizes: &'s TrialsBySize<'a>,
    octets: u64,
    test: Rfc2544Test,
) -> &'s [&'a Rfc2544] {
    let tests = sizes.get(&octets);
    tests
        .and_then(|tests| tests.get(&test))
        .map_or(&[], Vec::as_slice)
}
