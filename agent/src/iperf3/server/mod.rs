//! `iperf3 -s`: one test at a time, like iperf itself; further clients are denied access.

mod closing;
mod session;

use core::net::SocketAddr;

use self::closing::ClosingConnections;
use self::session::Session;
use super::message::{Cookie, state};
use super::results::Count;
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

/// A server for tests of up to `STREAMS` streams.
#[derive(Debug)]
pub struct Server<const STREAMS: usize> {
    port: u16,
    limits: Limits,
    session: Option<Session<STREAMS>>,
    closing: ClosingConnections<MAX_CLOSING>,
    finished: Option<Finished>,
    listens: bool,
    is_bound: bool,
}

impl<const STREAMS: usize> Server<STREAMS> {
    /// Creates a server on this port, TCP and UDP.
    #[must_use]
    pub const fn new(port: u16, limits: Limits) -> Self {
        assert!(STREAMS > 0 && STREAMS <= 128);
        Self {
            port,
            limits,
            session: None,
            closing: ClosingConnections::new(),
            finished: None,
            listens: false,
            is_bound: false,
        }
    }

    /// Returns the last completed test, once.
    pub const fn take_finished(&mut self) -> Option<Finished> {
        self.finished.take()
    }

    /// True while a client is being served.
    #[must_use]
    pub const fn is_busy(&self) -> bool {
        self.session.is_some()
    }

    /// True while a test may move data.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.session.as_ref().is_some_and(Session::is_running)
    }

    /// True if the current test waits for a stream from `peer`: over TCP with this cookie, or over UDP. A driver of
    /// several servers on one port determines with it which one a client means.
    #[must_use]
    pub fn expects_stream(&self, peer: SocketAddr, cookie: Option<&Cookie>) -> bool {
        let session = self.session.as_ref();
        session.is_some_and(|session| session.expects_stream(peer, cookie))
    }

    /// True if the current test has a UDP stream with `peer`.
    #[must_use]
    pub fn has_stream_with(&self, peer: &SocketAddr) -> bool {
        let streams = self
            .session
            .iter()
            .flat_map(|session| session.streams.iter());
        let mut streams = streams.filter(|stream| stream.channel.matches_peer(SOCKET, peer));
        streams.next().is_some()
    }

    /// Frees the server for the next client when the session is done.
    fn step(&mut self, now: Instant) {
        self.closing.step(now);
        let Some(session) = &mut self.session else {
            return;
        };
        session.step(now);
        if session.is_over() {
            self.end(now);
        }
    }

    fn end(&mut self, now: Instant) {
        let Some(session) = self.session.take() else {
            return;
        };
        // If the table is full, the connection is reset, which the client accepts.
        self.closing.add(session.control, None, now);
        if let Some(finished) = session.finished(now) {
            self.finished = Some(finished);
        }
    }
}

impl<const STREAMS: usize> Service for Server<STREAMS> {
    fn next_request(&mut self) -> Option<SocketRequest> {
        if !core::mem::replace(&mut self.listens, true) {
            return Some(SocketRequest::Listen(self.port));
        }
        if !core::mem::replace(&mut self.is_bound, true) {
            return Some(SocketRequest::Bind(SOCKET, Some(self.port)));
        }
        if let Some(session) = &mut self.session {
            session.streams.turn();
        }
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
        let gives_way = |session: &Session<STREAMS>| {
            let is_stalled = session.is_stalled(now) && !session.wants_stream_from(from);
            is_stalled || session.awaits_done()
        };
        if self.session.as_ref().is_some_and(gives_way) {
            if let Some(session) = &mut self.session {
                session.ended(session.control, now);
            }
            self.end(now);
        }
        self.step(now);
        let Some(session) = &mut self.session else {
            self.session = Some(Session::new(connection, from, now));
            return Ok(());
        };
        let denied = Some(state::ACCESS_DENIED);
        if session.wants_stream_from(from) && session.open(connection)
            || self.closing.add(connection, denied, now)
        {
            Ok(())
        } else {
            Err(Refused)
        }
    }

    fn failed(&mut self, _token: u8, _now: Instant) {}

    fn received(&mut self, connection: Connection, octets: &[u8], now: Instant) {
        let Some(session) = &mut self.session else {
            return;
        };
        if session.control == connection {
            session.control(octets, &self.limits, now);
        } else if !session.data(connection, octets, &self.limits, now) {
            let denied = Some(state::ACCESS_DENIED);
            self.closing.add(connection, denied, now);
        }
        self.step(now);
    }

    fn zeros(&mut self, connection: Connection, most: usize, now: Instant) -> usize {
        self.session.as_mut().map_or(0, |session| {
            session.step(now);
            session.zeros(connection, most, now)
        })
    }

    fn fill(&mut self, connection: Connection, buffer: &mut [u8], now: Instant) -> usize {
        let of_session = self.session.as_mut().map(|session| {
            session.step(now);
            session.fill(connection, buffer, now)
        });
        match of_session {
            Some(len) if len > 0 => len,
            _ => self.closing.fill(connection, buffer),
        }
    }

    fn ended(&mut self, connection: Connection, now: Instant) {
        if let Some(session) = &mut self.session {
            session.ended(connection, now);
        }
        self.step(now);
    }

    fn closed(&mut self, connection: Connection, now: Instant) {
        self.ended(connection, now);
        if let Some(session) = &mut self.session {
            session.streams.closed(connection);
        }
        self.closing.closed(connection);
    }

    fn close(&self, connection: Connection) -> Close {
        if let Some(close) = self.closing.close(connection) {
            return close;
        }
        match &self.session {
            Some(session) if session.control == connection => Close::Keep,
            Some(session) if session.is_sent(connection) => Close::Finish,
            Some(session) if session.is_stream(connection) => Close::Keep,
            _ => Close::Reset,
        }
    }

    fn datagram(&mut self, _socket: Udp, from: SocketAddr, octets: &[u8], now: Instant) {
        if let Some(session) = &mut self.session {
            session.datagram(from, octets, &self.limits, now);
        }
    }

    fn next_datagram(&mut self, buffer: &mut [u8], now: Instant) -> Option<Datagram> {
        self.step(now);
        self.session.as_mut()?.next_datagram(buffer, now)
    }

    fn wake_at(&self) -> Option<Instant> {
        let leaving = self.closing.wake_at();
        let session = self.session.as_ref().map(Session::wake_at);
        session.map_or(leaving, |at| at.earlier(leaving)).finite()
    }
}
