//! What a model finds out without the handshake, and from the distance of segments.

use super::download::{Download, MS, MSS, share};
use crate::model::release::is_far_below_bursts;
use crate::model::{FlowModel, Limit, WindowScale};
use crate::tcp::{End, Segment};

/// Rounds of 20 ms, in each of which `burst` segments pass 400 us apart, and the receiver acknowledges them `ack_ns` after
/// the first.
fn bursts(mut download: Download, burst: u32, data_ns: u64, ack_ns: u64) -> FlowModel {
    for round in 0..60_u32 {
        let start_ns = 30 * MS + u64::from(round) * 20 * MS;
        for segment in 0..burst {
            let at_ns = start_ns + data_ns + u64::from(segment) * 400_000;
            download.data(at_ns, 500 + (burst * round + segment) * MSS, (1, 1));
        }
        download.ack(start_ns + ack_ns, 500 + burst * (round + 1) * MSS);
    }
    download.model()
}

#[test]
fn the_distance_of_segments_of_a_flight_is_the_rate_of_the_slowest_link() {
    // 1,000 octets each 400 us are 2.5 MB/s; ten of them in 20 ms are 0.5 MB/s.
    let at_receiver = bursts(Download::open(16 * MS, MS / 50, 10_000), 10, 0, 4 * MS);
    let train = at_receiver.train.expect("trains");
    assert!((train.bytes_per_s / 2.5e6 - 1.0).abs() < 0.02, "{train:?}");
    // One by one, the distance is the sender's.
    let alone = bursts(Download::open(16 * MS, MS / 50, 10_000), 1, 0, MS / 50);
    assert_eq!(alone.train, None);
}

/// One segment at a time, 9 ms each, from a server whose SYN-ACK came after 750 ms; the capture is `to_server_ns` and
/// `to_client_ns` from the ends.
fn late_opening(to_server_ns: u64, to_client_ns: u64) -> FlowModel {
    let mut download = Download::open(750 * MS, to_client_ns, 10_000);
    let mut at_ns = 750 * MS + to_client_ns;
    for segment in 0..60_u32 {
        at_ns += to_server_ns;
        download.data(at_ns, 500 + segment * MSS, (1, 1));
        at_ns += to_client_ns;
        download.ack(at_ns, 500 + (segment + 1) * MSS);
    }
    download.model()
}

#[test]
fn a_syn_ack_that_is_late_does_not_place_the_capture() {
    let at_server = late_opening(MS / 10, 9 * MS);
    assert!(!at_server.is_near_receiver());
    assert_eq!(at_server.base_rtt_ns(), Some(9 * MS + MS / 10));
    let at_client = late_opening(9 * MS, MS / 10);
    assert!(at_client.is_near_receiver());
    assert_eq!(at_client.base_rtt_ns(), Some(9 * MS + MS / 10));
}

#[test]
fn segments_one_by_one_follow_the_last_acknowledgment_and_fill_no_window() {
    // With a window of 44 segments, each is admitted by an acknowledgment 44 rounds ago, too.
    let near_sender = bursts(Download::late(44_000), 1, 0, 19 * MS);
    assert_eq!(near_sender.reaction_ns, 0);
    let rtt_ns = near_sender.round_trip_ns().expect("near the sender");
    assert!((19 * MS..21 * MS).contains(&rtt_ns), "{rtt_ns}");
    assert!(near_sender.flights().iter().all(|it| *it <= u64::from(MSS)));
    let near_receiver = bursts(Download::late(44_000), 1, 0, MS / 50);
    assert_eq!(near_receiver.round_trip_ns(), None);
}

#[test]
fn bursts_smaller_than_the_window_do_not_show_the_round_trip() {
    let model = bursts(Download::late(40_000), 5, 0, 3 * MS);
    assert_eq!(model.reaction_ns, 0);
    assert!(!matches!(model.scale, WindowScale::Inferred(_)));
}

#[test]
fn a_scale_that_the_sender_would_exceed_is_refuted_by_the_round_trip() {
    // Eight segments a round trip of 20 ms; at the receiver only four of them are unacknowledged at once. A window field of
    // 70 holds these with scale 6, but eight only with scale 7.
    let mut download = Download::snapped(16 * MS, MS / 50, 70);
    for round in 0..60_u32 {
        let start_ns = 60 * MS + u64::from(round) * 20 * MS;
        for half in 0..2 {
            for segment in 0..4 {
                let number = 8 * round + 4 * half + segment;
                let at_ns = start_ns + u64::from(4 * half + segment) * MS;
                download.data(at_ns, 500 + number * MSS, (1, 1));
            }
            let acked = 8 * round + 4 * half + 4;
            download.ack(
                start_ns + u64::from(4 * half + 3) * MS + 1000,
                500 + acked * MSS,
            );
        }
    }
    let model = download.model();
    assert!(model.scale.least() >= 7, "{:?}", model.scale);
    assert!(share(&model, Limit::ReceiveWindow) < 0.1);
}

#[test]
fn segments_that_end_exactly_where_windows_end_show_the_scale() {
    // A window of 1,200 to 1,207 octets admits a full segment and a part, each round.
    let mut download = Download::late(1_200);
    let mut seq = 500;
    for round in 0..60_u32 {
        let start_ns = 30 * MS + u64::from(round) * 10 * MS;
        download.window = 1_200 + (round % 8) as u16;
        download.ack(start_ns, seq);
        download.data(start_ns + MS / 10, seq, (1, 1));
        let part = u32::from(download.window) - MSS;
        download.part(start_ns + MS / 10 + 1000, seq + MSS, part);
        seq += MSS + part;
    }
    let model = download.model();
    assert_eq!(model.scale, WindowScale::Inferred(0));
}

#[test]
fn a_closed_window_shows_the_round_trip_when_it_opens() {
    // A standing queue of 20 ms on a path of 5 ms; only what follows a closed window finds it empty.
    let mut download = Download::late(30_000);
    download.stamps = true;
    let mut seq = 500;
    let mut at_ns = 30 * MS;
    for segment in 0..120_u32 {
        at_ns += 2 * MS;
        download.data(
            at_ns,
            seq,
            ((at_ns / MS) as u32 - 20, (at_ns / MS) as u32 - 20),
        );
        seq += MSS;
        if segment == 60 {
            download.window = 0;
        }
        download.ack(at_ns + 1000, seq);
        if segment == 60 {
            download.window = 30_000;
            at_ns += 200 * MS;
            download.ack(at_ns, seq);
            at_ns += 5 * MS;
            download.data(
                at_ns,
                seq,
                ((at_ns / MS) as u32, ((at_ns - 5 * MS) / MS) as u32 + 1),
            );
            seq += MSS;
        }
    }
    let base_ns = download.model().to_sender.base_ns().expect("stamps");
    assert!((4 * MS..=6 * MS).contains(&base_ns), "{base_ns}");
}

#[test]
fn a_receiver_that_answers_at_once_is_near_where_the_way_to_the_sender_is_unknown() {
    let is_near = |download: Download, ack_ns: u64| {
        let model = bursts(download, 5, 0, 4 * 400_000 + ack_ns);
        model.is_near_receiver()
    };
    assert!(is_near(Download::late(40_000), MS / 20));
    assert!(!is_near(Download::late(40_000), 3 * MS));
    // A router before one end only shows that the other one is nearer.
    let routed = |hop_limits| {
        let mut download = Download::late(40_000);
        download.hop_limits = hop_limits;
        download
    };
    assert!(is_near(routed([64, 57]), 3 * MS));
    // A host that answers at once is, whatever it is behind.
    assert!(is_near(routed([62, 255]), MS / 20));
    assert!(!is_near(routed([62, 57]), 3 * MS));
    // With the handshake, the nearer end counts, however near it is.
    assert!(is_near(Download::open(16 * MS, 3 * MS, 40_000), 3 * MS));
    assert!(!is_near(Download::open(MS / 50, MS / 10, 40_000), MS / 10));
}

#[test]
fn the_last_segment_of_each_burst_fills_a_window() {
    // Of 20 segments, only the last one leaves less than a segment of the 20,500 octets.
    let full = bursts(Download::late(20_500), 20, 0, 19 * MS);
    assert_eq!(full.scale, WindowScale::Inferred(0));
    let less = bursts(Download::late(24_500), 20, 0, 19 * MS);
    assert_eq!(less.scale, WindowScale::Ample(0));
}

#[test]
fn the_most_in_flight_of_each_round_trip_is_a_peak() {
    let model = bursts(Download::open(MS / 50, 19 * MS, 60_000), 5, 0, 19 * MS);
    let peaks = model.peaks(20 * MS, 0..u64::MAX);
    assert_eq!(peaks.len(), 60);
    assert!(
        peaks.iter().all(|it| *it == u64::from(5 * MSS)),
        "{peaks:?}"
    );
}

#[test]
fn segments_that_follow_acknowledgments_in_step_do_not_show_a_longer_round_trip() {
    // The window holds 20 segments: an acknowledgment 20 rounds ago admits each of them, too.
    let model = bursts(Download::late(20_000), 1, 0, MS / 50);
    assert_eq!((model.reaction_ns, model.round_trip_ns()), (0, None));
}

#[test]
fn writes_of_a_program_do_not_show_the_round_trip() {
    let reaction_ns = |flags: u8| {
        let mut download = Download::late(4_000);
        let mut seq = 500;
        for round in 0..60_u64 {
            let start_ns = 30 * MS + round * 20 * MS;
            for segment in 0..3 {
                download.data(start_ns + segment * 100_000, seq, (1, 1));
                seq += MSS;
            }
            download.record(End::Second, start_ns + 300_000, flags, seq, 100, 500, &[]);
            seq += 500;
            download.ack(start_ns + 310_000, seq);
        }
        download.model().reaction_ns
    };
    // Without PSH, the window of 3.5 segments is full.
    assert!(reaction_ns(Segment::ACK) > 15 * MS);
    assert_eq!(reaction_ns(Segment::ACK | Segment::PSH), 0);
}

#[test]
fn segments_that_wait_in_a_receiver_beside_the_capture_point_are_in_no_queue_of_the_path() {
    let is_queued = |to_sender_ns: u64, to_receiver_ns: u64| {
        let mut download = Download::open(to_sender_ns, to_receiver_ns, 60_000);
        for round in 0..60_u32 {
            let start_ns = 60 * MS + u64::from(round) * 20 * MS;
            for segment in 0..8_u32 {
                let at_ns = start_ns + u64::from(segment) * 50_000;
                download.data(at_ns, 500 + (8 * round + segment) * MSS, (1, 1));
            }
            for segment in 1..=8_u32 {
                let at_ns = start_ns + 400_000 + u64::from(segment) * 2 * MS;
                download.ack(at_ns, 500 + (8 * round + segment) * MSS);
            }
        }
        download.model().is_queued
    };
    assert!(!is_queued(16 * MS, MS / 50));
    assert!(is_queued(MS / 50, 2 * MS));
}

#[test]
fn data_that_follows_the_opening_of_a_closed_window_shows_the_round_trip_to_the_sender() {
    // Windows of eight segments, 6 ms from the sender; each twentieth one closes for 300 ms.
    let mut download = Download::late(8_000);
    let (mut at_ns, mut first) = (10 * MS, 500);
    for round in 0..80 {
        for place in 0..8_u32 {
            let at_ns = at_ns + u64::from(place) * 200_000;
            download.data(at_ns, first + place * MSS, (1, 1));
        }
        first += 8 * MSS;
        at_ns += 2 * MS;
        if round % 20 == 10 {
            download.window = 0;
            download.ack(at_ns, first);
            download.window = 8_000;
            at_ns += 300 * MS;
        }
        download.ack(at_ns, first);
        at_ns += 6 * MS;
    }
    let model = download.model();
    assert_eq!(model.to_sender.base_ns(), Some(6 * MS));
    let closed = 4.0 * 0.3 / 1.84;
    assert!((share(&model, Limit::ClosedWindow) - closed).abs() < 0.05);
}

/// Flights of five segments in 4 ms, whose acknowledgment comes `late_ns` after them; the next flight follows it after the time
/// that `released_ns` has for each. The handshake took 10 ms to the sender.
fn flights(late_ns: u64, released_ns: impl Fn(u64) -> u64) -> FlowModel {
    let mut download = Download::open(10 * MS, MS / 50, 60_000);
    let (mut at_ns, mut next) = (30 * MS, 500);
    for round in 0..40 {
        for place in 0..5 {
            download.data(at_ns + place * MS, next, (1, 1));
            next += MSS;
        }
        at_ns += 4 * MS + late_ns;
        download.ack(at_ns, next);
        at_ns += released_ns(round);
    }
    download.model()
}

#[test]
fn data_always_as_soon_after_late_acknowledgments_shows_the_round_trip_to_the_sender() {
    let released = flights(190 * MS, |_| 4 * MS);
    assert_eq!(released.to_sender.base_ns(), Some(4 * MS));
    let late = share(&released, Limit::LateAck);
    assert!(late > 0.85, "{late}");
    // A sender with a clock of its own.
    let varied = flights(190 * MS, |round| (1 + round % 7) * MS);
    assert_eq!(varied.to_sender.base_ns(), Some(10 * MS));
    let prompt = flights(MS / 50, |_| 4 * MS);
    assert_eq!(prompt.to_sender.base_ns(), Some(10 * MS));
}

#[test]
fn a_slow_host_that_answers_each_acknowledgment_is_not_idle() {
    let model = answering(3 * MS);
    let idle = share(&model, Limit::SenderIdle);
    assert!(idle < 0.1, "{idle}");
    // A program that writes each 60 ms follows some acknowledgment within that time, too.
    let is_host = |ns| is_far_below_bursts(&model.view, ns);
    assert_eq!([3 * MS, 20 * MS].map(is_host), [true, false]);
}

/// Near the sender, 240 ms from the receiver: three segments for each acknowledgment, `data_ns` after it and 1.4 ms apart.
fn answering(data_ns: u64) -> FlowModel {
    let mut download = Download::open(MS / 50, 240 * MS, 60_000);
    let (mut at_ns, mut next, mut acked) = (300 * MS, 500, 500);
    for _ in 0..30 {
        download.data(at_ns, next, (1, 1));
        next += MSS;
        at_ns += 1_400_000;
    }
    at_ns += 240 * MS - 30 * 1_400_000;
    for _ in 0..300 {
        acked += 3 * MSS;
        download.ack(at_ns, acked);
        for place in 0..3 {
            download.data(at_ns + data_ns + place * 1_400_000, next, (1, 1));
            next += MSS;
        }
        at_ns += 60 * MS;
    }
    download.model()
}
