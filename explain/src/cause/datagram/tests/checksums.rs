//! Checksums that are wrong, or seem to be.

use super::capture::{Capture, MS, UDP, pseudo, sum, udp};
use linerate_capture::tcp;
use linerate_results::record::Cause;

const CLIENT: u8 = 1;
const SERVER: u8 = 2;

/// 1,000 datagrams, of which those that `is_wrong` have a wrong checksum.
fn damaged(is_wrong: impl Fn(u16) -> bool) -> Vec<Cause> {
    let mut capture = Capture::default();
    for number in 0..1_000_u16 {
        capture.damage = if is_wrong(number) { 0x0100 } else { 0 };
        let time_ns = u64::from(number) * 20 * MS;
        capture.udp(
            time_ns,
            [(CLIENT, 7_000), (SERVER, 7_000)],
            &number.to_be_bytes(),
        );
    }
    capture.causes()
}

#[test]
fn a_minority_of_wrong_checksums_is_an_error() {
    assert_eq!(damaged(|number| number % 100 == 0), [Cause::ChecksumErrors]);
    assert_eq!(damaged(|_| false), []);
    assert_eq!(damaged(|_| true), [], "the adapter computes them");
    assert_eq!(damaged(|number| number % 500 == 0), [], "two may be chance");
}

/// Segments of an upload of 100 that count, of which those that `is_wrong` have a wrong checksum.
fn segments_received(is_wrong: impl Fn(u32) -> bool) -> u64 {
    let mut capture = Capture::default();
    for number in 0..100_u32 {
        capture.damage = if is_wrong(number) { 0x0100 } else { 0 };
        let time_ns = u64::from(number) * 20 * MS;
        let ends = [(CLIENT, 40_000), (SERVER, 80)];
        capture.tcp(time_ns, ends, 16, (1 + number * 1_000, 1), 1_000);
    }
    let flows = capture.analysis().flows;
    flows[0].connection.stats(tcp::End::First).segments
}

#[test]
fn a_segment_with_a_wrong_checksum_is_not_received() {
    assert_eq!(segments_received(|number| number % 25 == 24), 96);
    assert_eq!(
        segments_received(|_| true),
        100,
        "the adapter computes them"
    );
    assert_eq!(
        segments_received(|number| number % 2 == 1),
        100,
        "something behind the capture computes them"
    );
}

/// An upload of 100 segments of which one in ten has a wrong checksum; it is acknowledged at once, or only after it was sent again.
fn wrong_segments(is_accepted: bool) -> Capture {
    let mut capture = Capture::default();
    let (there, back) = (
        [(CLIENT, 40_000), (SERVER, 80)],
        [(SERVER, 80), (CLIENT, 40_000)],
    );
    let mut time_ns = 0;
    for number in 0..100_u32 {
        let (seq, is_wrong) = (1 + number * 1_000, number % 10 == 9);
        capture.damage = if is_wrong { 0x0100 } else { 0 };
        capture.tcp(time_ns, there, 16, (seq, 1), 1_000);
        capture.damage = 0;
        if is_wrong && !is_accepted {
            time_ns += 300 * MS;
            capture.tcp(time_ns, there, 16, (seq, 1), 1_000);
        }
        capture.tcp(time_ns + MS, back, 16, (1, seq + 1_000), 0);
        time_ns += 20 * MS;
    }
    capture
}

#[test]
fn a_segment_that_is_acknowledged_without_a_repetition_had_no_wrong_checksum() {
    assert_eq!(wrong_segments(false).causes()[0], Cause::ChecksumErrors);
    let causes = wrong_segments(true).causes();
    assert!(!causes.contains(&Cause::ChecksumErrors), "{causes:?}");
    // The first is taken for damaged until it is acknowledged.
    let flows = wrong_segments(true).analysis().flows;
    assert!(flows[0].connection.stats(tcp::End::First).segments >= 98);
}

#[test]
fn a_checksum_left_to_the_adapter_is_no_error() {
    let mut capture = Capture::default();
    let ends = [(CLIENT, 7_000), (SERVER, 7_000)];
    for number in 0..100_u16 {
        let hosts = [CLIENT, SERVER];
        let mut datagram = udp(ends, &number.to_be_bytes());
        let partial = sum(&pseudo(hosts, UDP, datagram.len()));
        let whole = !sum(&[&pseudo(hosts, UDP, datagram.len())[..], &datagram].concat());
        let checksum = if number % 10 == 0 { partial } else { whole };
        datagram[6..8].copy_from_slice(&checksum.to_be_bytes());
        capture.ip(u64::from(number) * 20 * MS, hosts, UDP, &datagram);
    }
    assert_eq!(capture.causes(), []);
}
