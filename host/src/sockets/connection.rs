//! A TCP connection: what was read from it and what waits to be written.

use linerate_agent::{Close, Connection, Instant, Service};
use mio::net::TcpStream;
use socket2::SockRef;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::Shutdown;
use std::time::Duration;

/// What is read and written in one piece.
pub(super) const PIECE: usize = 128 * 1024;
/// Pieces in a row, then others have their turn.
const TURN: usize = 8;

/// What a socket can be used for, as far as it has said: it says it once (edge-triggered).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ready {
    pub(super) read: bool,
    pub(super) write: bool,
}

/// What a turn's writing has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrote {
    Nothing,
    Some,
    /// There may be more.
    AndMore,
}

pub(super) struct Stream {
    socket: TcpStream,
    pub(super) ready: Ready,
    /// A connection that was asked for, while it is not there yet: the token.
    pub(super) asked: Option<u8>,
    /// Filled by the service and not written yet.
    unsent: Vec<u8>,
    sent_of: usize,
    read_ended: bool,
    write_ended: bool,
    is_gone: bool,
}

impl Stream {
    pub(super) fn new(socket: TcpStream, asked: Option<u8>) -> Self {
        // A request of a few octets must not wait for the acknowledgement of another.
        let _ = socket.set_nodelay(true);
        Self {
            socket,
            ready: Ready::default(),
            asked,
            unsent: Vec::new(),
            sent_of: 0,
            read_ended: false,
            write_ended: false,
            is_gone: false,
        }
    }

    pub(super) fn socket(&mut self) -> &mut TcpStream {
        &mut self.socket
    }

    /// Whether a connection that was asked for has come about; `None`: not decided yet.
    pub(super) fn has_connected(&self) -> Option<bool> {
        if self.socket.take_error().ok().flatten().is_some() {
            return Some(false);
        }
        match self.socket.peer_addr() {
            Ok(_) => Some(true),
            Err(error) if error.kind() == ErrorKind::NotConnected => None,
            Err(_) => Some(false),
        }
    }

    /// There is something to be done without another event.
    pub(super) fn is_busy(&self) -> bool {
        !self.is_gone && self.ready.read
    }

    /// Nothing more can come or go.
    pub(super) fn is_gone(&self) -> bool {
        self.is_gone || self.read_ended && self.write_ended
    }

    /// Reads what is there, for a turn, and tells the service. `true`: there was something.
    pub(super) fn read<S: Service>(
        &mut self,
        connection: Connection,
        service: &mut S,
        piece: &mut [u8],
        now: impl Fn() -> Instant,
    ) -> bool {
        let mut some = false;
        for _ in 0..TURN {
            if !self.ready.read || self.read_ended || self.is_gone {
                self.ready.read = false;
                break;
            }
            match self.socket.read(piece) {
                Ok(0) => {
                    some = true;
                    self.read_ended = true;
                    service.ended(connection, now());
                }
                Ok(len) => {
                    some = true;
                    service.received(connection, &piece[..len], now());
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.ready.read = false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => self.is_gone = true,
            }
        }
        some
    }

    /// Writes what the service has to send, for a turn.
    pub(super) fn write<S: Service>(
        &mut self,
        connection: Connection,
        service: &mut S,
        now: impl Fn() -> Instant,
    ) -> Wrote {
        let mut wrote = Wrote::Nothing;
        for _ in 0..TURN {
            if !self.ready.write || self.write_ended || self.is_gone {
                return wrote;
            }
            if self.sent_of == self.unsent.len() {
                self.unsent.resize(PIECE, 0);
                let len = service.fill(connection, &mut self.unsent, now());
                self.unsent.truncate(len);
                self.sent_of = 0;
                if len == 0 {
                    return wrote;
                }
                wrote = Wrote::Some;
            }
            match self.socket.write(&self.unsent[self.sent_of..]) {
                Ok(len) => {
                    self.sent_of += len;
                    wrote = Wrote::Some;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.ready.write = false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => self.is_gone = true,
            }
        }
        Wrote::AndMore
    }

    /// Does what the service wants to become of the connection.
    pub(super) fn close(&mut self, wanted: Close) {
        match wanted {
            Close::Keep => {}
            Close::Finish => {
                if !self.write_ended && self.sent_of == self.unsent.len() {
                    self.write_ended = true;
                    let _ = self.socket.shutdown(Shutdown::Write);
                }
            }
            Close::Reset => {
                // Without lingering, closing is a reset.
                let _ = SockRef::from(&self.socket).set_linger(Some(Duration::ZERO));
                self.is_gone = true;
            }
        }
    }
}
