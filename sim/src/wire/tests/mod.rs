//! Both directions and both duplex modes against a device that works on half-bits.

mod device;
mod fields;
mod hub;
mod impairments;

use linerate_ether::ledger::DropCause;
use linerate_ether::phy10::link::LinkCodeWord;
use linerate_ether::phy10::{INTER_PACKET_GAP_NS, decode};
use linerate_ether::{fcs, frame, pattern};
use proptest::prelude::*;

use self::device::{Device, Recorder};
use super::burst::BurstKind;
use super::*;
use crate::peer::tests::station::Smol;
use crate::peer::{Host, Peer, host};

#[test]
fn bursts_of_the_device_are_read() {
    let mut link = link(Duplex::Half, &[]);
    let mut device = Device::new(Recorder::default());
    let word = LinkCodeWord::base_page(LinkCodeWord::TEN_HALF | LinkCodeWord::PAUSE);
    for burst in 0..5 {
        for pulse in word.pulses_ns() {
            let at = us(1000 + burst * 16_000) + Span::from_ns(pulse);
            device.edges.push_back((at, true));
            device.edges.push_back((at + Span::from_ns(100), false));
        }
    }
    // Half a burst, then a lone pulse.
    for at in [100_000, 100_125, 100_250, 120_000] {
        device.edges.push_back((us(at), true));
        device.edges.push_back((us(at) + Span::from_ns(100), false));
    }
    device.run(&mut link, us(200_000));
    let statistics = link.statistics();
    assert_eq!(
        (
            statistics.link_bursts_received,
            statistics.link_bursts_broken
        ),
        (5, 1)
    );
    assert_eq!(statistics.link_word_received, Some(word));
    assert_eq!(statistics.link_pulses_received, 5 * 20 + 4);
    assert_eq!((statistics.frames_received, statistics.odd_pulses), (0, 0));
}

fn us(us: u64) -> Instant {
    Instant::ZERO + Span::from_us(us)
}

/// A frame of `len` octets without FCS, numbered.
fn numbered(number: u8, len: usize) -> Vec<u8> {
    let mut frame = vec![number; len];
    pattern::fill(u64::from(number) * 7, &mut frame[14..]);
    frame[12] = 0x88;
    frame[13] = 0xB5;
    frame
}

/// The same with its FCS.
fn whole(number: u8, len: usize) -> Vec<u8> {
    let mut octets = numbered(number, len);
    octets.resize(len + 4, 0);
    fcs::append(&mut octets, len).unwrap();
    octets
}

fn link(duplex: Duplex, to_send: &[(u64, Vec<u8>)]) -> Link<Recorder> {
    let station = Recorder {
        to_send: to_send
            .iter()
            .map(|(at, frame)| (us(*at), frame.clone()))
            .collect(),
        ..Recorder::default()
    };
    Link::new(
        Config {
            duplex,
            ..Config::default()
        },
        station,
    )
}

fn sent(link: &mut Link<Recorder>) -> Vec<SentFrame> {
    let events = std::iter::from_fn(|| link.poll_event());
    events
        .filter_map(|event| match event {
            Event::Sent(sent, _) => Some(sent),
            Event::Started(_) | Event::Received(..) => None,
        })
        .collect()
}

fn received(link: &mut Link<Recorder>) -> Vec<ReceivedFrame> {
    let events = std::iter::from_fn(|| link.poll_event());
    events
        .filter_map(|event| match event {
            Event::Received(received, _) => Some(received),
            Event::Started(_) | Event::Sent(..) => None,
        })
        .collect()
}

#[test]
fn frames_reach_the_device_padded_and_96_bit_times_apart() {
    let mut link = link(
        Duplex::Full,
        &[(10, numbered(1, 20)), (10, numbered(2, 1514))],
    );
    let mut device = Device::new(Recorder::default());
    device.run(&mut link, us(3000));
    let mut short = numbered(1, 20);
    short.resize(60, 0);
    let frames: Vec<_> = device
        .station
        .received
        .iter()
        .map(|(_, frame)| frame.clone())
        .collect();
    assert_eq!(frames, [short, numbered(2, 1514)]);
    let records = sent(&mut link);
    assert_eq!(records[0].start, us(10) + Span::from_ns(50));
    assert_eq!(
        records[0].end.since(records[0].start),
        Span::from_ns(72 * 800)
    );
    assert_eq!(records[1].start.since(records[0].end), Span::from_ns(9600));
    assert_eq!((records[0].octets, records[1].octets), (64, 1518));
    assert_eq!(link.statistics().frames_sent, 2);
}

#[test]
fn frames_from_the_device_arrive_without_fcs_at_the_end_of_their_last_bit() {
    let mut link = link(Duplex::Full, &[]);
    let mut device = Device::new(Recorder::default());
    device.send(&whole(3, 100), us(20));
    device.run(&mut link, us(500));
    // 112 octets with preamble and FCS, 50 ns of cable.
    let end = us(20) + Span::from_ns(112 * 800 + 50);
    assert_eq!(link.station().received, [(end, numbered(3, 100))]);
    let record = received(&mut link).remove(0);
    assert_eq!((record.fault, record.octets, record.end), (None, 104, end));
    assert_eq!(record.edge_error, Span::ZERO);
}

#[test]
fn damaged_short_and_long_frames_are_counted_and_not_delivered() {
    let mut link = link(Duplex::Full, &[]);
    let mut device = Device::new(Recorder::default());
    let mut damaged = whole(1, 100);
    damaged[50] ^= 4;
    device.send(&damaged, us(0));
    device.send(&whole(2, 30), us(1000));
    device.send(&whole(3, 1600), us(2000));
    device.send(&[0x55; 100], us(4000));
    device.send(&whole(4, 5000), us(5000));
    device.run(&mut link, us(20_000));
    let faults: Vec<_> = received(&mut link)
        .iter()
        .map(|received| received.fault)
        .collect();
    let expected = [
        DropCause::BadFcs,
        DropCause::Runt,
        DropCause::Oversize,
        DropCause::BadFcs,
        DropCause::Oversize,
    ];
    assert_eq!(faults, expected.map(Some));
    assert!(link.station().received.is_empty());
    assert_eq!(
        (
            link.statistics().frames_received,
            link.statistics().frames_bad
        ),
        (5, 5)
    );
}

#[test]
fn in_half_duplex_the_peer_waits_for_the_device_to_finish() {
    let mut link = link(Duplex::Half, &[(100, numbered(1, 60))]);
    let mut device = Device::new(Recorder::default());
    device.send(&whole(2, 500), us(50));
    device.run(&mut link, us(2000));
    assert_eq!(link.statistics().collisions, 0);
    assert_eq!(link.statistics().deferred, 1);
    let device_end = us(50) + Span::from_ns(512 * 800 + 50);
    let record = sent(&mut link).remove(0);
    assert_eq!(record.start, device_end + Span::from_ns(9600 + 50));
    assert_eq!(device.frames.len(), 1);
}

#[test]
fn in_full_duplex_both_send_simultaneously() {
    let mut link = link(Duplex::Full, &[(100, numbered(1, 60))]);
    let mut device = Device::new(Recorder::default());
    device.send(&whole(2, 500), us(50));
    device.run(&mut link, us(2000));
    assert_eq!(sent(&mut link)[0].start, us(100) + Span::from_ns(50));
    assert_eq!(link.station().received.len(), 1);
    assert_eq!(device.frames.len(), 1);
}

#[test]
fn a_collision_is_jammed_and_the_frame_sent_again() {
    let mut link = link(Duplex::Half, &[(100, numbered(1, 200))]);
    let mut device = Device::new(Recorder::default());
    device.send(&whole(2, 60), us(110));
    device.run(&mut link, us(5000));
    let records = sent(&mut link);
    assert_eq!(records.len(), 2, "{records:?}");
    assert_eq!(
        (records[0].fault, records[1].fault),
        (Some(DropCause::Collision), None)
    );
    assert_eq!((records[0].frame, records[1].frame), (0, 0));
    assert_eq!((records[0].attempt, records[1].attempt), (1, 2));
    // The device began 10 us into the frame: that time, the rest of the bit, 32 bits of jam.
    let jammed = records[0].end.since(records[0].start);
    assert!(
        (Span::from_ns(13_200)..=Span::from_ns(13_600)).contains(&jammed),
        "{jammed:?}"
    );
    assert_eq!(device.frames.len(), 1);
    assert_eq!(device.damaged, 1);
    // The device's frame was lost, too.
    assert!(link.station().received.is_empty());
    assert_eq!(
        (
            link.statistics().collisions,
            link.statistics().late_collisions
        ),
        (1, 0)
    );
    assert_eq!(link.statistics().frames_sent, 1);
}

#[test]
fn a_late_collision_loses_the_frame() {
    let mut link = link(Duplex::Half, &[(100, numbered(1, 1000))]);
    let mut device = Device::new(Recorder::default());
    device.send(&whole(2, 60), us(400));
    device.run(&mut link, us(5000));
    let faults: Vec<_> = sent(&mut link).iter().map(|sent| sent.fault).collect();
    assert_eq!(faults, [Some(DropCause::LateCollision)]);
    assert_eq!(link.statistics().late_collisions, 1);
    assert_eq!(device.frames.len(), 0);
}

#[test]
fn after_16_collisions_the_frame_is_given_up() {
    // The device collides with every transmission.
    let mut link = link(
        Duplex::Half,
        &[(100, numbered(1, 1000)), (100, numbered(2, 60))],
    );
    let mut device = Device::new(Recorder::default());
    let mut now = us(0);
    while link.statistics().excessive_collisions == 0 {
        now += Span::from_us(1);
        assert!(now < us(2_000_000), "{:?}", link.statistics());
        device.run(&mut link, now);
        let fresh = link
            .transmissions_in_progress()
            .any(|sent| sent.fault.is_none());
        if fresh && device.edges.is_empty() {
            device.send(&whole(3, 60), now);
        }
    }
    assert_eq!(link.statistics().collisions, 16);
    device.run(&mut link, now + Span::from_us(10_000));
    assert_eq!(
        device.frames.last().map(|(_, frame)| frame.clone()),
        Some(numbered(2, 60))
    );
}

#[test]
fn link_pulses_pass_in_both_directions() {
    let mut link = link(Duplex::Half, &[(20_000, numbered(1, 60))]);
    let mut device = Device::new(Recorder::default());
    for (at, width) in [(100, 100), (200, 62), (300, 63), (400, 150), (500, 250)] {
        device.edges.push_back((us(at), true));
        device
            .edges
            .push_back((us(at) + Span::from_ns(width), false));
    }
    device.run(&mut link, us(60_000));
    let statistics = link.statistics();
    assert_eq!(
        (statistics.link_pulses_received, statistics.odd_pulses),
        (3, 2)
    );
    assert_eq!(
        statistics.pulse_widths,
        Some((Span::from_ns(62), Span::from_ns(250)))
    );
    // At 16 ms, then 16 ms after the frame, then 16 ms after that.
    let frame_end = us(20_000) + Span::from_ns(72 * 800);
    let delay = Span::from_ns(50);
    let expected = [
        us(16_000),
        frame_end + Span::from_us(16_000),
        frame_end + Span::from_us(32_000),
    ];
    assert_eq!(device.pulses, expected.map(|at| at + delay));
}

/// Fetches a file over the wire; returns the rate in octets per second, and the statistics.
fn fetch(config: Config, size: u64, reaction: Span) -> (f64, Statistics) {
    let mut link = Link::new(config, Host::new(host::Config::default()));
    let mut device = Device::new(Smol::fetch(size, 20_440));
    device.reaction = reaction;
    device.run(&mut link, us(20_000_000));
    assert_eq!(device.station.crc32(), pattern::crc32(size));
    let request = link.station().report().requests.remove(0);
    let took = device.station.finished_at.unwrap().since(request.opened_at);
    (size as f64 / took.as_secs_f64(), link.statistics().clone())
}

#[test]
fn a_file_crosses_the_cable_near_line_rate() {
    let config = Config {
        duplex: Duplex::Full,
        ..Config::default()
    };
    let (rate, statistics) = fetch(config, 500_000, Span::ZERO);
    // 1186.6 kB/s is what a 10 Mbit/s line carries.
    assert!((1_150_000.0..1_187_000.0).contains(&rate), "{rate}");
    assert_eq!((statistics.frames_bad, statistics.collisions), (0, 0));
}

#[test]
fn in_half_duplex_a_device_without_carrier_sense_collides_and_still_gets_its_file() {
    // It answers 30 us after a frame, when the peer's next one is under way.
    let (rate, statistics) = fetch(Config::default(), 100_000, Span::from_us(30));
    assert!(statistics.collisions > 0);
    assert!(rate > 10_000.0, "{rate}");
}

#[test]
fn a_clock_at_its_limits_changes_nothing_for_a_tracking_receiver() {
    for clock_ppm in [-100.0, 100.0] {
        let config = Config {
            duplex: Duplex::Full,
            impairments: Impairments {
                clock_ppm,
                jitter_ns: 3.0,
                ..Impairments::default()
            },
            ..Config::default()
        };
        let (rate, statistics) = fetch(config, 100_000, Span::ZERO);
        assert!(rate > 1_000_000.0, "{rate}");
        assert_eq!(statistics.frames_bad, 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
    /// For any edges of the device nothing panics, time advances, and every frame of the peer is
    /// accounted for.
    #[test]
    fn any_edges_are_tolerated(
        steps in proptest::collection::vec((1..4000_u64, any::<bool>()), 0..600),
        half in any::<bool>(),
    ) {
        let duplex = if half { Duplex::Half } else { Duplex::Full };
        let mut link = link(duplex, &[(1, numbered(1, 300)), (40, numbered(2, 60))]);
        let mut at = Instant::ZERO;
        for (step, level) in steps {
            at += Span::from_ticks(step);
            while link.deadline() <= at {
                let now = link.deadline();
                link.poll(now);
                prop_assert!(link.deadline() > now);
            }
            link.drive(level, at);
        }
        link.drive(false, at);
        let end = at + Span::from_ms(200);
        while link.deadline() <= end {
            let now = link.deadline();
            link.poll(now);
            prop_assert!(link.deadline() > now);
        }
        let records = sent(&mut link);
        let delivered = records.iter().filter(|sent| sent.fault.is_none()).count() as u64;
        let given_up = link.statistics().late_collisions + link.statistics().excessive_collisions;
        prop_assert_eq!(delivered + given_up, 2);
        prop_assert_eq!(link.statistics().frames_sent, 2);
    }
}
