//! Stock clients against what is served, over loopback.

use super::{Direction, Event, Order, Protocol, Served, serve};
use linerate_agent::Limits;
use std::net::{IpAddr, Ipv4Addr, TcpListener, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A port that is free for TCP and UDP.
fn free_port() -> u16 {
    loop {
        let tcp = TcpListener::bind((LOOPBACK, 0)).expect("a TCP port");
        let port = tcp.local_addr().expect("an address").port();
        if UdpSocket::bind((LOOPBACK, port)).is_ok() {
            return port;
        }
    }
}

/// Whether the tool is there; where tests must not be skipped, it is an error if it isn't.
fn has(tool: &str) -> bool {
    let there = Command::new(tool).arg("--version").output().is_ok();
    assert!(
        there || std::env::var_os("LINERATE_REQUIRE_TOOLS").is_none(),
        "{tool} is missing: cargo xtask setup installs it"
    );
    if !there {
        eprintln!("skipped: {tool} is missing (cargo xtask setup installs it)");
    }
    there
}

/// Serves `protocol` while `client` runs, and says what was served. `tests`: how many to wait for.
fn with(
    protocol: Protocol,
    tests: usize,
    client: impl FnOnce(u16) -> String,
) -> (String, Vec<Served>) {
    let port = free_port();
    let order = Order {
        address: LOOPBACK,
        protocols: vec![(protocol, port)],
        clients: 16,
        limits: Limits::own_network(),
    };
    let stopped = AtomicBool::new(false);
    let (listening, is_listening) = channel();
    thread::scope(|scope| {
        let server = scope.spawn(|| {
            let mut served = Vec::new();
            serve(
                &order,
                &|| stopped.load(Ordering::Relaxed),
                |event| match event {
                    Event::Listening(..) => listening.send(()).expect("the test waits"),
                    Event::Served(one) => {
                        served.push(one);
                        if served.len() == tests {
                            stopped.store(true, Ordering::Relaxed);
                        }
                    }
                    Event::Failed(protocol, error) => panic!("{protocol}: {error}"),
                },
            );
            served
        });
        is_listening.recv().expect("a server that listens");
        let output = client(port);
        (output, server.join().expect("the server"))
    })
}

/// What stock iperf 2 prints, and what was served to it.
fn iperf2(tests: usize, flags: &str) -> (String, Vec<Served>) {
    with(Protocol::Iperf2, tests, |port| {
        let back = free_port().to_string();
        let port = port.to_string();
        let output = Command::new("timeout")
            .args([
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
        assert!(output.status.success(), "{flags}: {text}");
        text
    })
}

fn octets(served: &[Served], direction: Direction) -> u64 {
    let those = served.iter().filter(|it| it.direction == direction);
    those.map(|it| it.octets).sum()
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

/// What stock iperf prints behind `Server Report:`: octets, lost and all datagrams.
fn report(text: &str) -> Option<(u64, u64, u64)> {
    let (_, report) = text.split_once("Server Report:")?;
    let line = report.lines().find(|line| line.contains(" sec "))?;
    let words: Vec<&str> = line.split_whitespace().collect();
    let bytes = words.iter().position(|word| *word == "Bytes")?;
    let octets = words[bytes - 1].parse().ok()?;
    let ms = words.iter().rposition(|word| *word == "ms")?;
    let counts = words[ms + 1..].concat();
    let (lost, all) = counts.split_once('/')?;
    let all = all.split('(').next()?;
    Some((octets, lost.parse().ok()?, all.parse().ok()?))
}

#[test]
fn stock_iperf2_gets_a_report_of_its_datagrams() {
    if !has("iperf") {
        return;
    }
    for flags in ["-u -b 20m -n 300000 -l 1470", "-u -b 5m -n 100000 -l 64"] {
        let (text, served) = iperf2(1, flags);
        let counted = served[0].datagrams.expect("datagrams");
        let (octets, lost, all) = report(&text).unwrap_or_else(|| panic!("a report: {text}"));
        assert_eq!(octets, served[0].octets, "{flags}: {text}");
        let received = counted.received.expect("a receiver's counts");
        assert_eq!(
            (lost, all),
            (received.lost_datagrams, counted.sent_datagrams),
            "{flags}: {text}"
        );
        assert_eq!(lost, 0, "{flags}: loopback loses nothing: {text}");
    }
}

#[test]
fn stock_iperf2_is_sent_datagrams_when_it_asks() {
    if !has("iperf") {
        return;
    }
    let (text, served) = iperf2(1, "-u -b 20m -t 0.5 -R");
    let counted = served[0].datagrams.expect("datagrams");
    assert_eq!(served[0].direction, Direction::Sent);
    // This client does not say what it received.
    assert_eq!(counted.received, None);
    // Half a second of 20 Mbit/s.
    assert!((800..=870).contains(&counted.sent_datagrams), "{text}");
    let result = text.lines().find(|line| line.contains("[ *1]"));
    let all = format!(" 0/{} ", counted.sent_datagrams);
    let result = result.unwrap_or_else(|| panic!("a result: {text}"));
    assert!(result.contains(&all), "{text}");
}

#[test]
fn curl_gets_and_puts() {
    if !has("curl") {
        return;
    }
    let (text, served) = with(Protocol::Http, 2, |port| {
        let url = format!("http://127.0.0.1:{port}/1000000");
        let script = format!(
            "curl -sS -o /dev/null -w '%{{size_download}} ' {url}; \
             head -c 54321 /dev/zero | curl -sS -T - -w '%{{size_upload}}' {url}"
        );
        let output = Command::new("timeout")
            .args(["60", "sh", "-c", &script])
            .output()
            .expect("curl runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    });
    assert!(text.starts_with("1000000 "), "{text}");
    assert_eq!(octets(&served, Direction::Sent), 1_000_000);
    assert_eq!(octets(&served, Direction::Received), 54_321);
}

/// What stock iperf 3 says at the end, as JSON, and what was served to it.
fn iperf3(tests: usize, flags: &str) -> (serde_json::Value, Vec<Served>) {
    let (text, served) = with(Protocol::Iperf3, tests, |port| {
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
    if !has("iperf3") {
        return;
    }
    for flags in ["-n 3M", "-n 3M -P 3", "-n 300K -l 64"] {
        let (end, served) = iperf3(1, flags);
        assert_eq!(
            end["sum_received"]["bytes"],
            octets(&served, Direction::Received),
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
        octets(&served, Direction::Sent)
    );
    for flags in [
        "-u -b 20M -t 1 -l 1460",
        "-u -b 5M -t 1 -l 64",
        "-u -b 5M -t 1 -R -l 1460",
    ] {
        let (end, served) = iperf3(1, flags);
        let datagrams = served[0].datagrams.expect("datagrams");
        let received = datagrams.received.expect("a receiver's counts");
        assert_eq!(
            end["sum"]["lost_packets"], received.lost_datagrams,
            "{flags}"
        );
        assert_eq!(end["sum"]["packets"], datagrams.sent_datagrams, "{flags}");
        assert_eq!(
            received.lost_datagrams, 0,
            "{flags}: loopback loses nothing"
        );
    }
    let (end, served) = iperf3(2, "-n 1M --bidir");
    assert_eq!(
        end["sum_received"]["bytes"],
        octets(&served, Direction::Received)
    );
    assert_eq!(
        end["sum_received_bidir_reverse"]["bytes"],
        octets(&served, Direction::Sent)
    );
}
