//! The iperf 2 server with hostile or vanished peers.

use linerate_agent::iperf2::{
    Amount, DatagramHeader, Limits, PORT, Report, ReturnTest, Server, Test,
};
use linerate_agent::{Close, Connection, Instant, Opened, Service, SocketRequest, Udp};
use std::net::SocketAddr;
use std::time::Duration;

const CLIENT: &str = "192.0.2.1:40000";

fn at_ms(ms: u64) -> Instant {
    Instant::from_ns(ms * 1_000_000)
}

fn test(change: impl Fn(&mut Test)) -> Test {
    let mut test = Test {
        port: 5002,
        buffer_octets: 1000,
        amount: Amount::Octets(100_000),
        rate_bits_per_s: 8_000_000,
        return_test: ReturnTest::No,
        reverse: false,
        full_duplex: false,
    };
    change(&mut test);
    test
}

/// A client's datagram, sent at `sent` by its clock.
fn numbered(number: i64, sent: Instant, test: &Test) -> Vec<u8> {
    let mut octets = vec![0; 1000];
    DatagramHeader::emit(number, sent, &mut octets);
    test.emit(&mut octets[DatagramHeader::LEN..], true);
    octets
}

/// A server that sends UDP on request, and peers that send anything.
struct Bench<const FLOWS: usize>(Server<FLOWS>);

impl<const FLOWS: usize> Bench<FLOWS> {
    fn new(longest: Duration) -> Self {
        let limits = Limits {
            sends_datagrams: true,
            longest,
            ..Limits::default()
        };
        let mut server = Server::new(PORT, limits);
        while server.next_request().is_some() {}
        Self(server)
    }

    fn accept(&mut self, connection: u8, now: Instant) -> bool {
        let from = CLIENT.parse().unwrap();
        let opened = Opened::Accepted { port: PORT, from };
        self.0.opened(Connection(connection), opened, now).is_ok()
    }

    fn send(&mut self, from: &str, octets: &[u8], now: Instant) {
        self.0.datagram(Udp(0), from.parse().unwrap(), octets, now);
    }

    /// The datagrams sent now: socket, destination and content.
    fn sent(&mut self, now: Instant) -> Vec<(Udp, SocketAddr, Vec<u8>)> {
        while self.0.next_request().is_some() {}
        let mut room = vec![0; 70_000];
        let mut sent = Vec::new();
        while let Some(it) = self.0.next_datagram(&mut room, now) {
            sent.push((it.socket, it.to, room[..it.len].to_vec()));
            assert!(sent.len() < 100_000, "without end");
        }
        sent
    }

    /// A whole test of two datagrams; returns the report, if any.
    fn whole(&mut self, from: &str, sent: Instant, test: &Test) -> Option<Report> {
        for number in [1, 2, -3] {
            self.send(from, &numbered(number, sent, test), sent);
        }
        let to: SocketAddr = from.parse().unwrap();
        let sent = self.sent(sent);
        let (.., report) = sent.iter().find(|it| it.1 == to)?;
        Report::parse(report)
    }
}

#[test]
fn a_test_by_amount_that_the_server_sends_by_udp_ends_in_time() {
    let mut bench = Bench::<2>::new(Duration::from_secs(2));
    let slow = test(|test| {
        test.reverse = true;
        test.amount = Amount::Octets(i32::MAX as u32);
    });
    bench.send(CLIENT, &numbered(1, at_ms(0), &slow), at_ms(0));
    let mut data = 0;
    for ms in 0..10_000 {
        let sent = bench.sent(at_ms(ms));
        let numbers = sent.iter().filter_map(|it| DatagramHeader::parse(&it.2));
        data += numbers.filter(|it| it.number > 0).count();
    }
    // One each millisecond.
    assert_eq!(data, 2000);
    assert!(bench.0.take_finished().is_some_and(|it| it.sent));
}

#[test]
fn a_test_by_amount_that_the_server_sends_by_tcp_ends_in_time() {
    let mut bench = Bench::<2>::new(Duration::from_secs(2));
    assert!(bench.accept(0, at_ms(0)));
    let mut octets = [0; Test::LEN];
    let much = test(|test| {
        test.reverse = true;
        test.amount = Amount::Octets(i32::MAX as u32);
        test.rate_bits_per_s = 0;
    });
    much.emit(&mut octets, false);
    bench.0.received(Connection(0), &octets, at_ms(0));
    let mut room = [0; 1000];
    assert_eq!(bench.0.fill(Connection(0), &mut room, at_ms(1999)), 1000);
    assert_eq!(bench.0.close(Connection(0)), Close::Keep);
    assert_eq!(bench.0.fill(Connection(0), &mut room, at_ms(2000)), 0);
    assert_eq!(bench.0.close(Connection(0)), Close::Finish);
}

/// Forged once, from one server to another, it would loop forever.
#[test]
fn a_report_is_not_answered() {
    let mut bench = Bench::<2>::new(Duration::from_secs(2));
    let mut other = Bench::<2>::new(Duration::from_secs(2));
    let (here, there) = ("192.0.2.1:5001", "192.0.2.2:5001");
    let test = test(|_| {});
    for number in [1, -2] {
        bench.send(there, &numbered(number, at_ms(0), &test), at_ms(0));
        other.send(here, &numbered(number, at_ms(0), &test), at_ms(0));
    }
    let mut datagrams = 0;
    for ms in 0..1000 {
        for (.., octets) in bench.sent(at_ms(ms)) {
            other.send(here, &octets, at_ms(ms));
            datagrams += 1;
        }
        for (.., octets) in other.sent(at_ms(ms)) {
            bench.send(there, &octets, at_ms(ms));
            datagrams += 1;
        }
    }
    // Each has answered the end of the apparent test.
    assert_eq!(datagrams, 2);
}

#[test]
fn reports_of_a_stream_are_limited() {
    let mut bench = Bench::<2>::new(Duration::from_secs(2));
    let test = test(|_| {});
    bench.send(CLIENT, &numbered(1, at_ms(0), &test), at_ms(0));
    let mut reports = 0;
    for ms in 0..1000 {
        bench.send(CLIENT, &numbered(-2, at_ms(0), &test), at_ms(ms));
        reports += bench.sent(at_ms(ms)).len();
    }
    assert_eq!(reports, 20);
}

/// Otherwise a client that ends each of them would be connected to again and again.
#[test]
fn a_return_connection_is_followed_by_no_other() {
    let mut bench = Bench::<4>::new(Duration::from_secs(10));
    assert!(bench.accept(0, at_ms(0)));
    let mut request = [0; Test::LEN];
    test(|it| it.return_test = ReturnTest::AfterTest).emit(&mut request, false);
    bench.0.received(Connection(0), &request, at_ms(1));
    bench.0.ended(Connection(0), at_ms(2));
    let Some(SocketRequest::Connect { token, .. }) = bench.0.next_request() else {
        panic!("no return connection");
    };
    let opened = bench
        .0
        .opened(Connection(1), Opened::Connected { token }, at_ms(3));
    assert!(opened.is_ok());
    bench.0.ended(Connection(1), at_ms(4));
    assert_eq!(bench.0.next_request(), None);
}

/// iperf's client begins to listen after its own data have gone: the server's first attempts are too early.
#[test]
fn a_client_that_does_not_listen_yet_is_retried_but_not_forever() {
    let mut bench = Bench::<4>::new(Duration::from_secs(10));
    assert!(bench.accept(0, at_ms(0)));
    let mut request = [0; Test::LEN];
    test(|it| it.return_test = ReturnTest::AfterTest).emit(&mut request, false);
    bench.0.received(Connection(0), &request, at_ms(1));
    bench.0.ended(Connection(0), at_ms(2));
    bench.0.closed(Connection(0), at_ms(2));
    let (mut asked, mut last) = (0, 0);
    for ms in 2..60_000 {
        // Only the time matters here, not the datagram.
        let _ = bench.0.next_datagram(&mut [0; 100], at_ms(ms));
        while let Some(ask) = bench.0.next_request() {
            if let SocketRequest::Connect { token, .. } = ask {
                assert!(asked == 0 || ms >= last + 50, "repeated at once");
                (asked, last) = (asked + 1, ms);
                bench.0.failed(token, at_ms(ms));
            }
        }
    }
    assert!((20..=100).contains(&asked), "{asked}");
    assert!((1_000..10_000).contains(&last), "{last} ms");
}

/// An end may be a datagram of 12 octets, a report has 56; the requester's address may be forged.
#[test]
fn reports_do_not_exceed_the_received_octets() {
    let mut bench = Bench::<2>::new(Duration::from_secs(10));
    let [mut first, mut end] = [[0; 12]; 2];
    DatagramHeader::emit(1, at_ms(0), &mut first);
    DatagramHeader::emit(-2, at_ms(0), &mut end);
    bench.send(CLIENT, &first, at_ms(1));
    let (mut came, mut went, mut reports) = (first.len(), 0, 0);
    for ms in 2..30 {
        bench.send(CLIENT, &end, at_ms(ms));
        came += end.len();
        let mut room = [0; 1470];
        while let Some(datagram) = bench.0.next_datagram(&mut room, at_ms(ms)) {
            went += datagram.len;
            reports += 1;
        }
        assert!(went <= came, "{went} octets for {came}");
    }
    assert!(reports > 0, "a client that asks often enough gets a report");
}

#[test]
fn a_datagram_without_room_for_its_number_is_not_sent() {
    let mut bench = Bench::<2>::new(Duration::from_secs(10));
    let wanted = test(|it| it.reverse = true);
    bench.send(CLIENT, &numbered(1, at_ms(0), &wanted), at_ms(1));
    for len in [0, 1, DatagramHeader::LEN - 1] {
        let room = &mut [0; DatagramHeader::LEN][..len];
        assert_eq!(bench.0.next_datagram(room, at_ms(1)), None, "{len}");
    }
    let sent = bench
        .0
        .next_datagram(&mut [0; DatagramHeader::LEN], at_ms(1));
    assert_eq!(sent.map(|it| it.len), Some(DatagramHeader::LEN));
}

#[test]
fn services_and_groups_are_sent_nothing() {
    let mut bench = Bench::<8>::new(Duration::from_secs(2));
    for from in ["192.0.2.1:7", "192.0.2.1:19", "224.0.0.1:40000"] {
        assert_eq!(bench.whole(from, at_ms(0), &test(|_| {})), None, "{from}");
        let reverse = test(|test| test.reverse = true);
        bench.send(from, &numbered(1, at_ms(0), &reverse), at_ms(0));
        assert_eq!(bench.sent(at_ms(0)).len(), 0, "{from}");
    }
    for back in [ReturnTest::Simultaneous, ReturnTest::AfterTest] {
        let back = test(|test| {
            test.return_test = back;
            test.port = 19;
        });
        assert!(bench.whole(CLIENT, at_ms(0), &back).is_some());
        let sent = bench.sent(at_ms(1000));
        assert!(sent.iter().all(|it| it.1.port() != 19), "{back:?}");
    }
}

/// `iperf -u -r` listens on the server's own port by default.
#[test]
fn the_return_test_may_use_the_same_port() {
    let mut bench = Bench::<2>::new(Duration::from_secs(2));
    let back = test(|test| {
        test.return_test = ReturnTest::AfterTest;
        test.port = PORT;
    });
    assert!(bench.whole(CLIENT, at_ms(0), &back).is_some());
    let sent = bench.sent(at_ms(1000));
    assert!(sent.iter().any(|it| it.1.port() == PORT && it.0 != Udp(0)));
}

/// iperf's client with `-d` listens a moment after its request: earlier datagrams are lost and would count as
/// loss of the link.
#[test]
fn the_return_test_begins_when_the_client_has_had_time_to_listen() {
    for back in [ReturnTest::Simultaneous, ReturnTest::AfterTest] {
        let mut bench = Bench::<2>::new(Duration::from_secs(2));
        let wanted = test(|test| {
            test.return_test = back;
            test.port = 5002;
        });
        bench.whole(CLIENT, at_ms(0), &wanted).expect("a report");
        let mut back_at = |ms| {
            let sent = bench.sent(at_ms(ms));
            sent.iter().any(|it| it.1.port() == 5002)
        };
        assert!(!(0..50).any(&mut back_at), "{back:?}: too soon");
        assert!((50..200).any(&mut back_at), "{back:?}: nothing");
    }
}

#[test]
fn the_return_test_finds_a_slot_however_many_tests_there_were() {
    let mut bench = Bench::<2>::new(Duration::from_secs(2));
    for round in 0..6 {
        let (from, now) = (format!("192.0.2.1:{}", 40_000 + round), at_ms(round * 5000));
        let back = test(|test| test.return_test = ReturnTest::AfterTest);
        assert!(bench.whole(&from, now, &back).is_some(), "{round}");
        let mut data = 0;
        for ms in 0..4999 {
            let sent = bench.sent(at_ms(round * 5000 + ms));
            data += sent.iter().filter(|it| it.1.port() == 5002).count();
        }
        assert!(data >= 100, "{round}: {data}");
    }
}

/// No socket is opened twice, or left open.
#[test]
fn sockets_of_return_tests_are_closed_before_they_are_opened_again() {
    let mut server = Server::<2>::new(PORT, Limits::own_network());
    let (mut opened, mut open) = (0, std::collections::BTreeSet::new());
    for ms in 0..20_000_u64 {
        let (from, now) = (format!("192.0.2.1:{}", 40_000 + ms / 100), at_ms(ms));
        let back = test(|test| {
            test.return_test = ReturnTest::Simultaneous;
            test.amount = Amount::Octets(2000);
        });
        let number = if ms % 100 == 99 {
            -100
        } else {
            1 + (ms % 100) as i64
        };
        server.datagram(
            Udp(0),
            from.parse().unwrap(),
            &numbered(number, now, &back),
            now,
        );
        while let Some(ask) = server.next_request() {
            match ask {
                SocketRequest::Bind(socket, _) => {
                    opened += 1;
                    assert!(open.insert(socket), "{socket:?}");
                }
                SocketRequest::Unbind(socket) => assert!(open.remove(&socket), "{socket:?}"),
                _ => {}
            }
        }
        let mut room = [0; 1500];
        while let Some(it) = server.next_datagram(&mut room, now) {
            assert!(open.contains(&it.socket));
        }
    }
    assert!(opened > 2, "{opened}");
}

#[test]
fn after_an_end_a_test_from_the_same_port_is_a_new_one_though_its_first_datagram_was_lost() {
    let mut bench = Bench::<2>::new(Duration::from_secs(2));
    let test = test(|_| {});
    assert!(bench.whole(CLIENT, at_ms(0), &test).is_some());
    for number in [2, 3, 4, -5_i64] {
        let now = at_ms(1000 + number.unsigned_abs());
        bench.send(CLIENT, &numbered(number, now, &test), now);
    }
    let sent = bench.sent(at_ms(1010));
    let report = Report::parse(&sent[0].2).unwrap();
    assert_eq!((report.datagrams, report.lost), (5, 1));
    assert_eq!(bench.0.take_finished().unwrap().report.datagrams, 3);
    assert_eq!(bench.0.take_finished().unwrap().report.datagrams, 5);
}

#[test]
fn a_datagram_that_is_late_begins_no_test() {
    let mut bench = Bench::<2>::new(Duration::from_secs(2));
    let test = test(|_| {});
    for number in [1, 3, -4_i64] {
        let sent = at_ms(number.unsigned_abs());
        bench.send(CLIENT, &numbered(number, sent, &test), sent);
    }
    let first = bench.sent(at_ms(4));
    bench.send(CLIENT, &numbered(2, at_ms(2), &test), at_ms(5));
    bench.send(CLIENT, &numbered(-4, at_ms(4), &test), at_ms(6));
    let again = bench.sent(at_ms(6));
    assert_eq!(
        first[0].2[DatagramHeader::LEN..],
        again[0].2[DatagramHeader::LEN..]
    );
    assert!(bench.0.take_finished().is_some());
    assert!(bench.0.take_finished().is_none());
}

/// A board was reset in the middle of a test and reuses its port.
#[test]
fn a_test_after_silence_is_a_new_one() {
    let mut bench = Bench::<2>::new(Duration::from_secs(2));
    let test = test(|_| {});
    for number in 1..=500 {
        bench.send(CLIENT, &numbered(number, at_ms(0), &test), at_ms(0));
    }
    let report = bench.whole(CLIENT, at_ms(20_000), &test).unwrap();
    assert_eq!((report.datagrams, report.lost), (3, 0));
    // A slow stream is not a new one.
    bench.send(CLIENT, &numbered(1, at_ms(40_000), &test), at_ms(40_000));
    bench.send(CLIENT, &numbered(2, at_ms(60_000), &test), at_ms(60_000));
    bench.send(CLIENT, &numbered(-3, at_ms(80_000), &test), at_ms(80_000));
    let sent = bench.sent(at_ms(80_000));
    assert_eq!(Report::parse(&sent[0].2).unwrap().datagrams, 3);
    assert_eq!(Report::parse(&sent[0].2).unwrap().lost, 0);
}

#[test]
fn a_reverse_test_can_be_asked_for_again_from_the_same_port() {
    let mut bench = Bench::<2>::new(Duration::from_secs(2));
    let reverse = test(|test| {
        test.reverse = true;
        test.amount = Amount::Octets(5000);
    });
    for round in 0..3 {
        let mut data = 0;
        for ms in 0..20_000 {
            let now = at_ms(round * 20_000 + ms);
            if ms == 0 {
                bench.send(CLIENT, &numbered(1, now, &reverse), now);
            }
            let sent = bench.sent(now);
            let numbers = sent.iter().filter_map(|it| DatagramHeader::parse(&it.2));
            data += numbers.filter(|it| it.number > 0).count();
        }
        assert_eq!(data, 5, "{round}");
    }
}

#[test]
fn no_datagram_is_longer_than_ip_carries() {
    let mut bench = Bench::<2>::new(Duration::from_secs(2));
    let huge = test(|test| {
        test.reverse = true;
        test.buffer_octets = u32::MAX;
    });
    bench.send(CLIENT, &numbered(1, at_ms(0), &huge), at_ms(0));
    let sent = bench.sent(at_ms(0));
    assert_eq!(sent[0].2.len(), 65_507);
}

#[test]
fn a_server_sends_no_datagrams_on_request_by_default() {
    let mut server = Server::<2>::new(PORT, Limits::default());
    while server.next_request().is_some() {}
    let reverse = numbered(1, at_ms(0), &test(|test| test.reverse = true));
    server.datagram(Udp(0), CLIENT.parse().unwrap(), &reverse, at_ms(0));
    assert_eq!(server.next_datagram(&mut [0; 1500], at_ms(0)), None);
}

/// A host that sends single datagrams from ever new ports, and from some again and again.
#[test]
fn a_host_with_many_ports_keeps_no_stream_of_another_out() {
    let mut bench = Bench::<4>::new(Duration::from_secs(10));
    let test = test(|_| {});
    let mut reports = 0;
    for ms in 0..20_000_u64 {
        let now = at_ms(ms);
        for port in [ms % 20_000, ms % 7] {
            let from = format!("192.0.2.66:{}", 30_000 + port);
            bench.send(&from, &numbered(1 + ms as i64, now, &test), now);
        }
        let ours = &format!("192.0.2.1:{}", 40_000 + ms / 1_000);
        match ms % 1_000 {
            part @ 100..200 => bench.send(ours, &numbered(part as i64 - 99, now, &test), now),
            200 => bench.send(ours, &numbered(-101, now, &test), now),
            _ => {}
        }
        let to: SocketAddr = ours.parse().unwrap();
        for (.., octets) in bench.sent(now).iter().filter(|it| it.1 == to) {
            let report = Report::parse(octets).expect("a report");
            assert_eq!((report.datagrams, report.lost), (101, 0));
            reports += 1;
        }
    }
    assert_eq!(reports, 20);
}

/// As fast as the network takes it, from the first slot.
#[test]
fn a_stream_that_is_always_due_does_not_keep_others_from_sending() {
    let mut bench = Bench::<4>::new(Duration::from_secs(10));
    let fast = test(|test| {
        test.reverse = true;
        test.rate_bits_per_s = 0;
    });
    bench.send(CLIENT, &numbered(1, at_ms(0), &fast), at_ms(0));
    let other = "192.0.2.2:40000";
    let plain = test(|_| {});
    for number in [1, 2, -3] {
        bench.send(other, &numbered(number, at_ms(1), &plain), at_ms(1));
    }
    let mut room = [0; 1_470];
    let mut to = || bench.0.next_datagram(&mut room, at_ms(1)).unwrap().to;
    let first = [to(), to()];
    assert!(first.contains(&other.parse().unwrap()), "{first:?}");
}

#[test]
fn half_of_the_slots_are_not_for_return_tests_of_one_host() {
    let mut bench = Bench::<4>::new(Duration::from_mins(1));
    let back = test(|test| {
        test.return_test = ReturnTest::Simultaneous;
        test.amount = Amount::Span(Duration::from_secs(50));
    });
    for port in 40_000..40_010_u64 {
        let from = format!("192.0.2.66:{port}");
        bench.whole(&from, at_ms(port - 40_000), &back);
    }
    assert!(bench.whole(CLIENT, at_ms(20), &test(|_| {})).is_some());
}

/// Two hosts with half of the slots each would leave one, for which all other clients compete.
#[test]
fn a_quarter_of_the_slots_is_not_for_return_tests_whoever_asks_for_them() {
    let mut bench = Bench::<8>::new(Duration::from_mins(1));
    let back = test(|test| {
        test.return_test = ReturnTest::Simultaneous;
        test.amount = Amount::Span(Duration::from_secs(50));
    });
    for port in 40_000..40_020_u64 {
        let from = format!("192.0.2.{}:{port}", 66 + port % 2);
        bench.whole(&from, at_ms(port - 40_000), &back);
    }
    // Two tests at the same time.
    let clients = [CLIENT, "192.0.2.2:40000"];
    for (number, ms) in [(1, 30), (2, 31), (-3, 32)] {
        for from in clients {
            bench.send(from, &numbered(number, at_ms(ms), &test(|_| {})), at_ms(ms));
        }
    }
    let reports = bench.sent(at_ms(33));
    for from in clients {
        let to: SocketAddr = from.parse().unwrap();
        let report = reports.iter().find(|it| it.1 == to);
        assert!(
            report.is_some_and(|it| Report::parse(&it.2).is_some()),
            "{from}"
        );
    }
}

/// A client behind a firewall lets its return connections neither open nor fail.
#[test]
fn return_connections_that_hang_leave_slots_for_others() {
    let mut bench = Bench::<4>::new(Duration::from_secs(10));
    let mut request = [0; Test::LEN];
    test(|it| it.return_test = ReturnTest::Simultaneous).emit(&mut request, false);
    let mut asked = 0;
    for connection in 0..10 {
        assert!(bench.accept(connection, at_ms(0)));
        bench.0.received(Connection(connection), &request, at_ms(1));
        while let Some(ask) = bench.0.next_request() {
            asked += usize::from(matches!(ask, SocketRequest::Connect { .. }));
        }
        bench.0.closed(Connection(connection), at_ms(2));
    }
    assert_eq!(asked, 1);
    // Given up a while later, whether by the driver's timeout or by a refusal.
    bench.0.failed(0, at_ms(4_000));
    bench.0.failed(1, at_ms(4_000));
    let _ = bench.0.next_datagram(&mut [0; 100], at_ms(5_000));
    assert_eq!(bench.0.next_request(), None);
}
