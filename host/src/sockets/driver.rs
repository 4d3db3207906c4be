use super::SocketError;
use super::connection::{CHUNK_OCTETS, Ready, Stream, WriteProgress};
use super::log::SocketLog;
use super::tcp_info;
use crate::load::udp::drops_of_port;
use linerate_agent::{Close, Connection, Instant, Opened, Service, SocketRequest, Udp};
use linerate_results::record::TcpConnection;
use mio::event::Event;
use mio::net::{TcpListener, TcpStream, UdpSocket};
use mio::{Events, Interest, Poll, Token};
use socket2::{Domain, SockRef, Socket, Type};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant as Clock};

/// Datagrams of one socket before others are served.
const DATAGRAMS_PER_TURN: usize = 256;
/// Maximum datagram size.
const MAX_DATAGRAM: usize = 65_536;
/// Requested receive buffer of a UDP socket: it absorbs bursts while this thread is not scheduled. The
/// system may grant less.
const UDP_BUFFER: usize = 4 << 20;
/// Connections accepted by one listener before others are served.
const ACCEPTS_PER_TURN: usize = 64;
/// Time before a deadline in which the driver polls instead of sleeping: a sleep is rounded up to whole
/// milliseconds, and the system wakes later than that.
const SPIN: Duration = Duration::from_micros(1_100);
/// Sleep time while all due data waits for buffer space.
const BLOCKED_WAIT: Duration = Duration::from_millis(1);

/// First tokens in the event queue: connections from 0, then UDP sockets, then listeners.
const UDP_TOKENS: usize = 1 << 8;
const LISTENER_TOKENS: usize = 1 << 16;

/// Configuration of a driver.
#[derive(Debug, Clone, Copy)]
pub struct DriverConfig {
    /// Local address for listening and sending.
    pub address: IpAddr,
    /// Maximum number of TCP connections, up to 256.
    pub connections: usize,
    /// Socket buffers of a TCP connection, which limit its window; `None`: the system's automatic tuning.
    pub buffer_octets: Option<u32>,
    /// True to log the state of TCP connections, see [`Driver::take_log`].
    pub logs: bool,
}

impl Default for DriverConfig {
    /// Loopback only.
    fn default() -> Self {
        Self {
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            connections: 64,
            buffer_octets: None,
            logs: false,
        }
    }
}

/// Why no connection came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectFailure {
    /// The other end refused it.
    Refused,
    /// Nothing answered, or there is no route.
    NoAnswer,
}

struct Listener {
    port: u16,
    socket: TcpListener,
    /// A connection may be pending.
    ready: bool,
}

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

struct DatagramSocket {
    socket: UdpSocket,
    ready: Ready,
}

impl DatagramSocket {
    /// Datagrams dropped because the socket was full; `None` if unavailable on this system.
    fn dropped(&self) -> Option<u64> {
        drops_of_port(self.socket.local_addr().ok()?.port())
    }
}

/// Runs a service.
pub struct Driver<S> {
    service: S,
    config: DriverConfig,
    poll: Poll,
    events: Events,
    clock: Clock,
    listeners: Vec<Listener>,
    streams: Vec<Option<Stream>>,
    datagrams: BTreeMap<u8, DatagramSocket>,
    /// Drops of closed sockets; `None` if unavailable.
    dropped: Option<u64>,
    chunk: Vec<u8>,
    /// Datagram that did not fit in the send buffer.
    unsent: Option<(Udp, SocketAddr, Vec<u8>)>,
    /// There is work without waiting.
    busy: bool,
    /// Start of the last turn, and whether anything was received or sent in it.
    turn_start: Instant,
    progressed: bool,
    log: Option<SocketLog>,
    /// An outgoing connection was established, or the first one was refused.
    has_connected: bool,
    is_refused: bool,
    has_failed: bool,
}

impl<S: Service> Driver<S> {
    /// Opens the listeners that the service requests.
    ///
    /// # Errors
    /// A port is in use or not permitted.
    pub fn new(service: S, config: DriverConfig) -> Result<Self, SocketError> {
        let mut driver = Self {
            service,
            config,
            poll: Poll::new()?,
            events: Events::with_capacity(256),
            clock: Clock::now(),
            listeners: Vec::new(),
            streams: Vec::new(),
            datagrams: BTreeMap::new(),
            dropped: Some(0),
            chunk: vec![0; CHUNK_OCTETS.max(MAX_DATAGRAM)],
            unsent: None,
            busy: false,
            turn_start: Instant::from_ns(0),
            progressed: true,
            log: config.logs.then(SocketLog::default),
            has_connected: false,
            is_refused: false,
            has_failed: false,
        };
        // The initial requests of a service must succeed.
        while let Some(request) = driver.service.next_request() {
            driver.process_request(request)?;
        }
        Ok(driver)
    }

    /// The service.
    pub fn service(&mut self) -> &mut S {
        &mut self.service
    }

    /// Closes all sockets and returns the service.
    #[must_use]
    pub fn into_service(self) -> S {
        self.service
    }

    /// Time since the driver was created.
    #[must_use]
    pub fn now(&self) -> Instant {
        now(self.clock)
    }

    /// Datagrams dropped because a socket was full, since the driver was created; `None` if unavailable on this
    /// system.
    #[must_use]
    pub fn dropped_datagrams(&self) -> Option<u64> {
        let open = self.datagrams.values().map(DatagramSocket::dropped);
        Some(self.dropped? + open.sum::<Option<u64>>()?)
    }

    /// Why no outgoing connection was established; `None` if one was, or none was requested.
    pub fn connect_failure(&self) -> Option<ConnectFailure> {
        let pending = || self.streams.iter().flatten();
        let is_pending = pending().any(|stream| stream.connect_token.is_some());
        match (self.has_connected, self.is_refused) {
            (true, _) => None,
            (_, true) => Some(ConnectFailure::Refused),
            _ => (is_pending || self.has_failed).then_some(ConnectFailure::NoAnswer),
        }
    }

    /// Takes the log of TCP connections, those included that are still open. Empty if none was requested.
    pub fn take_log(&mut self) -> Vec<TcpConnection> {
        self.sample_streams(true);
        self.log.take().map(SocketLog::finish).unwrap_or_default()
    }

    /// Adds samples of the connections that are due, or of all.
    fn sample_streams(&mut self, all: bool) {
        let now = self.now();
        let Some(log) = &mut self.log else { return };
        for stream in self.streams.iter_mut().flatten() {
            let due = |id: &_| all || log.is_due(*id, now);
            if let Some(id) = stream.log_id.filter(due)
                && stream.connect_token.is_none()
                && let Some(info) = tcp_info::read(stream.socket())
            {
                log.sample(id, now, &info);
            }
        }
    }

    /// Number of TCP connections.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.streams.iter().flatten().count()
    }

    /// Waits for events, up to `max_wait`, and processes them.
    ///
    /// # Errors
    /// The event queue fails.
    pub fn turn(&mut self, max_wait: Duration) -> Result<(), SocketError> {
        self.wait(max_wait)?;
        self.busy = false;
        self.progressed = false;
        self.turn_start = self.now();
        self.process_requests();
        self.accept_all();
        self.receive_datagrams();
        self.read_streams();
        self.send_datagrams();
        self.write_streams();
        self.sample_streams(false);
        self.process_requests();
        Ok(())
    }

    /// Time until the next deadline of the service.
    fn pause(&self) -> Duration {
        if self.busy {
            return Duration::ZERO;
        }
        match self.service.wake_at() {
            None => Duration::MAX,
            // It made no progress: it waits for buffer space, which the sockets signal. Later deadlines
            // are not visible behind it.
            Some(due) if due <= self.turn_start && !self.progressed => BLOCKED_WAIT,
            Some(due) => due.since(self.now()),
        }
    }

    fn wait(&mut self, max_wait: Duration) -> Result<(), SocketError> {
        let pause = self.pause();
        if pause == BLOCKED_WAIT || pause >= max_wait {
            return self.poll(pause.min(max_wait));
        }
        if let Some(asleep) = pause.checked_sub(SPIN) {
            return self.poll(asleep);
        }
        let until = self.now().after(pause);
        loop {
            self.poll(Duration::ZERO)?;
            if !self.events.is_empty() || self.now() >= until {
                return Ok(());
            }
            std::hint::spin_loop();
        }
    }

    /// Polls the event queue and updates the readiness of the sockets.
    fn poll(&mut self, pause: Duration) -> Result<(), SocketError> {
        match self.poll.poll(&mut self.events, Some(pause)) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {
                self.events.clear();
                return Ok(());
            }
            other => other?,
        }
        for event in &self.events {
            match event.token().0 {
                at if at >= LISTENER_TOKENS => {
                    if let Some(listener) = self.listeners.get_mut(at - LISTENER_TOKENS) {
                        listener.ready = true;
                    }
                }
                at if at >= UDP_TOKENS => {
                    if let Some(socket) = self.datagrams.get_mut(&((at - UDP_TOKENS) as u8)) {
                        update_ready(&mut socket.ready, event);
                    }
                }
                at => {
                    if let Some(Some(stream)) = self.streams.get_mut(at) {
                        update_ready(&mut stream.ready, event);
                    }
                }
            }
        }
        Ok(())
    }

    fn process_requests(&mut self) {
        while let Some(request) = self.service.next_request() {
            self.progressed = true;
            // A missing socket for one client must not affect the others: data sent from it is lost.
            let _ = self.process_request(request);
        }
    }

    fn process_request(&mut self, request: SocketRequest) -> Result<(), SocketError> {
        match request {
            SocketRequest::Listen(port) => self.listen(port)?,
            SocketRequest::Bind(socket, port) => self.bind(socket, port)?,
            SocketRequest::Unbind(Udp(number)) => {
                if let Some(closed) = self.datagrams.remove(&number) {
                    self.dropped = self.dropped.zip(closed.dropped()).map(|(a, b)| a + b);
                }
            }
            SocketRequest::Connect { to, token } => self.connect(to, token),
        }
        Ok(())
    }

    fn listen(&mut self, port: u16) -> Result<(), SocketError> {
        let address = SocketAddr::new(self.config.address, port);
        let failed = |source| SocketError::Bind {
            protocol: "TCP",
            address,
            source,
        };
        let mut socket = TcpListener::bind(address).map_err(failed)?;
        // Accepted connections inherit the buffer sizes.
        self.limit_buffers(&SockRef::from(&socket));
        let token = Token(LISTENER_TOKENS + self.listeners.len());
        let registry = self.poll.registry();
        registry.register(&mut socket, token, Interest::READABLE)?;
        self.listeners.push(Listener {
            port,
            socket,
            ready: false,
        });
        Ok(())
    }

    fn bind(&mut self, Udp(number): Udp, port: Option<u16>) -> Result<(), SocketError> {
        let address = SocketAddr::new(self.config.address, port.unwrap_or(0));
        let failed = |source| SocketError::Bind {
            protocol: "UDP",
            address,
            source,
        };
        let mut socket = UdpSocket::bind(address).map_err(failed)?;
        let _ = SockRef::from(&socket).set_recv_buffer_size(UDP_BUFFER);
        let token = Token(UDP_TOKENS + usize::from(number));
        let both = Interest::READABLE | Interest::WRITABLE;
        self.poll.registry().register(&mut socket, token, both)?;
        let ready = Ready {
            read: true,
            write: true,
        };
        self.datagrams
            .insert(number, DatagramSocket { socket, ready });
        Ok(())
    }

    /// Limits a connection's buffers. Must precede the connection: the window scale is sent in the first
    /// segment (RFC 7323 section 2.2).
    fn limit_buffers(&self, socket: &SockRef<'_>) {
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

    fn connect(&mut self, to: SocketAddr, token: u8) {
        let socket = self.connection_to(to).ok();
        let at = socket.and_then(|socket| self.insert_stream(Stream::new(socket, Some(token))));
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

    fn accept_all(&mut self) {
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
        if at >= self.config.connections.min(UDP_TOKENS) {
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

    fn read_streams(&mut self) {
        let clock = self.clock;
        for at in 0..self.streams.len() {
            let connection = Connection(at as u8);
            let Some(stream) = &mut self.streams[at] else {
                continue;
            };
            if let Some(token) = stream.connect_token {
                let opened = match stream.connect_result() {
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
                stream.connect_token = None;
                if let Some((log, id)) = self.log.as_mut().zip(stream.log_id) {
                    log.on_established(id, now(clock));
                }
                if self.service.opened(connection, opened, now(clock)).is_err() {
                    stream.close(Close::Reset);
                    self.streams[at] = None;
                    continue;
                }
            }
            let has_read = stream.read(connection, &mut self.service, &mut self.chunk, || {
                now(clock)
            });
            self.progressed |= has_read;
            if has_read && let Some((log, id)) = self.log.as_mut().zip(stream.log_id) {
                log.on_read(id, now(clock));
            }
        }
    }

    fn write_streams(&mut self) {
        let clock = self.clock;
        for at in 0..self.streams.len() {
            let connection = Connection(at as u8);
            let Some(stream) = &mut self.streams[at] else {
                continue;
            };
            if stream.connect_token.is_some() {
                continue;
            }
            let wrote = stream.write(connection, &mut self.service, || now(clock));
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

    fn receive_datagrams(&mut self) {
        for (number, it) in &mut self.datagrams {
            for _ in 0..DATAGRAMS_PER_TURN {
                if !it.ready.read {
                    break;
                }
                match it.socket.recv_from(&mut self.chunk) {
                    Ok((len, from)) => {
                        self.progressed = true;
                        let now = now(self.clock);
                        let octets = &self.chunk[..len];
                        self.service.datagram(Udp(*number), from, octets, now);
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => it.ready.read = false,
                    // ICMP error of an earlier datagram: ignored.
                    Err(_) => {}
                }
            }
            self.busy |= it.ready.read;
        }
    }

    fn send_datagrams(&mut self) {
        for _ in 0..DATAGRAMS_PER_TURN {
            let (from, to, octets) = if let Some(unsent) = self.unsent.take() {
                unsent
            } else {
                let now = now(self.clock);
                let Some(next) = self.service.next_datagram(&mut self.chunk, now) else {
                    return;
                };
                (next.socket, next.to, self.chunk[..next.len].to_vec())
            };
            let Some(it) = self.datagrams.get_mut(&from.0) else {
                self.progressed = true;
                continue;
            };
            match it.socket.send_to(&octets, to) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.unsent = Some((from, to, octets));
                    return;
                }
                // Lost, as on any network.
                Ok(_) | Err(_) => self.progressed = true,
            }
        }
        self.busy = true;
    }
}

fn now(clock: Clock) -> Instant {
    let ns = clock.elapsed().as_nanos();
    Instant::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
}

/// True if the error means that a non-blocking connect is in progress.
fn is_in_progress(error: &io::Error) -> bool {
    #[cfg(unix)]
    if error.raw_os_error() == Some(libc::EINPROGRESS) {
        return true;
    }
    error.kind() == ErrorKind::WouldBlock
}

fn update_ready(ready: &mut Ready, event: &Event) {
    ready.read |= event.is_readable() || event.is_read_closed() || event.is_error();
    ready.write |= event.is_writable() || event.is_write_closed() || event.is_error();
}
