//! iperf 3 client and server with each other, over an impaired network.

mod net;

use linerate_agent::Instant;
use linerate_agent::iperf3::{
    Amount, Client, Count, Direction, Failure, Finished, Limits, Outcome, PORT, Plan, Progress,
    Server, Test,
};
use net::{ENDS, Faults, Net};
use proptest::prelude::*;
use std::net::SocketAddr;
use std::time::Duration;

type Pair = Net<Client<8>, Server<8>>;

fn plan(udp: bool, change: impl Fn(&mut Test)) -> Plan {
    let mut test = Test {
        udp,
        amount: Amount::Octets(1_000_000),
        octets: if udp { 1470 } else { 0 },
        rate_bits_per_s: if udp { 10_000_000 } else { 0 },
        ..Test::default()
    };
    change(&mut test);
    Plan {
        to: SocketAddr::new(ENDS[1], PORT),
        test,
        seed: 7,
        timeout: Duration::from_secs(5),
    }
}

fn run(plan: Plan, limits: Limits, seed: u64, faults: Faults) -> (Pair, Outcome, Vec<Finished>) {
    let mut net = Net::new(Client::new(plan), Server::new(PORT, limits), seed, faults);
    let mut finished = Vec::new();
    net.run(Duration::from_mins(1), |net| {
        finished.extend(net.b.take_finished());
        net.a.progress(net.now) != Progress::Running
    });
    // The server may notice the end later than the client.
    net.run(Duration::from_secs(5), |net| {
        finished.extend(net.b.take_finished());
        false
    });
    let outcome = net.a.outcome(net.now);
    (net, outcome, finished)
}

fn undisturbed(plan: Plan) -> (Pair, Outcome, Finished) {
    let (mut net, outcome, finished) = run(plan, Limits::own_network(), 1, Faults::default());
    assert_eq!(net.a.progress(net.now), Progress::Done);
    assert!(!net.b.is_busy());
    let [finished] = finished[..] else {
        panic!("{finished:?}");
    };
    assert!(finished.is_complete);
    (net, outcome, finished)
}

#[test]
fn every_octet_of_a_tcp_test_is_counted_at_both_ends() {
    for parallel in [1, 3] {
        let (_, outcome, finished) = undisturbed(plan(false, |test| test.parallel = parallel));
        assert_eq!(outcome.sent.unwrap().octets, 1_000_000);
        assert_eq!(outcome.reported.unwrap().octets, 1_000_000);
        assert_eq!(finished.received.unwrap().octets, 1_000_000);
        assert_eq!((outcome.received, finished.sent), (None, None));
    }
}

#[test]
fn a_reverse_tcp_test_is_sent_by_the_server() {
    for parallel in [1, 3] {
        let (_, outcome, finished) = undisturbed(plan(false, |test| {
            test.direction = Direction::Reverse;
            test.parallel = parallel;
        }));
        let received = outcome.received.unwrap();
        assert!(received.octets >= 1_000_000);
        // The server sends until the end is announced: both count that as well.
        assert_eq!(finished.sent.unwrap().octets, received.octets);
        assert_eq!(finished.reported.unwrap().octets, received.octets);
        assert_eq!(outcome.sent, None);
    }
}

#[test]
fn both_directions_have_streams_of_their_own() {
    for parallel in [1, 3] {
        let (_, outcome, finished) = undisturbed(plan(false, |test| {
            test.direction = Direction::Both;
            test.amount = Amount::Span(Duration::from_secs(1));
            test.parallel = parallel;
        }));
        assert!(outcome.sent.unwrap().octets > 1_000_000);
        assert_eq!(
            outcome.sent.unwrap().octets,
            finished.received.unwrap().octets
        );
        assert!(outcome.received.unwrap().octets > 1_000_000);
        assert_eq!(
            outcome.received.unwrap().octets,
            finished.sent.unwrap().octets
        );
    }
}

/// The server's first segment has more octets than the test.
#[test]
fn a_short_test_in_both_directions_ends_when_both_have_their_octets() {
    for (udp, total) in [(false, 20_000), (false, 1_000_000), (true, 20_000)] {
        let (_, outcome, finished) = undisturbed(plan(udp, |test| {
            test.direction = Direction::Both;
            test.amount = Amount::Octets(total);
        }));
        let counts = [outcome.reported, finished.received, outcome.received];
        let octets = counts.map(|count| count.unwrap().octets);
        assert!(
            octets.iter().all(|octets| *octets >= total),
            "{udp}: {octets:?}"
        );
    }
}

#[test]
fn a_test_by_time_ends_in_time() {
    for udp in [false, true] {
        let (_, outcome, finished) = undisturbed(plan(udp, |test| {
            test.amount = Amount::Span(Duration::from_secs(2));
        }));
        let about = Duration::from_millis(1990)..=Duration::from_millis(2010);
        for span in [outcome.sent.unwrap().span, finished.received.unwrap().span] {
            assert!(about.contains(&span), "{udp}: {span:?}");
        }
    }
}

#[test]
fn a_late_announcement_of_the_end_does_not_extend_the_stream() {
    let at = |ms| Instant::from_ns(1).after(Duration::from_millis(ms));
    let faults = Faults {
        stalled: Some([at(1_900), at(2_300)]),
        ..Faults::default()
    };
    let plan = plan(true, |test| {
        test.amount = Amount::Span(Duration::from_secs(2));
    });
    let (_, outcome, finished) = run(plan, Limits::own_network(), 1, faults);
    let about = Duration::from_millis(1990)..=Duration::from_millis(2010);
    for received in [finished[0].received, outcome.reported] {
        let span = received.unwrap().span;
        assert!(about.contains(&span), "{span:?}");
    }
}

#[test]
fn blocks_are_writes_or_datagrams() {
    for (udp, octets) in [(false, 100 * 1000), (true, 100 * 1470)] {
        let (_, outcome, _) = undisturbed(plan(udp, |test| {
            test.amount = Amount::Blocks(100);
            test.octets = if udp { 1470 } else { 1000 };
        }));
        assert_eq!(outcome.reported.unwrap().octets, octets);
    }
}

#[test]
fn omitted_data_do_not_count() {
    let (_, outcome, finished) = undisturbed(plan(true, |test| {
        test.amount = Amount::Span(Duration::from_secs(2));
        test.omit = Duration::from_secs(3);
    }));
    let about = 2_490_000..=2_510_000;
    let (sent, received) = (outcome.sent.unwrap(), finished.received.unwrap());
    assert!(about.contains(&sent.octets), "{sent:?}");
    assert!(about.contains(&received.octets), "{received:?}");
    assert_eq!(received.lost, 0);
}

#[test]
fn udp_keeps_its_rate_and_both_ends_agree() {
    for wide_numbers in [false, true] {
        let (_, outcome, finished) =
            undisturbed(plan(true, |test| test.wide_numbers = wide_numbers));
        let (sent, reported) = (outcome.sent.unwrap(), outcome.reported.unwrap());
        assert_eq!((sent.datagrams, sent.octets), (681, 681 * 1470));
        let whole = (reported.datagrams, reported.octets, reported.lost);
        assert_eq!(whole, (681, 681 * 1470, 0));
        let rate = sent.octets as f64 * 8.0 / sent.span.as_secs_f64();
        assert!((9_900_000.0..10_100_000.0).contains(&rate), "{rate}");
        assert_eq!(finished.received.unwrap().datagrams, 681);
    }
}

#[test]
fn udp_goes_back_and_both_ways_in_parallel() {
    for direction in [Direction::Reverse, Direction::Both] {
        let (_, outcome, finished) = undisturbed(plan(true, |test| {
            test.direction = direction;
            test.amount = Amount::Span(Duration::from_secs(1));
            test.parallel = 2;
        }));
        let (received, sent) = (outcome.received.unwrap(), finished.sent.unwrap());
        assert_eq!((received.datagrams, received.lost), (sent.datagrams, 0));
        assert!((1700..1704).contains(&sent.datagrams), "{sent:?}");
        assert_eq!(outcome.sent.is_some(), direction == Direction::Both);
    }
}

#[test]
fn the_server_keeps_to_its_limits() {
    let limits = Limits {
        fastest_bits_per_s: 1_000_000,
        ..Limits::own_network()
    };
    let plan = plan(true, |test| {
        test.direction = Direction::Reverse;
        test.amount = Amount::Span(Duration::from_secs(2));
        test.rate_bits_per_s = 0;
    });
    let (_, outcome, _) = run(plan, limits, 1, Faults::default());
    let octets = outcome.received.unwrap().octets;
    assert!((245_000..255_000).contains(&octets), "{octets}");
}

#[test]
fn a_test_that_the_server_sends_ends_at_its_limit() {
    let limits = Limits {
        longest: Duration::from_secs(3),
        ..Limits::own_network()
    };
    let plan = plan(false, |test| {
        test.direction = Direction::Reverse;
        test.amount = Amount::Span(Duration::from_secs(30));
    });
    let (mut net, _, finished) = run(plan, limits, 1, Faults::default());
    assert_eq!(
        net.a.progress(net.now),
        Progress::Failed(Failure::Terminated)
    );
    assert!(!finished[0].is_complete);
    assert!(finished[0].sent.unwrap().span < Duration::from_secs(5));
}

#[test]
fn a_udp_refusal_is_reported() {
    let limits = Limits {
        sends_datagrams: false,
        ..Limits::own_network()
    };
    let plan = plan(true, |test| test.direction = Direction::Reverse);
    let (mut net, ..) = run(plan, limits, 1, Faults::default());
    let not_implemented = Failure::ServerError {
        number: 13,
        system: 0,
    };
    assert_eq!(net.a.progress(net.now), Progress::Failed(not_implemented));
    assert_eq!(net.done[1].sent, 0);
}

#[test]
fn too_many_streams_are_refused() {
    let server = Server::<2>::new(PORT, Limits::own_network());
    let client = Client::<8>::new(plan(false, |test| test.parallel = 3));
    let mut net = Net::new(client, server, 1, Faults::default());
    let over = |net: &mut Net<Client<8>, _>| net.a.progress(net.now) != Progress::Running;
    assert!(net.run(Duration::from_secs(5), over));
    let too_many = Failure::ServerError {
        number: 6,
        system: 0,
    };
    assert_eq!(net.a.progress(net.now), Progress::Failed(too_many));

    let mut client = Client::<2>::new(plan(false, |test| test.parallel = 3));
    assert_eq!(
        client.progress(net.now),
        Progress::Failed(Failure::TooManyStreams)
    );
}

#[test]
fn an_absent_server_is_reported() {
    let plan = Plan {
        to: SocketAddr::new(ENDS[1], 9),
        ..plan(false, |_| {})
    };
    let (mut net, ..) = run(plan, Limits::default(), 1, Faults::default());
    assert_eq!(
        net.a.progress(net.now),
        Progress::Failed(Failure::NotReached)
    );
}

fn network_and_report_agree(sent: Count, received: Count, done: net::Done, hellos: u64) {
    assert_eq!(sent.datagrams + hellos, done.sent);
    assert_eq!(received.datagrams, sent.datagrams);
    assert_eq!(received.octets % 1470, 0);
    let arrived = received.octets / 1470;
    assert_eq!(
        arrived,
        sent.datagrams - received.lost + received.duplicates
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// The report shows the network's faults, each kind separately.
    #[test]
    fn the_report_shows_what_the_network_did(
        seed: u64,
        lost in 0..50_u64,
        repeated in 0..50_u64,
        late in 0..50_u64,
        reverse: bool,
    ) {
        let faults = Faults { lost, repeated, late, ..Faults::default() };
        let direction = if reverse { Direction::Reverse } else { Direction::Forward };
        let plan = plan(true, |test| {
            test.amount = Amount::Span(Duration::from_secs(1));
            test.direction = direction;
        });
        let (mut net, outcome, finished) = run(plan, Limits::own_network(), seed, faults);
        prop_assert_eq!(net.a.progress(net.now), Progress::Done);
        let (sent, received) = if reverse {
            (finished[0].sent.unwrap(), outcome.received.unwrap())
        } else {
            (outcome.sent.unwrap(), finished[0].received.unwrap())
        };
        let done = net.done[usize::from(reverse)];
        // A hello, or its answer, may have been lost itself.
        let hellos = done.sent - sent.datagrams;
        prop_assert!((1..10).contains(&hellos), "{}", hellos);
        network_and_report_agree(sent, received, done, hellos);
        prop_assert!(received.lost <= done.lost && received.lost + hellos >= done.lost);
        let repeated = received.duplicates;
        prop_assert!(repeated <= done.repeated);
        prop_assert!(repeated + hellos + done.lost >= done.repeated);
        if faults.late == 0 && faults.repeated == 0 {
            prop_assert_eq!(received.out_of_order, 0);
        }
        prop_assert!(received.out_of_order <= done.late);
    }

    /// TCP counts are exact, however segments are split.
    #[test]
    fn segments_may_be_split_anywhere(seed: u64, parallel in 1..4_u8, both: bool) {
        let plan = plan(false, |test| {
            test.parallel = parallel;
            test.amount = Amount::Octets(200_000);
            if both {
                test.direction = Direction::Both;
            }
        });
        let (mut net, outcome, finished) = run(plan, Limits::own_network(), seed, Faults::default());
        prop_assert_eq!(net.a.progress(net.now), Progress::Done);
        prop_assert_eq!(outcome.sent.unwrap().octets, finished[0].received.unwrap().octets);
        prop_assert_eq!(
            outcome.received.map(|it| it.octets),
            finished[0].sent.map(|it| it.octets)
        );
    }
}
