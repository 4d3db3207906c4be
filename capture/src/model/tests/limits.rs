//! Connections with known limits, at several capture points.

use super::download::{Download, MS, MSS, share};
use crate::model::{FlowModel, Limit, LossBucket, Span, TimeShares, Window, WindowScale};

#[test]
fn a_full_window_is_the_limit_at_both_ends_and_without_the_handshake() {
    // Four segments, which fill the window, a round trip of 20 ms.
    let rounds = |mut download: Download, data_ms: u64, ack_ms: u64| {
        for round in 0..40_u32 {
            let start_ns = 30 * MS + u64::from(round) * 20 * MS;
            for segment in 0..4 {
                let at_ns = start_ns + data_ms * MS + u64::from(segment) * 100_000;
                download.data(at_ns, 500 + (4 * round + segment) * MSS, (1, 1));
            }
            download.ack(start_ns + ack_ms * MS, 500 + 4 * (round + 1) * MSS);
        }
        download.model()
    };
    let window = 4_000;
    let at_sender = rounds(Download::open(MS / 50, 20 * MS, window), 0, 20);
    assert!(
        share(&at_sender, Limit::ReceiveWindow) > 0.9,
        "{:?}",
        at_sender.spans
    );
    assert_eq!(at_sender.scale, WindowScale::Known(0));
    let at_receiver = rounds(Download::open(20 * MS, MS / 50, window), 10, 11);
    assert!(
        share(&at_receiver, Limit::ReceiveWindow) > 0.9,
        "{:?}",
        at_receiver.spans
    );
    let late = rounds(Download::late(window), 0, 20);
    assert_eq!(late.scale, WindowScale::Inferred(0));
    assert!(share(&late, Limit::ReceiveWindow) > 0.9, "{:?}", late.spans);
    // Nobody knows how far the sender is, except that each acknowledgment admits the next segments 19 ms later.
    let late_at_receiver = rounds(Download::late(window), 10, 11);
    assert!(
        share(&late_at_receiver, Limit::ReceiveWindow) > 0.9,
        "{:?}",
        late_at_receiver.spans
    );
}

/// Behind four segments, half of one is left, which the sender holds back for 250 ms; the receiver opens a window of so many octets then.
fn fills_up(window: u16) -> FlowModel {
    let mut download = Download::open(MS / 50, 10 * MS, window);
    for round in 0..20_u32 {
        let at_ns = 30 * MS + u64::from(round) * 300 * MS;
        let seq = 500 + round * 4_500;
        for segment in 0..4 {
            let sent_ns = at_ns + u64::from(segment) * 10_000;
            download.data(sent_ns, seq + segment * MSS, (1, 1));
        }
        download.window = 500;
        download.ack(at_ns + 10 * MS, seq + 4 * MSS);
        download.part(at_ns + 260 * MS, seq + 4 * MSS, 500);
        download.window = window;
        download.ack(at_ns + 280 * MS, seq + 4_500);
    }
    download.model()
}

#[test]
fn a_sender_that_fills_up_a_window_with_a_part_of_a_segment_waited_for_the_window() {
    // The half is left of the window before, or an acknowledgment makes room for it.
    for window in [4_500, 4_000] {
        let model = fills_up(window);
        let waits = share(&model, Limit::ReceiveWindow);
        assert!(waits > 0.8, "{window}: {waits} {:?}", &model.spans[..8]);
    }
}

/// A link of a segment each 2 ms, always with 20 segments in its queue.
fn full_link(mut download: Download) -> FlowModel {
    for segment in 0..400_u32 {
        let taken_ns = |segment: u32| 40 * MS + u64::from(segment) * 2 * MS;
        let sent_ns = segment
            .checked_sub(20)
            .map_or(30 * MS + u64::from(segment) * 1000, taken_ns);
        download.data(sent_ns, 500 + segment * MSS, (1, 1));
        if let Some(acked) = segment.checked_sub(20) {
            download.ack(taken_ns(acked) + 1000, 500 + (acked + 1) * MSS);
        }
    }
    download.model()
}

#[test]
fn a_queue_before_a_full_link_makes_it_the_limit() {
    let model = full_link(Download::open(MS / 50, MS, 60_000));
    assert!(model.is_queued);
    assert!(share(&model, Limit::PathRate) > 0.85, "{:?}", model.spans);
    let rate = model.busy_rate.expect("busy");
    assert!((rate / 500_000.0 - 1.0).abs() < 0.02, "{rate}");
}

#[test]
fn the_rate_of_a_shared_path_is_that_of_the_times_at_which_it_is_full() {
    let mut model = full_link(Download::open(MS / 50, MS, 60_000));
    let window = |start_ms: u64, end_ms: u64| Window {
        start_ns: start_ms * MS,
        end_ns: end_ms * MS,
        bytes: 0,
    };
    model.set_busy(vec![window(100, 200), window(300, 500)]);
    let rate = model.busy_rate.expect("busy");
    assert!((rate / 500_000.0 - 1.0).abs() < 0.02, "{rate}");
    model.set_busy(Vec::new());
    assert_eq!(model.busy_rate, None);
}

#[test]
fn late_acknowledgments_are_no_queue() {
    // Two segments at a time, acknowledged after 40 ms, on a path of 1 ms.
    let mut download = Download::open(MS / 50, MS, 60_000);
    for round in 0..40_u32 {
        let start_ns = 30 * MS + u64::from(round) * 41 * MS;
        let wait_ms = if round == 7 { 1 } else { 41 };
        for segment in 0..2 {
            download.data(start_ns, 500 + (2 * round + segment) * MSS, (1, 1));
        }
        download.ack(start_ns + wait_ms * MS, 500 + 2 * (round + 1) * MSS);
    }
    let model = download.model();
    assert!(!model.is_queued);
    assert!(share(&model, Limit::LateAck) > 0.8, "{:?}", model.spans);
}

#[test]
fn longer_options_of_duplicate_acknowledgments_show_selective_ones_even_if_not_captured() {
    let is_selective = |options_len: u8| {
        let mut download = Download::open(20 * MS, MS / 50, 60_000);
        for number in 0..60_u32 {
            let at_ns = 40 * MS + u64::from(number) * MS;
            download.data(at_ns, 500 + (1 + number) * MSS, (1, 1));
            download.cut_ack(at_ns + 1000, 500, options_len);
        }
        download.model().view.is_selective()
    };
    assert_eq!(is_selective(12), Some(true));
    // Beside stamps that are padded to 12 octets, a block of 10 may end at 20.
    assert_eq!(is_selective(8), Some(true));
    assert_eq!(is_selective(0), Some(false));
}

/// Bursts of `burst` segments in rounds of 20 ms; `is_lost` has the number of the segment and its place in the burst.
fn bucket(burst: u32, is_lost: impl Fn(u32, u32) -> bool) -> Option<LossBucket> {
    let mut download = Download::open(MS / 50, 20 * MS, 60_000);
    let mut segment = 0;
    for round in 0..60_u32 {
        let start_ns = 30 * MS + u64::from(round) * 40 * MS;
        let size = burst / 2 + round * 7 % burst;
        let first = segment;
        for place in 0..size {
            download.data(
                start_ns + u64::from(place) * 50_000,
                500 + segment * MSS,
                (1, 1),
            );
            segment += 1;
        }
        let lost = (0..size).filter(|place| is_lost(first + place, *place));
        for (place, repair) in lost.zip(0..) {
            let seq = 500 + (first + place) * MSS;
            let at_ns = start_ns + 20 * MS + repair * MS;
            for _ in 0..4 {
                download.ack(at_ns, seq);
            }
            download.data(at_ns + MS / 2, seq, (1, 1));
        }
        download.ack(start_ns + 39 * MS, 500 + segment * MSS);
    }
    let model = download.model();
    LossBucket::of(&model.view, model.to_receiver.samples())
}

#[test]
fn losses_of_a_policer_depend_on_what_passed_before_and_random_ones_do_not() {
    // What exceeds ten segments of a burst is dropped.
    let policer = bucket(12, |_, place| place >= 10).expect("losses");
    assert!(policer.separation > 0.9, "{policer:?}");
    assert!(
        (7_000.0..=15_000.0).contains(&policer.depth_bytes),
        "{policer:?}"
    );
    let random = bucket(12, |segment, _| {
        segment.wrapping_mul(2_654_435_761) >> 27 == 0
    });
    assert!(random.is_none_or(|it| it.separation < 0.8), "{random:?}");
}

/// Pairs of segments each 3 ms, captured 20 us from their receiver and 20 ms from their sender; what `is_lost` is missing, and comes
/// again after a round trip.
fn missing(is_lost: impl Fn(u32) -> bool) -> Option<LossBucket> {
    let mut download = Download::open(20 * MS, MS / 50, 60_000);
    let mut repairs: Vec<(u64, u32)> = Vec::new();
    for pair in 0..600_u32 {
        let at_ns = 40 * MS + u64::from(pair) * 3 * MS;
        while let Some((due_ns, seq)) = repairs.first().copied()
            && due_ns <= at_ns
        {
            download.data(at_ns - MS, seq, (1, 1));
            repairs.remove(0);
        }
        for segment in [2 * pair, 2 * pair + 1] {
            let (time_ns, seq) = (at_ns + u64::from(segment % 2) * MS, 500 + segment * MSS);
            if is_lost(segment) {
                repairs.push((time_ns + 21 * MS, seq));
            } else {
                download.data(time_ns, seq, (1, 1));
            }
            let acked = repairs.first().map_or(seq + MSS, |(_, seq)| *seq);
            download.ack(time_ns + 10_000, acked);
        }
    }
    let model = download.model();
    LossBucket::of(&model.view, model.to_sender.samples())
}

#[test]
fn what_is_missing_near_the_receiver_would_have_come_a_segment_later() {
    let random = missing(|segment| segment.wrapping_mul(2_654_435_761) >> 27 == 0);
    assert!(random.is_none_or(|it| it.separation < 0.8), "{random:?}");
}

#[test]
fn the_distance_between_bursts_of_a_sender_that_paces_is_no_queue() {
    let mut download = Download::open(MS / 50, 18 * MS, 60_000);
    download.stamps = true;
    let (mut at_ns, mut seq, mut arrivals) = (60 * MS, 500, Vec::new());
    let mut echo = 21;
    for burst in 0..400_u64 {
        while let Some((ack_ns, ack)) = arrivals.first().copied() {
            if ack_ns > at_ns {
                break;
            }
            download.ack(ack_ns, ack);
            echo = (ack_ns / MS) as u32 + 1;
            arrivals.remove(0);
        }
        for segment in 0..2 {
            download.data(at_ns + segment * 20_000, seq, ((at_ns / MS) as u32, echo));
            seq += MSS;
        }
        arrivals.push((at_ns + 18_100_000 + burst % 7 * 20_000, seq));
        // Now and then it probes for more.
        at_ns += if burst % 4 == 0 { 3_700_000 } else { 4_700_000 };
    }
    let model = download.model();
    let wait_ns = model.to_sender.queue_ns(90).expect("echoed stamps");
    assert!(wait_ns > 3 * MS, "{wait_ns}");
    assert!(!model.is_queued, "{:?}", model.queue_ns);
}

#[test]
fn limits_have_no_gaps_and_add_up() {
    // Pseudo-random numbers for arbitrary sequences of events (a linear congruential generator).
    let mut state = 1_u64;
    let mut draw = move |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % below
    };
    for _ in 0..50 {
        let mut download = Download::open(MS, MS, 2_000);
        let (mut at_ns, mut sent, mut acked) = (2 * MS, 500, 500);
        for _ in 0..=draw(3000) {
            let octave = draw(30);
            at_ns += draw(1 << octave);
            match draw(8) {
                0..3 => {
                    download.data(at_ns, sent, (1, 1));
                    sent += MSS;
                }
                3 => download.data(at_ns, acked, (1, 1)),
                4 => download.ack(at_ns, acked),
                _ => {
                    acked += MSS * draw(u64::from(sent - acked) / u64::from(MSS) + 1) as u32;
                    download.ack(at_ns, acked);
                }
            }
        }
        download.data(at_ns, sent, (1, 1));
        let model = download.model();
        let sum: u64 = model.spans.iter().map(Span::ns).sum();
        assert_eq!(sum, model.span_ns);
        assert_eq!(model.spans[0].start_ns, 0);
        assert!(
            model
                .spans
                .windows(2)
                .all(|pair| pair[0].end_ns == pair[1].start_ns)
        );
        let time = TimeShares::of(&model.spans, 7);
        assert_eq!(time.shares.iter().sum::<u64>(), sum);
        assert!(time.spans.len() <= 300, "{}", time.spans.len());
        for limit in Limit::ALL {
            assert_eq!(
                time.shares[limit as usize],
                model.time_ns(limit),
                "{limit:?}"
            );
        }
    }
}

/// A segment each 30 ms, captured at its sender, 100 ms from the receiver; each fifth stretch of eight is acknowledged so much later.
fn evenly_sent(late_ns: impl Fn(u32) -> u64) -> FlowModel {
    let mut download = Download::open(MS / 50, 100 * MS, 60_000);
    let sent_ns = |segment: u32| 300 * MS + u64::from(segment) * 30 * MS;
    let acked_ns = |segment: u32| sent_ns(segment) + 100 * MS + late_ns(segment / 8);
    let (mut acked, mut last_ns) = (0, 0);
    for segment in 0..320_u32 {
        while acked < segment && acked_ns(acked).max(last_ns) <= sent_ns(segment) {
            last_ns = last_ns.max(acked_ns(acked));
            download.ack(last_ns, 500 + (acked + 1) * MSS);
            acked += 1;
        }
        download.data(sent_ns(segment), 500 + segment * MSS, (1, 1));
    }
    download.model()
}

#[test]
fn a_path_on_which_most_segments_wait_for_none_is_not_full_most_of_the_time() {
    let seldom = evenly_sent(|stretch| if stretch % 5 == 2 { 200 * MS } else { 0 });
    assert!(seldom.is_queued);
    assert!(share(&seldom, Limit::PathRate) < 0.01, "{:?}", seldom.spans);
    let usually = evenly_sent(|stretch| if stretch % 5 == 2 { 0 } else { 200 * MS });
    assert!(
        share(&usually, Limit::PathRate) > 0.5,
        "{:?}",
        usually.spans
    );
}
