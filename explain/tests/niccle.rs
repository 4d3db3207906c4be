//! The capture of a real bit-banged NIC that loses segments back to back: `niccle/*.pcap.gz` in the folder
//! `LINERATE_DATA`. Counts are exact, times and rates within one per cent of manually determined values.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use linerate_capture::reader::{Frame, Reader};
use linerate_capture::traffic::{ConnectionReport, DirectionReport, EndRole, Traffic};
use linerate_explain::traffic::{Report, Source};
use linerate_results::record::Cause;

const CAPTURE: &str = "niccle/smoltcp_http_get_before_optimizations.pcap.gz";

/// Console output of the device during the capture.
const CONSOLE: &str = "niccle/smoltcp_http_get_before_optimizations.stdout.txt";
const DEVICE: [u8; 6] = [0x12, 0x34, 0x56, 0x78, 0x90, 0x12];

fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("LINERATE_DATA");
    if folder.is_none() {
        eprintln!("skipped: LINERATE_DATA names no folder with captures");
    }
    folder.map(PathBuf::from)
}

fn capture(folder: &Path) -> Reader<File> {
    let file = File::open(folder.join(CAPTURE)).expect("in that folder");
    Reader::new(file).expect("a capture")
}

fn report() -> Option<Report> {
    let mut reader = capture(&folder()?);
    let mut traffic = Traffic::default();
    while let Some(packet) = reader.next() {
        traffic.record_packet(&packet);
    }
    assert_eq!(reader.error(), None);
    Some(Report::of(
        traffic,
        vec![Source {
            file: CAPTURE.to_owned(),
            packets: reader.packets(),
            fault: None,
        }],
    ))
}

#[track_caller]
fn close(found: f64, known: f64) {
    assert!(
        (found / known - 1.0).abs() < 0.01,
        "{found} instead of {known}"
    );
}

/// The host's direction of each connection, whichever end it is.
fn by_host(report: &Report) -> impl Iterator<Item = &DirectionReport> {
    report.connections.iter().map(|connection| {
        let sends = connection.sender.starts_with("169.254.172.115:");
        if sends {
            &connection.payload
        } else {
            &connection.back
        }
    })
}

fn both_ways(report: &Report) -> impl Iterator<Item = &DirectionReport> {
    report
        .connections
        .iter()
        .flat_map(|connection| [&connection.payload, &connection.back])
}

#[test]
fn contents_of_the_capture() {
    let Some(report) = report() else { return };
    let packets = &report.packets;
    assert_eq!(
        (packets.packets, packets.tcp, packets.arp, packets.udp),
        (4695, 4684, 10, 1)
    );
    close(report.duration_ns as f64, 292.378e9);
    let frames: Vec<u64> = report
        .stations
        .iter()
        .map(|station| station.frames)
        .collect();
    assert_eq!(frames, [2553, 2142]);
    assert_eq!(report.connections.len(), 14);
    let near_host =
        |connection: &ConnectionReport| connection.captured_near == Some(EndRole::Sender);
    assert_eq!(
        report
            .connections
            .iter()
            .filter(|connection| near_host(connection))
            .count(),
        13
    );
    // The second connection was opened before the capture; the last one is cut off.
    let opened = report
        .connections
        .iter()
        .map(|connection| connection.handshake_rtt_ns.is_some());
    assert!(opened.eq((0..14).map(|at| at != 1)));
    let last = report.connections.last().expect("some");
    assert_eq!((last.payload.unique_bytes, last.back.resets), (61_390, 0));
}

#[test]
fn segments_and_retransmissions() {
    let Some(report) = report() else { return };
    let sum = |of: fn(&DirectionReport) -> u64| by_host(&report).map(of).sum::<u64>();
    assert_eq!(sum(|sent| sent.segments), 2521);
    assert_eq!(sum(|sent| sent.retransmitted_segments), 708);
    assert_eq!(sum(|sent| sent.retransmitted_bytes), 987_898);
    assert_eq!(sum(|sent| sent.unique_bytes), 2_613_675);
    assert_eq!(sum(|sent| sent.tail_loss_probes), 18);
    let probes = || by_host(&report).filter_map(|sent| sent.tail_loss_probe_ns);
    assert_eq!(probes().map(|delays| delays.count).sum::<u64>(), 18);
    let (least, most) = (
        probes().map(|delays| delays.min).min(),
        probes().map(|delays| delays.max).max(),
    );
    // Determined manually: 12 to 50 ms, rounded.
    assert!(least >= Some(11_500_000) && most.is_some_and(|ns| ns <= 50_500_000));
    let mut delays = std::collections::BTreeMap::new();
    for delay in by_host(&report).flat_map(|sent| &sent.retransmission_delays) {
        *delays.entry(delay.below_ns / 1_000_000).or_insert(0) += delay.segments;
    }
    let known = [
        (150, 18),
        (300, 393),
        (600, 79),
        (1_200, 140),
        (2_400, 34),
        (4_800, 15),
        (9_600, 7),
        (19_200, 4),
    ];
    assert!(delays.into_iter().eq(known));
}

#[test]
fn acknowledgments_and_windows() {
    let Some(report) = report() else { return };
    let sum = |of: fn(&DirectionReport) -> u64| both_ways(&report).map(of).sum::<u64>();
    assert_eq!(sum(|direction| direction.duplicate_acks), 566);
    assert_eq!(sum(|direction| direction.window_updates), 565);
    assert_eq!(sum(|direction| direction.zero_windows), 0);
    assert_eq!(sum(|direction| direction.resets), 6);
    let windows = by_host(&report).filter_map(|sent| sent.min_window);
    assert_eq!(windows.min(), Some(4400));
    let stall = by_host(&report)
        .max_by_key(|sent| sent.longest_stall_ns)
        .expect("some");
    close(stall.longest_stall_ns as f64, 13.564e9);
    close(stall.longest_stall_start_ns as f64, 269.33e9);
    let largest = by_host(&report)
        .max_by_key(|sent| sent.unique_bytes)
        .expect("some");
    close(largest.isolated_rtt_ns.expect("some").p50 as f64, 3.544e6);
}

#[test]
fn how_fast_each_request_was() {
    let Some(report) = report() else { return };
    let known = [
        6.35, 6.72, 6.87, 6.74, 6.75, 16.62, 10.78, 2.95, 4.80, 5.65, 13.67, 8.65,
    ];
    let found: Vec<f64> = report
        .connections
        .iter()
        .filter(|connection| connection.payload.unique_bytes > 10_000)
        .map(|connection| connection.goodput_bytes_per_s / 1e3)
        .collect();
    for (found, known) in found.iter().zip(known) {
        close(*found, known);
    }
    // The last connection is cut off.
    assert_eq!(found.len(), known.len() + 1);
}

/// The figures after `name` on the console.
fn console_figures(console: &str, name: &str) -> Vec<f64> {
    let behind = |line: &str| {
        let figure = line.split_once(name)?.1.trim_start();
        let end = figure.find(|c: char| !c.is_ascii_digit() && c != '.');
        figure[..end.unwrap_or(figure.len())].parse().ok()
    };
    console.lines().filter_map(behind).collect()
}

/// Frames of the device and of the host in packets of these numbers.
fn frames(folder: &Path, numbers: std::ops::Range<u64>) -> [u64; 2] {
    let mut reader = capture(folder);
    let mut frames = [0; 2];
    while let Some(packet) = reader.next() {
        if numbers.contains(&packet.number) {
            let source = Frame::parse(&packet).source;
            frames[usize::from(source != Some(DEVICE))] += 1;
        }
    }
    frames
}

#[test]
fn counters_of_the_device_match() {
    let (Some(folder), Some(report)) = (folder(), report()) else {
        return;
    };
    let console = fs::read_to_string(folder.join(CONSOLE)).expect("in that folder");
    // Start of the first request for 100 kB and of the first for 1 MB, where the device printed its counters.
    let first = |bytes: u64| {
        let mut connections = report.connections.iter();
        let found = connections.find(|connection| connection.payload.unique_bytes > bytes);
        found.expect("some").first_packet
    };
    let [hundred, thousand] = [100_000, 1_000_000].map(first);
    let [first, second] = [1..hundred, hundred..thousand].map(|numbers| frames(&folder, numbers));
    // Its counters are cumulative.
    let sent = console_figures(&console, "PHY TX: Packets:");
    assert_eq!(sent, [71.0, 514.0]);
    assert_eq!((first[0], first[0] + second[0]), (71, 514));
    // Frames of the host that it accepted: the rest is lost, retransmitted or not.
    let taken = console_figures(&console, "MAC RX: Packets:");
    close(1.0 - taken[0] / first[1] as f64, 0.416);
    close(1.0 - (taken[1] - taken[0]) / second[1] as f64, 0.303);
    // From the SYN to the last octet, on both clocks.
    let device_s = console_figures(&console, "Received 1000070 bytes over ");
    let large = report
        .connections
        .iter()
        .filter(|connection| connection.payload.unique_bytes > 1_000_000);
    let host_s = large
        .map(|connection| connection.payload.unique_bytes as f64 / connection.goodput_bytes_per_s);
    let too_long: Vec<f64> = device_s
        .iter()
        .zip(host_s)
        .map(|(device, host)| device / host)
        .collect();
    assert_eq!(too_long.len(), 2);
    for factor in too_long {
        assert!((1.018..1.019).contains(&factor), "{factor}");
        close(620.0 * factor, 631.0);
    }
}

#[test]
fn loss_inside_bursts_is_the_first_finding() {
    let Some(report) = report() else { return };
    let first = &report.findings[0];
    assert_eq!(first.finding.cause, Cause::LossInBursts);
    assert_eq!(first.receiver.as_deref(), Some("169.254.172.114"));
    assert!(first.share_of_time > 0.9 && first.finding.evidence["time_out_share"] > 0.9);
    for word in [
        "receive buffers",
        "receive interrupt",
        "window no larger than its queue",
    ] {
        assert!(
            first.finding.advice.contains(word),
            "{}",
            first.finding.advice
        );
    }
    // No connection shows how fast the path is, so nothing is predicted.
    assert!(!first.finding.evidence.contains_key("time_without_ns"));
    // Each finding names packets; here the retransmission that ended the longest wait.
    // No finding with a negligible share of the time.
    for found in &report.findings {
        assert!(found.share_of_time >= 0.05, "{found:?}");
        for name in ["first_packet", "last_packet", "worst_packet"] {
            let packet = found.finding.evidence.get(name);
            assert!(packet.is_some_and(|it| *it >= 1.0), "{name}: {found:?}");
        }
    }
    assert_eq!(first.finding.evidence["worst_packet"] as u64, 4439);
    for connection in &report.connections {
        let sum: f64 = connection.time_share.values().sum();
        assert!((sum - 1.0).abs() < 1e-9, "{sum}");
        let spans = connection.limits.iter();
        let sum_ns: u64 = spans.map(|span| span.end_ns - span.start_ns).sum();
        assert_eq!(sum_ns, connection.duration_ns);
    }
    println!("{}", report.text());
}
