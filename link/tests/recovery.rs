//! What is sent again after a loss, and when the peer is polled.

#![forbid(unsafe_code)]

mod support;

use linerate_link::{Channel, Config, Instant, Link, MAX_FRAGMENT};
use support::direct::{NOW, connected, end, octets_of, pair};

#[test]
fn the_frame_behind_a_damaged_one_is_kept() {
    let [mut one, mut two] = pair(256);
    for message in [b"first", b"other", b"third"] {
        one.send(1, message).expect("the session is up");
    }
    let mut octets = octets_of(&mut one);
    octets[6] ^= 4;
    two.receive(NOW, &octets);
    assert_eq!(two.unread(1), 0);
    one.receive(NOW, &octets_of(&mut two));
    two.receive(NOW, &octets_of(&mut one));
    let mut message = [0; 8];
    for expected in [b"first", b"other", b"third"] {
        assert_eq!(two.read(1, &mut message), Some(5));
        assert_eq!(&message[..5], expected);
    }
    // The first and the third, which was not kept.
    assert_eq!(one.counters().retransmitted, 2);
    assert_eq!(two.counters().duplicates, 0);
}

#[test]
fn no_octet_of_a_damaged_frame_gets_into_a_kept_one() {
    // Memory for the two messages and little more.
    let small = |session| {
        let memory = || vec![0; 64];
        Link::new(
            Config::new(session),
            [0, 1].map(|_| Channel::reliable(memory(), memory())),
        )
    };
    let [mut one, mut two] = connected([small(1), small(2)]);
    let messages = [[1; 20], [2; 20]];
    for message in &messages {
        one.send(1, message).expect("the session is up");
    }
    let octets = octets_of(&mut one);
    // The first frame without its delimiter but with octets behind it, as if its end had been damaged.
    let mut joined = octets[..26].to_vec();
    joined.extend([0xF0; 200]);
    joined.push(0);
    two.receive(NOW, &joined);
    let begin = octets.iter().position(|octet| *octet == 0).expect("an end") + 1;
    two.receive(NOW, &octets[begin..]);
    two.receive(NOW, &joined);
    one.receive(NOW, &octets_of(&mut two));
    two.receive(NOW, &octets_of(&mut one));
    let mut message = [0; 20];
    for expected in messages {
        assert_eq!(two.read(1, &mut message), Some(20));
        assert_eq!(message, expected);
    }
}

#[test]
fn a_kept_frame_does_not_outlive_its_session() {
    let [mut one, mut two] = pair(256);
    for message in [b"first", b"other"] {
        one.send(1, message).expect("the session is up");
    }
    let mut octets = octets_of(&mut one);
    octets[6] ^= 4;
    two.receive(NOW, &octets);
    let [mut one, mut two] = connected([end(0x3333_3333, 256), two]);
    one.send(1, b"new").expect("the session is up");
    two.receive(NOW, &octets_of(&mut one));
    let mut message = [0; 8];
    assert_eq!(two.read(1, &mut message), Some(3));
    assert_eq!(two.read(1, &mut message), None);
}

#[test]
fn a_poll_is_answered_with_reject_only_if_something_is_missing() {
    for is_lost in [false, true] {
        let [mut one, mut two] = pair(256);
        one.send(1, b"message").expect("the session is up");
        let octets = octets_of(&mut one);
        if !is_lost {
            two.receive(NOW, &octets);
            octets_of(&mut two);
        }
        let later = Instant::from_us(3_000_000);
        let mut poll = [0; 64];
        let count = one.transmit(later, &mut poll);
        assert_eq!(one.counters().polls, 1);
        two.receive(later, &poll[..count]);
        let answer = octets_of(&mut two);
        // Behind the code: an acknowledgment of channel 1, and REJECT.
        assert_eq!(answer[1], if is_lost { 0x51 } else { 0x41 }, "{answer:?}");
    }
}

/// Ends with one reliable channel of `memory` octets in each direction.
fn pair_of_one(memory: usize) -> [Link<Vec<u8>, 1>; 2] {
    connected([1, 2].map(|session| {
        let config = Config {
            max_fragment: MAX_FRAGMENT,
            ..Config::new(session)
        };
        let channel = Channel::reliable(vec![0; memory], vec![0; memory]);
        Link::new(config, [channel])
    }))
}

/// The frames of `octets`, with their delimiters.
fn frames(octets: &[u8]) -> Vec<&[u8]> {
    octets.split_inclusive(|octet| *octet == 0).collect()
}

#[test]
fn an_empty_message_behind_a_damaged_one_blocks_nothing() {
    let [mut one, mut two] = pair(256);
    for message in [b"first".as_slice(), b""] {
        one.send(1, message).expect("the session is up");
    }
    let mut octets = octets_of(&mut one);
    octets[6] ^= 4;
    two.receive(NOW, &octets);
    one.receive(NOW, &octets_of(&mut two));
    two.receive(NOW, &octets_of(&mut one));
    let mut message = [0; 8];
    assert_eq!(two.read(1, &mut message), Some(5));
    assert_eq!(two.read(1, &mut message), Some(0));
    assert_eq!(two.counters().overruns, 0);
}

#[test]
fn two_lost_frames_take_one_exchange() {
    let [mut one, mut two] = pair(256);
    for message in [b"first", b"other", b"third"] {
        one.send(1, message).expect("the session is up");
    }
    let octets = octets_of(&mut one);
    two.receive(NOW, frames(&octets)[2]);
    one.receive(NOW, &octets_of(&mut two));
    two.receive(NOW, &octets_of(&mut one));
    let mut message = [0; 8];
    for expected in [b"first", b"other", b"third"] {
        assert_eq!(two.read(1, &mut message), Some(5));
        assert_eq!(&message[..5], expected);
    }
}

#[test]
fn a_retransmission_without_credit_polls_for_it() {
    // Credit comes in units of 4 octets.
    let [mut one, mut two] = pair_of_one(1000);
    // 300 octets stay free.
    one.send(0, &[1; 698]).expect("the session is up");
    two.receive(NOW, &octets_of(&mut one));
    one.receive(NOW, &octets_of(&mut two));
    one.send(0, &[2; 127]).expect("room");
    one.send(0, &[3; 169]).expect("room");
    let mut octets = octets_of(&mut one);
    let second = frames(&octets)[0].len();
    octets[second + 6] ^= 4;
    two.receive(NOW, &octets);
    // 171 octets are free and needed, of which the credit has 168.
    one.receive(NOW, &octets_of(&mut two));
    assert_eq!(octets_of(&mut one), []);
    let mut message = [0; 1000];
    assert_eq!(two.read(0, &mut message), Some(698));
    assert_ne!(octets_of(&mut two), [], "the credit, which is lost");
    let later = Instant::from_us(3_000_000);
    let mut poll = [0; 64];
    let count = one.transmit(later, &mut poll);
    assert_eq!(one.counters().polls, 1);
    two.receive(later, &poll[..count]);
    one.receive(later, &octets_of(&mut two));
    let mut again = [0; 600];
    let count = one.transmit(later, &mut again);
    two.receive(later, &again[..count]);
    assert_eq!(two.read(0, &mut message), Some(127));
    assert_eq!(two.read(0, &mut message), Some(169));
}

#[test]
fn noise_does_not_put_a_poll_off_for_ever() {
    let [mut one, _] = pair(256);
    one.send(1, b"lost").expect("the session is up");
    octets_of(&mut one);
    let mut octets = [0; 64];
    for millisecond in 1..=1000 {
        let now = Instant::from_us(millisecond * 1000);
        one.receive(now, b"\x2Anoise\0");
        one.transmit(now, &mut octets);
    }
    assert!(one.counters().damaged >= 1000);
    assert_ne!(one.counters().polls, 0);
}

#[test]
fn hellos_keep_no_rhythm_with_a_periodic_disturbance() {
    // Another interrupt takes 300 of each 500 µs: a hello that begins in them is lost, and 100 ms are 200 periods.
    let channel = Channel::reliable(vec![0; 64], vec![0; 64]);
    let mut end = Link::new(Config::new(1), [channel]);
    let mut now = Instant::from_us(100);
    let mut heard = 0;
    for _ in 0..50 {
        let mut hello = [0; 64];
        assert!(end.transmit(now, &mut hello) > 0, "a hello is due");
        heard += u32::from(now.us() % 500 >= 300);
        let next = end.next_timeout().expect("until the peer answers");
        assert!((100_000..104_200).contains(&next.us_since(now)), "{next:?}");
        now = next;
    }
    assert!((10..=30).contains(&heard), "{heard} of 50");
}
