//! The driver over loopback.

use super::streams::AcceptAction;
use super::{Driver, DriverConfig};
use linerate_agent::{
    Close, Connection, Datagram, Instant, Opened, Refused, Service, SocketRequest, Udp, http, stamp,
};
use std::collections::VecDeque;
use std::io::{ErrorKind, Read as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

const LONG: Duration = Duration::from_mins(1);

/// Returns a free TCP port.
fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    listener.local_addr().expect("an address").port()
}

fn config() -> DriverConfig {
    DriverConfig {
        connections: 256,
        ..DriverConfig::default()
    }
}

/// Service that makes the given requests and sends endlessly on each connection.
struct Endless {
    asks: VecDeque<SocketRequest>,
    filled: u64,
    due: Option<Instant>,
}

impl Endless {
    fn new(asks: impl Into<VecDeque<SocketRequest>>, due: Option<Instant>) -> Self {
        Self {
            asks: asks.into(),
            filled: 0,
            due,
        }
    }
}

impl Service for Endless {
    fn next_request(&mut self) -> Option<SocketRequest> {
        self.asks.pop_front()
    }

    fn opened(&mut self, _: Connection, _: Opened, _: Instant) -> Result<(), Refused> {
        Ok(())
    }

    fn failed(&mut self, _: u8, _: Instant) {}

    fn received(&mut self, _: Connection, _: &[u8], _: Instant) {}

    fn fill(&mut self, _: Connection, room: &mut [u8], _: Instant) -> usize {
        self.filled += room.len() as u64;
        room.len()
    }

    fn ended(&mut self, _: Connection, _: Instant) {}

    fn closed(&mut self, _: Connection, _: Instant) {}

    fn close(&self, _: Connection) -> Close {
        Close::Keep
    }

    fn datagram(&mut self, _: Udp, _: SocketAddr, _: &[u8], _: Instant) {}

    fn next_datagram(&mut self, _: &mut [u8], _: Instant) -> Option<Datagram> {
        None
    }

    fn wake_at(&self) -> Option<Instant> {
        self.due
    }
}

#[test]
fn waiting_for_buffer_space_does_not_busy_poll() {
    let port = free_port();
    let service = Endless::new([SocketRequest::Listen(port)], Some(Instant::from_ns(0)));
    let mut driver = Driver::new(service, config()).expect("a driver");
    let _reads_nothing = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("a connection");
    while driver.connections() == 0 {
        driver.turn(LONG).expect("a turn");
    }
    // A turn that fills nothing is blocked. 50 of them take a millisecond each on any machine; some may end
    // early when space becomes available.
    let (mut idle, mut began) = (0, driver.now());
    while idle < 50 {
        let before = driver.service().filled;
        driver.turn(LONG).expect("a turn");
        if driver.service().filled == before {
            idle += 1;
        } else {
            (idle, began) = (0, driver.now());
        }
    }
    let took = driver.now().since(began);
    assert!(took >= Duration::from_millis(25), "50 turns in {took:?}");
}

#[test]
fn datagrams_less_than_a_millisecond_apart_do_not_leave_in_bursts() {
    let receiver = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
    let plan = stamp::Plan {
        to: receiver.local_addr().expect("an address"),
        count: 500,
        interval: Duration::from_micros(300),
        octets: 44,
        timeout: Duration::ZERO,
        clock: stamp::Clock::free(Duration::from_micros(1)),
        stateful: true,
        session: 0,
    };
    let mut driver = Driver::new(stamp::Sender::<1>::new(plan), config()).expect("a driver");
    let (mut alone, mut in_bursts) = (0, 0);
    while driver.service().outcome().sent < plan.count.into() {
        let before = driver.service().outcome().sent;
        driver.turn(LONG).expect("a turn");
        match driver.service().outcome().sent - before {
            0 => {}
            1 => alone += 1,
            _ => in_bursts += 1,
        }
    }
    // A burst occurs whenever another program has used the processor.
    assert!(alone > in_bursts, "{alone} alone, {in_bursts} bursts");
}

#[test]
fn a_timeout_closes_the_connection_in_the_same_turn() {
    let port = free_port();
    let server = http::Server::<1>::new(port, Duration::from_millis(20));
    let mut driver = Driver::new(server, config()).expect("a driver");
    let mut client = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("a connection");
    while driver.connections() == 0 {
        driver.turn(LONG).expect("a turn");
    }
    let deadline = driver.service().wake_at();
    while driver.service().wake_at() == deadline {
        driver.turn(LONG).expect("a turn");
    }
    let timeout = Some(Duration::from_secs(10));
    client.set_read_timeout(timeout).expect("a timeout");
    assert_eq!(client.read(&mut [0]).expect("an end, not silence"), 0);
}

#[test]
fn a_used_port_for_one_client_does_not_end_the_service() {
    let taken = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
    let taken = taken.local_addr().map(|it| (it.port(), taken));
    let (taken, _socket) = taken.expect("an address");
    let port = free_port();
    let service = Endless::new([SocketRequest::Listen(port)], None);
    let mut driver = Driver::new(service, config()).expect("a driver");
    let bind = SocketRequest::Bind(Udp(1), Some(taken));
    driver.service().asks.push_back(bind);
    driver.turn(Duration::ZERO).expect("a turn");
    let _client = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("a connection");
    while driver.connections() == 0 {
        driver.turn(LONG).expect("a turn");
    }
    // Initially it is required.
    assert!(Driver::new(Endless::new([bind], None), config()).is_err());
}

#[test]
fn many_simultaneous_connections_are_accepted_over_several_turns() {
    let port = free_port();
    let service = Endless::new([SocketRequest::Listen(port)], None);
    let mut driver = Driver::new(service, config()).expect("a driver");
    let connect = |_| TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("a connection");
    let clients: Vec<TcpStream> = (0..100).map(connect).collect();
    driver.turn(LONG).expect("a turn");
    assert_eq!(driver.connections(), 64);
    driver.turn(LONG).expect("a turn");
    assert_eq!(driver.connections(), clients.len());
}

#[test]
fn a_failed_accept_does_not_block_the_next() {
    let after = AcceptAction::after;
    assert_eq!(after(ErrorKind::ConnectionAborted), AcceptAction::Next);
    assert_eq!(after(ErrorKind::Interrupted), AcceptAction::Next);
    assert_eq!(after(ErrorKind::WouldBlock), AcceptAction::Empty);
    // EMFILE has no ErrorKind.
    assert_eq!(after(ErrorKind::Other), AcceptAction::Later);
}

#[test]
#[cfg(target_os = "linux")]
fn datagrams_dropped_by_a_full_socket_are_counted() {
    let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
    let port = free_port();
    let service = Endless::new([SocketRequest::Bind(Udp(0), Some(port))], None);
    let mut driver = Driver::new(service, config()).expect("a driver");
    assert_eq!(driver.dropped_datagrams(), Some(0));
    // More than any requested buffer.
    let octets = vec![0; 60_000];
    for _ in 0..1_000 {
        let sent = sender.send_to(&octets, (Ipv4Addr::LOCALHOST, port));
        assert_eq!(sent.expect("room"), 60_000);
    }
    let dropped = driver.dropped_datagrams();
    assert!(dropped > Some(0) && dropped < Some(1_000), "{dropped:?}");
    driver
        .service()
        .asks
        .push_back(SocketRequest::Unbind(Udp(0)));
    driver.turn(Duration::ZERO).expect("a turn");
    assert_eq!(
        driver.dropped_datagrams(),
        dropped,
        "drops of closed sockets are kept"
    );
}
