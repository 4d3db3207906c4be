//! UDP streams compared with the reports of stock iperf 2 and iperf 3 about the same datagrams. They run through a
//! bottleneck on the loopback interface of a network namespace of their own, so that datagrams are lost before the
//! place of capture. iperf 3 sends what it has every 130 ms, so that nothing is in flight when it ends.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use linerate_capture::reader::Reader;
use linerate_capture::traffic::{Traffic, UdpStreamReport};
use linerate_capture::udp::Tool;
use linerate_explain::traffic::{Report, Source};

/// No fixed delays: each step waits until the previous one is observed. `$1` is the output folder.
const SCRIPT: &str = r#"
set -e
cd "$1"
ip link set lo up
tc qdisc add dev lo root tbf rate 8mbit burst 20k limit 30k
tcpdump -Z root -i lo -s 128 -U --immediate-mode -w capture.pcap udp 2>tcpdump.txt & dump=$!
until grep -q 'listening on' tcpdump.txt; do kill -0 $dump; done
iperf3 -s -1 -J >iperf3.json & server=$!
until grep -q ':1451 ' /proc/net/tcp6; do kill -0 $dump; done
iperf3 -c 127.0.0.1 -u -b 10M -l 1000 -t 1 --pacing-timer 130000 >client3.txt
wait $server
iperf -s -u >iperf2.txt & server=$!
until grep -q ':1389 ' /proc/net/udp; do kill -0 $dump; done
iperf -c 127.0.0.1 -u -b 48M -l 1000 -n 500K >client2.txt
echo that-is-all >/dev/udp/127.0.0.1/9
until grep -q that-is-all capture.pcap; do kill -0 $dump; done
kill $server $dump
wait $dump
"#;

/// The folder with the output; `None` if a tool is missing.
fn run() -> Option<PathBuf> {
    let tools = ["unshare", "bash", "ip", "tc", "tcpdump", "iperf", "iperf3"];
    for tool in tools {
        let found = Command::new("sh")
            .args(["-c", &format!("command -v {tool}")])
            .output();
        if !found.expect("a shell").status.success() {
            assert!(
                std::env::var_os("LINERATE_REQUIRE_TOOLS").is_none(),
                "{tool} is missing"
            );
            eprintln!("skipped: there is no {tool}");
            return None;
        }
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("iperf");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("writable");
    let namespace = [
        "60",
        "unshare",
        "-n",
        "--kill-child",
        "bash",
        "-c",
        SCRIPT,
        "script",
    ];
    let output = Command::new("timeout")
        .args(namespace)
        .arg(&folder)
        .output()
        .expect("it runs");
    let complaint = String::from_utf8_lossy(&output.stderr);
    if complaint.contains("unshare failed") {
        eprintln!("skipped: {complaint}");
        return None;
    }
    assert!(output.status.success(), "{complaint}");
    Some(folder)
}

fn report(capture: &Path) -> Report {
    let mut reader = Reader::new(File::open(capture).expect("readable")).expect("a capture");
    let mut traffic = Traffic::default();
    while let Some(packet) = reader.next() {
        traffic.record_packet(&packet);
    }
    Report::of(
        traffic,
        vec![Source {
            file: capture.display().to_string(),
            packets: reader.packets(),
            fault: reader.error().map(ToString::to_string),
        }],
    )
}

fn of(report: &Report, tool: Tool) -> &UdpStreamReport {
    let mut streams = report
        .udp_streams
        .iter()
        .filter(|stream| stream.tool == tool);
    let stream = streams.next().expect("a stream");
    assert!(streams.next().is_none());
    stream
}

#[test]
fn losses_are_those_that_the_tools_report() {
    let Some(folder) = run() else { return };
    let report = report(&folder.join("capture.pcap"));
    println!("{}", report.text());
    for found in &report.findings {
        let packet = |name: &str| found.finding.evidence[name];
        let worst = packet("worst_packet");
        assert!(packet("first_packet") <= worst && worst <= packet("last_packet"));
    }

    let theirs = fs::read(folder.join("iperf3.json")).expect("readable");
    let theirs: serde_json::Value = serde_json::from_slice(&theirs).expect("JSON");
    let theirs = &theirs["end"]["sum"];
    let ours = of(&report, Tool::Iperf3);
    assert_eq!(theirs["packets"], ours.sent_datagrams);
    assert_eq!(theirs["lost_packets"], ours.lost_datagrams);
    assert_eq!(ours.out_of_order, 0);
    assert!(ours.lost_datagrams > 0, "the bottleneck is too wide");

    let theirs = fs::read_to_string(folder.join("iperf2.txt")).expect("readable");
    let line = theirs.lines().last().expect("a report");
    let ours = of(&report, Tool::Iperf2);
    let counts = line
        .rsplit_once(" (")
        .and_then(|(line, _)| line.rsplit_once(' '));
    let (lost, sent) = counts
        .and_then(|(_, counts)| counts.split_once('/'))
        .expect("lost of sent");
    let [lost, sent]: [u64; 2] = [lost, sent].map(|count| count.parse().expect("a number"));
    assert_eq!(sent, ours.sent_datagrams);
    assert_eq!(lost, ours.lost_datagrams);
    assert!(ours.lost_datagrams > 0, "the bottleneck is too wide");
}
