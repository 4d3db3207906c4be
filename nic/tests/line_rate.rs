//! The stage for a receive loop that aligns and sums: verdicts, control frames, filters, water
//! marks.
#![cfg(not(loom))]

mod support;

use linerate_ether::checksum::Sum;
use linerate_ether::fcs;
use linerate_ether::frame::MacAddress;
use linerate_ether::ledger::Counter;
use linerate_ether::pause::Pause;
use linerate_nic::bitbang::{FRAME_OFFSET, SummedFrame};
use linerate_nic::filter::{AddressFilter, hash_bin};
use linerate_nic::ledger::Ledger;
use linerate_nic::mac::{
    AlwaysOn, GROUP_FRAMES, InterruptHalf, LineRate, MainHalf, Receiver, ReceiverState, Reception,
    receiver_words,
};
use support::{DEVICE, PEER, frame, with_fcs};

const WORDS: usize = receiver_words(8);

/// Result of a receive loop for `octets`, everything between SFD and idle.
fn summed(octets: &[u8]) -> SummedFrame {
    SummedFrame {
        octets: octets.len() as u16,
        fcs_good: octets.len() >= 4 && fcs::crc32(octets) == fcs::CHECK,
        dribble: false,
        sum: Sum::new().add(octets).fold().swap_bytes().into(),
    }
}

fn deliver(octets: &[u8], summed: SummedFrame) -> impl FnOnce(&mut [u8]) -> Reception + '_ {
    move |buffer| {
        // A loop may write anything before and after the frame.
        buffer.fill(0xA5);
        buffer[FRAME_OFFSET..][..octets.len()].copy_from_slice(octets);
        Reception::Frame(summed)
    }
}

type Halves<'r> = (
    InterruptHalf<'r, LineRate, AlwaysOn, WORDS>,
    MainHalf<'r, LineRate, AlwaysOn, WORDS>,
);

/// Runs `test` with a receiver's halves.
fn receiver(test: impl FnOnce(Halves<'_>, &Ledger)) {
    let (ledger, receiver) = (Ledger::new(), Receiver::<WORDS>::new());
    let (interrupt, mut main) = receiver.split(&ledger, AlwaysOn).unwrap();
    main.set_station_filter(Some(MacAddress(DEVICE)));
    test((interrupt, main), &ledger);
    assert_eq!(receiver.queue().used_bytes(), 0, "everything is released");
}

/// Fate of one reception: the frame passed to the stack, and the counters.
fn one(octets: &[u8], summed: SummedFrame) -> (Option<Vec<u8>>, Vec<(Counter, u32)>) {
    let mut result = None;
    receiver(|(mut interrupt, mut main), ledger| {
        assert_eq!(
            interrupt.receive(deliver(octets, summed)),
            ReceiverState::Listening
        );
        let frame = main.receive().map(|mut frame| {
            assert_eq!(frame.fcs(), Some(fcs::crc32(frame.bytes_mut())));
            frame.consume(|bytes| bytes.to_vec())
        });
        result = Some((frame, ledger.non_zero().collect()));
    });
    result.unwrap()
}

fn refused(octets: &[u8], summed: SummedFrame, cause: Counter) {
    let (frame, counted) = one(octets, summed);
    assert_eq!(frame, None);
    assert_eq!(counted, [(Counter::RxFrames, 1), (cause, 1)]);
}

#[test]
fn frames_of_every_length_are_delivered_whole() {
    for len in (60..=1514).chain([1514]) {
        let sent = frame(len, 0x5A);
        let octets = with_fcs(&sent);
        for dribble in [false, true] {
            let (got, counted) = one(
                &octets,
                SummedFrame {
                    dribble,
                    ..summed(&octets)
                },
            );
            assert_eq!(got.as_ref(), Some(&sent), "{len}");
            let expected = [
                (Counter::RxFrames, 1),
                (Counter::RxValid, 1),
                (Counter::RxOctets, len as u32 + 4),
                (Counter::RxDelivered, 1),
            ];
            assert_eq!(counted, expected, "{len}");
        }
    }
}

#[test]
fn bad_receptions_are_counted_by_their_cause() {
    let good = with_fcs(&frame(200, 1));
    let mut wrong = good.clone();
    wrong[77] ^= 4;
    refused(&wrong, summed(&wrong), Counter::RxBadFcs);
    let dribbled = SummedFrame {
        dribble: true,
        ..summed(&wrong)
    };
    refused(&wrong, dribbled, Counter::RxAlignmentErrors);
    // Fragments of a collision, and a short intact frame.
    for len in [0, 1, 13, 40, 63] {
        refused(&good[..len], summed(&good[..len]), Counter::RxFragments);
    }
    let short = with_fcs(&frame(59, 1));
    refused(&short, summed(&short), Counter::RxRunts);
    let long = with_fcs(&frame(1515, 1));
    refused(&long, summed(&long), Counter::RxOversize);
    // 802.3 length of 47 octets, 46 there.
    let mut lacking = frame(60, 1);
    lacking[12..14].copy_from_slice(&[0, 47]);
    let lacking = with_fcs(&lacking);
    refused(&lacking, summed(&lacking), Counter::RxLengthErrors);
}

#[test]
fn a_tag_makes_room_for_four_octets_more() {
    let mut tagged = frame(1518, 7);
    tagged[12..18].copy_from_slice(&[0x81, 0x00, 0x00, 0x05, 0x88, 0xB5]);
    let octets = with_fcs(&tagged);
    assert_eq!(one(&octets, summed(&octets)).0, Some(tagged.clone()));
    let octets = with_fcs(&[&tagged[..], &[0]].concat());
    refused(&octets, summed(&octets), Counter::RxOversize);
}

#[test]
fn abandoned_frames_take_no_room() {
    receiver(|(mut interrupt, mut main), ledger| {
        for event in [
            Reception::NoSfd,
            Reception::Filtered,
            Reception::Shed,
            Reception::WhileSending,
            Reception::Oversize,
            Reception::LinkPulse,
        ] {
            let _ = interrupt.receive(|buffer| {
                buffer.fill(0xFF);
                event
            });
        }
        assert!(main.receive().is_none());
        assert_eq!(main.queue().high_water_bytes(), 0);
        let counted: Vec<_> = ledger.non_zero().collect();
        let expected = [
            (Counter::RxFrames, 3),
            (Counter::RxLinkPulses, 1),
            (Counter::RxWhileSending, 1),
            (Counter::RxQueueFull, 1),
            (Counter::RxBadSfd, 1),
            (Counter::RxOversize, 1),
            (Counter::RxFiltered, 1),
        ];
        assert_eq!(counted, expected);
    });
}

#[test]
fn a_pause_is_obeyed_and_not_passed_on() {
    receiver(|(mut interrupt, mut main), ledger| {
        let mut asks = |quanta, opcode: u16, main: &mut MainHalf<'_, LineRate, AlwaysOn, WORDS>| {
            let mut control = [0; 60];
            let source = MacAddress(PEER);
            Pause { source, quanta }.emit(&mut control).unwrap();
            control[14..16].copy_from_slice(&opcode.to_be_bytes());
            let octets = with_fcs(&control);
            let _ = interrupt.receive(deliver(&octets, summed(&octets)));
            let mut asked = None;
            assert!(
                main.receive_with_pause(|quanta| asked = Some(quanta))
                    .is_none()
            );
            asked
        };
        assert_eq!(asks(1234, 1, &mut main), Some(1234));
        assert_eq!(asks(0, 1, &mut main), Some(0));
        assert_eq!(asks(7, 2, &mut main), None);
        assert_eq!(ledger.get(Counter::RxPause), 2);
        assert_eq!(ledger.get(Counter::RxUnknownOpcodes), 1);
        assert_eq!(ledger.get(Counter::RxValid), 0);
    });
}

#[test]
fn the_filter_accepts_the_station_and_its_groups() {
    let group = MacAddress([0x01, 0x00, 0x5E, 0x00, 0x00, 0xFB]);
    let mut filter = AddressFilter::new(MacAddress(DEVICE));
    assert!(filter.accepts(MacAddress(DEVICE)));
    assert!(filter.accepts(MacAddress::BROADCAST));
    assert!(filter.accepts(MacAddress::MAC_CONTROL));
    assert!(!filter.accepts(MacAddress(PEER)));
    assert!(!filter.accepts(group));
    filter.join(group);
    assert!(filter.accepts(group));
    assert!(!filter.accepts(MacAddress(PEER)));
    filter.promiscuous = true;
    assert!(filter.accepts(MacAddress(PEER)));
}

/// Work of a receive loop with the words: halfwords, a CRC register, a shift.
#[test]
fn the_words_agree_with_the_filter() {
    let mut filter = AddressFilter::new(MacAddress(DEVICE));
    filter.join(MacAddress([0x01, 0x00, 0x5E, 0x00, 0x00, 0x01]));
    for (promiscuous, seed) in [(false, 0), (true, 1)].into_iter().cycle().zip(0..2000_u32) {
        filter.promiscuous = promiscuous.0 && seed % 10 == 0;
        let words = filter.words();
        let mut address = DEVICE;
        match seed % 4 {
            0 => {}
            1 => address[(seed / 4 % 6) as usize] ^= 1 << (seed / 24 % 8),
            2 => address = [1, 0, 0x5E, 0, 0, (seed >> 2) as u8],
            _ => address = [0xFF; 6],
        }
        let half = |at: usize| u16::from_le_bytes([address[at], address[at + 1]]);
        let mut register = !0_u32;
        for octet in address {
            register ^= u32::from(octet);
            for _ in 0..8 {
                register = register >> 1 ^ if register & 1 == 1 { 0xEDB8_8320 } else { 0 };
            }
        }
        assert_eq!(register & 63, hash_bin(MacAddress(address)));
        let hashed = words.hash[(register >> 5 & 1) as usize] >> (register & 31) & 1 == 1;
        let accepted = [half(0), half(2), half(4)] == words.own
            || half(0) & 1 == 1 && hashed
            || words.promiscuous != 0;
        assert_eq!(accepted, filter.accepts(MacAddress(address)), "{address:?}");
    }
}

#[test]
fn a_storm_of_groups_takes_no_room_from_the_station() {
    receiver(|(mut interrupt, mut main), ledger| {
        let mut filter = AddressFilter::new(MacAddress(DEVICE));
        interrupt.set_filter(&filter);
        filter.hash = 0;
        let none = filter.words();
        let mut storm = frame(60, 3);
        storm[..6].fill(0xFF);
        let (storm, own) = (with_fcs(&storm), with_fcs(&frame(1514, 3)));
        let mut broadcasts = 0;
        while interrupt.next_filter() != none {
            let _ = interrupt.receive(deliver(&storm, summed(&storm)));
            broadcasts += 1;
        }
        assert!(broadcasts > 30, "{broadcasts}");
        // A frame to a group that the loop received nevertheless is not kept either.
        let _ = interrupt.receive(deliver(&storm, summed(&storm)));
        assert_eq!(ledger.get(Counter::RxQueueFull), 1);
        // It was for another station in any case.
        let _ = interrupt.receive(|buffer| {
            buffer[FRAME_OFFSET..][..6].copy_from_slice(&PEER);
            Reception::Shed
        });
        assert_eq!(ledger.get(Counter::RxFiltered), 1);
        let mut frames = 0;
        while interrupt.receive(deliver(&own, summed(&own))) == ReceiverState::Listening {
            frames += 1;
            assert!(frames < 100);
        }
        assert!(frames >= 8 - GROUP_FRAMES, "{frames}");
        // Groups are accepted again when half of their frames are released, not before.
        let mut taken = 0;
        while interrupt.next_filter() == none {
            drop(main.receive().unwrap());
            taken += 1;
        }
        assert!(taken >= broadcasts / 2, "{taken} of {broadcasts}");
        while let Some(frame) = main.receive() {
            drop(frame);
        }
        // Only their own share makes groups unaccepted.
        while interrupt.receive(deliver(&own, summed(&own))) == ReceiverState::Listening {}
        assert_ne!(interrupt.next_filter(), none);
        while let Some(frame) = main.receive() {
            drop(frame);
        }
    });
}
