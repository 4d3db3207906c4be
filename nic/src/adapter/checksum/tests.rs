extern crate std;

use super::*;
use linerate_ether::checksum;
use proptest::prelude::*;
use std::vec;
use std::vec::Vec;

/// A frame with a packet of this protocol, with zero checksums.
fn packet(protocol: u8, payload: usize, options: usize) -> Vec<u8> {
    let header = 20 + 4 * options;
    let mut frame: Vec<u8> = (0..14 + header + payload)
        .map(|at| (at * 37 % 251) as u8)
        .collect();
    frame[12..14].copy_from_slice(&[8, 0]);
    let ip = &mut frame[14..];
    ip[0] = 0x40 | (header / 4) as u8;
    ip[2..4].copy_from_slice(&((header + payload) as u16).to_be_bytes());
    ip[6..8].copy_from_slice(&[0x40, 0]);
    ip[9] = protocol;
    ip[10..12].fill(0);
    let transport = &mut ip[header..];
    if protocol == UDP {
        transport[4..6].copy_from_slice(&(payload as u16).to_be_bytes());
        transport[UDP_SUM].fill(0);
    } else {
        transport[TCP_SUM].fill(0);
    }
    // The shortest frame is padded.
    frame.resize(frame.len().max(60), 0xaa);
    frame
}

/// The same octets at `shift` octets after a word boundary.
fn shifted(frame: &[u8], shift: usize) -> (Vec<u32>, Range<usize>) {
    let mut octets = vec![0; shift];
    octets.extend_from_slice(frame);
    octets.resize(octets.len().next_multiple_of(4), 0);
    let (words, _) = octets.as_chunks::<4>();
    let words = words.iter().map(|it| u32::from_ne_bytes(*it)).collect();
    (words, shift..shift + frame.len())
}

proptest! {
    /// At any alignment of the frame, the filled-in checksums are those that `ether` computes and
    /// accepts, and any changed octet is detected.
    #[test]
    fn filled_in_checksums_are_correct_and_changes_are_detected(
        is_udp in any::<bool>(),
        payload in 20_usize..200,
        options in 0_usize..3,
        shift in 0_usize..4,
        at in any::<prop::sample::Index>(),
        flip in 1..=255_u8,
    ) {
        let protocol = if is_udp { UDP } else { TCP };
        let (mut words, place) = shifted(&packet(protocol, payload, options), shift);
        let octets: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
        let frame = &mut octets[place];
        prop_assert_eq!(fill(frame, Checksums::NONE), Some(()));
        prop_assert!(is_good(frame));
        let header = 20 + 4 * options;
        prop_assert!(checksum::is_good(&frame[14..14 + header]));
        prop_assert!(of_bytes(frame) == Verdict::Good);
        let segment = 14 + header..14 + header + payload;
        // The addresses are part of the sum, too; lengths and flags determine what is summed.
        let places: Vec<usize> = (26..34).chain(segment).collect();
        let at = places[at.index(places.len())];
        let is_length = is_udp && (18 + header..22 + header).contains(&at);
        frame[at] ^= flip;
        prop_assert_eq!(is_good(frame), of_bytes(frame) == Verdict::Good);
        prop_assert!(is_length || !is_good(frame));
    }
}

#[test]
fn checksums_of_the_device_are_left_to_it() {
    let offload = Offload {
        receive: false,
        transmit: true,
    };
    let by_device = Checksums {
        tcp: offload,
        ..Checksums::NONE
    };
    let mut frame = packet(TCP, 100, 0);
    fill(&mut frame, by_device);
    assert!(checksum::is_good(&frame[14..34]));
    assert_eq!(frame[34..][TCP_SUM], [0, 0]);
    let before = packet(UDP, 100, 0);
    let mut frame = before.clone();
    let by_device = Checksums {
        ipv4: offload,
        udp: offload,
        ..Checksums::NONE
    };
    fill(&mut frame, by_device);
    assert_eq!(frame, before);
}

/// ICMP, a fragment of TCP, TCP without its whole header.
#[test]
fn the_header_checksum_is_filled_in_for_any_payload() {
    for (protocol, fragment, total) in [(1, 0x40, 80), (TCP, 0x20, 80), (TCP, 0x40, 30)] {
        let mut frame = packet(protocol, 60, 0);
        (frame[17], frame[20]) = (total, fragment);
        let before = frame.clone();
        fill(&mut frame, Checksums::NONE);
        assert!(checksum::is_good(&frame[14..34]));
        assert_eq!(frame[34..], before[34..]);
    }
}

#[test]
fn incomplete_packets_are_not_modified_and_pass() {
    let plain = packet(TCP, 60, 0);
    let changed = |at: usize, value: u8| {
        let mut other = plain.clone();
        other[at] = value;
        other
    };
    // ARP; a total length beyond the frame; a segment without its header.
    for other in [changed(13, 6), changed(16, 1), changed(17, 30)] {
        let mut filled = other.clone();
        fill(&mut filled, Checksums::NONE);
        assert_eq!(filled[34..], other[34..]);
    }
    assert!(is_good(&changed(13, 6)));
    assert!(is_good(&changed(16, 1)));
    assert!(is_good(&[]) && is_good(&plain[..20]));
    // A datagram without a checksum is valid.
    let mut datagram = packet(UDP, 60, 0);
    let sum = checksum::checksum(&datagram[14..34]).to_be_bytes();
    datagram[24..26].copy_from_slice(&sum);
    assert!(is_good(&datagram));
    datagram[24] ^= 1;
    assert!(!is_good(&datagram));
}
