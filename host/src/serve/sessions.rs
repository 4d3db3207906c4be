//! iperf 3 for several clients at a time.
//!
//! A server of iperf 3 has one test, which a client that stalls would hold until its timeouts. Here each client gets a
//! server, to which its connections are passed by their cookie. Only one test at a time moves data, as with iperf 3
//! itself: while one does, other clients are denied access.

use super::activity::Activity;
use super::fair::Depends;
use linerate_agent::iperf3::{Cookie, Finished, Server};
use linerate_agent::{
    Close, Connection, Datagram, Instant, Limits, Opened, Refused, Service, SocketRequest, Udp,
};
use std::net::SocketAddr;
use std::time::Duration;

/// Maximum streams of a test, both directions together: as many as a client opens in one direction.
const MAX_STREAMS: usize = 128;
/// Maximum clients that have begun a test.
const MAX_SESSIONS: usize = 64;
/// Timeout for a connection without a cookie.
const COOKIE_TIMEOUT: Duration = Duration::from_secs(10);
/// Connection numbers.
const NUMBERS: usize = 1 << u8::BITS;

/// State of a connection.
#[derive(Debug, Clone, Copy)]
enum Route {
    /// The octets of its cookie that have arrived.
    Unknown {
        from: SocketAddr,
        cookie: Cookie,
        len: usize,
        opened: Instant,
    },
    /// It belongs to this session.
    Session(usize),
    /// It is to be reset.
    Rejected,
}

/// A server with its client.
struct Session {
    server: Server<MAX_STREAMS>,
    control: Connection,
    from: SocketAddr,
    opened: Instant,
    /// Of its streams.
    activity: Activity,
}

impl Session {
    fn is_moving(&self, now: Instant) -> bool {
        self.server.is_running() && !self.activity.is_stalled(now)
    }
}

/// Servers on one port.
pub(super) struct Iperf3Sessions {
    port: u16,
    limits: Limits,
    sessions: Vec<Session>,
    routes: Box<[Option<Route>]>,
    /// Index of the session whose turn it is to send a datagram.
    turn: usize,
    /// Requests to the driver so far.
    requests: usize,
}

impl Iperf3Sessions {
    pub(super) fn new(port: u16, limits: Limits) -> Self {
        Self {
            port,
            limits,
            sessions: Vec::new(),
            routes: vec![None; NUMBERS].into_boxed_slice(),
            turn: 0,
            requests: 0,
        }
    }

    /// Returns a completed test, once.
    pub(super) fn take_finished(&mut self) -> Option<Finished> {
        let mut servers = self.sessions.iter_mut().map(|session| &mut session.server);
        servers.find_map(Server::take_finished)
    }

    fn route(&self, Connection(at): Connection) -> Option<Route> {
        self.routes[usize::from(at)]
    }

    fn session_of(&mut self, connection: Connection) -> Option<&mut Session> {
        match self.route(connection)? {
            Route::Session(at) => self.sessions.get_mut(at),
            Route::Unknown { .. } | Route::Rejected => None,
        }
    }

    /// Passes a connection to the session that it belongs to, by its cookie.
    fn identify(
        &mut self,
        connection: Connection,
        from: SocketAddr,
        cookie: &Cookie,
        now: Instant,
    ) {
        let opened = Opened::Accepted {
            port: self.port,
            from,
        };
        let expects = |session: &Session| session.server.expects_stream(from, Some(cookie));
        let moving = self.sessions.iter().position(|it| it.is_moving(now));
        let at = match (self.sessions.iter().position(expects), moving) {
            // Another client's test has begun meanwhile.
            (Some(_), Some(_)) => None,
            // A server with a test denies access to a new client.
            (Some(at), None) | (None, Some(at)) => Some(at),
            (None, None) => Some(self.begin(connection, from, now)),
        };
        let taken = at.filter(|at| {
            let server = &mut self.sessions[*at].server;
            server.opened(connection, opened, now).is_ok()
        });
        self.routes[usize::from(connection.0)] =
            Some(taken.map_or(Route::Rejected, Route::Session));
        if let Some(at) = taken {
            self.sessions[at].server.received(connection, cookie, now);
        }
    }

    /// Returns a session for a new client: a new one, a free one, or one that stalls, of the host with most.
    fn begin(&mut self, control: Connection, from: SocketAddr, now: Instant) -> usize {
        let at = self.sessions.iter().position(|it| !it.server.is_busy());
        let at = at.or_else(|| {
            let of_host = |it: &Session| {
                let same = |other: &&Session| other.from.ip() == it.from.ip();
                self.sessions.iter().filter(same).count()
            };
            let full = self.sessions.len() >= MAX_SESSIONS;
            let sessions = (0..).zip(&self.sessions).filter(|_| full);
            let rank = |(_, it): &(usize, &Session)| (std::cmp::Reverse(of_host(it)), it.opened);
            sessions.min_by_key(rank).map(|(at, _)| at)
        });
        let at = at.unwrap_or(self.sessions.len());
        if let Some(session) = self.sessions.get_mut(at) {
            if session.server.is_busy() {
                session.server.closed(session.control, now);
            }
            (session.control, session.from, session.opened) = (control, from, now);
            session.activity = Activity::new(now);
        } else {
            let mut server = Server::new(self.port, self.limits);
            while server.next_request().is_some() {}
            self.sessions.push(Session {
                server,
                control,
                from,
                opened: now,
                activity: Activity::new(now),
            });
        }
        at
    }
}

impl Depends for Iperf3Sessions {
    /// The connections of a test are silent while others carry its data.
    fn is_needed(&self, connection: Connection, now: Instant) -> bool {
        match self.route(connection) {
            Some(Route::Session(at)) => self.sessions[at].is_moving(now),
            _ => false,
        }
    }
}

impl Service for Iperf3Sessions {
    fn next_request(&mut self) -> Option<SocketRequest> {
        self.requests += 1;
        match self.requests {
            1 => return Some(SocketRequest::Listen(self.port)),
            2 => return Some(SocketRequest::Bind(Udp(0), Some(self.port))),
            _ => self.requests = 2,
        }
        for session in &mut self.sessions {
            while session.server.next_request().is_some() {}
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
        self.routes[usize::from(connection.0)] = Some(Route::Unknown {
            from,
            cookie: [0; size_of::<Cookie>()],
            len: 0,
            opened: now,
        });
        Ok(())
    }

    fn received(&mut self, connection: Connection, octets: &[u8], now: Instant) {
        let mut octets = octets;
        if let Some(Route::Unknown {
            from, cookie, len, ..
        }) = &mut self.routes[usize::from(connection.0)]
        {
            let (head, rest) = octets.split_at(octets.len().min(cookie.len() - *len));
            cookie[*len..*len + head.len()].copy_from_slice(head);
            *len += head.len();
            octets = rest;
            if *len == cookie.len() {
                let (from, cookie) = (*from, *cookie);
                self.identify(connection, from, &cookie, now);
            }
        }
        if let Some(session) = self.session_of(connection).filter(|_| !octets.is_empty()) {
            session.server.received(connection, octets, now);
            if connection != session.control {
                session.activity.add(octets.len(), now);
            }
        }
    }

    fn fill(&mut self, connection: Connection, buffer: &mut [u8], now: Instant) -> usize {
        let Some(session) = self.session_of(connection) else {
            return 0;
        };
        let len = session.server.fill(connection, buffer, now);
        if connection != session.control {
            session.activity.add(len, now);
        }
        len
    }

    fn ended(&mut self, connection: Connection, now: Instant) {
        if let Some(session) = self.session_of(connection) {
            session.server.ended(connection, now);
        } else {
            self.routes[usize::from(connection.0)] = Some(Route::Rejected);
        }
    }

    fn closed(&mut self, connection: Connection, now: Instant) {
        if let Some(session) = self.session_of(connection) {
            session.server.closed(connection, now);
        }
        self.routes[usize::from(connection.0)] = None;
    }

    fn close(&self, connection: Connection) -> Close {
        match self.route(connection) {
            Some(Route::Unknown { .. }) => Close::Keep,
            Some(Route::Session(at)) => self.sessions[at].server.close(connection),
            Some(Route::Rejected) | None => Close::Reset,
        }
    }

    fn datagram(&mut self, socket: Udp, from: SocketAddr, octets: &[u8], now: Instant) {
        let has_stream = |it: &&mut Session| it.server.has_stream_with(&from);
        let expects = |it: &&mut Session| it.server.expects_stream(from, None);
        // Of several clients on one host, the last one has just received its request to begin.
        let newest = |it: &&mut Session| it.opened;
        if let Some(session) = self.sessions.iter_mut().find(has_stream) {
            session.activity.add(octets.len(), now);
            session.server.datagram(socket, from, octets, now);
        } else if let Some(session) = self.sessions.iter_mut().filter(expects).max_by_key(newest) {
            session.server.datagram(socket, from, octets, now);
        }
    }

    fn next_datagram(&mut self, buffer: &mut [u8], now: Instant) -> Option<Datagram> {
        for route in self.routes.iter_mut().flatten() {
            if let Route::Unknown { opened, .. } = route
                && now >= opened.after(COOKIE_TIMEOUT)
            {
                *route = Route::Rejected;
            }
        }
        let sessions = self.sessions.len();
        for step in 0..sessions {
            let at = (self.turn + step) % sessions;
            let session = &mut self.sessions[at];
            if let Some(datagram) = session.server.next_datagram(buffer, now) {
                session.activity.add(datagram.len, now);
                self.turn = at + 1;
                return Some(datagram);
            }
        }
        None
    }

    fn wake_at(&self) -> Option<Instant> {
        let unknown = self.routes.iter().filter_map(|route| match route {
            Some(Route::Unknown { opened, .. }) => Some(opened.after(COOKIE_TIMEOUT)),
            _ => None,
        });
        let sessions = self.sessions.iter();
        let sessions = sessions.filter_map(|session| session.server.wake_at());
        sessions.chain(unknown).min()
    }
}

#[cfg(test)]
mod tests;
