//! TCP connections of a driver: opened, accepted, read, written.

use super::connection::{Connecting, Stream, WriteProgress, chunks_each};
use super::driver::{Driver, MAX_CONNECTIONS, now};
use super::tcp_info;
use linerate_agent::{Close, Connection, Opened, Service};
use mio::net::TcpStream;
use mio::{Interest, Token};
use socket2::{Domain, SockRef, Socket, Type};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;

/// Connections accepted by one listener before others are served.
const ACCEPTS_PER_TURN: usize = 64;

/// Action after an error of accept.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AcceptAction {
    /// Accept the next: this connection was aborted.
    Next,
    /// No connection is pending.
    Empty,
    /// Try again later: a resource is exhausted, usually file descriptors.
    Later,
}

impl AcceptAction {
    pub(super) fn after(error: ErrorKind) -> Self {
        match error {
            ErrorKind::ConnectionAborted | ErrorKind::Interrupted => Self::Next,
            ErrorKind::WouldBlock => Self::Empty,
            _ => Self::Later,
        }
    }
}

impl<S: Service> Driver<S> {
    /// Limits a connection's buffers. Must precede the connection: the window scale is sent in the first
    /// segment (RFC 7323 section 2.2).
    pub(super) fn limit_buffers(&self, socket: &SockRef<'_>) {
        if let Some(octets) = self.config.buffer_octets {
            let _ = socket.set_recv_buffer_size(octets as usize);
            let _ = socket.set_send_buffer_size(octets as usize);
        }
    }

    fn connection_to(&self, to: SocketAddr) -> io::Result<TcpStream> {
        let socket = Socket::new(Domain::for_address(to), Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        self.limit_buffers(&SockRef::from(&socket));
        match socket.connect(&to.into()) {
            Err(error) if !is_in_progress(&error) => Err(error),
            _ => Ok(TcpStream::from_std(socket.into())),
        }
    }

    pub(super) fn connect(&mut self, to: SocketAddr, token: u8) {
        let socket = self.connection_to(to).ok();
        let connecting = Connecting {
            token,
            until: self.now().after(self.config.connect_timeout),
        };
        let stream = socket.map(|socket| Stream::new(socket, Some(connecting)));
        let at = stream.and_then(|stream| self.insert_stream(stream));
        if at.is_none() {
            let now = self.now();
            self.service.failed(token, now);
        }
        self.open_log(at, true);
    }

    /// Begins the log of the connection at this index.
    fn open_log(&mut self, at: Option<usize>, is_outgoing: bool) {
        let now = self.now();
        if let Some(log) = &mut self.log
            && let Some(stream) = at.and_then(|at| self.streams[at].as_mut())
        {
            stream.log_id = log.open(now, is_outgoing);
            if let Some(id) = stream.log_id {
                log.set_congestion_control(id, tcp_info::congestion_control(stream.socket()));
            }
        }
    }

    pub(super) fn accept_all(&mut self) {
        for at in 0..self.listeners.len() {
            for _ in 0..ACCEPTS_PER_TURN {
                let listener = &mut self.listeners[at];
                if !listener.ready {
                    break;
                }
                match listener.socket.accept() {
                    Ok((socket, from)) => {
                        let port = listener.port;
                        self.accepted(socket, Opened::Accepted { port, from });
                    }
                    Err(error) => match AcceptAction::after(error.kind()) {
                        AcceptAction::Next => {}
                        AcceptAction::Empty => listener.ready = false,
                        AcceptAction::Later => break,
                    },
                }
            }
        }
    }

    fn accepted(&mut self, socket: TcpStream, opened: Opened) {
        self.progressed = true;
        // More connections may be pending.
        self.busy = true;
        let Some(at) = self.insert_stream(Stream::new(socket, None)) else {
            // The limit is reached: the socket is closed.
            return;
        };
        self.open_log(Some(at), false);
        let (connection, now) = (Connection(at as u8), self.now());
        if self.service.opened(connection, opened, now).is_err()
            && let Some(mut stream) = self.streams[at].take()
        {
            stream.close(Close::Reset);
        }
    }

    /// Stores a connection and returns its index, or resets it at the limit.
    fn insert_stream(&mut self, mut stream: Stream) -> Option<usize> {
        let free = self.streams.iter().position(Option::is_none);
        let at = free.unwrap_or(self.streams.len());
        if at >= self.config.connections.min(MAX_CONNECTIONS) {
            stream.close(Close::Reset);
            return None;
        }
        let both = Interest::READABLE | Interest::WRITABLE;
        let registry = self.poll.registry();
        registry.register(stream.socket(), Token(at), both).ok()?;
        if free.is_none() {
            self.streams.push(None);
        }
        self.streams[at] = Some(stream);
        Some(at)
    }

    pub(super) fn read_streams(&mut self) {
        let clock = self.clock;
        let chunks = chunks_each(self.connections());
        for at in 0..self.streams.len() {
            let connection = Connection(at as u8);
            let Some(stream) = &mut self.streams[at] else {
                continue;
            };
            if let Some(Connecting { token, until }) = stream.connecting {
                let result = stream.connect_result();
                let is_late = now(clock) >= until;
                let opened = match result.or_else(|| is_late.then_some(false)) {
                    None => continue,
                    Some(false) => {
                        self.progressed = true;
                        self.has_failed = true;
                        self.is_refused |= stream.is_refused;
                        self.service.failed(token, now(clock));
                        self.streams[at] = None;
                        continue;
                    }
                    Some(true) => Opened::Connected { token },
                };
                self.progressed = true;
                self.has_connected = true;
                stream.connecting = None;
                if let Some((log, id)) = self.log.as_mut().zip(stream.log_id) {
                    log.on_established(id, now(clock));
                }
                if self.service.opened(connection, opened, now(clock)).is_err() {
                    stream.close(Close::Reset);
                    self.streams[at] = None;
                    continue;
                }
            }
            let (service, chunk) = (&mut self.service, &mut self.chunk);
            let has_read = stream.read(connection, service, chunk, chunks, || now(clock));
            self.progressed |= has_read;
            if has_read && let Some((log, id)) = self.log.as_mut().zip(stream.log_id) {
                log.on_read(id, now(clock));
            }
        }
    }

    pub(super) fn write_streams(&mut self) {
        let clock = self.clock;
        let chunks = chunks_each(self.connections());
        for at in 0..self.streams.len() {
            let connection = Connection(at as u8);
            let Some(stream) = &mut self.streams[at] else {
                continue;
            };
            if stream.connecting.is_some() {
                continue;
            }
            let wrote = stream.write(connection, &mut self.service, chunks, || now(clock));
            self.progressed |= wrote != WriteProgress::Nothing;
            let logged = self.log.as_mut().zip(stream.log_id);
            if let Some((log, id)) = logged.filter(|_| wrote != WriteProgress::Nothing) {
                log.on_write(id, now(clock));
            }
            stream.close(self.service.close(connection));
            self.busy |= wrote == WriteProgress::More || stream.is_busy();
            if stream.is_closed() {
                self.progressed = true;
                if let Some((log, id)) = self.log.as_mut().zip(stream.log_id)
                    && let Some(info) = tcp_info::read(stream.socket())
                {
                    log.sample(id, now(clock), &info);
                }
                self.streams[at] = None;
                self.service.closed(connection, now(clock));
            }
        }
    }
}

/// True if the error means that a non-blocking connect is in progress.
fn is_in_progress(error: &io::Error) -> bool {
    #[cfg(unix)]
    if error.raw_os_error() == Some(libc::EINPROGRESS) {
        return true;
    }
    error.kind() == ErrorKind::WouldBlock
}
