//! `iperf3 -s`: one test at a time, like iperf itself; further clients are denied access.

mod closing;
mod session;

use core::net::SocketAddr;

use self::closing::{ClosingConnections, SENT};
use self::session::Session;
use super::message::{Cookie, state};
use super::results::Count;
use super::stream::Channel;
use crate::count::DEFAULT_HISTORY;
use crate::limits::LimitsNs;
use crate::octets::zero;
use crate::{
    Close, Connection, Datagram, Instant, Limits, Opened, Refused, Service, SocketRequest, Udp,
};

/// The UDP socket that clients send to.
const SOCKET: Udp = Udp(0);
/// Maximum number of connections being closed; more are reset.
const MAX_CLOSING: usize = 4;

/// A completed test, as counted by the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finished {
    /// True for UDP.
    pub udp: bool,
    /// The client.
    pub peer: SocketAddr,
    /// True if both ends have exchanged their results.
    pub is_complete: bool,
    /// Sent by the server.
    pub sent: Option<Count>,
    /// The client's counters of it.
    pub reported: Option<Count>,
    /// Received by the server.
    pub received: Option<Count>,
}

/// A server for tests of up to `STREAMS` streams. It keeps `HISTORY` words of the numbers of a stream of datagrams, as
/// [`Sequence`](crate::count::Sequence) does: a power of two.
#[derive(Debug)]
pub struct Server<const STREAMS: usize, const HISTORY: usize = DEFAULT_HISTORY> {
    port: u16,
    listens: bool,
    is_bound: bool,
    limits: LimitsNs,
    session: Session<STREAMS, HISTORY>,
    closing: ClosingConnections<MAX_CLOSING>,
}

impl<const STREAMS: usize, const HISTORY: usize> Server<STREAMS, HISTORY> {
    /// Creates a server on this port, TCP and UDP.
    #[must_use]
    pub const fn new(port: u16, limits: Limits) -> Self {
        assert!(STREAMS > 0 && STREAMS <= 128);
        Self {
            port,
            listens: false,
            is_bound: false,
            limits: LimitsNs::of(limits),
            closing: ClosingConnections::new(),
            session: const { Session::new() },
        }
    }

    /// Returns the last completed test, once: until the next one's parameters are accepted, which takes a round trip.
    #[inline(never)]
    pub fn take_finished(&mut self) -> Option<Finished> {
        self.session.take_finished()
    }

    /// True while a client is being served.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        !self.session.is_idle()
    }

    /// True while a test may move data.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.session.is_running()
    }

    /// True if the current test waits for a stream from `peer`: over TCP with this cookie, or over UDP. A driver of
    /// several servers on one port determines with it which one a client means.
    #[must_use]
    pub fn expects_stream(&self, peer: SocketAddr, cookie: Option<&Cookie>) -> bool {
        self.session.expects_stream(&peer, cookie)
    }

    /// True if the current test has a UDP stream with `peer`.
    #[must_use]
    pub fn has_stream_with(&self, peer: &SocketAddr) -> bool {
        let channel = Channel::Udp(SOCKET, peer.port());
        self.is_busy() && self.session.is_peer(peer) && self.session.streams.has(channel)
    }

    /// Frees the server for the next client when the session is done.
    fn step(&mut self, now: Instant) {
        self.closing.step(now);
        self.session.step(now);
        if self.session.is_over() {
            self.end(now);
        }
    }

    fn end(&mut self, now: Instant) {
        // If the table is full, the connection is reset, which the client accepts.
        self.closing.add(self.session.end(now), SENT, now);
    }
}

impl<const STREAMS: usize, const HISTORY: usize> Service for Server<STREAMS, HISTORY> {
    fn next_request(&mut self) -> Option<SocketRequest> {
        if !core::mem::replace(&mut self.listens, true) {
            return Some(SocketRequest::Listen(self.port));
        }
        if !core::mem::replace(&mut self.is_bound, true) {
            return Some(SocketRequest::Bind(SOCKET, Some(self.port)));
        }
        self.session.streams.turn();
        None
    }

    fn opened(
        &mut self,
        connection: Connection,
        opened: Opened,
        now: Instant,
    ) -> Result<(), Refused> {
        let Opened::Accepted { from, .. } = opened else {
            return Err(Refused);
        };
        if self.is_busy() && self.session.gives_way_to(&from, now) {
            self.session.give_way();
            self.end(now);
        }
        self.step(now);
        if !self.is_busy() {
            self.session.begin_with(connection, &from, now);
            return Ok(());
        }
        if self.session.wants_stream_from(&from) && self.session.open(connection)
            || self.closing.add(connection, state::ACCESS_DENIED, now)
        {
            Ok(())
        } else {
            Err(Refused)
        }
    }

    fn failed(&mut self, _token: u8, _now: Instant) {}

    fn received(&mut self, connection: Connection, octets: &[u8], now: Instant) {
        if self.session.is_control(connection) {
            self.session.control(octets, &self.limits, now);
        } else if !self.session.data(connection, octets, &self.limits, now) {
            self.closing.add(connection, state::ACCESS_DENIED, now);
        }
        self.step(now);
    }

    fn zeros(&mut self, connection: Connection, most: usize, now: Instant) -> usize {
        self.session.step(now);
        self.session.zeros(connection, most, now)
    }

    fn fill(&mut self, connection: Connection, buffer: &mut [u8], now: Instant) -> usize {
        match self.zeros(connection, buffer.len(), now) {
            0 if self.session.is_control(connection) => self.session.fill(buffer),
            0 => self.closing.fill(connection, buffer),
            len => zero(buffer, len),
        }
    }

    fn ended(&mut self, connection: Connection, now: Instant) {
        self.session.ended(connection, now);
        self.step(now);
    }

    fn closed(&mut self, connection: Connection, now: Instant) {
        self.ended(connection, now);
        self.session.streams.closed(connection);
        self.closing.closed(connection);
    }

    fn close(&self, connection: Connection) -> Close {
        if let Some(close) = self.closing.close(connection) {
            return close;
        }
        if self.session.is_control(connection) {
            Close::Keep
        } else if self.session.is_sent(connection) {
            Close::Finish
        } else if self.session.is_stream(connection) {
            Close::Keep
        } else {
            Close::Reset
        }
    }

    fn datagram(&mut self, _socket: Udp, from: SocketAddr, octets: &[u8], now: Instant) {
        self.session.datagram(&from, octets, &self.limits, now);
    }

    fn next_datagram(&mut self, buffer: &mut [u8], now: Instant) -> Option<Datagram> {
        self.step(now);
        self.session.next_datagram(buffer, now)
    }

    fn wake_at(&self) -> Option<Instant> {
        let leaving = self.closing.wake_at();
        self.session.wake_at().earlier(leaving).finite()
    }
}
