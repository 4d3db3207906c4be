//! `linerate explain` as a user runs it.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

fn explain(args: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_linerate"))
        .arg("explain")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    // The command does not read if it rejects its arguments.
    let _ = stdin.write_all(input);
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

fn text(octets: &[u8]) -> &str {
    std::str::from_utf8(octets).expect("text")
}

/// A raw IP capture: a segment of three octets, and the same again after a second.
fn capture() -> Vec<u8> {
    let mut datagram = vec![
        0x45, 0, 0, 43, 0, 0, 0, 0, 64, 6, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2,
    ];
    datagram.extend([
        0, 80, 0x10, 0, 0, 0, 0, 5, 0, 0, 0, 9, 0x50, 0x10, 2, 0, 0, 0, 0, 0,
    ]);
    datagram.extend(*b"abc");
    let mut file = Vec::new();
    for word in [0xA1B2_C3D4_u32, 0x0004_0002, 0, 0, 65_535, 101] {
        file.extend(word.to_le_bytes());
    }
    for second in [7, 8_u32] {
        for word in [second, 0, 43, 43] {
            file.extend(word.to_le_bytes());
        }
        file.extend(&datagram);
    }
    file
}

#[test]
fn charts_are_written_to_the_given_paths() {
    let folder = std::env::temp_dir().join(format!("linerate-explain-{}", std::process::id()));
    let (page, svg) = (folder.join("sub/page.html"), folder.join("svg"));
    let [page, svg] = [&page, &svg].map(|path| path.to_str().expect("UTF-8"));
    let output = explain(&["-", "--report", page, "--svg", svg], &capture());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    let file = format!("{svg}/1-packet-1.svg");
    assert!(
        printed.ends_with(&format!("\n{page}\n{file}\n")),
        "{printed}"
    );
    for (path, start) in [(page, "<!doctype html>"), (&file, "<svg xmlns=")] {
        let written = std::fs::read_to_string(path).expect("written");
        assert!(written.starts_with(start), "{path}");
    }
    std::fs::remove_dir_all(&folder).expect("ours");
}

#[test]
fn connections_are_printed_as_text_as_json_and_by_flags() {
    let output = explain(&["-"], &capture());
    let printed = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(printed.contains("2 packets in 1 s: 2 TCP"), "{printed}");
    assert!(
        printed.contains("192.0.2.1:80  192.0.2.2:4096"),
        "{printed}"
    );

    let output = explain(&["-", "--json"], &capture());
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(
        json["connections"][0]["payload"]["retransmitted_segments"],
        1
    );
    assert_eq!(json["captures"][0]["file"], "stdin");

    let output = explain(&["-", "--flags"], &capture());
    assert_eq!(text(&output.stdout), "2 tcp.analysis.retransmission\n");
}

#[test]
fn a_truncated_capture_is_reported_and_other_files_are_rejected() {
    let whole = capture();
    let output = explain(&["-"], &whole[..whole.len() - 1]);
    assert!(output.status.success());
    assert!(
        text(&output.stdout).ends_with(
            "stdin: the capture ends within a packet: 42 of 43 octets are present (after packet 1, at octet 83)\n"
        ),
        "{}",
        text(&output.stdout)
    );
    let output = explain(&["-"], b"GIF89a");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    assert_eq!(
        text(&output.stderr),
        "error: stdin: not a pcap or pcapng capture: it begins with 47 49 46 38\n"
    );
    let output = explain(&["/nowhere.pcap"], b"");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).starts_with("error: cannot read /nowhere.pcap"));
}

/// Results of a load sweep to the device: offered and received, Mbit/s.
fn results(points: &[(f64, f64)]) -> String {
    let fixture = include_str!("../../results/tests/fixtures/run.json");
    let mut run: serde_json::Value = serde_json::from_str(fixture).expect("JSON");
    let point = |(offered, received): &(f64, f64)| {
        let count = |mbit_per_s: f64| (mbit_per_s * 125.0).round() as u64;
        serde_json::json!({
            "measurement": "udp_sweep",
            "params": {
                "conditions": [], "duplex": "unknown", "direction": "to_device", "payload_bytes": 1000,
                "offered_bytes_per_s": offered * 125_000.0, "span_ns": 1_000_000_000
            },
            "metrics": {
                "sent_bytes_per_s": offered * 125_000.0,
                "received_bytes_per_s": received * 125_000.0,
                "flow": {
                    "octets": count(*received) * 1000, "span_ns": 1_000_000_000, "counted_by": "device",
                    "goodput_bytes_per_s": received * 125_000.0,
                    "datagrams": {
                        "sent": count(*offered), "received": count(*received),
                        "lost": count(*offered) - count(*received), "jitter_ns": 0
                    }
                }
            }
        })
    };
    run["results"] = points.iter().map(point).collect();
    run.to_string()
}

#[test]
fn results_are_explained_without_a_capture() {
    let folder = std::env::temp_dir().join(format!("linerate-with-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("run.json");
    let with = file.to_str().expect("text");
    let falls = [(10.0, 10.0), (20.0, 18.0), (40.0, 6.0)];
    std::fs::write(&file, results(&falls)).expect("room");
    let output = explain(&["--with", with], b"");
    let printed = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(
        printed
            .starts_with("Main finding: receive livelock.\n\n1. receive livelock (confidence 70%)"),
        "{printed}"
    );
    assert!(
        printed
            .ends_with("Without this the device would receive 3.0 times as much under overload.\n"),
        "{printed}"
    );
    let output = explain(&["--with", with, "--json"], b"");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json["findings"][0]["cause"], "receive-livelock");
    std::fs::write(&file, results(&falls[..1])).expect("room");
    let output = explain(&["--with", with], b"");
    assert_eq!(text(&output.stdout), "These results show no problem.\n");
    let output = explain(&["--with", with, "--flags"], b"");
    assert_eq!(output.status.code(), Some(2));
    std::fs::remove_dir_all(&folder).expect("ours");
}
