//! The format on the wire: overhead, detection of errors, resynchronisation, and the examples of the page.

#![forbid(unsafe_code)]

mod support;

use linerate_ether::random::Random;
use linerate_link::{MAX_FRAGMENT, frame_octets};
use proptest::collection::vec;
use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
use support::direct::{NOW, end, octets_of, pair};

#[test]
fn held_channels_send_nothing_until_they_are_released() {
    let [mut one, mut two] = pair(256);
    one.hold_below(1);
    one.send(0, b"held").expect("the session is up");
    one.send(1, b"not held").expect("the session is up");
    two.receive(NOW, &octets_of(&mut one));
    let mut message = [0; 8];
    assert_eq!(two.read(0, &mut message), None);
    assert_eq!(two.read(1, &mut message), Some(8));
    one.hold_below(0);
    two.receive(NOW, &octets_of(&mut one));
    assert_eq!(two.read(0, &mut message), Some(4));
}

#[test]
fn a_message_of_256_octets_takes_12_more() {
    for message in [[0x55; 256], [0; 256], std::array::from_fn(|i| i as u8)] {
        let [mut one, _] = pair(256);
        one.send(1, &message).expect("the session is up");
        let octets = octets_of(&mut one);
        assert!(octets.len() <= 256 + 12, "{} octets", octets.len());
    }
    assert_eq!(frame_octets(256), 256 + 12);
}

/// Syndromes of single wrong bits in the longest frame: the check's own 32, then those of the body from its end.
fn syndromes() -> Vec<u32> {
    const REFLECTED: u32 = 0x82F6_3B78;
    let body_bits = (frame_octets(MAX_FRAGMENT.into()) - 6) * 8;
    let mut syndromes: Vec<u32> = (0..32).map(|bit| 1 << bit).collect();
    let mut register = REFLECTED;
    for _ in 0..body_bits {
        syndromes.push(register);
        let carry = register & 1;
        register = register >> 1 ^ if carry == 1 { REFLECTED } else { 0 };
    }
    syndromes
}

/// No pattern of one to five wrong bits has the syndrome zero. The generator has an even number of terms, so no pattern
/// of an odd number has it; two and four bits have it only if two pairs of bits have the same sum.
#[test]
fn every_pattern_of_up_to_five_wrong_bits_is_detected() {
    assert_eq!((0x1EDC_6F41_u32.count_ones() + 1) % 2, 0);
    let syndromes = syndromes();
    assert_eq!(syndromes.len(), 4152 + 32);
    let mut sums: Vec<u32> = Vec::with_capacity(syndromes.len() * syndromes.len() / 2);
    for (n, one) in syndromes.iter().enumerate() {
        sums.extend(syndromes[..n].iter().map(|other| one ^ other));
    }
    sums.sort_unstable();
    assert_ne!(sums[0], 0, "two wrong bits");
    assert!(
        sums.windows(2).all(|pair| pair[0] != pair[1]),
        "four wrong bits"
    );
}

#[test]
fn no_frame_with_up_to_five_wrong_bits_is_accepted() {
    let mut random = Random::new(3);
    let [mut one, two] = pair(256);
    let message: Vec<u8> = (0..256).map(|i| (i * 7 % 256) as u8).collect();
    one.send(1, &message).expect("the session is up");
    let frame = octets_of(&mut one);
    let last = frame.len() - 1;
    for round in 0..20_000 {
        let mut damaged = frame.clone();
        for _ in 0..=round % 5 {
            damaged[random.below(last as u64) as usize] ^= 1 << random.below(8);
        }
        if damaged == frame {
            continue;
        }
        let mut receiver = two.clone();
        receiver.receive(NOW, &damaged);
        assert!(receiver.message(1).is_none(), "wrong bits: {damaged:?}");
    }
}

#[test]
fn a_message_passes_octet_by_octet_and_wrapped_in_its_memory() {
    let [mut one, mut two] = pair(100);
    let mut buffer = [0; 2000];
    for len in 0..700 {
        let message: Vec<u8> = (0..len).map(|i| (i % (1 + len % 300)) as u8).collect();
        one.send(1, &message).expect("room");
        while one.pending(1) > 0 {
            let mut octet = [0];
            while one.transmit(NOW, &mut octet) == 1 {
                two.receive(NOW, &octet);
            }
            let answer = octets_of(&mut two);
            one.receive(NOW, &answer);
        }
        assert_eq!(two.read(1, &mut buffer), Some(len));
        assert_eq!(buffer[..len], message);
    }
}

proptest! {
    #[test]
    fn any_octets_are_survived_and_the_next_frame_is_found(
        garbage in vec(any::<u8>(), 0..600),
        len in 0_usize..600,
    ) {
        let [mut one, mut two] = pair(256);
        let before = two.counters().frames;
        two.receive(NOW, &garbage);
        two.receive(NOW, &[0]);
        prop_assert_eq!(two.counters().frames, before);
        one.send(0, &vec![9; len]).unwrap();
        two.receive(NOW, &octets_of(&mut one));
        prop_assert_eq!(two.message(0).map(|(one, two)| one.len() + two.len()), Some(len));
    }

    #[test]
    fn every_damage_is_repaired(
        damage in vec((0_usize..4000, 0_u8..5, any::<u8>()), 1..12),
        lengths in vec(0_usize..400, 1..12),
    ) {
        let [mut one, mut two] = pair(64);
        let messages: Vec<Vec<u8>> = lengths.iter().enumerate().map(|(n, len)| vec![n as u8; *len]).collect();
        let mut waiting = messages.iter();
        let mut next = waiting.next();
        let mut delivered = Vec::new();
        let (mut now_us, mut at) = (0, 0);
        for _ in 0..3000 {
            if next.is_some_and(|message| one.send(1, message).is_ok()) {
                next = waiting.next();
            }
            let now = linerate_link::Instant::from_us(now_us);
            let mut octets = [0; 16];
            for back in [false, true] {
                let (from, to) = if back { (&mut two, &mut one) } else { (&mut one, &mut two) };
                let count = from.transmit(now, &mut octets);
                for octet in &octets[..count] {
                    at += 1;
                    let kind = damage.iter().find(|(place, ..)| *place == at);
                    match kind {
                        Some((_, 0, _)) => {}
                        Some((_, 1, _)) => to.receive(now, &[*octet, *octet]),
                        Some((_, 2, other)) => to.receive(now, &[*octet, *other]),
                        Some((_, 3, mask)) => to.receive(now, &[octet ^ mask]),
                        Some(_) => to.receive(now, &[0]),
                        None => to.receive(now, &[*octet]),
                    }
                }
            }
            now_us += 160;
            let mut buffer = [0; 500];
            while let Some(len) = two.read(1, &mut buffer) {
                delivered.push(buffer[..len].to_vec());
            }
        }
        prop_assert_eq!(delivered, messages);
        prop_assert!(one.pending(1) == 0);
    }
}

/// The frames in the last section of the page.
#[test]
fn the_page_shows_the_octets_of_this_implementation() {
    let page = include_str!("../../docs/link-protocol.md");
    let hex = |octets: &[u8]| {
        octets
            .iter()
            .map(|o| format!("{o:02X}"))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let [mut one, mut two] = [end(0x1111_1111, 256), end(0x2222_2222, 256)];
    let hello = octets_of(&mut one);
    two.receive(NOW, &hello);
    one.receive(NOW, &octets_of(&mut two));
    two.receive(NOW, &octets_of(&mut one));
    one.receive(NOW, &octets_of(&mut two));
    one.send(1, b"a\0b").expect("the session is up");
    let data = octets_of(&mut one);
    two.receive(NOW, &data);
    let acknowledgment = octets_of(&mut two);
    for (name, octets) in [
        ("hello", hello),
        ("data", data),
        ("acknowledgment", acknowledgment),
    ] {
        assert!(
            page.contains(&hex(&octets)),
            "the {name} is {}",
            hex(&octets)
        );
    }
}
