//! Servers and clients in virtual time, without sockets.

use super::FairService;
use linerate_agent::{Close, Connection, Instant, Opened, Service, http};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

const PORT: u16 = 8080;
const LIMIT: usize = 64;
const TIMEOUT: Duration = Duration::from_secs(20);

type Server = FairService<http::Server<256>>;

/// A driver for one server, in virtual time.
struct Bench {
    server: Server,
    now: Instant,
    open: BTreeSet<u8>,
}

impl Bench {
    fn new() -> Self {
        let mut server = FairService::new(http::Server::new(PORT, TIMEOUT), LIMIT);
        while server.next_request().is_some() {}
        Self {
            server,
            now: Instant::from_ns(0),
            open: BTreeSet::new(),
        }
    }

    fn connect(&mut self, from: &str) -> Option<Connection> {
        let number = (0..=u8::MAX).find(|number| !self.open.contains(number))?;
        let from: SocketAddr = format!("{from}:40000").parse().expect("an address");
        let opened = Opened::Accepted { port: PORT, from };
        let opened = self.server.opened(Connection(number), opened, self.now);
        opened.ok()?;
        self.open.insert(number);
        self.close();
        Some(Connection(number))
    }

    fn send(&mut self, connection: Connection, octets: &[u8]) {
        self.server.received(connection, octets, self.now);
    }

    fn receive(&mut self, connection: Connection) -> Vec<u8> {
        let mut room = [0; 1_000];
        let len = self.server.fill(connection, &mut room, self.now);
        room[..len].to_vec()
    }

    fn wait(&mut self, span: Duration) {
        self.now = self.now.after(span);
        assert!(self.server.next_datagram(&mut [], self.now).is_none());
        self.close();
    }

    /// Closes as the server requests.
    fn close(&mut self) {
        let wanted = |number: &u8| self.server.close(Connection(*number)) == Close::Reset;
        let gone: Vec<u8> = self.open.iter().copied().filter(wanted).collect();
        for number in gone {
            self.open.remove(&number);
            self.server.closed(Connection(number), self.now);
        }
    }

    fn is_open(&self, connection: Connection) -> bool {
        self.open.contains(&connection.0)
    }

    /// True if a client at this address gets its answer now.
    fn is_served(&mut self, from: &str) -> bool {
        let Some(client) = self.connect(from) else {
            return false;
        };
        self.send(client, b"GET /5 HTTP/1.1\r\nHost: x\r\n\r\n");
        let answer = self.receive(client);
        self.server.closed(client, self.now);
        self.open.remove(&client.0);
        answer.starts_with(b"HTTP/1.1 200 OK")
    }
}

const ATTACKER: &str = "192.0.2.66";
const CLIENT: &str = "192.0.2.1";

#[test]
fn slow_uploads_of_one_host_keep_nobody_out() {
    let mut bench = Bench::new();
    let head = b"PUT /x HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n";
    let mut uploads = Vec::new();
    // Each second, more of them; each sends an octet now and then.
    for second in 0..120 {
        for _ in 0..LIMIT {
            let upload = bench.connect(ATTACKER).expect("a stalled one gives way");
            bench.send(upload, head);
            uploads.push(upload);
        }
        for upload in &uploads {
            bench.send(*upload, b"x");
        }
        uploads.retain(|upload| bench.open.contains(&upload.0));
        assert!(bench.open.len() <= LIMIT, "{}", bench.open.len());
        for from in [CLIENT, "2001:db8::1", ATTACKER] {
            let from = if from.contains(':') {
                format!("[{from}]")
            } else {
                from.to_owned()
            };
            assert!(bench.is_served(&from), "{from} after {second} s");
        }
        bench.wait(Duration::from_secs(1));
    }
}

#[test]
fn a_transfer_is_not_interrupted_by_connections_that_stall() {
    let mut bench = Bench::new();
    let download = bench.connect(CLIENT).expect("a place");
    bench.send(download, b"GET /1000000000 HTTP/1.1\r\nHost: x\r\n\r\n");
    for _ in 0..200 {
        for _ in 0..20 {
            bench.connect(ATTACKER).expect("a place");
        }
        assert_eq!(bench.receive(download).len(), 1_000);
        bench.wait(Duration::from_millis(100));
    }
    assert!(bench.is_open(download));
}

/// 64 fast transfers of a host are too many only if another host wants one.
#[test]
fn fast_transfers_of_one_host_give_way_to_other_hosts_only() {
    let mut bench = Bench::new();
    let start = |bench: &mut Bench, from| {
        let download = bench.connect(from)?;
        bench.send(download, b"GET /1000000000 HTTP/1.1\r\nHost: x\r\n\r\n");
        assert_eq!(bench.receive(download).len(), 1_000);
        Some(download)
    };
    let fast: Vec<Connection> = (0..LIMIT)
        .filter_map(|_| start(&mut bench, ATTACKER))
        .collect();
    assert_eq!(fast.len(), LIMIT);
    bench.wait(Duration::from_millis(100));
    assert_eq!(start(&mut bench, ATTACKER), None, "a 65th of the same host");
    let mut others = 0;
    while start(&mut bench, CLIENT).is_some() {
        others += 1;
        assert!(others <= LIMIT, "without end");
    }
    assert_eq!((others, bench.open.len()), (LIMIT / 2, LIMIT), "half each");
    assert!(bench.is_served("192.0.2.3"), "a third one");
}

#[test]
fn addresses_that_a_host_chooses_itself_are_one_host() {
    let mut bench = Bench::new();
    let download = |bench: &mut Bench, from: &str| {
        let download = bench.connect(from)?;
        bench.send(download, b"GET /1000000000 HTTP/1.1\r\nHost: x\r\n\r\n");
        (!bench.receive(download).is_empty()).then_some(download)
    };
    for host in 0..LIMIT {
        let from = format!("[2001:db8::{host:x}]");
        assert!(download(&mut bench, &from).is_some());
    }
    assert_eq!(download(&mut bench, "[2001:db8::ffff]"), None);
    assert!(download(&mut bench, "[2001:db8:1::1]").is_some());
    assert!(download(&mut bench, CLIENT).is_some());
}
