//! iperf 2 client and server with each other, over an impaired network.

mod net;

use linerate_agent::iperf2::{
    Amount, Client, DatagramHeader, Failure, Finished, Limits, Outcome, PORT, Plan, Progress,
    Report, ReturnTest, Server, Test,
};
use linerate_agent::{Connection, Instant, Opened, Service, Udp};
use net::{ENDS, Faults, Net};
use proptest::prelude::*;
use std::net::SocketAddr;
use std::time::Duration;

type Pair = Net<Client, Server<4>>;

fn plan(udp: bool, change: impl Fn(&mut Test)) -> Plan {
    let mut test = Test {
        port: 5002,
        buffer_octets: if udp { 1470 } else { 0 },
        amount: Amount::Octets(1_000_000),
        rate_bits_per_s: if udp { 10_000_000 } else { 0 },
        return_test: ReturnTest::No,
        reverse: false,
        full_duplex: false,
    };
    change(&mut test);
    Plan {
        to: SocketAddr::new(ENDS[1], PORT),
        udp,
        test,
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
    net.run(Duration::from_secs(20), |net| {
        finished.extend(net.b.take_finished());
        false
    });
    let outcome = net.a.outcome(net.now);
    (net, outcome, finished)
}

fn undisturbed(plan: Plan) -> (Pair, Outcome, Vec<Finished>) {
    let (mut net, outcome, finished) = run(plan, Limits::own_network(), 1, Faults::default());
    assert_eq!(net.a.progress(net.now), Progress::Done);
    (net, outcome, finished)
}

#[test]
fn every_octet_of_a_tcp_test_is_counted_at_both_ends() {
    let (_, outcome, finished) = undisturbed(plan(false, |_| {}));
    assert_eq!(outcome.sent.unwrap().octets, 1_000_000);
    let [
        Finished {
            report,
            sent: false,
            udp: false,
            ..
        },
    ] = finished[..]
    else {
        panic!("{finished:?}");
    };
    assert_eq!(report.octets, 1_000_000);
}

#[test]
fn a_reverse_tcp_test_is_sent_by_the_server() {
    let (_, outcome, finished) = undisturbed(plan(false, |test| test.reverse = true));
    assert_eq!(outcome.received.unwrap().octets, 1_000_000);
    assert!(outcome.sent.is_none());
    assert!(finished[0].sent && finished[0].report.octets == 1_000_000);
}

#[test]
fn a_return_test_has_its_own_connection() {
    for back in [ReturnTest::Simultaneous, ReturnTest::AfterTest] {
        let (_, outcome, finished) = undisturbed(plan(false, |test| test.return_test = back));
        assert_eq!(outcome.sent.unwrap().octets, 1_000_000, "{back:?}");
        assert_eq!(outcome.received.unwrap().octets, 1_000_000, "{back:?}");
        assert_eq!(finished.len(), 2, "{back:?}");
    }
}

/// A server of iperf 2.1 sends a greeting on the connection on which it receives, long before it sends the
/// return test.
#[test]
fn a_greeting_is_not_data() {
    let (ours, theirs) = (Connection(0), Connection(1));
    let at = |ms: u64| Instant::from_ns(ms * 1_000_000);
    for back in [ReturnTest::Simultaneous, ReturnTest::AfterTest] {
        let mut client = Client::new(plan(false, |test| test.return_test = back));
        assert_eq!(client.progress(at(0)), Progress::Running);
        let from = SocketAddr::new(ENDS[1], 40_000);
        let accepted = Opened::Accepted { port: 5002, from };
        let connected = Opened::Connected { token: 0 };
        assert!(client.opened(ours, connected, at(1)).is_ok());
        assert!(client.opened(theirs, accepted, at(1)).is_ok());
        client.received(ours, &[0; 28], at(2));
        client.received(theirs, &[0; 1000], at(500));
        client.received(theirs, &[0; 1000], at(600));
        client.ended(theirs, at(600));
        let received = client.outcome(at(600)).received.unwrap();
        let counted = (received.octets, received.span);
        assert_eq!(counted, (2000, Duration::from_millis(100)), "{back:?}");
    }
}

#[test]
fn full_duplex_goes_both_ways_on_one_connection() {
    let (_, outcome, finished) = undisturbed(plan(false, |test| test.full_duplex = true));
    assert_eq!(outcome.sent.unwrap().octets, 1_000_000);
    assert_eq!(outcome.received.unwrap().octets, 1_000_000);
    let directions = finished.iter().map(|it| (it.sent, it.report.octets));
    let directions: Vec<_> = directions.collect();
    assert_eq!(directions, [(true, 1_000_000), (false, 1_000_000)]);
}

#[test]
fn a_test_by_time_ends_in_time() {
    for udp in [false, true] {
        let (_, outcome, _) = undisturbed(plan(udp, |test| {
            test.amount = Amount::Span(Duration::from_secs(2));
        }));
        let span = outcome.sent.unwrap().span;
        let about = Duration::from_millis(1990)..=Duration::from_millis(2010);
        assert!(about.contains(&span), "{udp}: {span:?}");
    }
}

/// The peer is silent meanwhile.
#[test]
fn a_test_may_last_longer_than_the_timeout() {
    for udp in [false, true] {
        let (_, outcome, _) = undisturbed(plan(udp, |test| {
            test.amount = Amount::Span(Duration::from_secs(10));
            test.rate_bits_per_s = 1_000_000;
        }));
        assert!(outcome.sent.unwrap().octets > 1_200_000, "{udp}");
        assert_eq!(outcome.reported.is_some(), udp);
    }
}

#[test]
fn udp_keeps_its_rate_and_both_ends_agree() {
    let (net, outcome, finished) = undisturbed(plan(true, |_| {}));
    let (sent, reported) = (outcome.sent.unwrap(), outcome.reported.unwrap());
    // 681 datagrams, and the one that ends it.
    assert_eq!(sent.datagrams, 682);
    assert_eq!((reported.datagrams, reported.octets), (682, sent.octets));
    assert_eq!((reported.lost, reported.out_of_order), (0, 0));
    let rate = sent.octets as f64 * 8.0 / sent.span.as_secs_f64();
    assert!((rate / 10e6 - 1.0).abs() < 0.002, "{rate}");
    assert_eq!(finished[0].report.octets, reported.octets);
    assert_eq!(net.done[0].sent, 682);
}

/// A server's report of `count` datagrams, one each `every_ms`, and of their end at `end_ms`.
fn reported(count: i64, every_ms: u64, end_ms: u64) -> Report {
    let test = plan(true, |_| {}).test;
    let mut server = Server::<1>::new(PORT, Limits::own_network());
    while server.next_request().is_some() {}
    let client = SocketAddr::new(ENDS[0], 40_000);
    let mut send = |number: i64, ms: u64| {
        let now = Instant::from_ns(ms * 1_000_000);
        let mut octets = [0; 1470];
        DatagramHeader::emit(number, now, &mut octets);
        test.emit(&mut octets[DatagramHeader::LEN..], true);
        server.datagram(Udp(0), client, &octets, now);
    };
    for number in 1..=count {
        send(number, (number - 1) as u64 * every_ms);
    }
    send(-count - 1, end_ms);
    server.take_finished().expect("it has ended").report
}

#[test]
fn a_repeated_end_is_not_when_the_stream_ended() {
    let span_ms = |report: Report| report.span.as_millis();
    assert_eq!(span_ms(reported(100, 1, 100)), 100);
    // The first end was lost, or the first two: in a full queue all are equally likely to be.
    for end_ms in [350, 600] {
        let report = reported(100, 1, end_ms);
        assert_eq!(span_ms(report), 99);
        assert_eq!((report.datagrams, report.lost), (101, 0));
        assert_eq!(report.octets, 101 * 1470);
    }
    // Slow, but at its own pace.
    assert_eq!(span_ms(reported(10, 300, 3_000)), 3_000);
    assert_eq!(span_ms(reported(1, 0, 1_000)), 1_000);
}

/// As sent by the server of iperf 2.1.8.
#[test]
fn a_report_without_a_number_is_taken() {
    // Without and with -e.
    for flags in [0x8800_0000, 0xc800_0000] {
        let mut client = Client::new(plan(true, |test| test.amount = Amount::Octets(4410)));
        let mut now = Instant::from_ns(0);
        let mut numbers = Vec::new();
        while numbers.len() < 4 {
            let mut room = [0; 1500];
            if client.next_datagram(&mut room, now).is_some() {
                numbers.push(DatagramHeader::parse(&room).unwrap().number);
            }
            now = client.wake_at().unwrap().max(now);
        }
        assert_eq!(numbers, [1, 2, 3, -4]);
        let mut datagram = [0; 128];
        let words = [flags, 0, 0x16f8, 0, 0x797e, 0, 0, 4, 0, 13_u32];
        for (at, word) in (16..).step_by(4).zip(words) {
            datagram[at..at + 4].copy_from_slice(&word.to_be_bytes());
        }
        let from = SocketAddr::new(ENDS[1], PORT);
        client.datagram(Udp(0), from, &datagram, now);
        assert_eq!(client.progress(now), Progress::Done);
        let reported = client.outcome(now).reported.unwrap();
        assert_eq!((reported.octets, reported.datagrams), (5880, 4));
    }
}

#[test]
fn udp_return_and_reverse_tests_are_received_whole() {
    let changes: [fn(&mut Test); 3] = [
        |test| test.reverse = true,
        |test| test.return_test = ReturnTest::Simultaneous,
        |test| test.return_test = ReturnTest::AfterTest,
    ];
    for (index, change) in changes.into_iter().enumerate() {
        let (_, outcome, _) = undisturbed(plan(true, change));
        let received = outcome.received.unwrap();
        assert_eq!((received.datagrams, received.lost), (682, 0), "{index}");
        assert_eq!(received.octets, 682 * 1470, "{index}");
    }
}

/// The server of iperf 2.1.8 sends the end of a reverse test once.
#[test]
fn a_reverse_udp_test_whose_end_is_lost_ends_by_its_time() {
    let mut client = Client::new(plan(true, |test| {
        test.reverse = true;
        test.amount = Amount::Span(Duration::from_secs(1));
    }));
    let at = |ms: u64| Instant::from_ns(ms * 1_000_000);
    assert_eq!(client.progress(at(0)), Progress::Running);
    let from = SocketAddr::new(ENDS[1], PORT);
    for number in [1, 2, 4] {
        let mut octets = [0; 1470];
        let now = at(number as u64 * 200);
        DatagramHeader::emit(number, now, &mut octets);
        client.datagram(Udp(0), from, &octets, now);
    }
    // A pause within the time of the test is none.
    assert_eq!(client.progress(at(1_900)), Progress::Running);
    client.progress(at(2_100));
    assert_eq!(client.progress(at(2_100)), Progress::Done);
    let received = client.outcome(at(2_100)).received.unwrap();
    assert_eq!((received.datagrams, received.lost), (4, 1));
    assert_eq!(received.span, Duration::from_millis(600));
}

#[test]
fn no_udp_is_sent_to_forbidden_addresses() {
    let limits = Limits {
        sends_datagrams: false,
        ..Limits::default()
    };
    let plan = plan(true, |test| test.reverse = true);
    let (mut net, ..) = run(plan, limits, 1, Faults::default());
    assert_eq!(net.a.progress(net.now), Progress::Failed(Failure::NoAnswer));
    assert_eq!(net.done[1].sent, 0);
}

#[test]
fn an_absent_server_is_reported() {
    let plan = Plan {
        to: SocketAddr::new(ENDS[1], 9),
        ..plan(false, |_| {})
    };
    let (mut net, ..) = run(plan, Limits::own_network(), 1, Faults::default());
    assert_eq!(
        net.a.progress(net.now),
        Progress::Failed(Failure::NotReached)
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
    ) {
        let faults = Faults { lost, repeated, late, ..Faults::default() };
        let (net, outcome, finished) = run(plan(true, |_| {}), Limits::own_network(), seed, faults);
        let report = finished[0].report;
        // Whichever of the ends arrives.
        let sent = outcome.sent.unwrap();
        prop_assert_eq!(report.datagrams, sent.datagrams);
        let received = u64::from(report.datagrams) - u64::from(report.lost);
        prop_assert_eq!(report.octets % 1470, 0);
        let copies = report.octets / 1470 - received;
        prop_assert!(copies <= net.done[0].repeated);
        let late_ends = net.done[0].late.min(40);
        prop_assert!(u64::from(report.lost) <= net.done[0].lost + late_ends);
        prop_assert!(u64::from(report.out_of_order) <= net.done[0].late + net.done[0].repeated);
        if faults.late == 0 {
            prop_assert_eq!(report.out_of_order, 0);
        }
    }
}
