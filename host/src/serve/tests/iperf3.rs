//! Standard iperf 3.

use super::{octets, with};
use crate::serve::{Protocol, ServedTransfer, TransferDirection};
use crate::testing::has_tool;
use linerate_agent::Limits;
use std::process::Command;

/// Final result of standard iperf 3 as JSON, and the served transfers.
fn iperf3(tests: usize, flags: &str) -> (serde_json::Value, Vec<ServedTransfer>) {
    let (text, served) = with(Protocol::Iperf3, Limits::own_network(), tests, |port| {
        let output = Command::new("timeout")
            .args([
                "60",
                "iperf3",
                "-c",
                "127.0.0.1",
                "-p",
                &port.to_string(),
                "-J",
            ])
            .args(flags.split_whitespace())
            .output()
            .expect("iperf3 runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    });
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(json.get("error"), None, "{flags}");
    (json["end"].clone(), served)
}

#[test]
fn stock_iperf3_and_both_ends_count_the_same() {
    if !has_tool("iperf3") {
        return;
    }
    for flags in ["-n 3M", "-n 3M -P 3", "-n 300K -l 64"] {
        let (end, served) = iperf3(1, flags);
        assert_eq!(
            end["sum_received"]["bytes"],
            octets(&served, TransferDirection::Received),
            "{flags}"
        );
        assert_eq!(
            end["sum_sent"]["bytes"], end["sum_received"]["bytes"],
            "{flags}"
        );
    }
    let (end, served) = iperf3(1, "-n 3M -R");
    assert_eq!(
        end["sum_received"]["bytes"],
        octets(&served, TransferDirection::Sent)
    );
    for flags in ["-u -b 20M -t 1 -l 1460", "-u -b 5M -t 1 -l 64"] {
        let (end, served) = iperf3(1, flags);
        let datagrams = served[0].datagrams.expect("datagrams");
        let received = datagrams.received.expect("a receiver's counts");
        assert_eq!(
            end["sum"]["lost_packets"], received.lost_datagrams,
            "{flags}"
        );
        assert_eq!(end["sum"]["packets"], datagrams.sent_datagrams, "{flags}");
    }
    let (end, served) = iperf3(2, "-n 1M --bidir");
    assert_eq!(
        end["sum_received"]["bytes"],
        octets(&served, TransferDirection::Received)
    );
    assert_eq!(
        end["sum_received_bidir_reverse"]["bytes"],
        octets(&served, TransferDirection::Sent)
    );
}

#[test]
fn stock_iperf3_reports_the_datagrams_that_it_receives() {
    if !has_tool("iperf3") {
        return;
    }
    let (end, served) = iperf3(1, "-u -b 5M -t 1 -R -l 1460");
    let datagrams = served[0].datagrams.expect("datagrams");
    let received = datagrams.received.expect("a receiver's counts");
    let sum = |name: &str| end["sum"][name].as_u64().expect("a number");
    // iperf 3.12 goes on receiving after it has sent its results: it prints a few datagrams more than it reports, and
    // on a busy machine more than a few. All are ours: 5 Mbit/s for a second are 428.
    let offered = 5_000_000 / 8 / 1460;
    let (printed, reported) = (sum("packets"), datagrams.sent_datagrams);
    assert!(
        reported > 0 && reported <= printed && printed <= 2 * offered,
        "{reported} {printed}"
    );
    assert!(
        received.lost_datagrams <= sum("lost_packets"),
        "{received:?} {end}"
    );
}
