//! A program's TCP connections.

use core::net::{IpAddr, SocketAddr};

use linerate_agent::{Close, Connection as Name, Instant as AgentInstant, Opened};

use super::Program;
use crate::peer::tcp::{ConnectionId, Endpoint, State, Tcp};
use crate::time::Instant;

/// Backlog of each listening port.
const BACKLOG: usize = 16;
/// Maximum number of concurrent connections.
const MOST: usize = 256;
/// Octets per write, as iperf does it.
const PIECE: usize = 128 * 1024;

#[derive(Debug)]
struct Stream {
    id: ConnectionId,
    /// Token of an outgoing connection that is not established yet.
    asked: Option<u8>,
    ended: bool,
    /// Data from the program; TCP has accepted the first `sent_of` octets.
    unsent: Vec<u8>,
    sent_of: usize,
}

impl Stream {
    const fn new(id: ConnectionId, asked: Option<u8>) -> Self {
        Self {
            id,
            asked,
            ended: false,
            unsent: Vec::new(),
            sent_of: 0,
        }
    }
}

/// The connections. A connection's identifier is its index.
#[derive(Debug, Default)]
pub(super) struct Streams {
    places: Vec<Option<Stream>>,
    /// Closed for the program; TCP may not have finished yet.
    leaving: Vec<ConnectionId>,
    ports: Vec<u16>,
}

impl Streams {
    pub(super) fn listen(&mut self, port: u16, tcp: &mut Tcp) {
        tcp.listen(port, BACKLOG);
        self.ports.push(port);
    }

    /// Opens a connection; `None` if that is impossible.
    pub(super) fn connect(
        &mut self,
        to: SocketAddr,
        token: u8,
        tcp: &mut Tcp,
        now: Instant,
    ) -> Option<()> {
        let IpAddr::V4(address) = to.ip() else {
            return None;
        };
        let port = to.port();
        let id = tcp.connect(Endpoint { address, port }, now);
        self.keep(Stream::new(id, Some(token))).map(|_| ())
    }

    /// Stores a connection and returns its index, if there is a free slot.
    fn keep(&mut self, stream: Stream) -> Option<usize> {
        let free = self.places.iter().position(Option::is_none);
        let at = free.unwrap_or(self.places.len());
        if at >= MOST {
            self.leaving.push(stream.id);
            return None;
        }
        if free.is_none() {
            self.places.push(None);
        }
        self.places[at] = Some(stream);
        Some(at)
    }

    /// Passes new connections and received data to the program; true if there were any.
    pub(super) fn read(
        &mut self,
        program: &mut dyn Program,
        tcp: &mut Tcp,
        now: AgentInstant,
    ) -> bool {
        let mut moved = self.accept(program, tcp, now);
        for (at, place) in self.places.iter_mut().enumerate() {
            let name = Name(at as u8);
            let Some(stream) = place else { continue };
            let Some(connection) = tcp.get_mut(stream.id) else {
                continue;
            };
            if let Some(token) = stream.asked {
                if connection.is_opening() {
                    continue;
                }
                moved = true;
                stream.asked = None;
                if connection.state() == State::Closed {
                    program.failed(token, now);
                    self.leaving.push(stream.id);
                    *place = None;
                    continue;
                }
                connection.set_no_delay();
                if program
                    .opened(name, Opened::Connected { token }, now)
                    .is_err()
                {
                    connection.abort();
                    self.leaving.push(stream.id);
                    *place = None;
                    continue;
                }
            }
            let octets = connection.read(usize::MAX);
            if !octets.is_empty() {
                moved = true;
                program.received(name, &octets, now);
            }
            let ended = connection.at_end() && connection.state() != State::Closed;
            if ended && !std::mem::replace(&mut stream.ended, true) {
                moved = true;
                program.ended(name, now);
            }
        }
        moved
    }

    fn accept(&mut self, program: &mut dyn Program, tcp: &mut Tcp, now: AgentInstant) -> bool {
        let mut moved = false;
        for at in 0..self.ports.len() {
            let port = self.ports[at];
            while let Some(id) = tcp.accept(port) {
                moved = true;
                let Some(connection) = tcp.get_mut(id) else {
                    continue;
                };
                connection.set_no_delay();
                let remote = connection.remote();
                let from = SocketAddr::new(IpAddr::V4(remote.address), remote.port);
                let opened = Opened::Accepted { port, from };
                let place = self.keep(Stream::new(id, None));
                let taken =
                    place.is_some_and(|at| program.opened(Name(at as u8), opened, now).is_ok());
                if !taken {
                    if let Some(at) = place {
                        self.places[at] = None;
                        self.leaving.push(id);
                    }
                    connection.abort();
                }
            }
        }
        moved
    }

    /// Writes the program's data, and closes or resets connections as it requests; true if anything
    /// happened.
    pub(super) fn write(
        &mut self,
        program: &mut dyn Program,
        tcp: &mut Tcp,
        now: AgentInstant,
    ) -> bool {
        let mut moved = false;
        for (at, place) in self.places.iter_mut().enumerate() {
            let name = Name(at as u8);
            let Some(stream) = place.as_mut().filter(|it| it.asked.is_none()) else {
                continue;
            };
            let Some(connection) = tcp.get_mut(stream.id) else {
                continue;
            };
            loop {
                if stream.sent_of == stream.unsent.len() {
                    stream.unsent.resize(PIECE, 0);
                    let len = program.fill(name, &mut stream.unsent, now);
                    stream.unsent.truncate(len);
                    stream.sent_of = 0;
                    moved |= len > 0;
                }
                let rest = &stream.unsent[stream.sent_of..];
                if rest.is_empty() {
                    break;
                }
                // A full piece is usually followed by another: its last short segment waits for that.
                let more_follows = stream.unsent.len() == PIECE;
                let taken = connection.write(rest, more_follows);
                stream.sent_of += taken;
                moved |= taken > 0;
                if taken == 0 {
                    break;
                }
            }
            let is_sent = stream.sent_of == stream.unsent.len();
            match program.close(name) {
                Close::Finish if is_sent => connection.close(),
                Close::Keep | Close::Finish => {}
                Close::Reset => connection.abort(),
            }
            if matches!(connection.state(), State::Closed | State::TimeWait) {
                moved = true;
                self.leaving.push(stream.id);
                *place = None;
                program.closed(name, now);
            }
        }
        self.forget(tcp);
        moved
    }

    fn forget(&mut self, tcp: &mut Tcp) {
        self.leaving.retain(|id| {
            // Keep it until a pending RST has been sent.
            let done = |it: &crate::peer::tcp::Connection| {
                it.state() == State::Closed && !it.has_reset_due()
            };
            if tcp.get(*id).is_some_and(done) {
                tcp.forget_closed(*id);
            }
            tcp.get(*id).is_some()
        });
    }

    /// Resets open connections and closes listening ports.
    pub(super) fn reset(&mut self, tcp: &mut Tcp) {
        for port in self.ports.drain(..) {
            tcp.listen(port, 0);
        }
        for stream in self.places.drain(..).flatten() {
            if let Some(connection) = tcp.get_mut(stream.id) {
                connection.abort();
            }
        }
    }
}
