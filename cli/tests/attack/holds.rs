//! Connections that are opened, and then stall or drip.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use linerate_agent::iperf2;
use linerate_agent::iperf3::Cookie;
use socket2::{Domain, Socket, Type};

use super::server::Ports;
use super::{ATTACKERS, Attack};

/// Interval between the octets of a drip.
const DRIP: Duration = Duration::from_millis(200);
/// Connections to a protocol.
pub struct Hold {
    port: fn(&Ports) -> u16,
    count: usize,
    /// What each sends at first, and then again and again.
    begin: fn() -> Vec<u8>,
    drip: &'static [u8],
    end: End,
}

/// What a connection does after its beginning.
#[derive(Clone, Copy, PartialEq)]
enum End {
    /// It reads what comes.
    Reads,
    /// It reads nothing.
    Deaf,
    /// It ends its direction.
    HalfClosed,
}

const fn hold(port: fn(&Ports) -> u16, begin: fn() -> Vec<u8>, drip: &'static [u8]) -> Hold {
    Hold {
        port,
        // With the others of the protocol, several times as many as a server has slots.
        count: 24,
        begin,
        drip,
        end: End::Reads,
    }
}

impl Hold {
    const fn with(self, end: End) -> Self {
        Self { end, ..self }
    }
}

const fn iperf2(ports: &Ports) -> u16 {
    ports.iperf2
}

const fn iperf3(ports: &Ports) -> u16 {
    ports.iperf3
}

const fn http(ports: &Ports) -> u16 {
    ports.http
}

/// A request of iperf 2.
fn request(change: fn(&mut iperf2::Test)) -> Vec<u8> {
    let mut test = iperf2::Test {
        // Nobody listens there.
        port: 9,
        buffer_octets: 100_000,
        amount: iperf2::Amount::Span(Duration::from_hours(1)),
        rate_bits_per_s: 0,
        return_test: iperf2::ReturnTest::No,
        reverse: false,
        full_duplex: false,
    };
    change(&mut test);
    let mut octets = vec![0; iperf2::Test::LEN];
    test.emit(&mut octets, false);
    octets
}

/// The beginning of a control connection of iperf 3: a cookie, and parameters behind their announced length.
fn control(announced: u32, parameters: &str) -> Vec<u8> {
    let cookie = [[b'a'; size_of::<Cookie>() - 1].as_slice(), b"\0"].concat();
    [
        &cookie,
        announced.to_be_bytes().as_slice(),
        parameters.as_bytes(),
    ]
    .concat()
}

const DOWNLOAD: fn() -> Vec<u8> = || b"GET /1000000000000 HTTP/1.1\r\nHost: x\r\n\r\n".to_vec();
const UPLOAD: fn() -> Vec<u8> =
    || b"PUT /x HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n".to_vec();
const SILENCE: fn() -> Vec<u8> = Vec::new;

pub const ALL: &[Hold] = &[
    hold(http, SILENCE, b""),
    hold(http, UPLOAD, b"x"),
    hold(http, || b"GET /1 HTTP/1.1\r\nX-Slow: ".to_vec(), b"x"),
    hold(http, DOWNLOAD, b"").with(End::Deaf),
    hold(http, DOWNLOAD, b"").with(End::HalfClosed),
    hold(iperf2, SILENCE, b""),
    hold(iperf2, || vec![0; 100], b"\0"),
    hold(iperf2, || request(|_| {})[..10].to_vec(), b""),
    hold(iperf2, || request(|test| test.reverse = true), b"").with(End::Deaf),
    hold(iperf2, || request(|test| test.reverse = true), b"").with(End::HalfClosed),
    hold(
        iperf2,
        || request(|test| test.return_test = iperf2::ReturnTest::Simultaneous),
        b"\0",
    ),
    hold(iperf3, SILENCE, b""),
    hold(iperf3, || vec![b'a'; 20], b""),
    hold(
        iperf3,
        || control(0, "")[..size_of::<Cookie>()].to_vec(),
        b"",
    ),
    hold(iperf3, || control(1_000, "{"), b" "),
    // Parameters without streams, over TCP and UDP.
    hold(iperf3, || control(2, "{}"), b""),
    hold(iperf3, || control(12, "{\"udp\":true}"), b""),
    hold(
        iperf3,
        || control(0, "")[..size_of::<Cookie>()].to_vec(),
        b"",
    )
    .with(End::HalfClosed),
];

/// Connects from an attacker's address.
pub fn connect(from: Ipv4Addr, port: u16) -> Option<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).ok()?;
    let to = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    socket.bind(&SocketAddr::from((from, 0)).into()).ok()?;
    socket.set_recv_buffer_size(4_096).ok()?;
    socket
        .connect_timeout(&to.into(), Duration::from_secs(1))
        .ok()?;
    socket.set_nonblocking(true).ok()?;
    Some(socket.into())
}

impl Hold {
    /// Keeps `count` connections open until the end.
    pub fn run(&self, attack: Attack) {
        let port = (self.port)(&attack.ports);
        let mut open: Vec<TcpStream> = Vec::new();
        while attack.wait(DRIP) {
            open.retain_mut(|stream| self.is_kept(stream));
            // Not all at once, so that the others are not delayed by the kernel's queue alone.
            for number in 0..8.min(self.count - open.len()) {
                let from = ATTACKERS[number % ATTACKERS.len()];
                open.extend(connect(from, port).filter(|stream| self.begin(stream)));
            }
        }
    }

    fn begin(&self, mut stream: &TcpStream) -> bool {
        let sent = stream.write_all(&(self.begin)()).is_ok();
        if self.end == End::HalfClosed {
            let _ = stream.shutdown(std::net::Shutdown::Write);
        }
        sent
    }

    fn is_kept(&self, stream: &mut TcpStream) -> bool {
        let is_blocked = |error: std::io::Error| error.kind() == ErrorKind::WouldBlock;
        let is_sent = match self.end {
            End::HalfClosed => true,
            End::Reads | End::Deaf => stream.write(self.drip).map_or_else(is_blocked, |_| true),
        };
        let is_open = match self.end {
            End::Deaf => matches!(stream.take_error(), Ok(None)),
            End::Reads | End::HalfClosed => {
                let read = stream.read(&mut [0; 4_096]);
                read.map_or_else(is_blocked, |len| len > 0)
            }
        };
        is_sent && is_open
    }
}
