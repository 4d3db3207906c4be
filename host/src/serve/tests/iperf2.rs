//! Standard iperf 2.

use super::{octets, with};
use crate::serve::{Protocol, ServedTransfer, TransferDirection};
use crate::testing::{free_port, has_tool};
use linerate_agent::Limits;
use std::process::Command;

/// Output of standard iperf 2, and whether it succeeded.
fn client(port: u16, flags: &str) -> (String, bool) {
    let back = free_port().to_string();
    let port = port.to_string();
    let output = Command::new("timeout")
        .args([
            // Its threads may deadlock; then only SIGKILL ends it.
            "-k",
            "5",
            "60",
            "iperf",
            "-c",
            "127.0.0.1",
            "-p",
            &port,
            "-L",
            &back,
            "-f",
            "B",
        ])
        .args(flags.split_whitespace())
        .output()
        .expect("iperf runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (text, output.status.success())
}

/// Output of standard iperf 2, and the served transfers.
fn iperf2(tests: usize, flags: &str) -> (String, Vec<ServedTransfer>) {
    with(Protocol::Iperf2, Limits::own_network(), tests, |port| {
        let (text, has_succeeded) = client(port, flags);
        assert!(has_succeeded, "{flags}: {text}");
        text
    })
}

#[test]
fn stock_iperf2_sends_tcp_and_both_ends_count_the_same() {
    if !has_tool("iperf") {
        return;
    }
    for (flags, tests, sent) in [
        ("-n 3000000", 1, 3_000_000),
        ("-n 100000 -l 64", 1, 100_000),
        ("-n 100000 -C", 1, 100_000),
        // A client whose first threads end before the last one has started may wait for ever; with this rate each
        // takes 1 s.
        ("-n 1000000 -P 3 -b 8m", 3, 3_000_000),
    ] {
        let (text, served) = iperf2(tests, flags);
        assert_eq!(
            octets(&served, TransferDirection::Received),
            sent,
            "{flags}: {text}"
        );
    }
}

#[test]
fn stock_iperf2_receives_tcp_on_request() {
    if !has_tool("iperf") {
        return;
    }
    let (text, served) = iperf2(1, "-n 3000000 -R");
    assert_eq!(octets(&served, TransferDirection::Sent), 3_000_000);
    assert!(text.contains(" 3000000 Bytes"), "{text}");
    for flags in ["-n 1000000 -r", "-n 1000000 -d"] {
        let (text, served) = iperf2(2, flags);
        assert_eq!(
            octets(&served, TransferDirection::Received),
            1_000_000,
            "{flags}: {text}"
        );
        assert_eq!(
            octets(&served, TransferDirection::Sent),
            1_000_000,
            "{flags}: {text}"
        );
    }
}

#[test]
fn stock_iperf2_sends_and_receives_on_one_connection() {
    if !has_tool("iperf") {
        return;
    }
    // The two threads of iperf 2.1.8's client start and end at the same barrier (`fullduplex_startstop_barrier`).
    // If one ends before the other has woken from the start, both wait until a timeout. Without a rate, 1 MB
    // takes 0.1 ms and up to 7 % of runs fail, with `iperf -s` as with our server. At this rate it takes 1 s.
    let (text, served) = iperf2(2, "-n 1000000 --full-duplex -b 8m");
    assert_eq!(text.matches(" 1000000 Bytes").count(), 2, "{text}");
    for direction in [TransferDirection::Sent, TransferDirection::Received] {
        assert_eq!(octets(&served, direction), 1_000_000, "{text}");
    }
}

#[test]
fn one_server_serves_tests_in_sequence() {
    if !has_tool("iperf") {
        return;
    }
    let ((), served) = with(Protocol::Iperf2, Limits::own_network(), 3, |port| {
        for flags in ["-n 100000", "-u -b 5m -n 100000 -l 1000", "-n 300000 -R"] {
            let (text, has_succeeded) = client(port, flags);
            assert!(has_succeeded, "{flags}: {text}");
        }
    });
    let one = |it: &ServedTransfer| (it.transport, it.direction);
    assert_eq!(
        served.iter().map(one).collect::<Vec<_>>(),
        [
            ("tcp", TransferDirection::Received),
            ("udp", TransferDirection::Received),
            ("tcp", TransferDirection::Sent)
        ]
    );
    assert_eq!((served[0].octets, served[2].octets), (100_000, 300_000));
}

/// Octets, lost and all datagrams.
type Counts = (u64, u64, u64);

/// Receive counts printed by standard iperf: its own and those of the server report.
fn printed(text: &str) -> Vec<Counts> {
    let parse = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let bytes = words.iter().position(|word| *word == "Bytes")?;
        let octets = words[bytes - 1].parse().ok()?;
        let ms = words.iter().rposition(|word| *word == "ms")?;
        let counts = words[ms + 1..].concat();
        let (lost, all) = counts.split_once('/')?;
        let all = all.split('(').next()?;
        Some((octets, lost.parse().ok()?, all.parse().ok()?))
    };
    let mut printed: Vec<Counts> = text.lines().filter_map(parse).collect();
    printed.sort_unstable();
    printed
}

/// Receive counts of this end.
fn reported(served: &[ServedTransfer]) -> Vec<Counts> {
    let of = |it: &ServedTransfer| {
        let datagrams = it.datagrams.expect("datagrams");
        let received = datagrams.received.expect("a receiver's counts");
        (it.octets, received.lost_datagrams, datagrams.sent_datagrams)
    };
    let mut reported: Vec<Counts> = served.iter().map(of).collect();
    reported.sort_unstable();
    reported
}

#[test]
fn stock_iperf2_receives_a_report_of_its_datagrams() {
    if !has_tool("iperf") {
        return;
    }
    for flags in ["-u -b 20m -n 300000 -l 1470", "-u -b 5m -n 100000 -l 64"] {
        let (text, served) = iperf2(1, flags);
        assert!(text.contains("Server Report:"), "{flags}: {text}");
        assert_eq!(printed(&text), reported(&served), "{flags}: {text}");
    }
}

#[test]
fn stock_iperf2_receives_datagrams_on_request() {
    if !has_tool("iperf") {
        return;
    }
    let (text, served) = iperf2(1, "-u -b 20m -n 300000 -R");
    let counted = served[0].datagrams.expect("datagrams");
    assert_eq!(served[0].direction, TransferDirection::Sent);
    // This client does not report its receive counts.
    assert_eq!(counted.received, None);
    // 300,000 octets in datagrams of 1470, and the one that ends them.
    assert_eq!(counted.sent_datagrams, 206);
    let printed = printed(&text);
    let [(_, _, all)] = printed[..] else {
        panic!("one result: {text}");
    };
    assert_eq!(all, counted.sent_datagrams, "{text}");
}

#[test]
fn stock_iperf2_and_the_server_send_datagrams_to_each_other() {
    if !has_tool("iperf") {
        return;
    }
    for flags in ["-u -b 20m -n 300000 -r", "-u -b 20m -n 300000 -d"] {
        let (text, served) = iperf2(2, flags);
        assert!(octets(&served, TransferDirection::Received) > 0, "{flags}");
        assert!(octets(&served, TransferDirection::Sent) > 0, "{flags}");
        assert_eq!(printed(&text), reported(&served), "{flags}: {text}");
    }
}

#[test]
fn stock_iperf2_receives_no_datagrams_where_not_allowed() {
    if !has_tool("iperf") {
        return;
    }
    let limits = Limits {
        sends_datagrams: false,
        ..Limits::own_network()
    };
    let (text, _) = with(Protocol::Iperf2, limits, 0, |port| {
        client(port, "-u -b 20m -t 1 -R").0
    });
    assert_eq!(printed(&text), [], "{text}");
}
