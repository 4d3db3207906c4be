//! iperf 2 over TCP with peers that fall silent or stop reading, and drivers that wait for them.

use linerate_agent::iperf2::{Amount, Client, Limits, PORT, Plan, ReturnTest, Server, Test};
use linerate_agent::{Close, Connection, Instant, Opened, Service};
use std::time::Duration;

const FORWARD: Connection = Connection(0);

fn at_ms(ms: u64) -> Instant {
    Instant::from_ns(ms * 1_000_000)
}

fn test(change: impl Fn(&mut Test)) -> Test {
    let mut test = Test {
        port: 5002,
        buffer_octets: 0,
        amount: Amount::Span(Duration::from_mins(1)),
        rate_bits_per_s: 0,
        return_test: ReturnTest::No,
        reverse: false,
        full_duplex: false,
    };
    change(&mut test);
    test
}

fn request(test: &Test) -> [u8; Test::LEN] {
    let mut octets = [0; Test::LEN];
    test.emit(&mut octets, false);
    octets
}

fn server() -> Server<2> {
    let mut server = Server::new(PORT, Limits::default());
    while server.next_request().is_some() {}
    server
}

fn accept(server: &mut Server<2>, connection: u8, now: Instant) -> bool {
    let from = "192.0.2.1:40000".parse().unwrap();
    let opened = Opened::Accepted { port: PORT, from };
    server.opened(Connection(connection), opened, now).is_ok()
}

/// Counts a driver's turns until `until` on a connection without buffer space.
fn turns_without_space(service: &mut impl Service, mut now: Instant, until: Instant) -> u32 {
    let mut turns = 0;
    while now < until {
        while service.next_request().is_some() {}
        assert_eq!(service.next_datagram(&mut [0; 1500], now), None);
        if service.close(FORWARD) == Close::Reset {
            break;
        }
        turns += 1;
        assert!(turns < 1000, "woken repeatedly without work");
        now = service.wake_at().unwrap_or(until).max(now);
    }
    turns
}

#[test]
fn a_stalled_connection_gives_way_to_a_new_one() {
    let mut server = server();
    assert!(accept(&mut server, 0, at_ms(0)));
    assert!(accept(&mut server, 1, at_ms(0)));
    server.received(Connection(0), &[0; 100], at_ms(1_000));
    assert!(!accept(&mut server, 2, at_ms(2_999)));
    assert!(accept(&mut server, 2, at_ms(3_000)));
    assert_eq!(server.close(Connection(1)), Close::Reset);
    server.closed(Connection(1), at_ms(3_000));
    for connection in [0, 2] {
        assert_eq!(server.close(Connection(connection)), Close::Keep);
    }
    assert!(!accept(&mut server, 3, at_ms(3_999)));
}

#[test]
fn a_silent_peer_loses_its_slot() {
    let mut server = server();
    assert!(accept(&mut server, 0, at_ms(0)));
    assert!(accept(&mut server, 1, at_ms(0)));
    server.received(Connection(1), &[0; 100], at_ms(20_000));
    assert_eq!(server.wake_at(), Some(at_ms(30_000)));
    server.next_datagram(&mut [], at_ms(29_999));
    assert_eq!(server.close(Connection(0)), Close::Keep);
    server.next_datagram(&mut [], at_ms(30_000));
    assert_eq!(server.close(Connection(0)), Close::Reset);
    server.closed(Connection(0), at_ms(30_000));
    assert!(accept(&mut server, 2, at_ms(30_000)));
    // The other one was active since.
    assert_eq!(server.close(Connection(1)), Close::Keep);
    assert_eq!(server.wake_at(), Some(at_ms(50_000)));
}

#[test]
fn a_peer_that_reads_nothing_loses_its_slot() {
    for rate in [0, 8_000_000] {
        let mut server = server();
        assert!(accept(&mut server, 0, at_ms(0)));
        let reverse = test(|test| {
            test.reverse = true;
            test.rate_bits_per_s = rate;
        });
        server.received(FORWARD, &request(&reverse), at_ms(0));
        assert!(server.fill(FORWARD, &mut [0; 1000], at_ms(0)) > 0);
        turns_without_space(&mut server, at_ms(1), at_ms(29_000));
        assert_eq!(server.close(FORWARD), Close::Keep, "{rate}");
        turns_without_space(&mut server, at_ms(29_000), at_ms(40_000));
        assert_eq!(server.close(FORWARD), Close::Reset, "{rate}");
    }
}

/// A half-open connection goes as well, when everything was sent.
#[test]
fn a_half_open_connection_is_closed() {
    let mut server = server();
    assert!(accept(&mut server, 0, at_ms(0)));
    let short = test(|test| {
        test.reverse = true;
        test.amount = Amount::Octets(500);
    });
    server.received(FORWARD, &request(&short), at_ms(0));
    assert_eq!(server.fill(FORWARD, &mut [0; 1000], at_ms(10)), 500);
    assert_eq!(server.close(FORWARD), Close::Finish);
    for ms in (0..31_000).step_by(100) {
        server.received(FORWARD, &[0], at_ms(ms));
        server.next_datagram(&mut [], at_ms(ms));
    }
    assert_eq!(server.close(FORWARD), Close::Reset);
}

#[test]
fn a_test_by_time_ends_without_buffer_space() {
    let mut server = server();
    assert!(accept(&mut server, 0, at_ms(0)));
    let reverse = test(|test| {
        test.reverse = true;
        test.amount = Amount::Span(Duration::from_secs(2));
        test.rate_bits_per_s = 8_000_000;
    });
    server.received(FORWARD, &request(&reverse), at_ms(0));
    let turns = turns_without_space(&mut server, at_ms(0), at_ms(2001));
    assert_eq!(server.close(FORWARD), Close::Finish);
    assert!(turns < 10, "{turns}");
}

#[test]
fn blocked_data_are_sent_when_there_is_space() {
    let mut server = server();
    assert!(accept(&mut server, 0, at_ms(0)));
    let reverse = test(|test| {
        test.reverse = true;
        test.rate_bits_per_s = 8_000;
    });
    server.received(FORWARD, &request(&reverse), at_ms(0));
    turns_without_space(&mut server, at_ms(0), at_ms(1000));
    assert_eq!(server.fill(FORWARD, &mut [0; 1000], at_ms(1000)), 1000);
    assert_eq!(server.fill(FORWARD, &mut [0; 1000], at_ms(1000)), 1000);
    assert_eq!(server.fill(FORWARD, &mut [0; 1000], at_ms(1000)), 0);
    assert_eq!(server.wake_at(), Some(at_ms(2000)));
}

/// A driver that fills and closes first, reads the time again for datagrams, and polls requests twice.
#[test]
fn time_that_passes_within_a_turn_is_not_missed() {
    let mut server = server();
    assert!(accept(&mut server, 0, at_ms(0)));
    let reverse = test(|test| {
        test.reverse = true;
        test.amount = Amount::Span(Duration::from_secs(10));
        test.rate_bits_per_s = 8_000;
    });
    server.received(FORWARD, &request(&reverse), at_ms(0));
    let mut room = [0; 1000];
    let mut turn = |at: u64, then: u64| {
        while server.next_request().is_some() {}
        let len = server.fill(FORWARD, &mut room, at_ms(at));
        let close = server.close(FORWARD);
        assert_eq!(server.next_datagram(&mut [], at_ms(then)), None);
        while server.next_request().is_some() {}
        (len, close, server.wake_at().unwrap_or(at_ms(1_000_000)))
    };
    assert_eq!(turn(0, 0), (1000, Close::Keep, at_ms(1000)));
    // Due between the two readings.
    assert_eq!(turn(999, 1001), (0, Close::Keep, at_ms(1000)));
    assert_eq!(turn(1001, 1001), (1000, Close::Keep, at_ms(2000)));
    for second in 2..10 {
        turn(second * 1000, second * 1000);
    }
    // Over between them.
    let (.., close, wake) = turn(9999, 10_001);
    assert!(close == Close::Keep && wake <= at_ms(10_001), "{wake:?}");
    let (.., close, wake) = turn(10_001, 10_001);
    assert!(close == Close::Finish && wake > at_ms(10_001), "{wake:?}");
    // Silent between them.
    let (.., close, silent) = turn(wake.ns() / 1_000_000 - 1, wake.ns() / 1_000_000);
    assert!(close == Close::Finish && silent <= wake, "{silent:?}");
    assert_eq!(turn(100_000, 100_000).1, Close::Reset);
}

#[test]
fn a_client_without_buffer_space_waits_and_ends_in_time() {
    let mut client = Client::new(Plan {
        to: "192.0.2.2:5001".parse().unwrap(),
        udp: false,
        test: test(|test| {
            test.rate_bits_per_s = 8_000_000;
            test.amount = Amount::Span(Duration::from_secs(10));
        }),
        timeout: Duration::from_secs(5),
    });
    while client.next_request().is_some() {}
    let opened = Opened::Connected { token: 0 };
    client.opened(FORWARD, opened, at_ms(0)).unwrap();
    assert!(client.fill(FORWARD, &mut [0; 1000], at_ms(0)) > 0);
    let turns = turns_without_space(&mut client, at_ms(0), at_ms(10_001));
    assert_eq!(client.close(FORWARD), Close::Finish);
    assert!(turns < 10, "{turns}");
}
