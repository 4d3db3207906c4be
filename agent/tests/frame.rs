//! Raw frames from a generator to a receiver, directly and through a reflector.

use linerate_agent::Instant;
use linerate_agent::frame::{
    Blast, ETHERTYPE, Fill, Mac, OVERHEAD, Plan, Receiver, ReflectFilter, TestHeader, reflect,
};
use proptest::prelude::*;
use std::time::Duration;

const US: Mac = [2, 0, 0, 0, 0, 1];
const THEM: Mac = [2, 0, 0, 0, 0, 2];
const START: Instant = Instant::from_ns(1000);

fn plan(sizes: &[u16]) -> Plan<'_> {
    Plan {
        to: THEM,
        from: US,
        stream: 3,
        sizes,
        fill: Fill::Pattern,
        reflect: true,
        count: 100,
        rate_bits_per_s: 10_000_000,
    }
}

/// All frames, with their send times.
fn frames(plan: Plan) -> Vec<(Instant, Vec<u8>)> {
    let mut blast = Blast::new(plan, START);
    let mut room = [0xaa; 2000];
    let mut frames = Vec::new();
    while let Some(due) = blast.due() {
        let early = Instant::from_ns(due.ns() - 1);
        assert_eq!(blast.next(&mut room, early), None);
        let len = blast.next(&mut room, due).unwrap();
        frames.push((due, room[..len].to_vec()));
    }
    assert_eq!(blast.next(&mut room, Instant::from_ns(u64::MAX)), None);
    let octets = frames.iter().map(|(_, frame)| frame.len() as u64).sum();
    assert_eq!(blast.sent(), (plan.count, octets));
    frames
}

#[test]
fn frames_have_their_sizes_and_the_wire_its_rate() {
    let frames = frames(plan(&[0, 64, 594, 1514]));
    let sizes: Vec<usize> = frames
        .iter()
        .map(|(_, frame)| frame.len())
        .take(5)
        .collect();
    assert_eq!(sizes, [60, 64, 594, 1514, 60]);
    let before: usize = frames[..99]
        .iter()
        .map(|(_, frame)| frame.len() + OVERHEAD)
        .sum();
    let span = frames[99].0.since(START);
    assert_eq!(span, Duration::from_nanos(before as u64 * 800));
    for (number, (at, frame)) in frames.iter().enumerate() {
        assert_eq!((&frame[..6], &frame[6..12]), (&THEM[..], &US[..]));
        assert_eq!(frame[12..14], ETHERTYPE.to_be_bytes());
        let head = TestHeader::parse(frame).unwrap();
        assert_eq!((head.number, head.sent_ns), (number as u64, at.ns()));
    }
}

#[test]
fn a_frame_that_does_not_fit_waits() {
    let mut blast = Blast::new(plan(&[100]), START);
    assert_eq!(blast.next(&mut [0; 99], START), None);
    assert_eq!(blast.next(&mut [0; 100], START), Some(100));
}

#[test]
fn a_reflected_frame_returns_to_its_sender() {
    let mut back = Receiver::new(US, 3);
    for (at, mut frame) in frames(plan(&[64, 1514])) {
        assert!(reflect(&mut frame, THEM, ReflectFilter::Marked));
        assert_eq!((&frame[..6], &frame[6..12]), (&US[..], &THEM[..]));
        let now = at.after(Duration::from_micros(70));
        let arrived = back.received(&frame, now).unwrap();
        assert_eq!(arrived.round_trip, Some(Duration::from_micros(70)));
        // Not a second time, on any reflector.
        assert!(!reflect(&mut frame, US, ReflectFilter::Marked));
    }
    assert_eq!(
        (back.sink.sequence.received(), back.sink.jitter.ns()),
        (100, 0)
    );
    assert_eq!(back.sink.octets, 50 * (64 + 1514));
}

#[test]
fn a_frame_that_is_not_reflected_is_unchanged() {
    let broadcast = [0xff; 6];
    let group = [1, 0, 0x5e, 0, 0, 1];
    let (_, good) = frames(plan(&[64])).remove(0);
    let with = |at: usize, octets: &[u8]| {
        let mut frame = good.clone();
        frame[at..at + octets.len()].copy_from_slice(octets);
        frame
    };
    let (_, one_way) = frames(Plan {
        reflect: false,
        ..plan(&[64])
    })
    .remove(0);
    for (frame, own, what) in [
        (with(0, &broadcast), THEM, "to all"),
        (with(0, &group), THEM, "to a group"),
        (with(0, &broadcast), broadcast, "to all, which is us"),
        (with(6, &group), THEM, "from a group"),
        (with(6, &[0; 6]), THEM, "from nobody"),
        (with(6, &THEM), THEM, "from us"),
        (good.clone(), [2, 0, 0, 0, 0, 9], "for another"),
        (with(12, &[8, 0]), THEM, "IPv4"),
        (with(14, b"nope"), THEM, "another experiment"),
        (one_way, THEM, "one way"),
        (good[..13].to_vec(), THEM, "cut"),
        (good[..20].to_vec(), THEM, "truncated header"),
    ] {
        let mut copy = frame.clone();
        assert!(!reflect(&mut copy, own, ReflectFilter::Marked), "{what}");
        assert_eq!(copy, frame, "{what}");
    }
}

#[test]
fn a_selected_foreign_generator_is_reflected() {
    let mut frame = [0_u8; 60];
    frame[..6].copy_from_slice(&THEM);
    frame[6..12].copy_from_slice(&US);
    let from = |tester, ethertype| ReflectFilter::From { tester, ethertype };
    assert!(!reflect(&mut frame, THEM, from(THEM, 0)));
    assert!(!reflect(&mut frame, THEM, from(US, 0x88b5)));
    assert!(reflect(&mut frame, THEM, from(US, 0)));
    assert_eq!((&frame[..6], &frame[6..12]), (&US[..], &THEM[..]));
}

#[test]
fn loss_repetition_and_alteration_are_distinguished() {
    let mut frames = frames(Plan {
        reflect: false,
        ..plan(&[200])
    });
    frames.remove(40);
    let again = frames[50].clone();
    frames.insert(52, again);
    frames[7].1[150] ^= 1;
    let mut receiver = Receiver::new(THEM, 3);
    let mut other_stream = Receiver::new(THEM, 4);
    let mut elsewhere = Receiver::new([2, 0, 0, 0, 0, 9], 3);
    for (at, frame) in &frames {
        let arrived = receiver.received(frame, *at);
        assert!(arrived.is_none_or(|it| it.round_trip.is_none()));
        assert_eq!(other_stream.received(frame, *at), None);
        assert_eq!(elsewhere.received(frame, *at), None);
    }
    let sequence = &receiver.sink.sequence;
    assert_eq!((sequence.lost(None), sequence.duplicates()), (2, 1));
    assert_eq!((receiver.altered, elsewhere.for_others), (1, 100));
    assert_eq!(other_stream.sink.sequence.received(), 0);
}

proptest! {
    #[test]
    fn every_change_of_the_content_is_found(
        fill in prop_oneof![Just(Fill::Pattern), any::<u8>().prop_map(Fill::Octet)],
        size in 60..1514_u16,
        at: prop::sample::Index,
        flip in 1..=255_u8,
    ) {
        let sizes = [size];
        let plan = Plan { fill, count: 2, ..plan(&sizes) };
        let (now, mut frame) = frames(plan).remove(1);
        let mut receiver = Receiver::new(THEM, 3);
        prop_assert!(receiver.received(&frame, now).is_some());
        let place = 38 + at.index(frame.len() - 38);
        frame[place] ^= flip;
        prop_assert_eq!(receiver.received(&frame, now), None);
        prop_assert_eq!(receiver.altered, 1);
        // A receiver without time to check counts it all the same.
        prop_assert!(receiver.received_unchecked(&frame, now).is_some());
        prop_assert_eq!((receiver.altered, receiver.sink.sequence.received()), (1, 2));
    }

    #[test]
    fn no_frame_harms_anybody(mut frame in prop::collection::vec(any::<u8>(), 0..100), ours: bool) {
        if ours && frame.len() >= 20 {
            frame[..6].copy_from_slice(&THEM);
            frame[12..18].copy_from_slice(b"\x88\xb5lrf1");
        }
        let mut receiver = Receiver::new(THEM, 3);
        receiver.received(&frame, START);
        let before = frame.clone();
        if reflect(&mut frame, THEM, ReflectFilter::Marked) {
            prop_assert_eq!((&frame[..6], &frame[6..12]), (&before[6..12], &before[..6]));
            prop_assert!(!reflect(&mut frame, THEM, ReflectFilter::Marked));
        } else {
            prop_assert_eq!(frame, before);
        }
    }
}
