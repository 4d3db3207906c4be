//! Reflectors that report wrong times.

use linerate_agent::stamp::{Clock, LEN, Plan, Sender};
use linerate_agent::{Instant, Service as _, Udp};
use std::net::SocketAddr;
use std::time::Duration;

const US: Duration = Duration::from_micros(1);
/// Offsets in a reflected packet (RFC 8762 section 4.3.1).
const SENT: usize = 4;
const ERROR: usize = 12;
const RECEIVED: usize = 16;
const SENDER_SENT: usize = 28;

fn reflector() -> SocketAddr {
    "192.0.2.7:862".parse().expect("an address")
}

/// The answer to a packet, without processing time.
fn reflection(packet: &[u8]) -> Vec<u8> {
    let mut octets = vec![0; LEN];
    octets[..4].copy_from_slice(&packet[..4]);
    octets[ERROR..ERROR + 2].copy_from_slice(&[0, 1]);
    octets[24..36].copy_from_slice(&packet[..12]);
    octets[36..38].copy_from_slice(&packet[12..14]);
    octets
}

/// The round trip of a packet whose answer, after 100 us, is changed; `None` if it is rejected.
fn round_trip(change: impl Fn(&mut [u8])) -> Option<Duration> {
    let mut sender = Sender::<4>::new(Plan {
        to: reflector(),
        count: 1,
        interval: Duration::from_millis(1),
        octets: LEN,
        timeout: Duration::from_secs(1),
        clock: Clock::free(US),
        stateful: false,
        session: 0,
    });
    let mut room = [0; LEN];
    let began = Instant::from_ns(1_000_000_000);
    sender.next_datagram(&mut room, began).expect("a packet");
    let mut octets = reflection(&room);
    change(&mut octets);
    sender.datagram(Udp(0), reflector(), &octets, began.after(100 * US));
    let sample = sender.take_sample();
    assert_eq!(sender.outcome().answered, u64::from(sample.is_some()));
    sample.map(|sample| sample.round_trip)
}

/// Writes a time in microseconds as NTP does.
fn put(octets: &mut [u8], at: usize, us: u64) {
    let fraction = (us << 32).div_ceil(1_000_000);
    octets[at..at + 8].copy_from_slice(&fraction.to_be_bytes());
}

#[test]
fn a_processing_time_that_leaves_nothing_for_the_network_is_not_subtracted() {
    assert_eq!(round_trip(|_| {}), Some(100 * US));
    assert_eq!(round_trip(|it| put(it, SENT, 60)), Some(40 * US));
    assert_eq!(round_trip(|it| put(it, SENT, 100)), Some(100 * US));
    // By a clock that is as coarse as seconds.
    let coarse = round_trip(|it| {
        put(it, SENT, 900_000);
        it[ERROR..ERROR + 2].copy_from_slice(&[0x1f, 0xff]);
    });
    assert_eq!(coarse, Some(100 * US));
}

#[test]
fn an_answer_with_another_time_of_the_sender_is_none() {
    let sent =
        |octets: &[u8]| u64::from_be_bytes(octets[SENDER_SENT..][..8].try_into().expect("8"));
    let later = round_trip(|it| {
        let shifted = sent(it) + 400_000;
        it[SENDER_SENT..SENDER_SENT + 8].copy_from_slice(&shifted.to_be_bytes());
    });
    assert_eq!(later, None);
    assert_eq!(round_trip(|it| put(it, SENDER_SENT, 0)), None);
    // It leaves before it arrives.
    assert_eq!(round_trip(|it| put(it, RECEIVED, 50)), None);
}
