//! TCP connection with its unsent data.

use super::log::LogId;
use linerate_agent::{Close, Connection, Instant, Service};
use mio::net::TcpStream;
use socket2::SockRef;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::Shutdown;
use std::time::Duration;

/// Maximum octets of one read or write.
pub(super) const CHUNK_OCTETS: usize = 128 * 1024;
/// Data of services that send zeros: always the same memory, so it stays in the cache.
static ZEROS: [u8; CHUNK_OCTETS] = [0; CHUNK_OCTETS];
/// Chunks of one connection before others are served, and of all connections in a turn: with many, each gets one.
const MAX_CHUNKS: usize = 8;
const CHUNKS_PER_TURN: usize = 64;

/// Chunks of each of so many connections in a turn.
pub(super) fn chunks_each(connections: usize) -> usize {
    (CHUNKS_PER_TURN / connections.max(1)).clamp(1, MAX_CHUNKS)
}

/// Readiness of a socket; events are edge-triggered.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ready {
    pub(super) read: bool,
    pub(super) write: bool,
}

/// Result of the writes of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteProgress {
    Nothing,
    Some,
    /// There may be more to write.
    More,
}

/// Request for an outgoing connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Connecting {
    pub(super) token: u8,
    /// Time of the timeout.
    pub(super) until: Instant,
}

pub(super) struct Stream {
    socket: TcpStream,
    pub(super) ready: Ready,
    /// The request, while an outgoing connection is being established.
    pub(super) connecting: Option<Connecting>,
    /// The other end refused the connection.
    pub(super) is_refused: bool,
    /// Its entry in the driver's log, if there is one.
    pub(super) log_id: Option<LogId>,
    /// Filled by the service but not yet written.
    unsent: Vec<u8>,
    sent_octets: usize,
    /// Zeros of the service not yet written; `unsent` has none then.
    unsent_zeros: usize,
    read_ended: bool,
    write_ended: bool,
    is_gone: bool,
}

impl Stream {
    pub(super) fn new(socket: TcpStream, connecting: Option<Connecting>) -> Self {
        // A short request must not wait for the acknowledgment of an earlier one.
        let _ = socket.set_nodelay(true);
        Self {
            socket,
            ready: Ready::default(),
            connecting,
            is_refused: false,
            log_id: None,
            unsent: Vec::new(),
            sent_octets: 0,
            unsent_zeros: 0,
            read_ended: false,
            write_ended: false,
            is_gone: false,
        }
    }

    pub(super) fn socket(&mut self) -> &mut TcpStream {
        &mut self.socket
    }

    /// True if the outgoing connection is established, false if it failed; `None`: still pending.
    pub(super) fn connect_result(&mut self) -> Option<bool> {
        if let Some(error) = self.socket.take_error().ok().flatten() {
            self.is_refused = error.kind() == ErrorKind::ConnectionRefused;
            return Some(false);
        }
        match self.socket.peer_addr() {
            Ok(_) => Some(true),
            Err(error) if error.kind() == ErrorKind::NotConnected => None,
            Err(_) => Some(false),
        }
    }

    /// True if there is work without a further event.
    pub(super) fn is_busy(&self) -> bool {
        !self.is_gone && self.ready.read
    }

    /// True if nothing more can be received or sent.
    pub(super) fn is_closed(&self) -> bool {
        self.is_gone || self.read_ended && self.write_ended
    }

    /// Reads available data, for a turn, and passes it to the service. Returns true if there was any.
    pub(super) fn read<S: Service>(
        &mut self,
        connection: Connection,
        service: &mut S,
        chunk: &mut [u8],
        chunks: usize,
        now: impl Fn() -> Instant,
    ) -> bool {
        let mut has_read = false;
        for _ in 0..chunks {
            if !self.ready.read || self.read_ended || self.is_gone {
                self.ready.read = false;
                break;
            }
            match self.socket.read(chunk) {
                Ok(0) => {
                    has_read = true;
                    self.read_ended = true;
                    service.ended(connection, now());
                }
                Ok(len) => {
                    has_read = true;
                    service.received(connection, &chunk[..len], now());
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.ready.read = false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => self.is_gone = true,
            }
        }
        has_read
    }

    /// Writes the service's data, for a turn.
    pub(super) fn write<S: Service>(
        &mut self,
        connection: Connection,
        service: &mut S,
        chunks: usize,
        now: impl Fn() -> Instant,
    ) -> WriteProgress {
        let mut wrote = WriteProgress::Nothing;
        for _ in 0..chunks {
            if !self.ready.write || self.write_ended || self.is_gone {
                return wrote;
            }
            if self.is_all_sent() {
                self.unsent_zeros = service.zeros(connection, CHUNK_OCTETS, now());
                if self.unsent_zeros == 0 && !self.fill(connection, service, now()) {
                    return wrote;
                }
                wrote = WriteProgress::Some;
            }
            let octets = match self.unsent_zeros {
                0 => &self.unsent[self.sent_octets..],
                zeros => &ZEROS[..zeros.min(CHUNK_OCTETS)],
            };
            match self.socket.write(octets) {
                Ok(len) => {
                    match self.unsent_zeros {
                        0 => self.sent_octets += len,
                        zeros => self.unsent_zeros = zeros - len,
                    }
                    wrote = WriteProgress::Some;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.ready.write = false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => self.is_gone = true,
            }
        }
        WriteProgress::More
    }

    /// True if everything that the service has provided is written.
    const fn is_all_sent(&self) -> bool {
        self.sent_octets == self.unsent.len() && self.unsent_zeros == 0
    }

    /// Takes data of the service; false if it has none now.
    fn fill<S: Service>(&mut self, connection: Connection, service: &mut S, now: Instant) -> bool {
        self.unsent.resize(CHUNK_OCTETS, 0);
        let len = service.fill(connection, &mut self.unsent, now);
        self.unsent.truncate(len);
        self.sent_octets = 0;
        len > 0
    }

    /// Closes or resets the connection as the service requests.
    pub(super) fn close(&mut self, request: Close) {
        match request {
            Close::Keep => {}
            Close::Finish => {
                if !self.write_ended && self.is_all_sent() {
                    self.write_ended = true;
                    let _ = self.socket.shutdown(Shutdown::Write);
                }
            }
            Close::Reset => {
                // With a linger time of 0, closing sends a reset.
                let _ = SockRef::from(&self.socket).set_linger(Some(Duration::ZERO));
                self.is_gone = true;
            }
        }
    }
}
