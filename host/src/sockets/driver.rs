use super::HostError;
use super::connection::{PIECE, Ready, Stream, Wrote};
use crate::load::udp::drops_of_port;
use linerate_agent::{Close, Connection, Instant, Opened, Service, SocketRequest, Udp};
use mio::event::Event;
use mio::net::{TcpListener, TcpStream, UdpSocket};
use mio::{Events, Interest, Poll, Token};
use socket2::{Domain, SockRef, Socket, Type};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant as Clock};

/// Datagrams of a socket in a row, then others have their turn.
const TURN: usize = 256;
/// The largest datagram.
const DATAGRAM: usize = 65_536;
/// What is asked for as a UDP socket's receive buffer: bursts outlast the time this takes to be
/// scheduled. The system may give less.
const UDP_BUFFER: usize = 4 << 20;
/// Connections of a listener in a row, then others have their turn.
const ACCEPTS: usize = 64;
/// Nearer than this, a deadline is waited for without sleeping: a sleep is rounded up to whole
/// milliseconds, and the system wakes later than that.
const SPIN: Duration = Duration::from_micros(1_100);
/// How long is slept at least where all that is due waits for room.
const ROOMLESS: Duration = Duration::from_millis(1);

/// Where tokens of the event queue begin: connections from 0, UDP sockets, listeners.
const UDP_TOKENS: usize = 1 << 8;
const LISTENER_TOKENS: usize = 1 << 16;

/// How a service meets its sockets.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Where to listen, and from where to send.
    pub address: IpAddr,
    /// How many TCP connections there may be, at most 256.
    pub connections: usize,
    /// What a TCP connection's buffers in the system take, which bounds its window; `None`: the
    /// system finds out by itself how much is good.
    pub buffer_octets: Option<u32>,
}

impl Default for Settings {
    /// This machine only.
    fn default() -> Self {
        Self {
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            connections: 64,
            buffer_octets: None,
        }
    }
}

struct Listener {
    port: u16,
    socket: TcpListener,
    /// Somebody may be waiting.
    ready: bool,
}

/// What to do after a connection could not be accepted.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Accepting {
    /// Take the next: this one is gone.
    Next,
    /// Nobody waits.
    Empty,
    /// Try again later: something is short, file descriptors mostly.
    Later,
}

impl Accepting {
    pub(super) fn after(error: ErrorKind) -> Self {
        match error {
            ErrorKind::ConnectionAborted | ErrorKind::Interrupted => Self::Next,
            ErrorKind::WouldBlock => Self::Empty,
            _ => Self::Later,
        }
    }
}

struct Datagrams {
    socket: UdpSocket,
    ready: Ready,
}

impl Datagrams {
    /// Those that found no room in the socket; `None`: the system does not tell.
    fn dropped(&self) -> Option<u64> {
        drops_of_port(self.socket.local_addr().ok()?.port())
    }
}

/// Runs a service.
pub struct Driver<S> {
    service: S,
    settings: Settings,
    poll: Poll,
    events: Events,
    clock: Clock,
    listeners: Vec<Listener>,
    streams: Vec<Option<Stream>>,
    datagrams: BTreeMap<u8, Datagrams>,
    /// What the system dropped of those that are closed; `None`: it did not tell.
    dropped: Option<u64>,
    piece: Vec<u8>,
    /// A datagram that the socket had no room for.
    unsent: Option<(Udp, SocketAddr, Vec<u8>)>,
    /// There is something to do without waiting.
    busy: bool,
    /// When the service was last asked for what is due; whether anything came or went with that.
    looked: Instant,
    moved: bool,
}

impl<S: Service> Driver<S> {
    /// Opens what the service wants to listen on.
    ///
    /// # Errors
    /// A port is taken or not allowed.
    pub fn new(service: S, settings: Settings) -> Result<Self, HostError> {
        let mut driver = Self {
            service,
            settings,
            poll: Poll::new()?,
            events: Events::with_capacity(256),
            clock: Clock::now(),
            listeners: Vec::new(),
            streams: Vec::new(),
            datagrams: BTreeMap::new(),
            dropped: Some(0),
            piece: vec![0; PIECE.max(DATAGRAM)],
            unsent: None,
            busy: false,
            looked: Instant::from_ns(0),
            moved: true,
        };
        // What a service wants from the start it can't do without.
        while let Some(ask) = driver.service.next_request() {
            driver.do_one(ask)?;
        }
        Ok(driver)
    }

    /// The service.
    pub fn service(&mut self) -> &mut S {
        &mut self.service
    }

    /// Closes all sockets and gives the service back.
    #[must_use]
    pub fn into_service(self) -> S {
        self.service
    }

    /// Since the driver began.
    #[must_use]
    pub fn now(&self) -> Instant {
        now(self.clock)
    }

    /// Datagrams that came and were dropped because a socket had no room, since the driver began; `None`: the
    /// system does not tell.
    #[must_use]
    pub fn dropped_datagrams(&self) -> Option<u64> {
        let open = self.datagrams.values().map(Datagrams::dropped);
        Some(self.dropped? + open.sum::<Option<u64>>()?)
    }

    /// How many TCP connections there are.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.streams.iter().flatten().count()
    }

    /// Waits for something to do, `at_most` so long, and does it.
    ///
    /// # Errors
    /// The event queue fails.
    pub fn turn(&mut self, at_most: Duration) -> Result<(), HostError> {
        self.wait(at_most)?;
        self.busy = false;
        self.moved = false;
        self.looked = self.now();
        self.do_asked();
        self.accept_all();
        self.receive_datagrams();
        self.read_streams();
        self.send_datagrams();
        self.write_streams();
        self.do_asked();
        Ok(())
    }

    /// How long nothing is to be done but to look for events.
    fn pause(&self) -> Duration {
        if self.busy {
            return Duration::ZERO;
        }
        match self.service.wake_at() {
            None => Duration::MAX,
            // It had its chance: it waits for room, of which the sockets tell. What else is due, and
            // when, can't be seen behind it.
            Some(due) if due <= self.looked && !self.moved => ROOMLESS,
            Some(due) => due.since(self.now()),
        }
    }

    fn wait(&mut self, at_most: Duration) -> Result<(), HostError> {
        let pause = self.pause();
        if pause == ROOMLESS || pause >= at_most {
            return self.poll(pause.min(at_most));
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

    /// Notes what sockets can be used for.
    fn poll(&mut self, pause: Duration) -> Result<(), HostError> {
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
                        note(&mut socket.ready, event);
                    }
                }
                at => {
                    if let Some(Some(stream)) = self.streams.get_mut(at) {
                        note(&mut stream.ready, event);
                    }
                }
            }
        }
        Ok(())
    }

    fn do_asked(&mut self) {
        while let Some(ask) = self.service.next_request() {
            self.moved = true;
            // A socket for one client that can't be had is no reason to leave the others alone: what
            // is sent from it is lost.
            let _ = self.do_one(ask);
        }
    }

    fn do_one(&mut self, request: SocketRequest) -> Result<(), HostError> {
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

    fn listen(&mut self, port: u16) -> Result<(), HostError> {
        let address = SocketAddr::new(self.settings.address, port);
        let failed = |source| HostError::Bind {
            protocol: "TCP",
            address,
            source,
        };
        let mut socket = TcpListener::bind(address).map_err(failed)?;
        // What it accepts has them from it.
        self.bound(&SockRef::from(&socket));
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

    fn bind(&mut self, Udp(number): Udp, port: Option<u16>) -> Result<(), HostError> {
        let address = SocketAddr::new(self.settings.address, port.unwrap_or(0));
        let failed = |source| HostError::Bind {
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
        self.datagrams.insert(number, Datagrams { socket, ready });
        Ok(())
    }

    /// Limits a connection's buffers. To be done before it is asked for: the window's scale is said
    /// in the first segment (RFC 7323 section 2.2).
    fn bound(&self, socket: &SockRef<'_>) {
        if let Some(octets) = self.settings.buffer_octets {
            let _ = socket.set_recv_buffer_size(octets as usize);
            let _ = socket.set_send_buffer_size(octets as usize);
        }
    }

    fn connection_to(&self, to: SocketAddr) -> io::Result<TcpStream> {
        let socket = Socket::new(Domain::for_address(to), Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        self.bound(&SockRef::from(&socket));
        match socket.connect(&to.into()) {
            Err(error) if !is_under_way(&error) => Err(error),
            _ => Ok(TcpStream::from_std(socket.into())),
        }
    }

    fn connect(&mut self, to: SocketAddr, token: u8) {
        let socket = self.connection_to(to).ok();
        let at = socket.and_then(|socket| self.keep(Stream::new(socket, Some(token))));
        if at.is_none() {
            let now = self.now();
            self.service.failed(token, now);
        }
    }

    fn accept_all(&mut self) {
        for at in 0..self.listeners.len() {
            for _ in 0..ACCEPTS {
                let listener = &mut self.listeners[at];
                if !listener.ready {
                    break;
                }
                match listener.socket.accept() {
                    Ok((socket, from)) => {
                        let port = listener.port;
                        self.accepted(socket, Opened::Accepted { port, from });
                    }
                    Err(error) => match Accepting::after(error.kind()) {
                        Accepting::Next => {}
                        Accepting::Empty => listener.ready = false,
                        Accepting::Later => break,
                    },
                }
            }
        }
    }

    fn accepted(&mut self, socket: TcpStream, opened: Opened) {
        self.moved = true;
        // More of them may be waiting.
        self.busy = true;
        let Some(at) = self.keep(Stream::new(socket, None)) else {
            // No room: the socket is closed.
            return;
        };
        let (connection, now) = (Connection(at as u8), self.now());
        if self.service.opened(connection, opened, now).is_err()
            && let Some(mut stream) = self.streams[at].take()
        {
            stream.close(Close::Reset);
        }
    }

    /// A place for a connection, if there is one.
    fn keep(&mut self, mut stream: Stream) -> Option<usize> {
        let free = self.streams.iter().position(Option::is_none);
        let at = free.unwrap_or(self.streams.len());
        if at >= self.settings.connections.min(UDP_TOKENS) {
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
            if let Some(token) = stream.asked {
                let opened = match stream.has_connected() {
                    None => continue,
                    Some(false) => {
                        self.moved = true;
                        self.service.failed(token, now(clock));
                        self.streams[at] = None;
                        continue;
                    }
                    Some(true) => Opened::Connected { token },
                };
                self.moved = true;
                stream.asked = None;
                if self.service.opened(connection, opened, now(clock)).is_err() {
                    stream.close(Close::Reset);
                    self.streams[at] = None;
                    continue;
                }
            }
            self.moved |= stream.read(connection, &mut self.service, &mut self.piece, || {
                now(clock)
            });
        }
    }

    fn write_streams(&mut self) {
        let clock = self.clock;
        for at in 0..self.streams.len() {
            let connection = Connection(at as u8);
            let Some(stream) = &mut self.streams[at] else {
                continue;
            };
            if stream.asked.is_some() {
                continue;
            }
            let wrote = stream.write(connection, &mut self.service, || now(clock));
            self.moved |= wrote != Wrote::Nothing;
            stream.close(self.service.close(connection));
            self.busy |= wrote == Wrote::AndMore || stream.is_busy();
            if stream.is_gone() {
                self.moved = true;
                self.streams[at] = None;
                self.service.closed(connection, now(clock));
            }
        }
    }

    fn receive_datagrams(&mut self) {
        for (number, it) in &mut self.datagrams {
            for _ in 0..TURN {
                if !it.ready.read {
                    break;
                }
                match it.socket.recv_from(&mut self.piece) {
                    Ok((len, from)) => {
                        self.moved = true;
                        let now = now(self.clock);
                        let octets = &self.piece[..len];
                        self.service.datagram(Udp(*number), from, octets, now);
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => it.ready.read = false,
                    // An earlier datagram of ours was refused: no matter.
                    Err(_) => {}
                }
            }
            self.busy |= it.ready.read;
        }
    }

    fn send_datagrams(&mut self) {
        for _ in 0..TURN {
            let (from, to, octets) = if let Some(unsent) = self.unsent.take() {
                unsent
            } else {
                let now = now(self.clock);
                let Some(next) = self.service.next_datagram(&mut self.piece, now) else {
                    return;
                };
                (next.socket, next.to, self.piece[..next.len].to_vec())
            };
            let Some(it) = self.datagrams.get_mut(&from.0) else {
                self.moved = true;
                continue;
            };
            match it.socket.send_to(&octets, to) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.unsent = Some((from, to, octets));
                    return;
                }
                // Lost, as on any network.
                Ok(_) | Err(_) => self.moved = true,
            }
        }
        self.busy = true;
    }
}

fn now(clock: Clock) -> Instant {
    let ns = clock.elapsed().as_nanos();
    Instant::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
}

/// How a system says that a connection takes its time, and nobody has to wait for it.
fn is_under_way(error: &io::Error) -> bool {
    #[cfg(unix)]
    if error.raw_os_error() == Some(libc::EINPROGRESS) {
        return true;
    }
    error.kind() == ErrorKind::WouldBlock
}

fn note(ready: &mut Ready, event: &Event) {
    ready.read |= event.is_readable() || event.is_read_closed() || event.is_error();
    ready.write |= event.is_writable() || event.is_write_closed() || event.is_error();
}
