//! Impairments of the wire, seen from the device's end.

use std::collections::BTreeSet;

use super::*;
use crate::peer::conformance::{self, Expect};
use crate::peer::{Generator, generator};

fn generate(traffic: &generator::Config, impairments: Impairments) -> Link<Generator> {
    let config = Config {
        duplex: Duplex::Full,
        impairments,
        ..Config::default()
    };
    Link::new(config, Generator::new(traffic))
}

fn ended(link: &mut Link<Generator>) -> Vec<SentFrame> {
    let events = std::iter::from_fn(|| link.poll_event());
    events
        .filter_map(|event| match event {
            Event::Sent(sent, _) => Some(sent),
            _ => None,
        })
        .collect()
}

#[test]
fn a_storm_is_at_line_rate_and_ends_on_time() {
    let traffic = generator::Config {
        from_ms: 10,
        for_ms: 500,
        ..generator::Config::default()
    };
    let mut link = generate(&traffic, Impairments::default());
    let mut device = Device::new(Recorder::default());
    device.run(&mut link, us(600_000));
    let sent = ended(&mut link);
    // 67.2 us a frame.
    assert!((7440..=7443).contains(&sent.len()), "{}", sent.len());
    assert_eq!(device.frames.len(), sent.len());
    for pair in sent.windows(2) {
        assert_eq!(pair[1].start.since(pair[0].end), Span::from_ns(9600));
    }
    let last = sent.last().unwrap().end;
    assert!((us(509_900)..us(510_200)).contains(&last), "{last:?}");
}

#[test]
fn frames_that_a_storm_could_not_send_in_its_time_are_not_sent_later() {
    let traffic = generator::Config {
        from_ms: 10,
        for_ms: 5,
        ..generator::Config::default()
    };
    let mut storm = Generator::new(&traffic);
    assert!(storm.poll_outgoing(us(9_000)).is_none());
    // The medium takes one frame in 5 ms.
    assert!(storm.poll_outgoing(us(10_000)).is_some());
    assert!(storm.poll_outgoing(us(14_900)).is_some());
    assert!(storm.poll_outgoing(us(15_000)).is_none());
    assert_eq!((storm.poll_timeout(), storm.sent()), (Instant::NEVER, 2));
}

#[test]
fn half_a_load_takes_half_the_line() {
    let traffic = generator::Config {
        load: 0.5,
        frame_octets: 1000,
        frames: 100,
        destination: Destination::Foreign,
        ..generator::Config::default()
    };
    let mut link = generate(&traffic, Impairments::default());
    let mut device = Device::new(Recorder::default());
    device.run(&mut link, us(300_000));
    let sent = ended(&mut link);
    assert_eq!(sent.len(), 100);
    let took = sent[99].start.since(sent[0].start).as_ns() / 99;
    assert_eq!(took, 2 * linerate_ether::phy10::frame_time_ns(1000));
    assert_eq!(device.frames[7].1[..6], generator::FOREIGN);
}

#[test]
fn frames_follow_each_other_after_47_bit_times() {
    let traffic = generator::Config {
        case: Some("gap-47".into()),
        frames: 40,
        ..generator::Config::default()
    };
    let mut link = generate(&traffic, Impairments::default());
    let mut device = Device::new(Recorder::default());
    device.run(&mut link, us(100_000));
    let sent = ended(&mut link);
    for pair in sent.windows(2) {
        assert_eq!(pair[1].start.since(pair[0].end), Span::from_ns(4700));
    }
    let tags: Vec<_> = sent[..6].iter().map(|sent| sent.tag).collect();
    assert_eq!(tags, [0, 1, 2, 3, 0, 1]);
    assert_eq!(device.frames.len(), 40);
}

/// A receiver that tracks edges, and so tolerates everything within limits, gets the expected outcome
/// of each case's frames.
#[test]
fn a_receiver_that_tolerates_everything_passes_every_case() {
    for case in conformance::CASES {
        let mut impairments = Impairments::default();
        (case.impair)(&mut impairments);
        if case.settling_frames > 0 {
            // It has no polarity detection: give it the wires as a receiver with correction sees them.
            assert!(std::mem::take(&mut impairments.swapped_polarity));
        }
        let settling = case.settling_frames as usize;
        let frames = case.settling_frames + 8 * case.steps.len() as u64;
        // The settling frames come before, far apart.
        let from_ms = 20 * case.settling_frames;
        let traffic = generator::Config {
            case: Some(case.name.into()),
            from_ms,
            frames,
            ..generator::Config::default()
        };
        let mut link = generate(&traffic, impairments);
        let mut device = Device::new(Recorder::default());
        device.run(&mut link, us(from_ms * 1_000 + 400_000));
        let sent = ended(&mut link);
        assert_eq!(sent.len() as u64, frames, "{}", case.name);
        let tags: BTreeSet<_> = sent[settling..].iter().map(|sent| sent.tag).collect();
        assert_eq!(tags.len(), case.steps.len(), "{}", case.name);
        let expected = |expect| {
            sent[settling..]
                .iter()
                .filter(|sent| case.expected(sent.tag) == expect)
                .count()
        };
        // It has no address filter, polarity detection or noise rejection.
        let filtered = expected(Expect::Discarded(DropCause::Filtered));
        let good = expected(Expect::Received) + filtered;
        if case.name.contains("polarity") {
            let upright = sent[settling..].iter().filter(|sent| {
                let step = &case.steps[sent.tag as usize];
                step.options.swapped_polarity == impairments.swapped_polarity
            });
            assert_eq!(
                device.frames.len(),
                settling + upright.count(),
                "{}",
                case.name
            );
        } else if case.name == "noise" {
            assert!(device.frames.len() + 3 >= good, "{}", case.name);
        } else {
            assert_eq!(
                device.frames.len(),
                good,
                "{} {device:?}",
                case.name,
                device = device.damaged
            );
        }
        let intact = device.frames.iter().all(|(_, frame)| {
            let at = if frame[12..14] == [0x81, 0] { 18 } else { 14 };
            let number = u32::from_be_bytes(frame[at..at + 4].try_into().unwrap());
            pattern::first_difference(u64::from(number) * 7, &frame[at + 4..]).is_none()
        });
        assert!(intact, "{}", case.name);
    }
}

#[test]
fn a_device_that_must_settle_receives_broadcasts_first() {
    let traffic = generator::Config {
        case: Some("swapped-polarity".into()),
        from_ms: 1_300,
        frames: 62,
        ..generator::Config::default()
    };
    let mut link = generate(&traffic, Impairments::default());
    let mut device = Device::new(Recorder::default());
    device.run(&mut link, us(1_400_000));
    let sent = ended(&mut link);
    assert_eq!((sent.len(), device.frames.len()), (62, 62));
    let at: Vec<_> = sent
        .iter()
        .map(|sent| sent.start.as_ns() / 1_000_000)
        .collect();
    assert_eq!((at[0], at[1], at[59], at[60]), (100, 120, 1_280, 1_300));
    let broadcast = |frame: &Vec<u8>| frame[..6] == [0xFF; 6];
    assert!(
        device.frames[..60]
            .iter()
            .all(|(_, frame)| broadcast(frame))
    );
    assert!(
        device.frames[60..]
            .iter()
            .all(|(_, frame)| frame[..6] == generator::DEVICE)
    );
}

#[test]
fn a_pulse_in_a_gap_causes_no_busy_polling() {
    let traffic = generator::Config {
        case: Some("link-pulses-between-frames".into()),
        frames: 30,
        ..generator::Config::default()
    };
    let mut link = generate(&traffic, Impairments::default());
    let mut polls = 0;
    while link.deadline() < us(60_000) {
        let now = link.deadline();
        link.poll(now);
        polls += 1;
    }
    assert!(polls < 300, "{polls}");
    assert_eq!(ended(&mut link).len(), 30);
}

#[test]
fn a_babbling_station_sends_for_the_configured_time() {
    let traffic = generator::Config {
        babble_ms: 30,
        frames: 2,
        ..generator::Config::default()
    };
    let mut link = generate(&traffic, Impairments::default());
    let mut device = Device::new(Recorder::default());
    device.run(&mut link, us(100_000));
    let sent = ended(&mut link);
    assert_eq!(sent.len(), 2);
    let took = sent[0].end.since(sent[0].start);
    assert_eq!(took, Span::from_us(30_000) + Span::from_ns(6400));
    assert_eq!((device.frames.len(), device.damaged), (0, 2));
}

#[test]
fn an_unplugged_cable_loses_frames_in_both_directions_and_the_partner_detects_it() {
    let flap = Flap {
        every_ms: 1000,
        down_ms: 500,
    };
    let config = Config {
        duplex: Duplex::Full,
        impairments: Impairments {
            flap,
            ..Impairments::default()
        },
        ..Config::default()
    };
    let to_send = (1..200).map(|n| (us(n * 10_000), numbered(1, 60)));
    let station = Recorder {
        to_send: to_send.collect(),
        ..Recorder::default()
    };
    let mut link = Link::new(config, station);
    let mut device = Device::new(Recorder::default());
    for n in 0..120 {
        device.edges.push_back((us(n * 16_000), true));
        device
            .edges
            .push_back((us(n * 16_000) + Span::from_ns(100), false));
    }
    device.run(&mut link, us(1_990_000));
    let events: Vec<_> = std::iter::from_fn(|| link.poll_event()).collect();
    let lost: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::Sent(sent, _) => Some((sent.start, sent.fault)),
            _ => None,
        })
        .filter(|(_, fault)| *fault == Some(DropCause::LinkDown))
        .collect();
    // The partner continues for its link loss time, then withholds frames.
    assert!((9..=11).contains(&lost.len()), "{lost:?}");
    assert!(
        lost.iter()
            .all(|(at, _)| (us(999_000)..us(1_110_000)).contains(at))
    );
    let report = link.report();
    assert_eq!((report.up, report.ups, report.downs), (true, 2, 1));
    let statistics = link.statistics();
    assert!(
        (35..60).contains(&statistics.frames_withheld),
        "{statistics:?}"
    );
    let arrived = device.frames.len() as u64;
    assert_eq!(arrived + lost.len() as u64, statistics.frames_sent);
    assert!(arrived > 120, "{arrived}");
}

#[test]
fn bit_errors_are_distinguished_from_other_damage() {
    let traffic = generator::Config {
        frames: 200,
        frame_octets: 1000,
        ..generator::Config::default()
    };
    let impairments = Impairments {
        bit_error_rate: 1e-4,
        ..Impairments::default()
    };
    let mut link = generate(&traffic, impairments);
    let mut device = Device::new(Recorder::default());
    device.run(&mut link, us(300_000));
    let sent = ended(&mut link);
    let wrong = sent
        .iter()
        .filter(|sent| sent.fault == Some(DropCause::Corrupted))
        .count();
    // One in two is hit: 1 - 0.9999^8000.
    assert!((85..135).contains(&wrong), "{wrong}");
    assert!(device.frames.len() <= 200 - wrong + 1);
    assert!(device.frames.len() + wrong >= 198);
}
