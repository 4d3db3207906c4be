//! What a run should have come to and did not.

use linerate_explain::record::{Measurement, Run};

use crate::scenario::{Expectation, expect};

/// What `run` should have come to and did not, each in a sentence: the scenario's expectations, and
/// what always holds.
pub fn failures(run: &Run, expectations: &[Expectation]) -> Vec<String> {
    let mut failures: Vec<String> = run.results.iter().flat_map(always).collect();
    for expected in expectations {
        failures.extend(expected.failures(&run.results));
    }
    failures
}

/// What holds without being asked for.
fn always(result: &Measurement) -> Vec<String> {
    let name = expect::name(result);
    let mut failures = Vec::new();
    let missing = result.ledger().missing_frames();
    if missing != 0 {
        failures.push(format!(
            "{name}: {missing} frames are neither delivered nor counted as lost"
        ));
    }
    let crc32 = match result {
        Measurement::HttpGet(get) => Some((&get.metrics.crc32, &get.metrics.crc32_expected)),
        Measurement::HttpPut(put) => Some((&put.metrics.crc32, &put.metrics.crc32_expected)),
        Measurement::HttpBoth(both) => Some((&both.metrics.crc32, &both.metrics.crc32_expected)),
        _ => None,
    };
    if crc32.is_some_and(|(received, expected)| received != expected) {
        failures.push(format!("{name}: CRC-32 differs between the two sides"));
    }
    match result {
        Measurement::PhyConformance(phy) if !phy.metrics.passed && phy.params.excuse.is_none() => {
            failures.push(format!(
                "{name}: {} of {} frames received, {} wrong, {} of {} refused for the right cause",
                phy.metrics.frames_received,
                phy.metrics.frames_sent,
                phy.metrics.frames_wrong,
                phy.metrics.frames_refused,
                phy.metrics.frames_to_refuse,
            ));
        }
        Measurement::Negotiation(link) if !link.metrics.passed => failures.push(format!(
            "{name}: the link is {:?}, duplex {:?}, {} of {} pings answered, {} remote faults",
            link.metrics.link,
            link.metrics.device_duplex,
            link.metrics.pings_answered,
            link.metrics.pings_sent,
            link.metrics.remote_faults,
        )),
        _ => {}
    }
    failures
}
