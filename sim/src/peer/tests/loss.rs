//! Every octet arrives regardless of link faults, and a loss has the same cost as on Linux.

use linerate_ether::pattern;
use proptest::prelude::*;

use super::link::{End, Fate, Link, Sent};
use super::station::Smol;
use crate::peer::tcp::RetransmitReason;
use crate::peer::{Host, Peer, host};
use crate::random::Random;
use crate::time::{Instant, Span};

/// Fetches `size` octets; returns the link, the host and the client.
fn fetch<F: FnMut(&Sent) -> Fate>(
    size: u64,
    window: usize,
    limit: Span,
    fault: F,
) -> (Link<F>, Host, Smol) {
    let mut host = Host::new(host::Config::default());
    let mut device = Smol::fetch(size, window);
    let mut link = Link::new(Span::from_us(5), fault);
    link.run(&mut host, &mut device, Instant::ZERO + limit);
    (link, host, device)
}

/// A fault that drops only the host's data segments with these numbers, from 0.
fn lose(numbers: &'static [usize]) -> impl FnMut(&Sent) -> Fate {
    let mut count = 0;
    move |sent| {
        let data = sent.by == End::Host
            && sent
                .segment()
                .is_some_and(|segment| !segment.payload.is_empty());
        count += usize::from(data);
        if data && numbers.contains(&(count - 1)) {
            Fate::Vanish
        } else {
            Fate::Arrive
        }
    }
}

fn causes(host: &Host) -> Vec<(RetransmitReason, Span)> {
    let report = host.report();
    report.requests[0]
        .retransmissions
        .iter()
        .map(|event| (event.reason, event.waited))
        .collect()
}

#[test]
fn a_clean_link_carries_a_file_without_a_retransmission() {
    let (link, host, device) = fetch(300_000, 10_220, Span::from_secs(2), |_| Fate::Arrive);
    assert_eq!(device.crc32(), pattern::crc32(300_000));
    let request = host.report().requests.remove(0);
    assert_eq!((request.status, request.body_octets), (200, 300_000));
    assert_eq!(request.retransmissions, []);
    let took = device.finished_at.unwrap();
    // 1514 B segments at line rate: 300 kB in 253 ms.
    assert!(took < Instant::ZERO + Span::from_ms(275), "{took:?}");
    assert!(
        link.host_data()
            .iter()
            .all(|(_, segment)| segment.payload.len() <= 1460)
    );
}

#[test]
fn a_hole_in_the_middle_is_repaired_by_fast_retransmit() {
    let (_, host, device) = fetch(100_000, 64_000, Span::from_secs(3), lose(&[12]));
    assert_eq!(device.crc32(), pattern::crc32(100_000));
    let causes = causes(&host);
    assert_eq!(causes.len(), 1, "{causes:?}");
    assert_eq!(causes[0].0, RetransmitReason::FastRetransmit);
    assert!(causes[0].1 < Span::from_ms(60), "{causes:?}");
}

#[test]
fn a_lost_tail_is_probed_after_two_round_trips() {
    // 10 kB are the head and seven segments; the last two are lost. (A lone last one would wait for 200 ms more.)
    let (_, host, device) = fetch(10_000, 10_240, Span::from_secs(3), lose(&[6, 7]));
    assert_eq!(device.crc32(), pattern::crc32(10_000));
    let causes = causes(&host);
    assert_eq!(causes[0].0, RetransmitReason::TailLossProbe, "{causes:?}");
    let waited = causes[0].1;
    // The published capture has such probes 12 to 50 ms after the segment.
    assert!(
        (Span::from_ms(12)..Span::from_ms(50)).contains(&waited),
        "{waited:?}"
    );
}

#[test]
fn a_lost_flight_waits_for_the_timeout_of_at_least_200_ms() {
    // Everything from the second segment on is lost, and so is the probe.
    let (link, host, device) = fetch(
        10_000,
        10_240,
        Span::from_secs(10),
        lose(&[1, 2, 3, 4, 5, 6, 7, 8]),
    );
    assert_eq!(device.crc32(), pattern::crc32(10_000), "{}", link.table());
    let causes = causes(&host);
    assert_eq!(causes[0].0, RetransmitReason::TailLossProbe);
    assert_eq!(causes[1].0, RetransmitReason::Timeout);
    let waited = causes[1].1;
    assert!(
        (Span::from_ms(200)..Span::from_ms(300)).contains(&waited),
        "{waited:?}"
    );
}

#[test]
fn timeouts_double_until_something_gets_through() {
    // A link that is dead from 20 ms to 4 s.
    let dead = |sent: &Sent| {
        let ms = sent.at.as_ns() / 1_000_000;
        if (20..4000).contains(&ms) {
            Fate::Vanish
        } else {
            Fate::Arrive
        }
    };
    let (_, host, device) = fetch(100_000, 10_220, Span::from_secs(20), dead);
    assert_eq!(device.crc32(), pattern::crc32(100_000));
    let report = host.report();
    let timeouts: Vec<_> = report.requests[0]
        .retransmissions
        .iter()
        .filter(|event| event.reason == RetransmitReason::Timeout)
        .map(|event| (event.backoff_step, event.waited))
        .collect();
    assert!(timeouts.len() >= 4, "{timeouts:?}");
    for (index, pair) in timeouts.windows(2).enumerate().skip(1) {
        let ratio = pair[1].1.as_secs_f64() / pair[0].1.as_secs_f64();
        // A kernel rounds long timers up to multiples of 32 or 256 ms.
        assert!((1.9..2.1).contains(&ratio), "{index}: {timeouts:?}");
        assert_eq!(pair[1].0, pair[0].0 + 1);
    }
}

#[test]
fn the_first_loss_and_its_repair_are_this_table() {
    let (link, _, device) = fetch(30_000, 20_000, Span::from_secs(3), lose(&[5, 9]));
    assert_eq!(device.crc32(), pattern::crc32(30_000));
    insta::assert_snapshot!(link.table());
}

#[test]
fn a_segment_overtaken_by_two_is_not_retransmitted() {
    // Linux's reordering timer has a margin of two ticks of 4 ms; the late segment arrives before that.
    let mut count = 0;
    let (_, host, device) = fetch(10_000, 20_000, Span::from_secs(5), move |sent| {
        let data = sent.by == End::Host && sent.segment().is_some_and(|s| !s.payload.is_empty());
        count += u32::from(data);
        if data && count == 6 {
            Fate::Late(Span::from_ms(5))
        } else {
            Fate::Arrive
        }
    });
    assert_eq!(device.crc32(), pattern::crc32(10_000));
    assert_eq!(causes(&host), []);
}

#[test]
fn swapped_adjacent_segments_cause_at_most_a_few_retransmissions() {
    let mut random = Random::new(3);
    let (_, host, device) = fetch(300_000, 30_000, Span::from_secs(5), move |sent| {
        let late = sent.by == End::Host && random.chance(1, 10);
        if late {
            Fate::Late(Span::from_us(1300))
        } else {
            Fate::Arrive
        }
    });
    assert_eq!(device.crc32(), pattern::crc32(300_000));
    let request = host.report().requests.remove(0);
    assert!(
        request.retransmissions.len() < 10,
        "{:?}",
        request.retransmissions
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn every_octet_arrives_regardless_of_frame_faults(
        seed in any::<u64>(),
        size in 0..60_000_u64,
        window in prop_oneof![Just(1460_usize), Just(4000), Just(10_220), Just(64_000)],
        percent in 0..35_u64,
    ) {
        let mut random = Random::new(seed);
        let (link, host, device) = fetch(size, window, Span::from_secs(3600), move |_| {
            if !random.chance(percent, 100) {
                return Fate::Arrive;
            }
            match random.below(4) {
                0 => Fate::Double,
                1 => Fate::Late(Span::from_us(random.below(8000))),
                _ => Fate::Vanish,
            }
        });
        let requests = host.report().requests;
        // smoltcp aborts a connection with RST when it is closed early; this must not occur here.
        prop_assert!(device.finished_at.is_some(), "{} frames, {:?}", link.sent.len(), requests);
        prop_assert_eq!(device.body.len() as u64, size);
        prop_assert_eq!(device.crc32(), pattern::crc32(size));
        prop_assert_eq!(requests[0].status, 200);
    }
}
