//! Clients of iperf 3, octet by octet, in virtual time.

use super::Iperf3Sessions;
use crate::serve::fair::FairService;
use linerate_agent::iperf3::{Finished, PORT};
use linerate_agent::{Close, Connection, Instant, Limits, Opened, Service, Udp};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

const LIMIT: usize = 64;
const CLIENT: &str = "192.0.2.1";
const ATTACKER: &str = "192.0.2.66";
/// States of the protocol.
const START: [u8; 2] = [1, 2];
const TEST_END: u8 = 4;
const PARAMETERS: u8 = 9;
const CREATE_STREAMS: u8 = 10;
const RESULTS: u8 = 13;
const DISPLAY: u8 = 14;
const DONE: u8 = 16;
const DENIED: u8 = 0xff;

struct Bench {
    server: FairService<Iperf3Sessions>,
    now: Instant,
    open: BTreeSet<u8>,
    tests: u8,
}

/// A client, as far as it has come.
struct Client {
    from: String,
    cookie: [u8; 37],
    control: Connection,
}

fn json(text: &str) -> Vec<u8> {
    [&(text.len() as u32).to_be_bytes(), text.as_bytes()].concat()
}

impl Bench {
    fn new() -> Self {
        let sessions = Iperf3Sessions::new(PORT, Limits::own_network());
        let mut server = FairService::new(sessions, LIMIT);
        while server.next_request().is_some() {}
        Self {
            server,
            now: Instant::from_ns(0),
            open: BTreeSet::new(),
            tests: 0,
        }
    }

    fn connect(&mut self, from: &str) -> Connection {
        let free = (0..=u8::MAX).find(|number| !self.open.contains(number));
        let connection = Connection(free.expect("a number"));
        let from: SocketAddr = format!("{from}:40000").parse().expect("an address");
        let opened = Opened::Accepted { port: PORT, from };
        let opened = self.server.opened(connection, opened, self.now);
        opened.expect("a place");
        self.open.insert(connection.0);
        self.turn();
        connection
    }

    /// Closes as the server requests, and lets its timers run.
    fn turn(&mut self) {
        while self.server.next_request().is_some() {}
        let _ = self.server.next_datagram(&mut [0; 2_000], self.now);
        let wanted = |number: &u8| self.server.close(Connection(*number)) == Close::Reset;
        let gone: Vec<u8> = self.open.iter().copied().filter(wanted).collect();
        for number in gone {
            self.close(Connection(number));
        }
    }

    fn close(&mut self, connection: Connection) {
        self.open.remove(&connection.0);
        self.server.closed(connection, self.now);
    }

    fn wait(&mut self, span: Duration) {
        self.now = self.now.after(span);
        self.turn();
    }

    fn send(&mut self, connection: Connection, octets: &[u8]) -> Vec<u8> {
        self.server.received(connection, octets, self.now);
        self.receive(connection)
    }

    fn receive(&mut self, connection: Connection) -> Vec<u8> {
        let mut all = Vec::new();
        let mut room = [0; 1_000];
        loop {
            let len = self.server.fill(connection, &mut room, self.now);
            all.extend_from_slice(&room[..len]);
            if len == 0 {
                return all;
            }
        }
    }

    /// A client that has sent its cookie; returns the answer, too.
    fn client(&mut self, from: &str) -> (Client, Vec<u8>) {
        let control = self.connect(from);
        self.tests = self.tests.wrapping_add(1);
        let mut cookie = [b'a'; 37];
        (cookie[0], cookie[36]) = (self.tests, 0);
        let answer = self.send(control, &cookie);
        let from = from.to_owned();
        let client = Client {
            from,
            cookie,
            control,
        };
        (client, answer)
    }

    /// A client whose test has begun, and its stream.
    fn begun(&mut self, from: &str) -> (Client, Connection) {
        let (client, answer) = self.client(from);
        assert_eq!(answer, [PARAMETERS]);
        assert_eq!(self.send(client.control, &json("{}")), [CREATE_STREAMS]);
        let stream = self.connect(from);
        self.send(stream, &client.cookie);
        assert_eq!(self.receive(client.control), START);
        (client, stream)
    }

    /// True if a client's whole test succeeds now.
    fn is_served(&mut self, from: &str) -> bool {
        let (client, stream) = self.begun(from);
        self.send(stream, &[0; 10_000]);
        assert_eq!(self.send(client.control, &[TEST_END]), [RESULTS]);
        let results = r#"{"streams":[{"id":1,"bytes":10000,"packets":0}]}"#;
        let answer = self.send(client.control, &json(results));
        self.send(client.control, &[DONE]);
        self.close(stream);
        self.close(client.control);
        let finished = std::iter::from_fn(|| self.server.service().take_finished());
        let is_ours = |it: Finished| {
            let is_counted = it
                .received
                .is_some_and(|received| received.octets == 10_000);
            it.is_complete && is_counted && it.peer.ip().to_string() == from
        };
        answer.last() == Some(&DISPLAY) && finished.filter(|it| is_ours(*it)).count() > 0
    }
}

#[test]
fn clients_that_stall_in_any_state_keep_nobody_out() {
    let mut bench = Bench::new();
    for second in 0..60 {
        for _ in 0..20 {
            // Nothing at all, a part of the cookie, the cookie, parameters, streams without data.
            bench.connect(ATTACKER);
            let partial = bench.connect(ATTACKER);
            bench.send(partial, &[b'x'; 20]);
            bench.client(ATTACKER);
            let (client, _) = bench.client(ATTACKER);
            bench.send(client.control, &json("{\"udp\":true}"));
            let (_, stream) = bench.begun(ATTACKER);
            bench.send(stream, b"drip");
        }
        assert!(bench.open.len() <= LIMIT, "{}", bench.open.len());
        for from in [CLIENT, ATTACKER] {
            assert!(bench.is_served(from), "{from} after {second} s");
        }
        // The data of a completed test have moved lately.
        bench.wait(Duration::from_secs(2));
    }
}

#[test]
fn while_a_test_moves_data_others_are_denied_and_it_goes_on() {
    let mut bench = Bench::new();
    let (client, stream) = bench.begun(CLIENT);
    for _ in 0..50 {
        bench.send(stream, &[0; 1_000]);
        for _ in 0..10 {
            bench.connect(ATTACKER);
        }
        let (other, answer) = bench.client("192.0.2.3");
        assert_eq!(answer, [DENIED]);
        bench.close(other.control);
        bench.wait(Duration::from_millis(100));
    }
    // Its silent control connection was not taken for one that stalls.
    assert!(bench.open.contains(&client.control.0));
    assert_eq!(bench.send(client.control, &[TEST_END]), [RESULTS]);
}

#[test]
fn of_two_clients_that_begin_at_once_one_is_denied() {
    let mut bench = Bench::new();
    let (late, _) = bench.client("192.0.2.3");
    assert_eq!(bench.send(late.control, &json("{}")), [CREATE_STREAMS]);
    let (_, stream) = bench.begun(CLIENT);
    bench.send(stream, &[0; 10_000]);
    let second = bench.connect(&late.from);
    bench.send(second, &late.cookie);
    bench.turn();
    assert!(!bench.open.contains(&second.0), "reset");
    assert!(bench.receive(late.control).is_empty());
}

/// Nothing in a hello names its test: the client that was last asked for one means its own.
#[test]
fn a_stream_of_datagrams_belongs_to_its_host_and_to_the_last_client_on_it() {
    let mut bench = Bench::new();
    let udp = json("{\"udp\":true,\"time\":1}");
    let asked = |bench: &mut Bench, from| {
        let (client, _) = bench.client(from);
        assert_eq!(bench.send(client.control, &udp), [CREATE_STREAMS]);
        bench.wait(Duration::from_millis(1));
        client
    };
    let other = asked(&mut bench, ATTACKER);
    let stalled = asked(&mut bench, CLIENT);
    let client = asked(&mut bench, CLIENT);
    // Datagrams that are no hello make no test of one that has not begun.
    let attacker: SocketAddr = format!("{ATTACKER}:50000").parse().expect("an address");
    bench
        .server
        .datagram(Udp(0), attacker, &[7; 1_400], bench.now);
    let from: SocketAddr = format!("{CLIENT}:50000").parse().expect("an address");
    let now = bench.now;
    bench.server.datagram(Udp(0), from, b"9876", now);
    let answer = bench.server.next_datagram(&mut [0; 100], now);
    assert_eq!(answer.map(|it| it.to), Some(from));
    assert_eq!(bench.receive(client.control), START);
    let (_, answer) = bench.client("192.0.2.3");
    assert_eq!(answer, [PARAMETERS]);
    for silent in [other, stalled] {
        assert!(bench.receive(silent.control).is_empty());
    }
}
