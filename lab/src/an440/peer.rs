//! The workstation's half of the benchmark: it receives all bytes of a connection, or sends a number of them.

use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use linerate_agent::{
    Close, Connection, Datagram, Instant, Opened, Refused, Service, SocketRequest, Udp,
};
use linerate_sim::peer::host::program::Program;

/// Port of connections whose bytes it receives.
const SINK: u16 = 5001;
/// Port of connections to which it sends.
const SOURCE: u16 = 5002;

/// The workstation's program.
#[derive(Debug)]
pub struct Workstation {
    requests: Vec<SocketRequest>,
    sources: Vec<Connection>,
    to_send: u64,
    ended: Vec<Connection>,
    /// Bytes that arrived.
    pub received: u64,
    source: Option<Source>,
}

/// Sends datagrams to whoever asks for them with one, without end.
#[derive(Debug)]
struct Source {
    /// From one datagram to the next.
    gap: Duration,
    to: Option<SocketAddr>,
    next: Instant,
}

/// Payload of a datagram.
const DATAGRAM: usize = 1458;
/// The sockets of [`SINK`] and [`SOURCE`] for datagrams.
const SOCKETS: [Udp; 2] = [Udp(0), Udp(1)];

impl Workstation {
    /// Sends `bytes` to each connection that wants them.
    pub fn new(bytes: u64) -> Self {
        Self {
            requests: vec![SocketRequest::Listen(SINK), SocketRequest::Listen(SOURCE)],
            sources: Vec::new(),
            to_send: bytes,
            ended: Vec::new(),
            received: 0,
            source: None,
        }
    }

    /// Receives datagrams, and sends such as fast as stated to whoever asks.
    pub fn of_datagrams(mbit_per_s: f64) -> Self {
        let [sink, source] = SOCKETS;
        let seconds = DATAGRAM as f64 * 8.0 / (mbit_per_s * 1e6);
        Self {
            requests: vec![
                SocketRequest::Bind(sink, Some(SINK)),
                SocketRequest::Bind(source, Some(SOURCE)),
            ],
            source: Some(Source {
                gap: Duration::from_secs_f64(seconds),
                to: None,
                next: Instant::from_ns(0),
            }),
            ..Self::new(0)
        }
    }
}

impl Service for Workstation {
    fn next_request(&mut self) -> Option<SocketRequest> {
        self.requests.pop()
    }

    fn opened(
        &mut self,
        connection: Connection,
        opened: Opened,
        _: Instant,
    ) -> Result<(), Refused> {
        if matches!(opened, Opened::Accepted { port: SOURCE, .. }) {
            self.sources.push(connection);
        }
        Ok(())
    }

    fn received(&mut self, _: Connection, octets: &[u8], _: Instant) {
        self.received += octets.len() as u64;
    }

    fn fill(&mut self, connection: Connection, room: &mut [u8], _: Instant) -> usize {
        if !self.sources.contains(&connection) {
            return 0;
        }
        let len = room.len().min(self.to_send as usize);
        room[..len].fill(0x5a);
        self.to_send -= len as u64;
        len
    }

    fn datagram(&mut self, socket: Udp, from: SocketAddr, octets: &[u8], now: Instant) {
        if socket == SOCKETS[0] {
            self.received += octets.len() as u64;
        } else if let Some(source) = &mut self.source {
            (source.to, source.next) = (Some(from), now);
        }
    }

    fn next_datagram(&mut self, room: &mut [u8], now: Instant) -> Option<Datagram> {
        let source = self.source.as_mut()?;
        let to = source.to.filter(|to| matches!(to.ip(), IpAddr::V4(_)))?;
        if now < source.next || room.len() < DATAGRAM {
            return None;
        }
        source.next = source.next.after(source.gap);
        room[..DATAGRAM].fill(0x5a);
        Some(Datagram {
            socket: SOCKETS[1],
            to,
            len: DATAGRAM,
        })
    }

    fn wake_at(&self) -> Option<Instant> {
        let source = self.source.as_ref()?;
        source.to.map(|_| source.next)
    }

    fn ended(&mut self, connection: Connection, _: Instant) {
        self.ended.push(connection);
    }

    fn close(&self, connection: Connection) -> Close {
        let is_done = self.sources.contains(&connection) && self.to_send == 0;
        if is_done || self.ended.contains(&connection) {
            Close::Finish
        } else {
            Close::Keep
        }
    }
}

impl Program for Workstation {
    fn poll_finished(&mut self, _: Instant) -> bool {
        false
    }
}
