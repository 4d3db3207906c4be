//! What a run should have come to and did not.

use linerate_results::record::{Measurement, Run};

use crate::scenario::{Expectation, expect};

/// What `run` should have come to and did not, each in a sentence: the scenario's expectations, and
/// what always holds.
pub fn failures(run: &Run, expectations: &[Expectation]) -> Vec<String> {
    let mut failures: Vec<String> = run.results.iter().flat_map(invariant_failures).collect();
    for expected in expectations {
        failures.extend(expected.failures(&run.results));
    }
    failures
}

/// What holds without being asked for.
fn invariant_failures(result: &Measurement) -> Vec<String> {
    let name = expect::name(result);
    let mut failures = Vec::new();
    let missing = result.ledger().missing_frames();
    if missing != 0 {
        failures.push(format!(
            "{name}: {missing} frames are neither delivered nor counted as lost"
        ));
    }
    let told = result.told().failures();
    failures.extend(told.iter().map(|what| format!("{name}: {what}")));
    failures
}
