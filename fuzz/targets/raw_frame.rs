//! Any octets as a received frame, for the receiver and the reflector of raw frames; any plan for their
//! generator.
#![no_main]

use linerate_agent::Instant;
use linerate_agent::frame::{
    Blast, Fill, FrameKind, Mac, Plan, Receiver, ReflectFilter, TestHeader, reflect,
};
use linerate_fuzz::{Result, Unstructured};

const OWN: Mac = [2, 0, 0, 0, 0, 1];
const TESTER: Mac = [2, 0, 0, 0, 0, 2];

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    received(data);
    // An input that is too short is skipped.
    let _ = generated(&mut Unstructured::new(data));
});

/// A frame from any station, and the same one for this station.
fn received(data: &[u8]) {
    let mut for_us = data.to_vec();
    if let Some(addresses) = for_us.first_chunk_mut::<12>() {
        addresses[..6].copy_from_slice(&OWN);
        addresses[6..].copy_from_slice(&TESTER);
    }
    for frame in [data, &for_us] {
        let mut receiver = Receiver::new(OWN, frame.get(21).copied().unwrap_or(0));
        for ns in [0, u64::MAX] {
            let _ = receiver.received(frame, Instant::from_ns(ns));
            let _ = receiver.received_unchecked(frame, Instant::from_ns(ns));
        }
        let by_type = ReflectFilter::From {
            tester: TESTER,
            ethertype: u16::from_be_bytes([
                *frame.get(12).unwrap_or(&0),
                *frame.get(13).unwrap_or(&0),
            ]),
        };
        for which in [ReflectFilter::Marked, by_type] {
            let mut back = frame.to_vec();
            if !reflect(&mut back, OWN, which) {
                assert_eq!(back, frame, "a frame that is not reflected is unchanged");
                continue;
            }
            assert_eq!((&back[..6], &back[6..12]), (&frame[6..12], &frame[..6]));
            assert_eq!(back.len(), frame.len());
            // A reflected frame is not reflected again.
            let again = reflect(&mut back, TESTER, ReflectFilter::Marked);
            assert!(which != ReflectFilter::Marked || !again, "reflected twice");
        }
    }
}

/// Generated frames arrive unmodified, in both directions.
fn generated(input: &mut Unstructured) -> Result<()> {
    let sizes = [input.arbitrary()?, input.arbitrary()?];
    let plan = Plan {
        to: OWN,
        from: TESTER,
        stream: input.arbitrary()?,
        sizes: &sizes[..usize::from(input.arbitrary::<u8>()?) % 3],
        fill: if input.arbitrary()? {
            Fill::Pattern
        } else {
            Fill::Octet(input.arbitrary()?)
        },
        reflect: input.arbitrary()?,
        count: input.arbitrary()?,
        rate_bits_per_s: input.arbitrary()?,
    };
    let mut now = Instant::from_ns(input.arbitrary::<u32>()?.into());
    let mut blast = Blast::new(plan, now);
    let (mut there, mut back) = (
        Receiver::new(OWN, plan.stream),
        Receiver::new(TESTER, plan.stream),
    );
    let mut arrived = 0;
    for _ in 0..16 {
        let room = usize::from(input.arbitrary::<u16>()?) % 2001;
        let mut octets = [0; 2000];
        if let Some(len) = blast.next(&mut octets[..room], now) {
            assert!(len <= room);
            let frame = &mut octets[..len];
            arrived += 1;
            assert!(TestHeader::parse(frame).is_some_and(|head| head.number + 1 == arrived));
            assert!(
                there.received(frame, now).is_some(),
                "the frame is not intact"
            );
            assert_eq!(reflect(frame, OWN, ReflectFilter::Marked), plan.reflect);
            assert_eq!(back.received(frame, now).is_some(), plan.reflect);
            let kind = TestHeader::parse(frame).map(|head| head.kind);
            assert_eq!(kind == Some(FrameKind::Reflected), plan.reflect);
        }
        now = now.max(
            blast
                .due()
                .unwrap_or(now)
                .min(Instant::from_ns(u64::MAX / 2)),
        );
    }
    Ok(())
}
