//! iperf 3 with hostile peers, or peers of other protocols.

use linerate_agent::iperf3::{Client, Failure, Limits, PORT, Plan, Progress, Server, Test};
use linerate_agent::{Close, Connection, Instant, Opened, Service, SocketRequest, Udp};
use proptest::prelude::*;
use std::net::SocketAddr;
use std::time::Duration;

const COOKIE: &[u8; 37] = b"abcdefghijklmnopqrstuvwxyz234567abcd\0";
const OTHER: &[u8; 37] = b"abcdefghijklmnopqrstuvwxyz234567abce\0";
const CONTROL: Connection = Connection(0);
const DENIED: u8 = 0xff;

fn at(seconds: u64) -> Instant {
    Instant::from_ns(seconds * 1_000_000_000)
}

fn json(text: &str) -> Vec<u8> {
    [&(text.len() as u32).to_be_bytes(), text.as_bytes()].concat()
}

/// A server, and peers that send anything.
struct Bench(Server<2>);

impl Bench {
    fn new() -> Self {
        let mut server = Server::new(PORT, Limits::own_network());
        while server.next_request().is_some() {}
        Self(server)
    }

    fn connect(&mut self, connection: u8, from: &str, now: Instant) -> bool {
        let from = from.parse().unwrap();
        let opened = Opened::Accepted { port: PORT, from };
        self.0.opened(Connection(connection), opened, now).is_ok()
    }

    fn send(&mut self, connection: u8, octets: &[u8], now: Instant) -> Vec<u8> {
        self.0.received(Connection(connection), octets, now);
        self.receive(connection, now)
    }

    fn receive(&mut self, connection: u8, now: Instant) -> Vec<u8> {
        let mut output = Vec::new();
        let mut room = [0; 7];
        while output.len() < 10_000 {
            let len = self.0.fill(Connection(connection), &mut room, now);
            output.extend(&room[..len]);
            if len == 0 {
                break;
            }
        }
        self.0.next_datagram(&mut [], now);
        output
    }

    fn datagram(&mut self, from: &str, octets: &[u8], now: Instant) -> Option<Vec<u8>> {
        let from: SocketAddr = from.parse().unwrap();
        self.0.datagram(Udp(0), from, octets, now);
        let mut room = [0; 2000];
        let sent = self.0.next_datagram(&mut room, now)?;
        assert_eq!(sent.to, from, "sent to another address");
        Some(room[..sent.len].to_vec())
    }

    /// A client at 192.0.2.1 that has sent its parameters.
    fn opening(parameters: &str) -> Self {
        let mut bench = Self::new();
        assert!(bench.connect(0, "192.0.2.1:1000", at(0)));
        assert_eq!(bench.send(0, COOKIE, at(0)), [9]);
        assert_eq!(bench.send(0, &json(parameters), at(0)), [10]);
        bench
    }

    /// A client whose test is running.
    fn running() -> Self {
        Self::running_with("{}")
    }

    fn running_with(parameters: &str) -> Self {
        let mut bench = Self::opening(parameters);
        assert!(bench.connect(1, "192.0.2.1:1001", at(0)));
        bench.send(1, COOKIE, at(0));
        assert_eq!(bench.receive(0, at(0)), [1, 2]);
        bench
    }
}

const RESULTS: &str = r#"{"cpu_util_total":0,"streams":[{"id":1,"bytes":1000,"packets":0}]}"#;

#[test]
fn a_second_client_is_denied_and_the_first_goes_on() {
    let mut bench = Bench::running();
    assert!(bench.connect(2, "192.0.2.9:1000", at(1)));
    assert_eq!(bench.receive(2, at(1)), [DENIED]);
    assert_eq!(bench.0.close(Connection(2)), Close::Finish);
    bench.send(1, &[0; 1000], at(1));
    assert_eq!(bench.send(0, &[4], at(2)), [13]);
    let output = bench.send(0, &json(RESULTS), at(2));
    let text = String::from_utf8_lossy(&output);
    assert!(text.contains(r#""id":1,"bytes":1000,"#), "{text}");
    assert_eq!(output.last(), Some(&14));
    bench.send(0, &[16], at(2));
    let finished = bench.0.take_finished().unwrap();
    assert!(finished.is_complete && finished.received.unwrap().octets == 1000);
}

#[test]
fn a_client_that_stalls_gives_way_to_another() {
    let other = |bench: &mut Bench, now| {
        assert!(bench.connect(5, "192.0.2.9:1000", now));
        let answer = bench.send(5, OTHER, now);
        bench.0.closed(Connection(5), now);
        answer
    };
    let with_cookie = || {
        let mut bench = Bench::new();
        bench.connect(0, "192.0.2.1:1000", at(0));
        bench.send(0, COOKIE, at(0));
        bench
    };
    let stalls = [
        with_cookie as fn() -> Bench,
        || Bench::opening("{}"),
        || Bench::opening("{\"udp\":true}"),
        || Bench::running_with("{\"time\":3600}"),
    ];
    for (number, stall) in stalls.into_iter().enumerate() {
        let mut bench = stall();
        assert_eq!(other(&mut bench, at(2)), [DENIED], "{number}");
        assert_eq!(other(&mut bench, at(3)), [9], "{number}");
        assert_eq!(bench.0.close(CONTROL), Close::Finish, "{number}");
    }
    // Its own stream is late, and no other client.
    let mut bench = Bench::opening("{}");
    assert!(bench.connect(1, "192.0.2.1:1001", at(5)));
    bench.send(1, COOKIE, at(5));
    assert_eq!(bench.receive(0, at(5)), [1, 2]);
}

#[test]
fn results_stay_until_the_next_test_is_accepted() {
    let finish = |bench: &mut Bench| {
        bench.send(1, &[0; 1000], at(1));
        bench.send(0, &[4], at(2));
        bench.send(0, &json(RESULTS), at(2));
        // Without its final state: the next client takes its place.
        assert!(bench.connect(5, "192.0.2.9:1000", at(2)));
        assert_eq!(bench.send(5, COOKIE, at(2)), [9]);
    };
    let mut bench = Bench::running();
    finish(&mut bench);
    let finished = bench.0.take_finished().unwrap();
    assert_eq!(finished.peer, "192.0.2.1:1000".parse().unwrap());
    assert_eq!(finished.received.unwrap().octets, 1000);
    assert!(finished.is_complete && bench.0.take_finished().is_none());
    // Neither the old connections nor their datagrams belong to the new test.
    assert_eq!(bench.0.close(Connection(1)), Close::Reset);
    bench.send(1, &[0; 1000], at(3));
    assert_eq!(bench.0.wake_at(), Some(at(4)), "the old connection ends");

    let mut bench = Bench::running();
    finish(&mut bench);
    assert_eq!(bench.send(5, &json("{}"), at(3)), [10]);
    assert_eq!(bench.0.take_finished(), None);
    // Nor does a test that never begins have results.
    bench.0.closed(Connection(5), at(3));
    assert!(!bench.0.is_busy() && bench.0.take_finished().is_none());
}

#[test]
fn denied_clients_that_stay_are_reset_and_are_never_too_many() {
    let mut bench = Bench::running();
    let taken = (2..100).filter(|n| bench.connect(*n, "192.0.2.9:1000", at(1)));
    assert_eq!(taken.count(), 4);
    bench.receive(2, at(1));
    bench.receive(2, at(4));
    assert_eq!(bench.0.close(Connection(2)), Close::Reset);
}

#[test]
fn a_data_connection_with_another_cookie_or_from_elsewhere_is_not_taken() {
    let mut bench = Bench::opening("{}");
    assert!(bench.connect(1, "192.0.2.1:1001", at(0)));
    assert_eq!(bench.send(1, OTHER, at(0)), [DENIED]);
    assert!(bench.connect(2, "192.0.2.9:1002", at(0)));
    assert_eq!(bench.send(2, COOKIE, at(0)), [DENIED]);
    assert!(bench.receive(0, at(0)).is_empty(), "begun without a stream");
    assert!(bench.connect(3, "192.0.2.1:1003", at(0)));
    bench.send(3, COOKIE, at(0));
    assert_eq!(bench.receive(0, at(0)), [1, 2]);
}

#[test]
fn a_cookie_that_is_replayed_opens_nothing() {
    let mut bench = Bench::running();
    assert!(bench.connect(2, "192.0.2.1:1002", at(1)));
    assert_eq!(bench.send(2, COOKIE, at(1)), [DENIED]);
    // After the test it is a client like any other, which must send parameters.
    bench.0.closed(CONTROL, at(2));
    assert!(!bench.0.is_busy());
    assert!(bench.connect(0, "192.0.2.9:1003", at(2)));
    assert_eq!(bench.send(0, COOKIE, at(2)), [9]);
}

#[test]
fn parameters_that_cannot_be_read_are_refused() {
    let deep = json(&"[".repeat(100));
    let giant = u32::MAX.to_be_bytes().to_vec();
    for parameters in [
        giant,
        deep,
        vec![0; 4],
        json("{\"tcp\":true"),
        json("[]"),
        json("7"),
        json("{\"time\":--1}"),
    ] {
        let mut bench = Bench::new();
        bench.connect(0, "192.0.2.1:1000", at(0));
        bench.send(0, COOKIE, at(0));
        let output = bench.send(0, &parameters, at(0));
        assert_eq!(output, [0xfe, 0, 0, 0, 114, 0, 0, 0, 0], "{parameters:?}");
        assert!(!bench.0.is_busy());
        assert_eq!(bench.0.close(CONTROL), Close::Finish);
    }
}

#[test]
fn fields_out_of_range_are_ignored() {
    let mut bench = Bench::opening(
        r#"{"time":-5,"num":1e400,"parallel":0,"omit":-1e99,"len":99999999999999999999,
            "bandwidth":-0.1,"udp":null,"title":{"udp":true,"x":[[{"parallel":9}]]}}"#,
    );
    assert!(bench.connect(1, "192.0.2.1:1001", at(0)));
    bench.send(1, COOKIE, at(0));
    assert_eq!(bench.receive(0, at(0)), [1, 2]);
    // Ten seconds by default, as the value is invalid, plus ten of grace.
    bench.send(1, &[0; 1000], at(19));
    assert!(bench.0.is_busy());
    bench.receive(0, at(20));
    assert!(!bench.0.is_busy());
}

#[test]
fn results_that_cannot_be_read_are_refused() {
    let mut bench = Bench::running();
    bench.send(0, &[4], at(2));
    let output = bench.send(0, &json("{\"streams\":[{]}"), at(2));
    assert_eq!(output, [0xfe, 0, 0, 0, 117, 0, 0, 0, 0]);
    assert!(!bench.0.take_finished().unwrap().is_complete);
}

#[test]
fn results_that_promise_more_than_comes_are_not_waited_for() {
    let mut bench = Bench::running();
    bench.send(1, &[0; 1000], at(1));
    bench.send(0, &[4], at(2));
    let promise = RESULTS.replace("1000", "18446744073709551615");
    assert!(bench.send(0, &json(&promise), at(2)).is_empty());
    // Nor forever for a peer that sends an octet now and then.
    for now in 3..40 {
        bench.send(1, &[0], at(now));
    }
    bench.receive(0, at(60));
    assert!(!bench.0.is_busy());
}

#[test]
fn a_silent_or_slow_client_has_ten_seconds() {
    for input in [0, 20, 37, 60] {
        let mut bench = Bench::new();
        bench.connect(0, "192.0.2.1:1000", at(0));
        let octets = [&COOKIE[..], &json(&" ".repeat(1000))].concat();
        for octet in 0..input {
            bench.send(
                0,
                &octets[octet..=octet],
                Instant::from_ns(octet as u64 * 150_000_000),
            );
        }
        assert!(bench.0.is_busy(), "{input}");
        let due = bench.0.wake_at().unwrap();
        assert!(due <= at(10), "{input}");
        bench.receive(0, at(10));
        assert!(!bench.0.is_busy(), "{input}");
        assert!(bench.connect(5, "192.0.2.9:1000", at(10)));
        assert_eq!(bench.send(5, COOKIE, at(10)), [9]);
    }
}

#[test]
fn a_client_that_vanishes_does_not_keep_the_server_busy() {
    // Neither when it should have ended the test, nor when that would be in an hour.
    for (parameters, until) in [("{}", 20), ("{\"time\":3600}", 31), ("{\"num\":1e12}", 31)] {
        let mut bench = Bench::running_with(parameters);
        bench.send(1, &[0; 1000], at(1));
        bench.receive(0, at(until - 1));
        assert!(bench.0.is_busy(), "{parameters}");
        bench.receive(0, at(until));
        assert!(!bench.0.is_busy(), "{parameters}");
        assert!(!bench.0.take_finished().unwrap().is_complete);
    }
}

#[test]
fn parallel_streams_take_turns_and_are_numbered_as_iperf_numbers_them() {
    let mut bench = Bench::opening("{\"udp\":true,\"reverse\":true,\"parallel\":2}");
    for from in ["192.0.2.1:5005", "192.0.2.1:5006"] {
        assert!(bench.datagram(from, b"9876", at(0)).is_some());
    }
    assert_eq!(bench.receive(0, at(0)), [1, 2]);
    // With a second of them due, neither has to wait for the other's.
    let ports = [(); 6].map(|()| {
        bench
            .0
            .next_datagram(&mut [0; 2000], at(1))
            .unwrap()
            .to
            .port()
    });
    assert_eq!(ports, [5005, 5006, 5005, 5006, 5005, 5006]);
    bench.send(0, &[4], at(1));
    let output = bench.send(0, &json("{}"), at(1));
    let text = String::from_utf8_lossy(&output);
    for stream in [r#""id":1,"bytes":4380,"#, r#""id":3,"bytes":4380,"#] {
        assert!(text.contains(stream), "{text}");
    }
}

/// A connection without buffer space is no reason to wake the driver.
#[test]
fn what_waits_for_room_wakes_nobody() {
    let mut bench = Bench::running_with(r#"{"reverse":true,"bandwidth":8000000,"time":10}"#);
    assert!(bench.0.fill(Connection(1), &mut [0; 1000], at(1)) > 0);
    let (mut now, mut turns) = (at(1), 0);
    while now < at(5) {
        while bench.0.next_request().is_some() {}
        assert_eq!(bench.0.next_datagram(&mut [0; 2000], now), None);
        now = bench.0.wake_at().unwrap().max(now);
        turns += 1;
        assert!(turns < 100, "woken repeatedly without work");
    }
    // Unsent data are due as soon as there is space.
    let mut bench = Bench::running_with(r#"{"reverse":true,"bandwidth":8000000,"time":10}"#);
    for _ in 0..3 {
        while bench.0.next_request().is_some() {}
        bench.0.next_datagram(&mut [0; 2000], at(1));
    }
    assert!(bench.0.fill(Connection(1), &mut [0; 1000], at(1)) > 0);
    assert!(bench.0.wake_at().is_some_and(|wake| wake <= at(1)));
}

#[test]
fn nothing_is_sent_by_udp_without_a_test() {
    // No client; a TCP test; a client at another address; data without a hello.
    let mut bench = Bench::new();
    assert_eq!(bench.datagram("192.0.2.1:50000", b"9876", at(0)), None);
    let mut bench = Bench::opening("{\"reverse\":true}");
    assert_eq!(bench.datagram("192.0.2.1:50000", b"9876", at(0)), None);
    let mut bench = Bench::opening("{\"udp\":true,\"reverse\":true,\"len\":1000}");
    assert_eq!(bench.datagram("192.0.2.9:50000", b"9876", at(0)), None);
    assert_eq!(bench.datagram("192.0.2.1:50000", &[0; 1000], at(0)), None);
    assert_eq!(bench.receive(0, at(1)), []);
    // The client's host, but a service port, which would answer.
    assert_eq!(bench.datagram("192.0.2.1:7", b"9876", at(0)), None);
    // The client itself: an answer, then data. Others still receive nothing.
    let answer = bench.datagram("192.0.2.1:50000", b"9876", at(1));
    assert_eq!(answer.as_deref(), Some(&b"6789"[..]));
    assert_eq!(bench.receive(0, at(1)), [1, 2]);
    let mut room = [0; 2000];
    let data = bench.0.next_datagram(&mut room, at(2)).unwrap();
    assert_eq!(
        (data.to, data.len),
        ("192.0.2.1:50000".parse().unwrap(), 1000)
    );
    // And nothing at all after the client has closed the control connection.
    bench.0.ended(CONTROL, at(2));
    assert_eq!(bench.datagram("192.0.2.1:50000", b"9876", at(3)), None);
}

/// The error number may or may not follow: the client waits for it and sends nothing meanwhile.
#[test]
fn a_client_that_awaits_an_error_number_is_not_woken_to_send() {
    let to = SocketAddr::from(([192, 0, 2, 2], PORT));
    let mut client = Client::<1>::new(Plan {
        to,
        test: Test {
            udp: true,
            ..Test::default()
        },
        seed: 1,
        timeout: Duration::from_secs(5),
    });
    let mut room = [0; 2000];
    client.next_request();
    let opened = Opened::Connected { token: 0 };
    client.opened(CONTROL, opened, at(0)).unwrap();
    client.received(CONTROL, &[9], at(0));
    while client.fill(CONTROL, &mut room, at(0)) > 0 {}
    client.received(CONTROL, &[10], at(0));
    assert!(matches!(
        client.next_request(),
        Some(SocketRequest::Bind(..))
    ));
    client.next_datagram(&mut room, at(0)).expect("a hello");
    client.datagram(Udp(0), to, b"6789", at(0));
    client.received(CONTROL, &[1, 2], at(0));
    client.next_datagram(&mut room, at(1)).expect("data");
    client.received(CONTROL, &[0xfe], at(1));
    assert_eq!(client.next_datagram(&mut room, at(2)), None);
    assert_eq!(client.wake_at(), Some(at(6)));
}

/// A stream at a rate whose connection is gone sends nothing and wakes nobody.
#[test]
fn a_server_is_not_woken_for_a_stream_that_has_gone() {
    let asked =
        r#"{"tcp":true,"num":5000,"parallel":2,"reverse":true,"bandwidth":100000,"len":1000}"#;
    let mut bench = Bench::opening(asked);
    for stream in [1, 2] {
        assert!(bench.connect(stream, "192.0.2.1:1001", at(0)));
        bench.send(stream, COOKIE, at(0));
    }
    assert_eq!(bench.receive(0, at(0)), [1, 2]);
    bench.0.closed(Connection(2), at(0));
    let mut room = [0; 1000];
    assert_eq!(bench.0.fill(Connection(1), &mut room, at(0)), 1000);
    assert_eq!(bench.0.fill(Connection(1), &mut room, at(0)), 0);
    // 8,000 bits at 100 kbit/s.
    let next = Instant::from_ns(80_000_000);
    assert_eq!(bench.0.wake_at(), Some(next));
}

/// A client whose server answers the cookie with this.
fn client_result(input: &[u8]) -> Progress {
    let to = SocketAddr::from(([192, 0, 2, 2], PORT));
    let mut client = Client::<2>::new(Plan {
        to,
        test: Test::default(),
        seed: 1,
        timeout: Duration::from_secs(5),
    });
    assert!(matches!(
        client.next_request(),
        Some(SocketRequest::Connect { token: 0, .. })
    ));
    let opened = Opened::Connected { token: 0 };
    client.opened(CONTROL, opened, at(0)).unwrap();
    client.fill(CONTROL, &mut [0; 100], at(0));
    if !input.is_empty() {
        client.received(CONTROL, input, at(1));
    }
    client.progress(at(4));
    client.progress(at(10))
}

#[test]
fn a_client_reports_the_reason_of_a_refusal() {
    for (input, failure) in [
        (&[][..], Failure::NoAnswer),
        (&[0xff], Failure::AccessDenied),
        (&[11], Failure::Terminated),
        (&[7], Failure::UnexpectedState(7)),
        (&[0], Failure::UnexpectedState(0)),
        (b"HTTP/1.1 400", Failure::UnexpectedState(b'H' as i8)),
        (&[9, 10, 10], Failure::UnexpectedState(10)),
        (&[9, 0xfe, 0, 0], Failure::NoAnswer),
        (
            &[9, 0xfe, 0, 0, 0, 142, 0, 0, 0, 13],
            Failure::ServerError {
                number: 142,
                system: 13,
            },
        ),
    ] {
        assert_eq!(client_result(input), Progress::Failed(failure), "{input:?}");
    }
}

/// An action of a peer.
#[derive(Debug, Clone)]
enum Act {
    Connect(u8),
    Send(u8, Vec<u8>),
    Datagram(Vec<u8>),
    End(u8),
    Close(u8),
    Wait(u64),
}

fn act() -> impl Strategy<Value = Act> {
    let state = prop::sample::select(vec![1_u8, 2, 4, 9, 10, 11, 12, 13, 14, 16, 0xff, 0xfe]);
    let text = prop::sample::select(vec![
        "{}",
        "{\"udp\":true}",
        "{\"udp\":true,\"reverse\":true}",
        "{\"bidirectional\":true}",
        "{\"reverse\":true,\"omit\":1,\"time\":3}",
        RESULTS,
        "{\"streams\":[{\"id\":1,\"bytes\":-1,\"packets\":1e300,\"jitter\":-5,\"errors\":{}}]}",
    ]);
    let input = prop_oneof![
        2 => Just(COOKIE.to_vec()),
        1 => Just(OTHER.to_vec()),
        3 => state.prop_map(|state| vec![state]),
        3 => text.prop_map(json),
        1 => prop::collection::vec(any::<u8>(), 1..200),
    ];
    let datagram = prop_oneof![
        Just(b"9876".to_vec()),
        prop::collection::vec(any::<u8>(), 0..64),
    ];
    prop_oneof![
        2 => (0..4_u8).prop_map(Act::Connect),
        6 => (0..4_u8, input).prop_map(|(connection, input)| Act::Send(connection, input)),
        2 => datagram.prop_map(Act::Datagram),
        1 => (0..4_u8).prop_map(Act::End),
        1 => (0..4_u8).prop_map(Act::Close),
        1 => (0..4_000_000_000_u64).prop_map(Act::Wait),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Whatever peers do, the server is available again a minute after the last of them fell silent.
    #[test]
    fn nobody_keeps_the_server_from_others(acts in prop::collection::vec(act(), 0..60)) {
        let mut bench = Bench::new();
        let mut open = [false; 4];
        let mut now = at(0);
        for act in acts {
            match act {
                Act::Connect(n) if !open[usize::from(n)] => {
                    open[usize::from(n)] = bench.connect(n, "192.0.2.1:1000", now);
                }
                Act::Send(n, input) if open[usize::from(n)] => {
                    for piece in input.chunks(11) {
                        bench.send(n, piece, now);
                    }
                }
                Act::Datagram(octets) => drop(bench.datagram("192.0.2.1:50000", &octets, now)),
                Act::End(n) if open[usize::from(n)] => bench.0.ended(Connection(n), now),
                Act::Close(n) if open[usize::from(n)] => {
                    bench.0.closed(Connection(n), now);
                    open[usize::from(n)] = false;
                }
                Act::Wait(ns) => now = now.after(Duration::from_nanos(ns)),
                _ => {}
            }
            for (n, open) in (0..4).zip(&mut open) {
                if *open && bench.0.close(Connection(n)) == Close::Reset {
                    bench.0.closed(Connection(n), now);
                    *open = false;
                }
            }
        }
        for _ in 0..60 {
            now = now.after(Duration::from_secs(1));
            (0..4).for_each(|n| drop(bench.receive(n, now)));
        }
        prop_assert!(!bench.0.is_busy());
    }

    #[test]
    fn no_server_makes_a_client_panic(input: Vec<u8>) {
        prop_assert!(matches!(client_result(&input), Progress::Failed(_)));
    }
}
