//! Packets that were captured twice, and packets that came twice.

use super::*;
use crate::reader::Address;

const MS: u64 = 1_000_000;

/// Ends of a connection from a host to a server.
fn ends(host: u8) -> [AddressPort; 2] {
    [(Address([host; 16]), 5_000), (Address([99; 16]), 443)]
}

fn data(seq: u32) -> Segment<'static> {
    Segment {
        seq,
        ack: 7,
        len: 100,
        flags: Segment::ACK,
        ..Segment::default()
    }
}

/// Records a segment with a hop limit and an identification; true if it is no copy.
fn is_first(
    table: &mut CopyTable,
    host: u8,
    segment: &Segment<'_>,
    (hop_limit, identification): (u8, u8),
    time_ns: u64,
) -> bool {
    let header = [0x45, 0, 0, 140, 0, identification, 0, 0, hop_limit, 6];
    let identity = PacketIdentity::of_segment(&header, segment);
    table.record(ends(host), identity, time_ns).is_some()
}

#[test]
fn a_router_decrements_the_hop_limit_of_a_copy() {
    let mut table = CopyTable::default();
    assert!(is_first(&mut table, 1, &data(1), (64, 5), 0));
    assert!(!is_first(&mut table, 1, &data(1), (63, 5), 200 * MS));
    // A retransmission leaves with the hop limit of the first one, and has its own copy.
    assert!(is_first(&mut table, 1, &data(1), (64, 6), 300 * MS));
    assert!(!is_first(&mut table, 1, &data(1), (63, 6), 301 * MS));
    assert_eq!(table.copies, 2);
}

#[test]
fn a_router_divides_a_merged_segment() {
    let mut table = CopyTable::default();
    let merged = |seq: u32, len: u32| Segment { len, ..data(seq) };
    assert!(is_first(&mut table, 1, &merged(1, 100), (64, 5), 0));
    assert!(!is_first(&mut table, 1, &merged(1, 100), (63, 5), MS));
    assert!(is_first(
        &mut table,
        1,
        &merged(101, 3_000),
        (64, 6),
        2 * MS
    ));
    for at in 0..3 {
        let part = merged(101 + 1_000 * at, 1_000);
        assert!(!is_first(&mut table, 1, &part, (63, 6 + at as u8), 3 * MS));
    }
    // Captured behind the router only.
    assert!(is_first(
        &mut table,
        1,
        &merged(3_101, 100),
        (63, 9),
        4 * MS
    ));
}

#[test]
fn unchanged_copies_of_all_packets_are_those_of_a_bridge() {
    let mut table = CopyTable::default();
    for burst in 0..20 {
        let time_ns = u64::from(burst) * 20 * MS;
        // The copies of a burst follow it.
        for is_copy in [false, true] {
            for at in 0..10 {
                let number = burst * 10 + at;
                let identity = (64, 1 + number as u8);
                let is_first = is_first(&mut table, 1, &data(number), identity, time_ns);
                assert_eq!(is_first, !is_copy, "{number}");
            }
        }
    }
}

/// True if the second of two equal segments counts, each 2 ms behind the first; a reverse direction has `answers` packets for each
/// of them, `copied` of ten of which come twice.
fn counts_copy(answers: u32, copied: u32) -> bool {
    let mut table = CopyTable::default();
    let back = |number: u32| Segment {
        ack: number,
        ..data(1)
    };
    let mut number = 0;
    let mut counts = false;
    for at in 0..200_u32 {
        let time_ns = u64::from(at) * 5 * MS;
        let identification = (at % 250) as u8 + 1;
        is_first(&mut table, 1, &data(at), (64, identification), time_ns);
        for _ in 0..answers {
            number += 1;
            let header = [0x45, 0, 0, 140, 0, identification, 0, 0, 64, 6];
            for _ in 0..=u32::from(number % 10 < copied) {
                let identity = PacketIdentity::of_segment(&header, &back(number));
                table.record(reversed(ends(1)), identity, time_ns + MS);
            }
        }
        let copy_ns = time_ns + 2 * MS;
        counts = is_first(&mut table, 1, &data(at), (64, identification), copy_ns);
    }
    counts
}

#[test]
fn copies_that_the_receiver_answers_are_those_of_the_network() {
    assert!(counts_copy(2, 0), "one acknowledgment for each copy");
    assert!(!counts_copy(1, 0), "one for both");
    assert!(!counts_copy(2, 10), "both directions come twice");
}

#[test]
fn unchanged_copies_of_few_packets_are_those_of_the_network() {
    let mut table = CopyTable::default();
    for at in 0..50 {
        let time_ns = u64::from(at) * MS;
        let identity = (64, 1 + at as u8);
        assert!(is_first(&mut table, 1, &data(at), identity, time_ns));
        if at % 10 == 9 && at > 20 {
            assert!(is_first(&mut table, 1, &data(at), identity, time_ns + 1));
        }
    }
    assert_eq!(table.copies, 0);
}

#[test]
fn equal_acknowledgments_without_identification_are_no_copies() {
    let mut table = CopyTable::default();
    let bare = Segment { len: 0, ..data(1) };
    for at in 0..50 {
        assert!(is_first(&mut table, 1, &bare, (64, 0), at * MS / 10));
    }
}

#[test]
fn a_translated_connection_counts_under_its_first_ends() {
    let mut table = CopyTable::default();
    assert!(is_first(&mut table, 1, &data(1), (64, 5), 0));
    assert!(!is_first(&mut table, 2, &data(1), (63, 5), MS));
    // The answer arrives at the translated address first.
    let answer = Segment {
        seq: 7,
        ..data(101)
    };
    let identity = |hop_limit| {
        let header = [0x45, 0, 0, 140, 0, 9, 0, 0, hop_limit, 6];
        PacketIdentity::of_segment(&header, &answer)
    };
    let back = |host| {
        let [host, server] = ends(host);
        [server, host]
    };
    assert_eq!(table.record(back(2), identity(60), 2 * MS), Some(back(1)));
    assert_eq!(table.record(back(1), identity(59), 3 * MS), None);
}

#[test]
fn a_scan_is_no_translation() {
    let mut table = CopyTable::default();
    let syn = Segment {
        flags: Segment::SYN,
        len: 0,
        ..data(1)
    };
    let header = |hop_limit| [0x45, 0, 0, 40, 0xD4, 0x31, 0, 0, hop_limit, 6];
    for server in 100..120 {
        let ends = [ends(1)[0], (Address([server; 16]), 443)];
        let identity = PacketIdentity::of_segment(&header(40 + server % 3), &syn);
        assert_eq!(table.record(ends, identity, u64::from(server)), Some(ends));
    }
}
