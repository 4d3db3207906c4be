//! The receive path: raw receptions in, frames out, in all four stages.
#![cfg(not(loom))]

mod support;

use linerate_ether::ledger::Counter;
use linerate_nic::bitbang::MAX_RAW_LEN;
use linerate_nic::ledger::Ledger;
use linerate_nic::mac::{
    AlwaysOn, Bitwise, InterruptHalf, InvalidFrame, IsrAll, MainHalf, MainThread, ReceiveSwitch,
    Receiver, ReceiverState, Reception, Stage, Validator, Windowed, Wordwise, ZeroCopy,
    receiver_words,
};
use proptest::prelude::*;
use std::cell::Cell;
use support::{DEVICE, Hearing, PEER, frame, reception, with_fcs};

const FRAMES: usize = 4;
const WORDS: usize = receiver_words(FRAMES);

/// A PHY that receives `raw`.
fn deliver(raw: &[u8]) -> impl FnOnce(&mut [u8]) -> Reception {
    move |buffer| {
        buffer[..raw.len()].copy_from_slice(raw);
        Reception::Packet(raw.len())
    }
}

/// Counters, in the order of the ledger.
fn counts(ledger: &Ledger) -> Vec<(Counter, u32)> {
    ledger.non_zero().collect()
}

fn next<S: Stage, R: ReceiveSwitch + Copy>(
    main: &mut MainHalf<'_, S, R, WORDS>,
) -> Option<Vec<u8>> {
    main.receive()
        .map(|frame| frame.consume(|bytes| bytes.to_vec()))
}

/// Runs a test in every stage, by words and bit by bit.
macro_rules! in_all_stages {
    ($test:ident($($argument:expr),*)) => {
        $test::<IsrAll>($($argument),*);
        $test::<MainThread>($($argument),*);
        $test::<ZeroCopy>($($argument),*);
        $test::<Windowed>($($argument),*);
        $test::<IsrAll<Bitwise>>($($argument),*);
        $test::<MainThread<Bitwise>>($($argument),*);
        $test::<ZeroCopy<Bitwise>>($($argument),*);
        $test::<Windowed<Bitwise>>($($argument),*);
    };
}

/// Passes `raw` through a new receiver and returns the frame and the counters.
fn one<S: Stage>(raw: &[u8]) -> (Option<Vec<u8>>, Vec<(Counter, u32)>) {
    let (ledger, receiver) = (Ledger::new(), Receiver::<WORDS>::new());
    let (mut interrupt, mut main) = receiver.split::<S, _>(&ledger, AlwaysOn).unwrap();
    assert_eq!(interrupt.receive(deliver(raw)), ReceiverState::Listening);
    let frame = next(&mut main);
    assert!(main.receive().is_none());
    assert_eq!(receiver.queue().used_bytes(), 0, "everything is released");
    (frame, counts(&ledger))
}

fn every_alignment<S: Stage>() {
    for len in [60, 61, 62, 63, 64, 590, 1513, 1514] {
        let sent = frame(len, 0x5A);
        for missed_bits in 0..=56 {
            for idle_bits in 0..=2 {
                for padding in [false, true] {
                    let hearing = Hearing {
                        missed_bits,
                        idle_bits,
                        padding,
                    };
                    let (got, counted) = one::<S>(&reception(&with_fcs(&sent), hearing));
                    assert_eq!(got.as_ref(), Some(&sent), "{} {len} {hearing:?}", S::NAME);
                    let expected = [
                        (Counter::RxFrames, 1),
                        (Counter::RxValid, 1),
                        (Counter::RxOctets, len as u32 + 4),
                        (Counter::RxDelivered, 1),
                    ];
                    assert_eq!(counted, expected, "{} {len} {hearing:?}", S::NAME);
                }
            }
        }
    }
}

#[test]
fn a_frame_at_any_bit_alignment_is_delivered() {
    every_alignment::<IsrAll>();
    every_alignment::<MainThread>();
    every_alignment::<ZeroCopy>();
    every_alignment::<Windowed>();
}

fn refused<S: Stage>(raw: &[u8], cause: Counter) {
    let (got, counted) = one::<S>(raw);
    assert_eq!(got, None, "{}", S::NAME);
    assert_eq!(counted, [(Counter::RxFrames, 1), (cause, 1)], "{}", S::NAME);
}

#[test]
fn bad_receptions_are_counted_by_their_cause() {
    let hearing = Hearing {
        missed_bits: 19,
        idle_bits: 1,
        padding: false,
    };
    let good = with_fcs(&frame(200, 1));
    // The receiver started in the middle: no SFD in the first 64 bits.
    in_all_stages!(refused(&vec![0x55; 300], Counter::RxBadSfd));
    in_all_stages!(refused(&vec![0; 300], Counter::RxBadSfd));
    in_all_stages!(refused(&[], Counter::RxBadSfd));
    in_all_stages!(refused(&[0x55, 0x55, 0xD5], Counter::RxRunts));
    // One wrong bit.
    for octet in [0, 100, 199, 203] {
        let mut bad = good.clone();
        bad[octet] ^= 0x10;
        in_all_stages!(refused(&reception(&bad, hearing), Counter::RxBadFcs));
    }
    // Truncated, from whole octets to almost nothing.
    in_all_stages!(refused(
        &reception(&good[..150], hearing),
        Counter::RxBadFcs
    ));
    for len in [0, 1, 4, 5, 12, 40, 62] {
        in_all_stages!(refused(&reception(&good[..len], hearing), Counter::RxRunts));
    }
    // Intact, but of an invalid length.
    in_all_stages!(refused(
        &reception(&with_fcs(&frame(59, 1)), hearing),
        Counter::RxRunts
    ));
    in_all_stages!(refused(
        &reception(&with_fcs(&frame(1515, 1)), hearing),
        Counter::RxOversize
    ));
    // 802.3 length of 47 octets, 46 there.
    let mut short = frame(60, 1);
    short[12..14].copy_from_slice(&[0, 47]);
    in_all_stages!(refused(
        &reception(&with_fcs(&short), hearing),
        Counter::RxLengthErrors
    ));
}

fn passes<S: Stage>(tagged: &[u8]) {
    let raw = reception(
        &with_fcs(tagged),
        Hearing {
            idle_bits: 2,
            ..Hearing::default()
        },
    );
    assert_eq!(one::<S>(&raw).0.as_deref(), Some(tagged), "{}", S::NAME);
}

#[test]
fn a_tag_makes_room_for_four_octets_more() {
    let mut tagged = frame(1518, 7);
    tagged[12..18].copy_from_slice(&[0x81, 0x00, 0x00, 0x05, 0x08, 0x00]);
    in_all_stages!(passes(&tagged));
    let raw = reception(&with_fcs(&[&tagged[..], &[0]].concat()), Hearing::default());
    assert_eq!(
        one::<ZeroCopy>(&raw).1,
        [(Counter::RxFrames, 1), (Counter::RxOversize, 1)]
    );
}

fn phy_events<S: Stage>() {
    let (ledger, receiver) = (Ledger::new(), Receiver::<WORDS>::new());
    let (mut interrupt, mut main) = receiver.split::<S, _>(&ledger, AlwaysOn).unwrap();
    // A storm of pulses and broken transmissions that overwrite the buffer takes no room.
    for _ in 0..1_000 {
        for event in [
            Reception::LinkPulse,
            Reception::LinkBurst,
            Reception::Truncated,
            Reception::SymbolError,
            Reception::Oversize,
            Reception::Nothing,
        ] {
            let outcome = interrupt.receive(|buffer| {
                buffer.fill(0xD5);
                event
            });
            assert_eq!(outcome, ReceiverState::Listening);
        }
    }
    assert_eq!(receiver.queue().high_water_bytes(), 0, "{}", S::NAME);
    assert!(main.receive().is_none());
    let sent = frame(1000, 9);
    let raw = reception(
        &with_fcs(&sent),
        Hearing {
            missed_bits: 5,
            ..Hearing::default()
        },
    );
    let _ = interrupt.receive(deliver(&raw));
    assert_eq!(next(&mut main), Some(sent), "{}", S::NAME);
    let expected = [
        (Counter::RxFrames, 1_001),
        (Counter::RxLinkPulses, 1_000),
        (Counter::RxLinkBursts, 1_000),
        (Counter::RxTruncated, 1_000),
        (Counter::RxSymbolErrors, 1_000),
        (Counter::RxOversize, 1_000),
        (Counter::RxValid, 1),
        (Counter::RxOctets, 1_004),
        (Counter::RxDelivered, 1),
    ];
    assert_eq!(counts(&ledger), expected, "{}", S::NAME);
}

#[test]
fn pulses_and_broken_transmissions_cost_no_room() {
    in_all_stages!(phy_events());
}

/// Counts how often it is switched; enabled at the start.
#[derive(Default)]
struct Switch {
    off: Cell<bool>,
    suspended: Cell<u32>,
    resumed: Cell<u32>,
}

impl ReceiveSwitch for &Switch {
    fn suspend(&self) {
        self.off.set(true);
        self.suspended.set(self.suspended.get() + 1);
    }
    fn resume(&self) {
        self.off.set(false);
        self.resumed.set(self.resumed.get() + 1);
    }
}

/// Fills the queue with the longest frames until it is full; returns how many fitted.
fn fill<S: Stage>(interrupt: &mut InterruptHalf<'_, S, &Switch, WORDS>, raw: &[u8]) -> u32 {
    let mut frames = 0;
    while interrupt.receive(deliver(raw)) == ReceiverState::Listening {
        frames += 1;
    }
    frames
}

fn full_queue<S: Stage>() {
    let (ledger, receiver, switch) = (Ledger::new(), Receiver::<WORDS>::new(), Switch::default());
    let (mut interrupt, mut main) = receiver.split::<S, _>(&ledger, &switch).unwrap();
    let sent = frame(1514, 3);
    let raw = reception(
        &with_fcs(&sent),
        Hearing {
            missed_bits: 11,
            ..Hearing::default()
        },
    );
    let fitted = fill(&mut interrupt, &raw);
    assert!(fitted as usize >= FRAMES, "{}: {fitted}", S::NAME);
    assert!(switch.off.get() && !interrupt.has_room());
    // The PHY is not called.
    let mut asked = false;
    let outcome = interrupt.receive(|_| {
        asked = true;
        Reception::Nothing
    });
    assert_eq!((outcome, asked), (ReceiverState::Suspended, false));
    assert_eq!((switch.suspended.get(), switch.resumed.get()), (2, 0));
    // The frame being read stays in the queue.
    let held = main.receive().unwrap();
    assert!(switch.off.get(), "{}", S::NAME);
    drop(held);
    // Reception is disabled exactly as long as the longest reception does not fit.
    let mut delivered = 0;
    while switch.off.get() {
        assert!(!interrupt.has_room(), "{}", S::NAME);
        assert_eq!(next(&mut main).as_ref(), Some(&sent), "{}", S::NAME);
        delivered += 1;
    }
    assert!(
        delivered <= 1,
        "{}: off until the queue had {delivered} places",
        S::NAME
    );
    assert!(interrupt.has_room());
    assert_eq!(interrupt.receive(deliver(&raw)), ReceiverState::Listening);
    while let Some(frame) = next(&mut main) {
        assert_eq!(frame, sent, "{}", S::NAME);
        delivered += 1;
    }
    assert_eq!(delivered, fitted);
    assert_eq!(
        switch.resumed.get(),
        1,
        "switched on once, not at every frame"
    );
    let counted = |counter| ledger.get(counter);
    assert_eq!(counted(Counter::RxQueueFull), 2);
    assert_eq!(counted(Counter::RxFrames), fitted + 1);
    assert_eq!(counted(Counter::RxDelivered), fitted);
    assert_eq!(counted(Counter::RxStackRejected), 1);
}

#[test]
fn a_full_queue_switches_reception_off_until_a_frame_fits() {
    in_all_stages!(full_queue());
}

#[test]
fn room_made_by_a_bad_frame_resumes_reception_too() {
    let (ledger, receiver, switch) = (Ledger::new(), Receiver::<WORDS>::new(), Switch::default());
    let (mut interrupt, mut main) = receiver.split::<ZeroCopy, _>(&ledger, &switch).unwrap();
    let fitted = fill(&mut interrupt, &[0x55; MAX_RAW_LEN]);
    assert!(switch.off.get());
    assert!(main.receive().is_none());
    assert_eq!((switch.off.get(), switch.resumed.get()), (false, 1));
    assert_eq!(ledger.get(Counter::RxBadSfd), fitted);
}

#[test]
fn frames_for_other_stations_are_filtered() {
    let (ledger, receiver) = (Ledger::new(), Receiver::<WORDS>::new());
    let (mut interrupt, mut main) = receiver.split::<ZeroCopy, _>(&ledger, AlwaysOn).unwrap();
    main.set_station_filter(Some(DEVICE.into()));
    let mut send = |destination: [u8; 6]| {
        let mut frame = frame(60, 0);
        frame[..6].copy_from_slice(&destination);
        let _ = interrupt.receive(deliver(&reception(&with_fcs(&frame), Hearing::default())));
    };
    for destination in [PEER, DEVICE, [0xFF; 6], [1, 0, 0x5E, 0, 0, 1]] {
        send(destination);
    }
    let mut destinations = Vec::new();
    while let Some(frame) = next(&mut main) {
        destinations.push(frame[..6].to_vec());
    }
    assert_eq!(destinations, [&DEVICE, &[0xFF; 6], &[1, 0, 0x5E, 0, 0, 1]]);
    let expected = [
        (Counter::RxFrames, 4),
        (Counter::RxFiltered, 1),
        (Counter::RxValid, 3),
        (Counter::RxOctets, 3 * 64),
        (Counter::RxMulticast, 1),
        (Counter::RxBroadcast, 1),
        (Counter::RxDelivered, 3),
    ];
    assert_eq!(counts(&ledger), expected);
}

#[test]
fn without_copies_the_stack_sees_the_memory_that_the_phy_wrote() {
    let (ledger, receiver) = (Ledger::new(), Receiver::<WORDS>::new());
    let (mut interrupt, mut main) = receiver.split::<ZeroCopy, _>(&ledger, AlwaysOn).unwrap();
    let raw = reception(
        &with_fcs(&frame(300, 0)),
        Hearing {
            missed_bits: 7,
            ..Hearing::default()
        },
    );
    let mut written = 0..0;
    let _ = interrupt.receive(|buffer| {
        let range = buffer.as_ptr_range();
        written = range.start as usize..range.end as usize;
        deliver(&raw)(buffer)
    });
    let seen = main
        .receive()
        .unwrap()
        .consume(|frame| frame.as_ptr() as usize);
    assert!(written.contains(&seen));
}

#[test]
fn only_the_windowed_stage_reports_the_capacity_to_the_stack() {
    fn burst<S: Stage>() -> Option<usize> {
        let (ledger, receiver) = (Ledger::new(), Receiver::<WORDS>::new());
        receiver
            .split::<S, _>(&ledger, AlwaysOn)
            .unwrap()
            .1
            .max_burst_frames()
    }
    assert_eq!(burst::<IsrAll>(), None);
    assert_eq!(burst::<MainThread>(), None);
    assert_eq!(burst::<ZeroCopy>(), None);
    assert_eq!(burst::<Windowed>(), Some(FRAMES));
}

/// A raw reception: mostly of an intact frame, sometimes damaged, sometimes arbitrary.
fn any_raw() -> impl Strategy<Value = Vec<u8>> {
    let hearing = (0..=64_usize, 0..=2_usize, any::<bool>());
    let received = (14..1514_usize, any::<u8>(), hearing).prop_map(|(len, seed, hearing)| {
        let (missed_bits, idle_bits, padding) = hearing;
        let hearing = Hearing {
            missed_bits,
            idle_bits,
            padding,
        };
        reception(&with_fcs(&frame(len, seed)), hearing)
    });
    let damaged = (
        received,
        any::<prop::sample::Index>(),
        any::<u8>(),
        0..1600_usize,
    )
        .prop_map(|(mut raw, at, flip, len)| {
            let at = at.index(raw.len());
            raw[at] ^= flip & 0x11;
            raw.truncate(len.max(1));
            raw
        });
    prop_oneof![damaged, prop::collection::vec(any::<u8>(), 0..=MAX_RAW_LEN)]
}

proptest! {
    /// Every reception has exactly one counted fate, the same in each stage.
    #[test]
    fn all_stages_agree_and_their_ledgers_add_up(raws in prop::collection::vec(any_raw(), 0..12)) {
        fn run<S: Stage>(raws: &[Vec<u8>]) -> (Vec<Vec<u8>>, Vec<(Counter, u32)>) {
            let (ledger, receiver) = (Ledger::new(), Receiver::<WORDS>::new());
            let (mut interrupt, mut main) = receiver.split::<S, _>(&ledger, AlwaysOn).unwrap();
            let mut frames = Vec::new();
            for raw in raws {
                assert_eq!(interrupt.receive(deliver(raw)), ReceiverState::Listening);
                frames.extend(next(&mut main));
            }
            (frames, ledger.non_zero().collect())
        }
        let expected = run::<ZeroCopy>(&raws);
        let count = |wanted| {
            expected.1.iter().find(|(counter, _)| *counter == wanted).map_or(0, |&(_, n)| n)
        };
        let refused: u32 = [Counter::RxBadSfd, Counter::RxRunts, Counter::RxOversize,
            Counter::RxBadFcs, Counter::RxLengthErrors].into_iter().map(count).sum();
        prop_assert_eq!(count(Counter::RxFrames), raws.len() as u32);
        prop_assert_eq!(count(Counter::RxValid) + refused, raws.len() as u32);
        prop_assert_eq!(count(Counter::RxDelivered), expected.0.len() as u32);
        prop_assert_eq!(&run::<IsrAll>(&raws), &expected);
        prop_assert_eq!(&run::<MainThread>(&raws), &expected);
        prop_assert_eq!(&run::<Windowed>(&raws), &expected);
        prop_assert_eq!(&run::<ZeroCopy<Bitwise>>(&raws), &expected);
    }

    /// For any words and any length, valid or not, the two methods agree and nothing panics.
    #[test]
    fn both_methods_agree_on_anything(
        words in prop::collection::vec(any::<u32>(), 0..40),
        preamble in any::<bool>(),
        len in 0..300_usize,
    ) {
        let mut by_word = words;
        if preamble && by_word.len() > 2 {
            by_word[..2].copy_from_slice(&[0x5555_5555, 0xD555_5555]);
        }
        let mut by_bit = by_word.clone();
        let got: Result<_, InvalidFrame> = Wordwise::validate(&mut by_word, len);
        prop_assert_eq!(&got, &Bitwise::validate(&mut by_bit, len));
        if let Ok(frame) = got {
            prop_assert!(frame.end <= len);
        }
    }
}
