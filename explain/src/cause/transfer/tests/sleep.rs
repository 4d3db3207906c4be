//! Devices that sleep: the first answer is late.

use super::script::{FULL_PATH, MS, Script, WINDOW};
use crate::cause::explain_transfer;
use linerate_results::record::{Cause, Throughput};

#[test]
fn a_late_first_answer_is_the_limit_of_a_short_transfer() {
    // 20 kB in 60 ms, after 140 ms for the handshake.
    let mut result = Script {
        span_ms: 60,
        bytes_per_s: 333e3,
        ..WINDOW
    }
    .result();
    result.observation.connections[0].opened_ns = 150 * MS;
    result.observation.connections[0].connect_ns = Some(150 * MS);
    result.observation.connections[0].ended_ns = 210 * MS;
    for sample in &mut result.observation.connections[0].samples {
        sample.at_ns += 150 * MS;
    }
    let answer = explain_transfer(&result).remove(0);
    assert_eq!(answer.findings[0].cause, Cause::WakeUpLatency);
    assert!(
        answer.findings[0].summary.contains("took 62% of the time"),
        "{}",
        answer.findings[0].summary
    );
    assert!(answer.unknown.is_empty());
}

#[test]
fn the_first_of_two_connections_wakes_the_device() {
    let mut result = FULL_PATH.result();
    let mut control = result.observation.connections[0].clone();
    control.samples.truncate(1);
    control.connect_ns = Some(120 * MS);
    control.opened_ns = 120 * MS;
    result.observation.connections[0].opened_ns = 125 * MS;
    result.observation.connections.push(control);
    let causes = |result: &Throughput| -> Vec<Cause> {
        let answer = explain_transfer(result).remove(0);
        answer.findings.iter().map(|it| it.cause).collect()
    };
    assert_eq!(causes(&result), [Cause::PathRate, Cause::WakeUpLatency]);
    // 20 ms of 5 s may be this machine's, and nobody notices them.
    result.observation.connections[1].connect_ns = Some(20 * MS);
    assert_eq!(causes(&result), [Cause::PathRate]);
}

#[test]
fn a_probe_that_only_load_makes_fast_shows_a_station_that_sleeps() {
    let mut result = FULL_PATH.result();
    result.observation.idle_round_trip_ns = Some(102 * MS);
    let causes = |result: &Throughput| -> Vec<Cause> {
        let answer = explain_transfer(result).remove(0);
        answer.findings.iter().map(|it| it.cause).collect()
    };
    assert_eq!(causes(&result), [Cause::PathRate, Cause::WakeUpLatency]);
    result.observation.idle_round_trip_ns = Some(3 * MS);
    assert_eq!(causes(&result), [Cause::PathRate]);
}
