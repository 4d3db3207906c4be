//! STAMP sender and reflector with each other, over an impaired network, and with hostile peers.

mod net;

use linerate_agent::stamp::{
    Clock, LEN, Loss, Outcome, PORT, Plan, Probe, Reflection, Reflector, Sample, Sender,
};
use linerate_agent::{Instant, Service, Udp};
use net::{ENDS, Faults, Net, Random};
use proptest::prelude::*;
use std::net::SocketAddr;
use std::time::Duration;

const US: Duration = Duration::from_micros(1);

type Pair<const SESSIONS: usize> = Net<Sender<8>, Reflector<SESSIONS, 64>>;

fn plan(count: u32) -> Plan {
    Plan {
        to: SocketAddr::new(ENDS[1], PORT),
        count,
        interval: Duration::from_millis(1),
        octets: LEN,
        timeout: Duration::from_millis(500),
        clock: Clock::free(US),
        stateful: true,
        session: 0,
    }
}

fn run<const SESSIONS: usize>(
    plan: Plan,
    theirs: Clock,
    seed: u64,
    faults: Faults,
) -> (Pair<SESSIONS>, Outcome, Vec<Sample>) {
    let mut net = Net::new(
        Sender::new(plan),
        Reflector::new(PORT, theirs),
        seed,
        faults,
    );
    let mut samples = Vec::new();
    let done = net.run(Duration::from_mins(1), |net| {
        samples.extend(std::iter::from_fn(|| net.a.take_sample()));
        net.a.is_done(net.now)
    });
    assert!(done);
    let outcome = net.a.outcome();
    (net, outcome, samples)
}

fn reflector() -> Reflector<2, 4> {
    Reflector::new(PORT, Clock::free(US))
}

fn probe(number: u32) -> Vec<u8> {
    let mut octets = vec![0; LEN];
    let probe = Probe {
        number,
        sent: 1 << 32,
        error: 0x0101,
        session: 0,
    };
    probe.emit(&mut octets);
    octets
}

fn from(port: u16) -> SocketAddr {
    SocketAddr::new(ENDS[0], port)
}

/// The reflector's answer to a datagram.
fn answer<const N: usize, const W: usize, const O: usize>(
    reflector: &mut Reflector<N, W, O>,
    from: SocketAddr,
    octets: &[u8],
    at: Instant,
) -> Option<(SocketAddr, Vec<u8>)> {
    reflector.datagram(Udp(0), from, octets, at);
    let mut room = [0xaa; 2048];
    let datagram = reflector.next_datagram(&mut room, at)?;
    assert_eq!(reflector.next_datagram(&mut [0; 2048], at), None);
    Some((datagram.to, room[..datagram.len].to_vec()))
}

/// The network delays by 50 us in each direction.
#[test]
fn a_round_trip_takes_what_the_network_takes() {
    let (net, outcome, samples) = run::<1>(plan(1000), Clock::free(US), 1, Faults::default());
    assert_eq!((outcome.sent, outcome.answered), (1000, 1000));
    assert_eq!((outcome.loss, outcome.invalid), (Loss::default(), 0));
    assert_eq!(samples.len(), 1000);
    for (number, sample) in samples.iter().enumerate() {
        assert_eq!(sample.number as usize, number);
        assert_eq!(sample.round_trip, Duration::from_micros(100), "{sample:?}");
        assert_eq!(sample.sent.ns(), 1 + number as u64 * 1_000_000);
        assert_eq!((sample.one_way, sample.ttl), (None, 255));
    }
    assert_eq!(net.done[1].sent, 1000);
}

/// The reflector's clock is 7 us fast: both one-way delays are wrong by that, within the stated error.
#[test]
fn one_way_needs_two_clocks_that_are_right() {
    let ours = Clock::synchronised(1_700_000_000_000_000_000, 2 * US);
    let theirs = Clock::synchronised(1_700_000_000_000_007_000, 10 * US);
    let plan = Plan {
        clock: ours,
        ..plan(10)
    };
    let (_, _, samples) = run::<1>(plan, theirs, 1, Faults::default());
    assert_eq!(samples.len(), 10);
    for sample in samples {
        let ways = sample.one_way.unwrap();
        assert_eq!((ways.forward_ns, ways.backward_ns), (57_000, 43_000));
        let stated = 12 * US..=Duration::from_nanos(12_200);
        assert!(stated.contains(&ways.error), "{ways:?}");
        assert_eq!(sample.round_trip, 100 * US);
    }
}

#[test]
fn the_time_that_the_reflector_takes_is_not_part_of_it() {
    let mut sender = Sender::<1>::new(plan(1));
    let mut reflector = reflector();
    let mut room = [0; 100];
    let at = |us: u64| Instant::from_ns(us * 1000);
    let sent = sender.next_datagram(&mut room, at(0)).unwrap();
    reflector.datagram_with_ttl(from(40_000), &room[..sent.len], 61, at(30));
    let back = reflector.next_datagram(&mut room, at(530)).unwrap();
    sender.datagram(Udp(0), plan(1).to, &room[..back.len], at(580));
    let sample = sender.take_sample().unwrap();
    assert_eq!((sample.round_trip, sample.reflector), (80 * US, 500 * US));
    assert_eq!(sample.ttl, 61);
    assert!(sender.is_done(at(580)) && sender.wake_at().is_none());
}

#[test]
fn answers_are_as_long_as_what_they_answer() {
    let mut reflector = Reflector::<2, 4, 200>::new(PORT, Clock::free(US));
    for (len, answered) in [
        (43, None),
        (44, Some(44)),
        (100, Some(100)),
        (1400, Some(200)),
    ] {
        let mut octets = probe(0);
        octets.resize(len, 0x5a);
        let back = answer(&mut reflector, from(40_000), &octets, Instant::from_ns(5));
        assert_eq!(
            back.as_ref().map(|(_, octets)| octets.len()),
            answered,
            "{len}"
        );
        // RFC 8762 section 4.6: padding behind the packet is returned.
        let behind = back.map_or(vec![], |(_, octets)| octets[LEN..].to_vec());
        assert!(behind.iter().all(|octet| *octet == 0x5a));
    }
}

#[test]
fn an_early_stop_leaves_loss_without_a_direction() {
    let mut net = Net::new(
        Sender::<8>::new(plan(100)),
        Reflector::<1, 4>::new(PORT, Clock::free(US)),
        1,
        Faults::default(),
    );
    net.run(Duration::from_millis(40), |_| false);
    net.faults.lost = 1000;
    assert!(net.run(Duration::from_secs(2), |net| net.a.is_done(net.now)));
    let outcome = net.a.outcome();
    assert_eq!((outcome.loss.forward, outcome.loss.backward), (0, 0));
    assert!(outcome.loss.unknown >= 59 && outcome.answered + outcome.loss.unknown == 100);
}

/// The reflector numbers a duplicate separately: that must not offset a loss.
#[test]
fn a_packet_that_comes_twice_hides_no_loss() {
    let mut sender = Sender::<8>::new(plan(3));
    let mut reflector = reflector();
    let mut at = Instant::from_ns(5);
    for copies in [2, 0, 1] {
        let mut room = [0; LEN];
        sender.next_datagram(&mut room, at).unwrap();
        for _ in 0..copies {
            let (_, back) = answer(&mut reflector, from(40_000), &room, at).unwrap();
            sender.datagram(Udp(0), plan(1).to, &back, at);
        }
        at = at.after(Duration::from_millis(1));
    }
    let outcome = sender.outcome();
    assert_eq!((outcome.answered, outcome.forward_duplicates), (2, 1));
    let lost = Loss {
        forward: 1,
        ..Loss::default()
    };
    assert_eq!((outcome.loss, outcome.backward_duplicates), (lost, 0));
}

#[test]
fn without_numbers_of_the_reflector_loss_has_no_direction() {
    let faults = Faults {
        lost: 100,
        ..Faults::default()
    };
    let plan = Plan {
        stateful: false,
        ..plan(1000)
    };
    let (net, outcome, _) = run::<0>(plan, Clock::free(US), 3, faults);
    let lost = net.done[0].lost + net.done[1].lost;
    assert!(lost > 100);
    assert_eq!(outcome.loss.unknown, lost);
    assert_eq!((outcome.loss.forward, outcome.loss.backward), (0, 0));
    // A reflector that numbers its answers is detected.
    let (net, outcome, _) = run::<1>(plan, Clock::free(US), 3, faults);
    assert_eq!(outcome.loss.forward, net.done[0].lost);
}

#[test]
fn a_session_beyond_the_table_gets_nothing_until_another_is_over() {
    let mut reflector = reflector();
    let mut at = Instant::from_ns(5);
    let number = |back: Option<(SocketAddr, Vec<u8>)>| {
        back.map(|(_, octets)| Reflection::parse(&octets).unwrap().number)
    };
    for expected in 0..3 {
        for port in [40_000, 40_001] {
            let back = answer(&mut reflector, from(port), &probe(77), at);
            assert_eq!(number(back), Some(expected));
        }
        assert_eq!(answer(&mut reflector, from(40_002), &probe(77), at), None);
    }
    assert_eq!(reflector.counts().no_session, 3);
    at = at.after(Duration::from_secs(31));
    let back = answer(&mut reflector, from(40_002), &probe(77), at);
    assert_eq!(number(back), Some(0));
}

/// Otherwise 64 forged or abandoned packets keep everyone out of 64 slots for 30 s.
#[test]
fn a_host_with_many_sessions_keeps_nobody_out() {
    let mut reflector = Reflector::<4, 4>::new(PORT, Clock::free(US));
    let other = SocketAddr::new(ENDS[1], 40_000);
    let (mut ours, mut theirs) = (0, 0);
    for ms in 0..10_000 {
        let at = Instant::from_ns(5 + ms * 1_000_000);
        for port in 0..8 {
            let from = from(40_000 + port);
            theirs += u32::from(answer(&mut reflector, from, &probe(1), at).is_some());
        }
        if ms >= 100 && ms % 20 == 0 {
            let (_, back) = answer(&mut reflector, other, &probe(ours), at).expect("served");
            // Nobody takes the slot away.
            assert_eq!(Reflection::parse(&back).unwrap().number, ours);
            ours += 1;
        }
    }
    // Three of their eight sessions are served on and on.
    assert_eq!(theirs, 4 * 101 + 3 * 9_899);
}

#[test]
fn sessions_that_fall_silent_give_way() {
    let mut reflector = reflector();
    let at = |ms: u64| Instant::from_ns(5 + ms * 1_000_000);
    let mut is_served = |port, ms| answer(&mut reflector, from(port), &probe(0), at(ms)).is_some();
    assert!(is_served(40_000, 0));
    assert!(is_served(40_001, 0));
    assert!(!is_served(40_002, 249));
    assert!(is_served(40_000, 249));
    // 40001 has sent a single packet.
    assert!(is_served(40_002, 250));
    assert!(is_served(40_002, 251));
    assert!(!is_served(40_003, 3_248));
    assert!(is_served(40_003, 3_249), "40000 was silent for 3 s");
}

#[test]
fn identifiers_distinguish_sessions_of_one_port() {
    let mut reflector = reflector();
    for (identifier, expected) in [(1, 0), (2, 0), (1, 1), (2, 1)] {
        let mut octets = probe(9);
        octets[15] = identifier;
        let back = answer(&mut reflector, from(40_000), &octets, Instant::from_ns(5));
        let back = Reflection::parse(&back.unwrap().1).unwrap();
        assert_eq!(
            (back.number, back.probe.session),
            (expected, u16::from(identifier))
        );
    }
}

/// One forged packet in each direction starts no loop, whatever the two ports are.
#[test]
fn two_reflectors_do_not_talk_to_each_other() {
    for (one, other) in [
        (862, 862),
        (862, 8620),
        (8620, 862),
        (8620, 8621),
        (40_000, 862),
    ] {
        let a = Reflector::<2, 4>::new(one, Clock::free(US));
        let b = Reflector::<2, 4>::new(other, Clock::free(US));
        let mut net = Net::new(a, b, 1, Faults::default());
        let now = net.now;
        net.a
            .datagram(Udp(0), SocketAddr::new(ENDS[1], other), &probe(0), now);
        net.b
            .datagram(Udp(0), SocketAddr::new(ENDS[0], one), &probe(0), now);
        net.run(Duration::from_secs(1), |_| false);
        assert!(net.done[0].sent + net.done[1].sent <= 1, "{one} {other}");
    }
}

#[test]
fn an_answer_that_is_echoed_is_not_answered() {
    let mut reflector = reflector();
    let at = Instant::from_ns(5);
    let (to, back) = answer(&mut reflector, from(40_000), &probe(0), at).unwrap();
    assert_eq!(answer(&mut reflector, to, &back, at), None);
    assert_eq!(reflector.counts().foreign, 1);
}

#[test]
fn a_burst_is_answered_as_far_as_there_is_room_and_counted() {
    let mut reflector = reflector();
    let at = Instant::from_ns(5);
    for number in 0..10 {
        reflector.datagram(Udp(0), from(40_000), &probe(number), at);
    }
    let mut room = [0; 100];
    let answers = std::iter::from_fn(|| reflector.next_datagram(&mut room, at)).count();
    assert_eq!((answers, reflector.counts().overrun), (4, 6));
}

/// A hundred thousand datagrams from everywhere, most of them forged or garbage.
#[test]
fn a_flood_neither_amplifies_nor_ends_the_session_that_is_there() {
    let mut reflector = reflector();
    let mut random = Random(7);
    let (mut taken, mut given) = (0, 0);
    let mut expected = 0;
    for turn in 0..100_000_u64 {
        let at = Instant::from_ns(turn * 10_000);
        if turn % 1000 == 0 {
            let (_, back) = answer(&mut reflector, from(40_000), &probe(1), at).unwrap();
            assert_eq!(Reflection::parse(&back).unwrap().number, expected);
            expected += 1;
        }
        let ip = (random.next() as u32).to_be_bytes();
        let source = SocketAddr::from((ip, random.next() as u16));
        let len = random.below(80) as usize;
        let octets: Vec<u8> = (0..len).map(|_| random.next() as u8).collect();
        taken += octets.len();
        if let Some((to, back)) = answer(&mut reflector, source, &octets, at) {
            assert!(to == source && back.len() <= octets.len());
            assert!(!to.ip().is_multicast() && to.port() > 1023);
            given += back.len();
        }
    }
    assert!(given <= taken);
    assert_eq!(expected, 100);
}

#[test]
fn invalid_reflections_are_rejected() {
    let now = Instant::from_ns(1_000_000);
    let mut lies = 0;
    for (at, len) in [(0, 4), (4, 8), (16, 8), (24, 4), (28, 8), (36, 2)] {
        let mut sender = Sender::<4>::new(plan(4));
        let mut reflector = reflector();
        let mut room = [0; LEN];
        sender
            .next_datagram(&mut room, Instant::from_ns(0))
            .unwrap();
        let (_, mut back) = answer(&mut reflector, from(40_000), &room, now).unwrap();
        back[at..at + len].fill(0xff);
        sender.datagram(Udp(0), plan(1).to, &back, now);
        let outcome = sender.outcome();
        let trip = sender.take_sample().map(|sample| sample.round_trip);
        if at == 0 {
            // The timestamps are right; its numbers are no longer used.
            assert_eq!(
                (trip, outcome.loss.backward),
                (Some(Duration::from_millis(1)), 0)
            );
        } else {
            assert_eq!(
                (trip, outcome.invalid, outcome.answered),
                (None, 1, 0),
                "{at}"
            );
            lies += 1;
        }
    }
    assert_eq!(lies, 5);
    // An echo service returns the sender's own packet.
    let mut sender = Sender::<4>::new(plan(4));
    let mut room = [0; LEN];
    sender
        .next_datagram(&mut room, Instant::from_ns(0))
        .unwrap();
    sender.datagram(Udp(0), plan(1).to, &room, now);
    // And another station's answer is ignored.
    sender.datagram(Udp(0), from(PORT), &room, now);
    assert_eq!(
        (sender.outcome().invalid, sender.outcome().answered),
        (1, 0)
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Loss only: each direction's count is the network's, except after the last answer.
    #[test]
    fn loss_is_distinguished_by_direction(seed: u64, lost in 0..200_u64) {
        let faults = Faults { lost, ..Faults::default() };
        let (net, outcome, samples) = run::<1>(plan(500), Clock::free(US), seed, faults);
        let [forward, back] = net.done.map(|done| done.lost);
        let loss = outcome.loss;
        prop_assert_eq!(loss.forward + loss.backward + loss.unknown, forward + back);
        prop_assert!(loss.forward <= forward && forward <= loss.forward + loss.unknown);
        prop_assert!(loss.backward <= back && back <= loss.backward + loss.unknown);
        prop_assert_eq!(samples.len() as u64, outcome.answered);
        prop_assert_eq!(outcome.answered, 500 - forward - back);
    }

    /// Duplicate and late packets are not loss, and do not offset loss.
    #[test]
    fn duplicates_and_lateness_are_not_loss(
        seed: u64,
        lost in 0..50_u64,
        repeated in 0..50_u64,
        late in 0..50_u64,
    ) {
        let faults = Faults { lost, repeated, late, ..Faults::default() };
        let (net, outcome, samples) = run::<1>(plan(500), Clock::free(US), seed, faults);
        let loss = outcome.loss;
        prop_assert_eq!(outcome.answered + loss.forward + loss.backward + loss.unknown, 500);
        prop_assert_eq!(samples.len() as u64, outcome.answered);
        let [there, back] = net.done;
        prop_assert!(outcome.forward_duplicates <= there.repeated);
        prop_assert!(outcome.backward_duplicates <= back.repeated);
        prop_assert!(loss.forward + loss.backward + loss.unknown <= there.lost + back.lost);
        let lowest = samples.iter().map(|sample| sample.round_trip).min();
        prop_assert!(lowest >= Some(100 * US));
        prop_assert_eq!(outcome.invalid, 0);
    }

    #[test]
    fn no_octets_from_the_reflector_harm_the_sender(
        octets in prop::collection::vec(any::<u8>(), 0..100),
        at: u64,
    ) {
        let mut sender = Sender::<1>::new(plan(4));
        let mut room = [0; LEN];
        sender.next_datagram(&mut room, Instant::from_ns(at)).unwrap();
        for now in [0, at, u64::MAX] {
            sender.datagram(Udp(0), plan(1).to, &octets, Instant::from_ns(now));
        }
        prop_assert!(sender.outcome().answered <= 1);
    }
}
