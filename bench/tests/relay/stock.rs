//! Stock tools at both ends.

use super::background::{HASTE, Server};
use super::count::{as_iperf2_counts, iperf2_numbers, iperf3_may_count, iperf3_numbers};
use super::record::Record;
use super::tool_output::printed;
use super::{each, has, overflows, rig, undisturbed, unless_lost};
use linerate_host::relay::Direction;
use std::process::Command;

/// Runs `line` in a namespace, at most a minute; returns its output.
pub fn output(mut command: Command, line: &str) -> String {
    command.args(["60", "nice"]).args(HASTE);
    let output = command.args(line.split_whitespace()).output();
    let output = output.expect("the tool runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {text}{error}");
    text
}

#[test]
fn every_ping_takes_the_delay_of_both_directions() {
    let Some(rig) = rig("delay=5ms") else { return };
    if !has("ping") {
        return;
    }
    let text = output(
        rig.left().command("timeout"),
        "ping -q -i 0.002 -c 200 10.0.0.2",
    );
    let (report, _) = rig.finish().unwrap_or_else(|error| panic!("{error}"));
    assert!(text.contains(" 200 received, 0% packet loss"), "{text}");
    // rtt min/avg/max/mdev = 10.077/11.199/22.436/2.810 ms
    let (_, figures) = text.split_once("mdev = ").expect("a summary");
    let least: f64 = figures
        .split('/')
        .next()
        .and_then(|it| it.parse().ok())
        .expect("a time");
    assert!(least >= 10.0, "{text}");
    for way in [report.forward, report.backward] {
        assert_eq!((way.counts.frames_in, way.counts.frames_out), (200, 200));
    }
}

/// Runs a stock server on the right and its client on the left through the same faults; returns the
/// client's output, and the datagrams that passed.
fn through(faults: &str, server: &str, client: &str) -> Option<(String, Record)> {
    let tool = client.split_whitespace().next().expect("a tool");
    undisturbed(|| {
        let rig = rig(faults).filter(|_| has(tool))?;
        let server = Server::start(&rig, server);
        let text = output(rig.left().command("timeout"), client);
        drop(server);
        let overflows = overflows(&rig);
        let (report, record) = rig.finish().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(report.forward.discarded_frames, Some(0), "{client}");
        Some(unless_lost((text, record), overflows))
    })
}

#[test]
fn stock_iperf_2_loses_what_the_relay_lost() {
    let trials = [
        "spare=10,loss=1%",
        "spare=10,loss=1%,reorder=2%/3",
        "spare=10,duplicate=2%",
    ];
    each(&trials, |faults| {
        let client = "iperf -c 10.0.0.2 -u -b 3m -t 1 -p 5001";
        let Some((text, record)) = through(faults, "iperf -s -u -w 2M -p 5001", client) else {
            return;
        };
        let streams = record.went(Direction::Forward, 100);
        let numbers: Vec<u64> = streams.values().flat_map(|it| iperf2_numbers(it)).collect();
        let expected = as_iperf2_counts(numbers);
        let counts = (expected.lost, expected.sent, expected.out_of_order);
        assert_eq!(printed(&text), [counts], "{faults}: {text}");
    });
}

#[test]
fn stock_iperf_3_loses_what_the_relay_lost() {
    let trials = [
        "spare=40,loss=1%",
        "spare=40,loss=1%,reorder=2%/3",
        "spare=40,duplicate=2%",
    ];
    each(&trials, |faults| {
        let client = "iperf3 -c 10.0.0.2 -u -b 3M -t 1 -l 1400 -J -p 5201";
        let Some((text, record)) = through(faults, "iperf3 -s -1 -p 5201", client) else {
            return;
        };
        let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let streams = record.went(Direction::Forward, 16);
        let numbers: Vec<u64> = streams.values().flat_map(|it| iperf3_numbers(it)).collect();
        let end = &json["end"];
        let number = |name: &str, what: &str| end[name][what].as_u64().expect("a number");
        let lost = number("sum", "lost_packets");
        let read = number("sum_received", "bytes") / 1400;
        let is_so = iperf3_may_count(&numbers, read, lost, None);
        assert!(is_so, "{faults}: {read} read of {numbers:?}: {end}");
    });
}
