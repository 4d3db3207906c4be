//! Digests of TCP data equal those of the bytes.
#![cfg(not(loom))]

use linerate_ether::checksum::{Sum, TCP, checksum, transport_checksum};
use linerate_ether::fcs::crc32;
use linerate_nic::digest::Digester;
use proptest::prelude::*;

/// A frame without FCS, with correct checksums.
fn frame(ip_options: usize, tcp_options: usize, data: &[u8]) -> Vec<u8> {
    let (from, to) = ([10, 0, 0, 1], [10, 0, 0, 2]);
    let mut tcp = vec![
        0, 80, 0xC0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0x10, 9, 9, 0, 0, 0, 0,
    ];
    tcp[12] = (5 + tcp_options as u8) << 4;
    tcp.resize(20 + 4 * tcp_options, 1);
    tcp.extend(data);
    let sum = transport_checksum(from, to, TCP, &tcp).unwrap();
    tcp[16..18].copy_from_slice(&sum.to_be_bytes());
    let header = 20 + 4 * ip_options;
    let mut ip = vec![0x45 + ip_options as u8, 0];
    ip.extend(((header + tcp.len()) as u16).to_be_bytes());
    ip.extend([0, 1, 0x40, 0, 64, TCP, 0, 0]);
    ip.extend(from);
    ip.extend(to);
    ip.resize(header, 1);
    let sum = checksum(&ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    [&[2; 12][..], &[8, 0], &ip, &tcp].concat()
}

proptest! {
    #[test]
    fn a_digest_is_that_of_the_data(
        parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..1400), 1..5),
        ip_options in 0..11_usize,
        tcp_options in 0..11_usize,
    ) {
        let mut digester = Digester::new();
        let (mut crc, mut whole) = (0, Vec::new());
        for data in parts {
            let frame = frame(ip_options, tcp_options, &data);
            let segment = digester.segment(&frame, crc32(&frame)).unwrap();
            prop_assert_eq!((segment.source, segment.destination), (80, 0xC001));
            prop_assert_eq!(segment.sequence, 0x0102_0304);
            prop_assert_eq!(usize::from(segment.len), data.len());
            prop_assert_eq!(segment.crc, crc32(&data));
            prop_assert_eq!(segment.sum % 0xFFFF, Sum::new().add(&data).fold() % 0xFFFF);
            crc = digester.combine(crc, &segment);
            whole.extend(data);
        }
        prop_assert_eq!(crc, crc32(&whole));
    }

    #[test]
    fn any_bytes_have_a_digest_or_none(bytes in prop::collection::vec(any::<u8>(), 0..200), fcs in any::<u32>()) {
        let _ = Digester::new().segment(&bytes, fcs);
        let mut frame = bytes;
        if frame.len() >= 15 {
            frame[12..15].copy_from_slice(&[8, 0, 0x45]);
            let _ = Digester::new().segment(&frame, fcs);
        }
    }
}

#[test]
fn other_frames_have_no_digest() {
    let good = frame(0, 0, &[1, 2, 3]);
    let has = |frame: &[u8]| Digester::new().segment(frame, 0).is_some();
    assert!(has(&good));
    assert!(!has(&frame(0, 0, &[])), "no data");
    assert!(!has(&[&good[..], &[0]].concat()), "padded");
    let mut fragment = good.clone();
    fragment[20] = 0x20;
    assert!(!has(&fragment));
    let mut udp = good.clone();
    udp[23] = 17;
    assert!(!has(&udp));
}
