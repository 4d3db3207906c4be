use std::io::Write as _;

use super::*;

/// Writes integers in one byte order.
struct Writer(ByteOrder, Vec<u8>);

impl Writer {
    fn u16(mut self, number: u16) -> Self {
        self.1.extend(match self.0 {
            ByteOrder::Big => number.to_be_bytes(),
            ByteOrder::Little => number.to_le_bytes(),
        });
        self
    }

    fn u32(mut self, number: u32) -> Self {
        self.1.extend(match self.0 {
            ByteOrder::Big => number.to_be_bytes(),
            ByteOrder::Little => number.to_le_bytes(),
        });
        self
    }

    fn octets(mut self, octets: &[u8]) -> Self {
        self.1.extend(octets);
        self
    }
}

/// The classic format: a file header, then packets of `(seconds, fraction, octets, length on the link)`.
fn pcap(order: ByteOrder, magic: u32, packets: &[(u32, u32, &[u8], u32)]) -> Vec<u8> {
    let mut file = Writer(order, Vec::new())
        .u32(magic)
        .u16(2)
        .u16(4)
        .u32(0)
        .u32(0)
        .u32(64)
        .u32(1);
    for (seconds, fraction, octets, length) in packets {
        file = file
            .u32(*seconds)
            .u32(*fraction)
            .u32(octets.len() as u32)
            .u32(*length)
            .octets(octets);
    }
    file.1
}

fn block(order: ByteOrder, kind: u32, body: &[u8]) -> Vec<u8> {
    let len = 12 + body.len().next_multiple_of(4);
    let mut padded = body.to_vec();
    padded.resize(len - 12, 0);
    Writer(order, Vec::new())
        .u32(kind)
        .u32(len as u32)
        .octets(&padded)
        .u32(len as u32)
        .1
}

fn section(order: ByteOrder) -> Vec<u8> {
    let body = Writer(order, Vec::new())
        .u32(0x1A2B_3C4D)
        .u16(1)
        .u16(0)
        .u32(u32::MAX)
        .u32(u32::MAX);
    block(order, 0x0A0D_0D0A, &body.1)
}

fn interface(order: ByteOrder, link: u16, snap_len: u32, options: &[u8]) -> Vec<u8> {
    block(
        order,
        1,
        &Writer(order, Vec::new())
            .u16(link)
            .u16(0)
            .u32(snap_len)
            .octets(options)
            .1,
    )
}

fn enhanced(order: ByteOrder, interface: u32, ticks: u64, octets: &[u8], length: u32) -> Vec<u8> {
    let (high, low) = ((ticks >> 32) as u32, ticks as u32);
    let body = Writer(order, Vec::new()).u32(interface).u32(high).u32(low);
    block(
        order,
        6,
        &body.u32(octets.len() as u32).u32(length).octets(octets).1,
    )
}

/// Each packet's number, time, length on the link, link type and octets.
type ReadPacket = (u64, u64, u32, u16, Vec<u8>);

fn read(file: &[u8]) -> (Vec<ReadPacket>, Option<ReadError>) {
    let mut reader = Reader::new(file).expect("a capture");
    let mut seen = Vec::new();
    while let Some(packet) = reader.next() {
        let octets = packet.octets.to_vec();
        seen.push((
            packet.number,
            packet.time_ns,
            packet.length,
            packet.link.0,
            octets,
        ));
    }
    assert_eq!(reader.packets(), seen.len() as u64);
    (seen, reader.error().cloned())
}

#[test]
fn pcap_in_both_byte_orders_and_resolutions() {
    for order in [ByteOrder::Big, ByteOrder::Little] {
        for (magic, fraction) in [(0xA1B2_C3D4, 5), (0xA1B2_3C4D, 5_000)] {
            let file = pcap(order, magic, &[(7, fraction, b"abc", 3), (8, 0, b"", 1500)]);
            let expected = vec![
                (1, 7_000_005_000, 3, 1, b"abc".to_vec()),
                (2, 8_000_000_000, 1500, 1, vec![]),
            ];
            assert_eq!(read(&file), (expected, None), "{order:?} {magic:x}");
        }
    }
}

#[test]
fn pcapng_of_several_sections_interfaces_and_clocks() {
    for order in [ByteOrder::Big, ByteOrder::Little] {
        let resolution = |value: u8| {
            Writer(order, Vec::new())
                .u16(9)
                .u16(1)
                .octets(&[value, 0, 0, 0])
                .1
        };
        let shifted = [
            resolution(9),
            match order {
                ByteOrder::Big => vec![0, 14, 0, 8, 0, 0, 0, 0, 0, 0, 0, 2],
                ByteOrder::Little => vec![14, 0, 8, 0, 2, 0, 0, 0, 0, 0, 0, 0],
            },
        ];
        let simple = Writer(order, Vec::new()).u32(6).octets(b"abcd").1;
        let old = Writer(order, Vec::new())
            .u16(1)
            .u16(0)
            .u32(0)
            .u32(3)
            .u32(1)
            .u32(9)
            .octets(b"x");
        let file = [
            section(order),
            interface(order, 1, 4, &[]),
            interface(order, 101, 0, &shifted.concat()),
            interface(order, 113, 0, &resolution(0x8A)),
            enhanced(order, 0, 7, b"abcde", 60),
            block(order, 5, &[0; 64]),
            enhanced(order, 1, 8, b"", 0),
            enhanced(order, 2, 1536, b"xyz", 3),
            block(order, 3, &simple),
            block(order, 2, &old.1),
            section(order),
            interface(order, 229, 0, &[]),
            enhanced(order, 0, 1 << 32, b"6", 1),
        ];
        let expected = vec![
            (1, 7_000, 60, 1, b"abcde".to_vec()),
            (2, 2_000_000_008, 0, 101, vec![]),
            (3, 1_500_000_000, 3, 113, b"xyz".to_vec()),
            (4, 0, 6, 1, b"abcd".to_vec()),
            (5, 2_000_000_003, 9, 101, b"x".to_vec()),
            (6, 4_294_967_296_000, 1, 229, b"6".to_vec()),
        ];
        assert_eq!(read(&file.concat()), (expected, None), "{order:?}");
    }
}

#[test]
fn packets_dropped_while_capturing() {
    for order in [ByteOrder::Big, ByteOrder::Little] {
        let words = |number: u32| match order {
            ByteOrder::Big => [0, number],
            ByteOrder::Little => [number, 0],
        };
        let statistics = |interface: u32, by_interface: u32, by_system: u32| {
            let mut body = Writer(order, Vec::new()).u32(interface).u32(0).u32(0);
            for (code, count) in [(4, 1000), (5, by_interface), (7, by_system)] {
                body = body.u16(code).u16(8);
                body = words(count).into_iter().fold(body, Writer::u32);
            }
            block(order, 5, &body.1)
        };
        let file = [
            section(order),
            interface(order, 1, 0, &[]),
            interface(order, 1, 0, &[]),
            statistics(0, 1, 2),
            statistics(0, 3, 4),
            statistics(1, 50, 0),
            statistics(2, 9, 9),
            section(order),
            interface(order, 1, 0, &[]),
            statistics(0, 0, 600),
        ];
        let file = file.concat();
        let mut reader = Reader::new(file.as_slice()).expect("a capture");
        assert!(reader.next().is_none() && reader.error().is_none());
        assert_eq!(reader.dropped(), 657);
    }
}

#[test]
fn a_truncated_capture_is_read_up_to_the_cut() {
    let classic = pcap(
        ByteOrder::Little,
        0xA1B2_C3D4,
        &[(1, 0, b"abcd", 4), (2, 0, b"efgh", 4)],
    );
    let next = [
        section(ByteOrder::Little),
        interface(ByteOrder::Little, 1, 0, &[]),
        enhanced(ByteOrder::Little, 0, 1, b"abcd", 4),
        enhanced(ByteOrder::Little, 0, 2, b"efgh", 4),
    ];
    for file in [classic, next.concat()] {
        let (whole, _) = read(&file);
        for len in 28..file.len() {
            let (seen, error) = read(&file[..len]);
            assert_eq!(seen, whole[..seen.len()], "{len}");
            if let Some(error) = error {
                assert_eq!(error.packets, seen.len() as u64);
                assert!(
                    error.offset <= len as u64 && error.what.starts_with("ends within"),
                    "{error}"
                );
            }
        }
    }
    let cut = pcap(
        ByteOrder::Little,
        0xA1B2_C3D4,
        &[(1, 0, b"abcd", 4), (2, 0, b"efgh", 4)],
    );
    assert_eq!(
        read(&cut[..62]).1.expect("cut").to_string(),
        "the capture ends within a packet: 2 of 4 octets are present (after packet 1, at octet 44)"
    );
}

#[test]
fn damage_is_reported_with_its_position() {
    let mut file = pcap(
        ByteOrder::Little,
        0xA1B2_C3D4,
        &[(1, 0, b"abcd", 4), (2, 0, b"efgh", 4)],
    );
    file[52..56].copy_from_slice(&[0xFF; 4]);
    let (seen, error) = read(&file);
    assert_eq!(seen.len(), 1);
    assert_eq!(
        error.expect("damaged").to_string(),
        "the capture is damaged: a packet cannot have 4294967295 octets (after packet 1, at octet 44)"
    );

    let file = [
        section(ByteOrder::Big),
        enhanced(ByteOrder::Big, 3, 0, b"abcd", 4),
    ]
    .concat();
    assert_eq!(
        read(&file).1.expect("damaged").what,
        "is damaged: a packet refers to interface 3, which is not defined"
    );
}

#[test]
fn compressed_captures_are_read_like_plain_ones() {
    let plain = pcap(
        ByteOrder::Little,
        0xA1B2_C3D4,
        &[(1, 0, b"abcd", 4), (2, 0, b"efgh", 4)],
    );
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&plain).expect("memory");
    let gzip = gzip.finish().expect("memory");
    // As zstd writes it: a data frame, a skippable frame, another data frame.
    let zstd = |octets: &[u8]| {
        ruzstd::encoding::compress_to_vec(octets, ruzstd::encoding::CompressionLevel::Fastest)
    };
    let skipped = [0x50, 0x2A, 0x4D, 0x18, 2, 0, 0, 0, 9, 9];
    let zstd = [zstd(&plain[..30]), skipped.to_vec(), zstd(&plain[30..])].concat();
    for compressed in [&gzip, &zstd] {
        assert_eq!(read(compressed), read(&plain));
        let (seen, error) = read(&compressed[..compressed.len() - 9]);
        assert!(seen.len() <= 2);
        assert!(error.is_some(), "cut short without an error");
    }
}

/// The head of a frame, as `zstd --long=N` writes it: a window of 2^N octets (RFC 8878 section 3.1.1.1).
#[test]
fn a_window_that_takes_too_much_memory_is_refused_before_it_is_allocated() {
    let head = |log: u8| [0x28, 0xB5, 0x2F, 0xFD, 0, (log - 10) << 3];
    // A block that is the last, raw and empty.
    let block = [1, 0, 0];
    let error = |log| {
        let file = [head(log).as_slice(), &block].concat();
        Reader::new(file.as_slice())
            .err()
            .expect("refused")
            .to_string()
    };
    assert_eq!(
        error(25),
        "not a pcap or pcapng capture: it begins with nothing"
    );
    assert_eq!(
        error(27),
        "cannot read it: decompressing it takes a window of 128 MiB, more than the 32 MiB that are kept in memory; \
         decompress it with `zstd -d --long=31`"
    );
    assert!(
        error(41).contains("a window of 2097152 MiB"),
        "{}",
        error(41)
    );
}

#[test]
fn other_files_are_rejected() {
    let error = |octets: &[u8]| Reader::new(octets).err().expect("refused").to_string();
    assert_eq!(
        error(b"GIF89a"),
        "not a pcap or pcapng capture: it begins with 47 49 46 38"
    );
    assert_eq!(
        error(b""),
        "not a pcap or pcapng capture: it begins with nothing"
    );
    let header = pcap(ByteOrder::Little, 0xA1B2_C3D4, &[]);
    assert!(error(&header[..20]).contains("ends within the header of the file"));
}

fn frame(link: LinkType, octets: &[u8]) -> Frame<'_> {
    Frame::parse(&Packet {
        number: 1,
        offset: 0,
        time_ns: 0,
        length: octets.len() as u32,
        link,
        octets,
    })
}

#[test]
fn every_link_leads_to_the_same_datagram() {
    let datagram = [
        0x45, 0, 0, 22, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, 1, 2,
    ];
    let behind = |header: &[u8]| [header, &datagram].concat();
    let ethernet = [[2; 12].as_slice(), &[8, 0]].concat();
    let tagged = [[2; 12].as_slice(), &[0x88, 0xA8, 0, 5, 0x81, 0, 0, 7, 8, 0]].concat();
    let session = [
        [2; 12].as_slice(),
        &[0x88, 0x64, 0x11, 0, 0, 1, 0, 24, 0, 0x21],
    ]
    .concat();
    let cooked = [[0, 4, 0, 1, 0, 6].as_slice(), &[0; 8], &[8, 0]].concat();
    let cooked2 = [[8, 0].as_slice(), &[0; 18]].concat();
    for (link, header) in [
        (LinkType::ETHERNET, ethernet.as_slice()),
        (LinkType::ETHERNET, &tagged),
        (LinkType::ETHERNET, &session),
        (LinkType::PPP_ETHER, &[0x11, 0, 0, 1, 0, 24, 0, 0x21]),
        (LinkType::PPP, &[0, 0x21]),
        (LinkType::PPP, &[0xFF, 3, 0, 0x21]),
        (LinkType::LINUX_SLL, &cooked),
        (LinkType::LINUX_SLL2, &cooked2),
        (LinkType::RAW, &[]),
        (LinkType::IPV4, &[]),
        (LinkType::NULL, &[2, 0, 0, 0]),
        (LinkType::LOOP, &[0, 0, 0, 2]),
    ] {
        assert!(link.is_known());
        let octets = behind(header);
        let FramePayload::Ip { octets, length } = frame(link, &octets).payload else {
            panic!("{link:?}");
        };
        let read = Datagram::parse(octets, length).expect("whole");
        assert_eq!(
            (read.protocol, read.payload, read.length),
            (Protocol::Udp, &[1, 2][..], 2)
        );
        assert_eq!(read.source.to_string(), "192.0.2.1");
    }
    assert!(!LinkType(147).is_known());
    assert_eq!(
        frame(LinkType(147), &behind(&ethernet)).payload,
        FramePayload::Other
    );
}

#[test]
fn pauses_arp_and_broadcasts_are_distinguished() {
    let pause = [
        &[1, 0x80, 0xC2, 0, 0, 1, 2, 2, 2, 2, 2, 2][..],
        &[0x88, 8, 0, 1, 0xFF, 0xFF],
    ]
    .concat();
    let seen = frame(LinkType::ETHERNET, &pause);
    assert_eq!(seen.payload, FramePayload::Pause { quanta: 0xFFFF });
    assert!(!seen.broadcast);
    let question = [&[0xFF; 6][..], &[2; 6], &[8, 6]].concat();
    let seen = frame(LinkType::ETHERNET, &question);
    assert_eq!(
        (seen.payload, seen.broadcast),
        (FramePayload::Arp { octets: &[] }, true)
    );
}

#[test]
fn ipv6_behind_extensions_and_padding() {
    let mut octets = vec![0x60, 0, 0, 0, 0, 19, 0, 64];
    octets.extend([[0x20; 16], [0x30; 16]].concat());
    octets.extend([44, 0, 0, 0, 0, 0, 0, 0]);
    octets.extend([6, 0, 0, 1, 0, 0, 0, 1]);
    octets.extend(*b"abc-----");
    let length = octets.len() as u32;
    let read = Datagram::parse(&octets, length).expect("whole");
    assert_eq!((read.protocol, read.fragment), (Protocol::Tcp, false));
    assert_eq!((read.payload, read.length), (&b"abc"[..], 3));
    octets[50] = 1;
    assert!(Datagram::parse(&octets, length).expect("whole").fragment);
    for len in 0..octets.len() {
        let read = Datagram::parse(&octets[..len], length);
        assert!(len >= 56 || read.is_none(), "{len}");
    }
}

#[test]
fn a_clock_that_is_set_back_goes_on() {
    let packets: [(u32, u32, &[u8], u32); 4] = [
        (10, 0, &[1], 1),
        (10, 500_000, &[2], 1),
        (8, 500_000, &[3], 1),
        (8, 600_000, &[4], 1),
    ];
    let file = pcap(ByteOrder::Little, 0xA1B2_C3D4, &packets);
    let mut reader = Reader::new(&file[..]).expect("a capture");
    let mut times_ms = Vec::new();
    while let Some(packet) = reader.next() {
        times_ms.push(packet.time_ns / 1_000_000);
    }
    assert_eq!(times_ms, [10_000, 10_500, 10_500, 10_600]);
    assert_eq!(reader.clock_steps(), 1);
}
