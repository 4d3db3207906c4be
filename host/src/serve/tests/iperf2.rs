//! Stock iperf 2.

use super::{octets, with};
use crate::serve::{Direction, Protocol, Served};
use crate::testing::{free_port, has};
use linerate_agent::Limits;
use std::process::Command;

/// What stock iperf 2 prints; whether it is satisfied.
fn client(port: u16, flags: &str) -> (String, bool) {
    let back = free_port().to_string();
    let port = port.to_string();
    let output = Command::new("timeout")
        .args([
            // Its threads may wait for each other for ever, and then for no signal but this.
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

/// What stock iperf 2 prints, and what was served to it.
fn iperf2(tests: usize, flags: &str) -> (String, Vec<Served>) {
    with(Protocol::Iperf2, Limits::own_network(), tests, |port| {
        let (text, is_well) = client(port, flags);
        assert!(is_well, "{flags}: {text}");
        text
    })
}

#[test]
fn stock_iperf2_sends_tcp_and_both_count_the_same() {
    if !has("iperf") {
        return;
    }
    for (flags, tests, sent) in [
        ("-n 3000000", 1, 3_000_000),
        ("-n 100000 -l 64", 1, 100_000),
        ("-n 100000 -C", 1, 100_000),
        ("-n 1000000 -P 3", 3, 3_000_000),
    ] {
        let (text, served) = iperf2(tests, flags);
        assert_eq!(
            octets(&served, Direction::Received),
            sent,
            "{flags}: {text}"
        );
    }
}

#[test]
fn stock_iperf2_is_sent_tcp_when_it_asks() {
    if !has("iperf") {
        return;
    }
    let (text, served) = iperf2(1, "-n 3000000 -R");
    assert_eq!(octets(&served, Direction::Sent), 3_000_000);
    assert!(text.contains(" 3000000 Bytes"), "{text}");
    for flags in ["-n 1000000 -r", "-n 1000000 -d"] {
        let (text, served) = iperf2(2, flags);
        assert_eq!(
            octets(&served, Direction::Received),
            1_000_000,
            "{flags}: {text}"
        );
        assert_eq!(
            octets(&served, Direction::Sent),
            1_000_000,
            "{flags}: {text}"
        );
    }
}

#[test]
fn stock_iperf2_sends_and_is_sent_on_one_connection() {
    if !has("iperf") {
        return;
    }
    let (text, served) = iperf2(2, "-n 1000000 --full-duplex");
    for direction in [Direction::Sent, Direction::Received] {
        assert_eq!(octets(&served, direction), 1_000_000, "{text}");
    }
}

#[test]
fn one_server_serves_one_test_after_the_other() {
    if !has("iperf") {
        return;
    }
    let ((), served) = with(Protocol::Iperf2, Limits::own_network(), 3, |port| {
        for flags in ["-n 100000", "-u -b 5m -n 100000 -l 1000", "-n 300000 -R"] {
            let (text, is_well) = client(port, flags);
            assert!(is_well, "{flags}: {text}");
        }
    });
    let one = |it: &Served| (it.transport, it.direction);
    assert_eq!(
        served.iter().map(one).collect::<Vec<_>>(),
        [
            ("tcp", Direction::Received),
            ("udp", Direction::Received),
            ("tcp", Direction::Sent)
        ]
    );
    assert_eq!((served[0].octets, served[2].octets), (100_000, 300_000));
}

/// Octets, lost and all datagrams.
type Counts = (u64, u64, u64);

/// What stock iperf prints of what was received: by itself, and by the server in its report.
fn printed(text: &str) -> Vec<Counts> {
    let of = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let bytes = words.iter().position(|word| *word == "Bytes")?;
        let octets = words[bytes - 1].parse().ok()?;
        let ms = words.iter().rposition(|word| *word == "ms")?;
        let counts = words[ms + 1..].concat();
        let (lost, all) = counts.split_once('/')?;
        let all = all.split('(').next()?;
        Some((octets, lost.parse().ok()?, all.parse().ok()?))
    };
    let mut printed: Vec<Counts> = text.lines().filter_map(of).collect();
    printed.sort_unstable();
    printed
}

/// What this end says of the same.
fn told(served: &[Served]) -> Vec<Counts> {
    let of = |it: &Served| {
        let datagrams = it.datagrams.expect("datagrams");
        let received = datagrams.received.expect("a receiver's counts");
        (it.octets, received.lost_datagrams, datagrams.sent_datagrams)
    };
    let mut told: Vec<Counts> = served.iter().map(of).collect();
    told.sort_unstable();
    told
}

#[test]
fn stock_iperf2_gets_a_report_of_its_datagrams() {
    if !has("iperf") {
        return;
    }
    for flags in ["-u -b 20m -n 300000 -l 1470", "-u -b 5m -n 100000 -l 64"] {
        let (text, served) = iperf2(1, flags);
        assert!(text.contains("Server Report:"), "{flags}: {text}");
        assert_eq!(printed(&text), told(&served), "{flags}: {text}");
    }
}

#[test]
fn stock_iperf2_is_sent_datagrams_when_it_asks() {
    if !has("iperf") {
        return;
    }
    let (text, served) = iperf2(1, "-u -b 20m -n 300000 -R");
    let counted = served[0].datagrams.expect("datagrams");
    assert_eq!(served[0].direction, Direction::Sent);
    // This client does not say what it received.
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
    if !has("iperf") {
        return;
    }
    for flags in ["-u -b 20m -n 300000 -r", "-u -b 20m -n 300000 -d"] {
        let (text, served) = iperf2(2, flags);
        assert!(octets(&served, Direction::Received) > 0, "{flags}");
        assert!(octets(&served, Direction::Sent) > 0, "{flags}");
        assert_eq!(printed(&text), told(&served), "{flags}: {text}");
    }
}

#[test]
fn stock_iperf2_is_sent_no_datagrams_where_that_is_not_allowed() {
    if !has("iperf") {
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
