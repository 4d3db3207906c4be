//! Checks of a run's results.

use linerate_results::record::{Measurement, Run};

use crate::scenario::{Expectation, expect};

/// The checks that `run` does not meet, each in a sentence: the scenario's expectations, and the
/// invariants.
pub fn failures(run: &Run, expectations: &[Expectation]) -> Vec<String> {
    let mut failures: Vec<String> = run.results.iter().flat_map(invariant_failures).collect();
    failures.extend(run.contradictions());
    for expected in expectations {
        failures.extend(expected.failures(&run.results));
    }
    failures
}

/// Checks the invariants of a result.
fn invariant_failures(result: &Measurement) -> Vec<String> {
    let name = expect::name(result);
    let mut failures = Vec::new();
    let missing = result.ledger().missing_frames();
    if missing != 0 {
        failures.push(format!(
            "{name}: {missing} frames are neither delivered nor counted as lost"
        ));
    }
    let unmet = result.describe().failures();
    failures.extend(unmet.iter().map(|what| format!("{name}: {what}")));
    failures
}
