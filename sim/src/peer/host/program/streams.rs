//! A program's TCP connections.

use core::net::{IpAddr, SocketAddr};

use linerate_agent::{Close, Connection as Name, Instant as AgentInstant, Opened};

use super::Program;
use crate::peer::tcp::{ConnectionId, Endpoint, State, Tcp};
use crate::time::Instant;

/// Backlog of each listening port.
const BACKLOG: usize = 16;
/// Maximum number of concurrent connections.
const MAX_CONNECTIONS: usize = 256;
/// Octets per write, as iperf does it.
const WRITE_CHUNK: usize = 128 * 1024;

#[derive(Debug)]
struct Stream {
    id: ConnectionId,
    /// Token of an outgoing connection that is not established yet.
    pending_token: Option<u8>,
    ended: bool,
    /// Data from the program; TCP has accepted the first `sent` octets.
    unsent: Vec<u8>,
    sent: usize,
}

impl Stream {
    const fn new(id: ConnectionId, pending_token: Option<u8>) -> Self {
        Self {
            id,
            pending_token,
            ended: false,
            unsent: Vec::new(),
            sent: 0,
        }
    }
}

/// The connections. A connection's identifier is its index.
#[derive(Debug, Default)]
pub(super) struct TcpConnections {
    slots: Vec<Option<Stream>>,
    /// Closed for the program; TCP may not have finished yet.
    closing: Vec<ConnectionId>,
    ports: Vec<u16>,
}

impl TcpConnections {
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
        self.insert(Stream::new(id, Some(token))).map(|_| ())
    }

    /// Stores a connection and returns its index, if there is a free slot.
    fn insert(&mut self, stream: Stream) -> Option<usize> {
        let free = self.slots.iter().position(Option::is_none);
        let at = free.unwrap_or(self.slots.len());
        if at >= MAX_CONNECTIONS {
            self.closing.push(stream.id);
            return None;
        }
        if free.is_none() {
            self.slots.push(None);
        }
        self.slots[at] = Some(stream);
        Some(at)
    }

    /// Passes new connections and received data to the program; true if there were any.
    pub(super) fn read(
        &mut self,
        program: &mut dyn Program,
        tcp: &mut Tcp,
        now: AgentInstant,
    ) -> bool {
        let mut progressed = self.accept(program, tcp, now);
        for (at, slot) in self.slots.iter_mut().enumerate() {
            let name = Name(at as u8);
            let Some(stream) = slot else { continue };
            let Some(connection) = tcp.get_mut(stream.id) else {
                continue;
            };
            if let Some(token) = stream.pending_token {
                if connection.is_opening() {
                    continue;
                }
                progressed = true;
                stream.pending_token = None;
                if connection.state() == State::Closed {
                    program.failed(token, now);
                    self.closing.push(stream.id);
                    *slot = None;
                    continue;
                }
                connection.set_no_delay();
                if program
                    .opened(name, Opened::Connected { token }, now)
                    .is_err()
                {
                    connection.abort();
                    self.closing.push(stream.id);
                    *slot = None;
                    continue;
                }
            }
            let octets = connection.read(usize::MAX);
            if !octets.is_empty() {
                progressed = true;
                program.received(name, &octets, now);
            }
            let ended = connection.is_at_end() && connection.state() != State::Closed;
            if ended && !std::mem::replace(&mut stream.ended, true) {
                progressed = true;
                program.ended(name, now);
            }
        }
        progressed
    }

    fn accept(&mut self, program: &mut dyn Program, tcp: &mut Tcp, now: AgentInstant) -> bool {
        let mut progressed = false;
        for at in 0..self.ports.len() {
            let port = self.ports[at];
            while let Some(id) = tcp.accept(port) {
                progressed = true;
                let Some(connection) = tcp.get_mut(id) else {
                    continue;
                };
                connection.set_no_delay();
                let remote = connection.remote();
                let from = SocketAddr::new(IpAddr::V4(remote.address), remote.port);
                let opened = Opened::Accepted { port, from };
                let slot = self.insert(Stream::new(id, None));
                let taken =
                    slot.is_some_and(|at| program.opened(Name(at as u8), opened, now).is_ok());
                if !taken {
                    if let Some(at) = slot {
                        self.slots[at] = None;
                        self.closing.push(id);
                    }
                    connection.abort();
                }
            }
        }
        progressed
    }

    /// Writes the program's data, and closes or resets connections as it requests; true if anything
    /// happened.
    pub(super) fn write(
        &mut self,
        program: &mut dyn Program,
        tcp: &mut Tcp,
        now: AgentInstant,
    ) -> bool {
        let mut progressed = false;
        for (at, slot) in self.slots.iter_mut().enumerate() {
            let name = Name(at as u8);
            let Some(stream) = slot.as_mut().filter(|it| it.pending_token.is_none()) else {
                continue;
            };
            let Some(connection) = tcp.get_mut(stream.id) else {
                continue;
            };
            loop {
                if stream.sent == stream.unsent.len() {
                    stream.unsent.resize(WRITE_CHUNK, 0);
                    let len = program.fill(name, &mut stream.unsent, now);
                    stream.unsent.truncate(len);
                    stream.sent = 0;
                    progressed |= len > 0;
                }
                let rest = &stream.unsent[stream.sent..];
                if rest.is_empty() {
                    break;
                }
                // A full chunk is usually followed by another: its last short segment waits for that.
                let more_follows = stream.unsent.len() == WRITE_CHUNK;
                let taken = connection.write(rest, more_follows);
                stream.sent += taken;
                progressed |= taken > 0;
                if taken == 0 {
                    break;
                }
            }
            let all_sent = stream.sent == stream.unsent.len();
            match program.close(name) {
                Close::Finish if all_sent => connection.close(),
                Close::Keep | Close::Finish => {}
                Close::Reset => connection.abort(),
            }
            if matches!(connection.state(), State::Closed | State::TimeWait) {
                progressed = true;
                self.closing.push(stream.id);
                *slot = None;
                program.closed(name, now);
            }
        }
        self.remove_closed(tcp);
        progressed
    }

    fn remove_closed(&mut self, tcp: &mut Tcp) {
        self.closing.retain(|id| {
            // Keep it until a pending RST has been sent.
            let done = |it: &crate::peer::tcp::Connection| {
                it.state() == State::Closed && !it.has_reset_due()
            };
            if tcp.get(*id).is_some_and(done) {
                tcp.remove_closed(*id);
            }
            tcp.get(*id).is_some()
        });
    }

    /// Resets open connections and closes listening ports.
    pub(super) fn reset(&mut self, tcp: &mut Tcp) {
        for port in self.ports.drain(..) {
            tcp.listen(port, 0);
        }
        for stream in self.slots.drain(..).flatten() {
            if let Some(connection) = tcp.get_mut(stream.id) {
                connection.abort();
            }
        }
    }
}
