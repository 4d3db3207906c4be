//! An urgent message waits for at most one frame of another channel and one acknowledgment of its own, also while the
//! other channel recovers from losses.

#![forbid(unsafe_code)]

use linerate_ether::random::Random;
use linerate_link::{ACKNOWLEDGMENT, Channel, Config, Instant, Link, frame_octets};

const OCTET_US: u32 = 10;

struct Pair {
    ends: [Link<Vec<u8>, 2>; 2],
    octets: u32,
}

impl Pair {
    fn new(max_fragment: u16) -> Self {
        let end = |session| {
            let config = Config {
                max_fragment,
                ..Config::new(session)
            };
            let memory = |octets: usize| vec![0; octets];
            let channels = [
                Channel::reliable(memory(100), memory(100)),
                Channel::reliable(memory(3000), memory(3000)),
            ];
            Link::new(config, channels)
        };
        let mut pair = Self {
            ends: [end(1), end(2)],
            octets: 0,
        };
        while !pair.ends.iter().all(Link::is_up) {
            pair.exchange(|_| {});
        }
        pair
    }

    /// Lets one octet pass in each direction; `damage` may change that of end 0.
    fn exchange(&mut self, damage: impl FnOnce(&mut u8)) {
        let now = Instant::from_us(self.octets * OCTET_US);
        self.octets += 1;
        let mut octets = [[0]; 2];
        let counts = [0, 1].map(|n| self.ends[n].transmit(now, &mut octets[n]));
        if counts[0] == 1 {
            damage(&mut octets[0][0]);
        }
        for n in 0..2 {
            self.ends[1 - n].receive(now, &octets[n][..counts[n]]);
        }
    }
}

/// Sends urgent messages at random times while bulk data is sent and damaged; returns the longest wait, octets.
fn longest_wait(max_fragment: u16, damaged_per_10_000: u64) -> u32 {
    let mut pair = Pair::new(max_fragment);
    let mut random = Random::new(max_fragment.into());
    let bulk = [0x55; 1500];
    let mut buffer = [0; 2000];
    let mut sent_at = None;
    let mut longest = 0;
    let mut urgent = 0;
    while urgent < 3000 {
        let _ = pair.ends[0].send(1, &bulk);
        while pair.ends[1].read(1, &mut buffer).is_some() {}
        if pair.ends[1].read(0, &mut buffer) == Some(10) {
            let own = frame_octets(10) as u32;
            longest = longest.max(pair.octets - sent_at.take().expect("sent") - own);
            urgent += 1;
        }
        if sent_at.is_none() && pair.ends[0].pending(0) == 0 && random.chance(1, 400) {
            pair.ends[0].send(0, &[7; 10]).expect("there is room");
            sent_at = Some(pair.octets);
        }
        // What is damaged before the urgent message is still repaired while it waits.
        let is_damaged = sent_at.is_none() && random.chance(damaged_per_10_000, 10_000);
        // A damaged delimiter would join the urgent message to the frame before it.
        pair.exchange(|octet| *octet ^= u8::from(is_damaged && *octet != 0) << 3);
    }
    if damaged_per_10_000 > 0 {
        assert!(pair.ends[0].counters().retransmitted > 100);
    }
    longest
}

#[test]
fn an_urgent_message_waits_for_one_fragment() {
    for max_fragment in [16, 64, 256, 512] {
        let bound = frame_octets(max_fragment) as u32;
        let longest = longest_wait(max_fragment as u16, 0);
        println!("fragments of {max_fragment} octets: {longest} octet times of at most {bound}");
        assert!(longest <= bound, "{longest} > {bound}");
        // The bound is no exaggeration.
        assert!(longest + 2 >= bound, "{longest} < {bound}");
    }
}

#[test]
fn an_urgent_message_waits_no_longer_while_another_channel_recovers() {
    for max_fragment in [16, 64, 256, 512] {
        let bound = (frame_octets(max_fragment) + ACKNOWLEDGMENT) as u32;
        let longest = longest_wait(max_fragment as u16, 20);
        println!(
            "fragments of {max_fragment} octets, with losses: {longest} octet times of at most {bound}"
        );
        assert!(longest <= bound, "{longest} > {bound}");
    }
}

#[test]
fn the_bound_is_that_of_the_page() {
    assert_eq!(frame_octets(256) + ACKNOWLEDGMENT, 280);
    assert_eq!(frame_octets(64) + ACKNOWLEDGMENT, 87);
}
