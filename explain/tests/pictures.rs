//! Pictures of captures: the page and the files.

use linerate_capture::reader::Reader;
use linerate_capture::traffic::Traffic;
use linerate_explain::report::{capture_html, capture_pictures};
use linerate_explain::traffic::{Report, Source};

const SYN: u8 = 2;
const ACK: u8 = 16;
const US: u64 = 1_000;
const MS: u64 = 1_000 * US;

/// A capture on a raw IP link.
struct Capture(Vec<u8>);

impl Capture {
    fn new() -> Self {
        let head = [0xA1B2_3C4D_u32, 0x0004_0002, 0, 0, 65_535, 101];
        Self(head.into_iter().flat_map(u32::to_le_bytes).collect())
    }

    /// A segment of a server (`true`) or of its client at `port`.
    fn packet(
        &mut self,
        at_ns: u64,
        port: u16,
        server: bool,
        flags: u8,
        (seq, ack, len, window): (u32, u32, u16, u16),
    ) {
        let mut hosts = [[192, 0, 2, 1], [192, 0, 2, 2]];
        let mut ports = [80, port];
        if !server {
            hosts.reverse();
            ports.reverse();
        }
        let mut octets = vec![0x45, 0];
        octets.extend((40 + len).to_be_bytes());
        octets.extend([0, 0, 0, 0, 64, 6, 0, 0]);
        octets.extend(hosts.concat());
        octets.extend(ports.into_iter().flat_map(u16::to_be_bytes));
        octets.extend([seq, ack].into_iter().flat_map(u32::to_be_bytes));
        octets.extend([0x50, flags]);
        octets.extend(window.to_be_bytes());
        octets.extend([0; 4]);
        let kept = octets.len() as u32;
        let second = (at_ns / 1_000_000_000) as u32;
        for word in [
            second,
            (at_ns % 1_000_000_000) as u32,
            kept,
            kept + u32::from(len),
        ] {
            self.0.extend(word.to_le_bytes());
        }
        self.0.extend(octets);
    }

    /// A server sends a client segments in pairs, of which every `lost`-th second one is lost until a time-out.
    fn download(&mut self, start_ns: u64, port: u16, pairs: u32, lost: u32) {
        let mut at_ns = start_ns;
        let (mut seq, size) = (1_001, 1_000);
        self.packet(at_ns, port, false, SYN, (500, 0, 0, 4_000));
        self.packet(
            at_ns + 100 * US,
            port,
            true,
            SYN | ACK,
            (1_000, 501, 0, 8_000),
        );
        self.packet(at_ns + 200 * US, port, false, ACK, (501, 1_001, 0, 4_000));
        for pair in 1..=pairs {
            at_ns += 10 * MS;
            for second in 0..2 {
                let own = (seq + second * 1_000, 501, size, 8_000);
                self.packet(at_ns + u64::from(second) * 100 * US, port, true, ACK, own);
            }
            if pair % lost == 0 {
                self.packet(at_ns + MS, port, false, ACK, (501, seq + 1_000, 0, 3_000));
                at_ns += 300 * MS;
                self.packet(at_ns, port, true, ACK, (seq + 1_000, 501, size, 8_000));
            }
            seq += 2_000;
            let window = if pair == pairs / 2 { 0 } else { 4_000 };
            self.packet(at_ns + 2 * MS, port, false, ACK, (501, seq, 0, window));
        }
    }

    fn read(&self, mut traffic: Traffic, file: &str) -> Report {
        let mut reader = Reader::new(self.0.as_slice()).expect("a capture");
        while let Some(packet) = reader.next() {
            traffic.record_packet(&packet);
        }
        Report::of(
            traffic,
            vec![Source {
                file: file.to_owned(),
                packets: reader.packets(),
                fault: None,
            }],
        )
    }
}

fn lossy() -> Capture {
    let mut capture = Capture::new();
    capture.download(0, 4_096, 16, 4);
    capture
}

#[test]
fn the_page_has_causes_pictures_and_a_table_and_needs_nothing_else() {
    let report = lossy().read(Traffic::with_traces(), "<b>.pcap");
    let page = capture_html(&report, 3);
    for part in [
        "id=\"findings\"",
        "class=\"picture\"",
        "class=\"table\"",
        "k-time-out",
        "k-closed",
    ] {
        assert!(page.contains(part), "{part} is missing");
    }
    assert!(page.contains("&lt;b&gt;.pcap") && !page.contains("<b>.pcap"));
    // The script names the namespace of what it draws; nothing is fetched from there.
    let page = page.replace("http://www.w3.org/2000/svg", "");
    for forbidden in [
        "http://",
        "https://",
        "<script src",
        "fetch(",
        "url(",
        "@import",
        "href",
    ] {
        assert!(
            !page.contains(forbidden),
            "{forbidden} would need the network"
        );
    }
    assert!(!page.contains("NaN") && !page.contains("inf\""));
}

#[test]
fn a_file_stands_alone() {
    let report = lossy().read(Traffic::with_traces(), "a.pcap");
    let files = capture_pictures(&report, 3);
    let [(name, svg)] = files.as_slice() else {
        panic!("one connection, {} files", files.len());
    };
    assert_eq!(name, "1-packet-1.svg");
    roxmltree::Document::parse(svg).expect("well-formed");
    let (_, drawn) = svg.split_once("</style>").expect("a style");
    insta::assert_snapshot!(drawn.replace("><", ">\n<"));
}

#[test]
fn pictures_are_kept_only_on_request_and_for_a_limited_number_of_connections() {
    let mut capture = Capture::new();
    for port in 0..500 {
        // In the order of their cost, from the middle on.
        let pairs = 3 + u32::from(port % 250);
        capture.download(u64::from(port) * 10_000 * MS, 4_096 + port, pairs, 7);
    }
    let plain = capture.read(Traffic::default(), "a");
    assert!(plain.pictures.is_empty());
    let report = capture.read(Traffic::with_traces(), "a");
    assert!(
        (32..=64).contains(&report.pictures.len()),
        "{}",
        report.pictures.len()
    );
    let costly: Vec<usize> = report.pictures[..2]
        .iter()
        .map(|it| it.connection)
        .collect();
    assert_eq!(costly, [249, 499]);
    assert_eq!(capture_pictures(&report, 5).len(), 5);
}

#[test]
fn a_long_connection_takes_no_more_room_than_a_picture_shows() {
    let mut capture = Capture::new();
    capture.download(0, 4_096, 30_000, 3);
    let report = capture.read(Traffic::with_traces(), "a");
    let (_, svg) = &capture_pictures(&report, 1)[0];
    assert!(svg.len() < 400_000, "{} octets", svg.len());
    roxmltree::Document::parse(svg).expect("well-formed");
}

#[test]
fn an_empty_capture_is_a_page_too() {
    let report = Capture::new().read(Traffic::with_traces(), "empty");
    assert!(capture_html(&report, 3).contains("The capture has no packets"));
    assert!(capture_pictures(&report, 3).is_empty());
}
