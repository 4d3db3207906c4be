use std::time::Duration;

use proptest::prelude::*;

use crate::load::Rate;
use crate::load::counters::{Counters, parse_mac};
use crate::load::gaps::Gaps;
use crate::load::noise::watch;
use crate::load::pace::Deadlines;
use crate::load::packet::{HEADER_OCTETS, PacketHeader};
use crate::load::send_report::SendCounts;
use crate::load::udp::of_table;

#[test]
fn deadlines_do_not_drift_at_rates_that_divide_no_second() {
    for per_s in [1, 3, 7, 50_000, 148_809, 999_983] {
        let mut deadlines = Deadlines::new(5, per_s);
        for n in 0..1_000_000_u64 {
            if n % 99_991 == 0 {
                let exact = u128::from(n) * 1_000_000_000 / u128::from(per_s);
                assert_eq!(
                    u128::from(deadlines.due_ns()),
                    exact + 5,
                    "{n} at {per_s}/s"
                );
            }
            deadlines.advance(0);
        }
    }
}

#[test]
fn rates_are_parsed_with_suffixes() {
    assert_eq!("max".parse(), Ok(Rate::Max));
    assert_eq!("50000".parse(), Ok(Rate::PerSecond(50_000)));
    assert_eq!("50k".parse(), Ok(Rate::PerSecond(50_000)));
    assert_eq!("1.5M".parse(), Ok(Rate::PerSecond(1_500_000)));
    for wrong in ["", "0", "k", "-1", "1e99", "50 k", "NaN", "fast", "µ"] {
        let error = wrong.parse::<Rate>().expect_err(wrong);
        assert!(error.contains("or max"), "{error}");
    }
}

#[test]
fn gaps_are_compared_with_the_ideal_gap() {
    let mut gaps = Gaps::new(Some(10_000));
    for at in [0, 100_000, 200_000, 350_000, 400_000] {
        gaps.record(1_000_000_000 + at);
    }
    let summary = gaps.summary().expect("gaps");
    let deviation = summary.deviation.as_ref().expect("a rate");
    assert_eq!(summary.gap.count, 4);
    assert!(summary.gap.max_ns.abs_diff(150_000) < 200, "{summary:?}");
    // Half of the gaps are ideal, the other half 50 us too long or too short.
    assert!(deviation.p50_ns <= 1, "{deviation:?}");
    assert!(deviation.p90_ns.abs_diff(50_000) < 100, "{deviation:?}");
}

#[test]
fn a_clock_that_is_set_back_and_a_gap_of_hours_overflow_nothing() {
    let mut gaps = Gaps::new(None);
    for at in [u64::MAX, 0, u64::MAX, 7] {
        gaps.record(at);
    }
    let summary = gaps.summary().expect("gaps");
    assert_eq!((summary.gap.count, summary.deviation), (3, None));
    assert!(
        Gaps::new(Some(1)).summary().is_none(),
        "a gap without packets"
    );
}

#[test]
fn a_rate_that_was_not_reached_is_reported_with_figures() {
    let mut sending = SendCounts::new(Rate::PerSecond(1_000));
    sending.packets = 900;
    let sent = sending.finish(Rate::PerSecond(1_000), 1_000, 1_000_000_000, None);
    assert_eq!(sent.missing_packets, 100);
    assert!(
        sent.notes[0].contains("900 packets/s of 1000, 100 of 1000 not sent"),
        "{:?}",
        sent.notes
    );
    let mut sending = SendCounts::new(Rate::PerSecond(1_000));
    sending.packets = 1_000;
    let sent = sending.finish(Rate::PerSecond(1_000), 1_000, 1_000_000_000, None);
    assert!(sent.notes.is_empty() && sent.missing_packets == 0);
}

#[test]
fn super_packets_that_an_interface_did_not_segment_are_reported() {
    let interface = |tx_packets| {
        Some(crate::load::counters::InterfaceCounters {
            name: "veth7".to_owned(),
            counters: Counters {
                tx_packets,
                ..Counters::default()
            },
        })
    };
    for (packets, is_noted) in [(1_000, true), (64_000, false)] {
        let mut sending = SendCounts::new(Rate::Max);
        sending.packets = 64_000;
        let sent = sending.finish(Rate::Max, 0, 1_000_000_000, interface(packets));
        let has_note = sent
            .notes
            .iter()
            .any(|note| note.contains("ethtool -K veth7"));
        assert_eq!(has_note, is_noted, "{packets} packets: {:?}", sent.notes);
    }
}

#[test]
fn the_time_that_a_thread_was_preempted_is_measured() {
    // Clock reads 50 ns apart, except for a millisecond after the third.
    let mut reads = 0;
    let (spread, preemptions, preempted_ns) = watch(Duration::from_micros(1_100), || {
        reads += 1;
        reads * 50 + if reads > 3 { 1_000_000 } else { 0 }
    });
    assert_eq!((preemptions, preempted_ns), (1, 1_000_050));
    assert!(
        spread.p50_ns == 50 && spread.max_ns >= 1_000_050,
        "{spread:?}"
    );
}

#[test]
fn drops_are_those_of_the_sockets_at_the_port() {
    let table = "\
   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops
  512: 0100007F:2328 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 70 2 0 17
  600: 00000000:2328 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 71 2 0 5
  700: 00000000:2329 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 72 2 0 9
";
    assert_eq!(of_table(table, 9000), Some(22));
    assert_eq!(of_table(table, 9001), Some(9));
    assert_eq!(of_table(table, 9002), None);
}

#[test]
fn counters_of_a_span_are_differences() {
    let before = Counters {
        rx_packets: u64::MAX,
        tx_octets: 5,
        ..Counters::default()
    };
    let after = Counters {
        rx_packets: 2,
        tx_octets: 9,
        ..Counters::default()
    };
    let span = after.since(&before);
    assert_eq!(
        (span.rx_packets, span.tx_octets, span.tx_packets),
        (3, 4, 0)
    );
    assert!(Counters::read("../../../etc").is_err());
}

#[test]
fn addresses_are_six_octets() {
    assert_eq!(
        parse_mac("02:00:5E:10:00:ff"),
        Some([2, 0, 0x5e, 0x10, 0, 255])
    );
    for wrong in [
        "",
        "02:00:00:00:00",
        "02:00:00:00:00:00:00",
        "2:0:0:0:0:0",
        "0g:00:00:00:00:00",
    ] {
        assert_eq!(parse_mac(wrong), None, "{wrong}");
    }
}

proptest! {
    #[test]
    fn a_packet_header_is_read_as_written(stream: u32, number: u64, sent_ns: u64, more in 0..2000_usize) {
        let head = PacketHeader { stream, number, sent_ns };
        let mut payload = vec![0xa5; HEADER_OCTETS + more];
        head.write(&mut payload);
        prop_assert_eq!(PacketHeader::read(&payload), Some(head));
        prop_assert_eq!(PacketHeader::read(&payload[..HEADER_OCTETS - 1]), None);
        payload[0] ^= 1;
        prop_assert_eq!(PacketHeader::read(&payload), None);
    }
}
