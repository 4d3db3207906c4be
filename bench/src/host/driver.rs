use super::HostError;
use super::connection::{PIECE, Ready, Stream};
use linerate_agent::{Ask, Close, Connection, Instant, Opened, Service, Udp};
use mio::event::Event;
use mio::net::{TcpListener, TcpStream, UdpSocket};
use mio::{Events, Interest, Poll, Token};
use socket2::SockRef;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant as Clock};

/// Datagrams of a socket in a row, then others have their turn.
const TURN: usize = 256;
/// The largest datagram.
const DATAGRAM: usize = 65_536;
/// What is asked for as a UDP socket's receive buffer: bursts outlast the time this takes to be
/// scheduled. The system may give less.
const UDP_BUFFER: usize = 4 << 20;
/// Nearer than this, a deadline is waited for without sleeping: the system wakes later than that.
const SPIN: Duration = Duration::from_micros(200);

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
}

impl Default for Settings {
    /// This machine only.
    fn default() -> Self {
        Self {
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            connections: 64,
        }
    }
}

struct Datagrams {
    socket: UdpSocket,
    ready: Ready,
}

/// Runs a service.
pub struct Driver<S> {
    service: S,
    settings: Settings,
    poll: Poll,
    events: Events,
    clock: Clock,
    listeners: Vec<(u16, TcpListener)>,
    streams: Vec<Option<Stream>>,
    datagrams: BTreeMap<u8, Datagrams>,
    piece: Vec<u8>,
    /// A datagram that the socket had no room for.
    unsent: Option<(Udp, SocketAddr, Vec<u8>)>,
    /// There is something to do without waiting.
    busy: bool,
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
            piece: vec![0; PIECE.max(DATAGRAM)],
            unsent: None,
            busy: false,
        };
        driver.do_asked()?;
        Ok(driver)
    }

    /// The service.
    pub fn service(&mut self) -> &mut S {
        &mut self.service
    }

    /// Since the driver began.
    #[must_use]
    pub fn now(&self) -> Instant {
        now(self.clock)
    }

    /// How many TCP connections there are.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.streams.iter().flatten().count()
    }

    /// Waits for something to do, `at_most` so long, and does it.
    ///
    /// # Errors
    /// The event queue fails, or a port that the service asks for can't be had.
    pub fn turn(&mut self, at_most: Duration) -> Result<(), HostError> {
        self.wait(at_most)?;
        self.busy = false;
        self.do_asked()?;
        self.receive_datagrams();
        self.do_streams();
        self.send_datagrams();
        self.do_asked()
    }

    fn wait(&mut self, at_most: Duration) -> Result<(), HostError> {
        let until_due = |driver: &Self| {
            let due = driver.service.wake_at();
            due.map_or(Duration::MAX, |due| due.since(driver.now()))
        };
        let mut pause = until_due(self).min(at_most);
        if self.busy || self.unsent.is_some() && pause < SPIN {
            pause = Duration::ZERO;
        } else if pause < SPIN {
            while until_due(self) > Duration::ZERO && pause > Duration::ZERO {
                std::hint::spin_loop();
                pause = pause.min(until_due(self));
            }
            pause = Duration::ZERO;
        } else {
            pause -= SPIN / 2;
        }
        match self.poll.poll(&mut self.events, Some(pause)) {
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(()),
            other => other?,
        }
        let mut to_accept = Vec::new();
        for event in &self.events {
            match event.token().0 {
                at if at >= LISTENER_TOKENS => to_accept.push(at - LISTENER_TOKENS),
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
        for listener in to_accept {
            self.accept(listener);
        }
        Ok(())
    }

    fn do_asked(&mut self) -> Result<(), HostError> {
        while let Some(ask) = self.service.ask() {
            match ask {
                Ask::Listen(port) => self.listen(port)?,
                Ask::Bind(socket, port) => self.bind(socket, port)?,
                Ask::Unbind(Udp(number)) => drop(self.datagrams.remove(&number)),
                Ask::Connect { to, token } => self.connect(to, token),
            }
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
        let mut listener = TcpListener::bind(address).map_err(failed)?;
        let token = Token(LISTENER_TOKENS + self.listeners.len());
        let registry = self.poll.registry();
        registry.register(&mut listener, token, Interest::READABLE)?;
        self.listeners.push((port, listener));
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

    fn connect(&mut self, to: SocketAddr, token: u8) {
        let socket = TcpStream::connect(to).ok();
        let at = socket.and_then(|socket| self.keep(Stream::new(socket, Some(token))));
        if at.is_none() {
            let now = self.now();
            self.service.failed(token, now);
        }
    }

    fn accept(&mut self, listener: usize) {
        let Some((port, _)) = self.listeners.get(listener) else {
            return;
        };
        let port = *port;
        while let Ok((socket, from)) = self.listeners[listener].1.accept() {
            let Some(at) = self.keep(Stream::new(socket, None)) else {
                // No room: the socket is closed.
                continue;
            };
            let (connection, now) = (Connection(at as u8), self.now());
            let opened = Opened::Accepted { port, from };
            if self.service.opened(connection, opened, now).is_err()
                && let Some(mut stream) = self.streams[at].take()
            {
                stream.close(Close::Reset);
            }
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

    fn do_streams(&mut self) {
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
                        self.service.failed(token, now(clock));
                        self.streams[at] = None;
                        continue;
                    }
                    Some(true) => Opened::Connected { token },
                };
                stream.asked = None;
                if self.service.opened(connection, opened, now(clock)).is_err() {
                    stream.close(Close::Reset);
                    self.streams[at] = None;
                    continue;
                }
            }
            stream.read(connection, &mut self.service, &mut self.piece, || {
                now(clock)
            });
            let more = stream.write(connection, &mut self.service, || now(clock));
            stream.close(self.service.close(connection));
            self.busy |= more || stream.is_busy();
            if stream.is_gone() {
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
                continue;
            };
            match it.socket.send_to(&octets, to) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.unsent = Some((from, to, octets));
                    return;
                }
                // Lost, as on any network.
                Ok(_) | Err(_) => {}
            }
        }
        self.busy = true;
    }
}

fn now(clock: Clock) -> Instant {
    let ns = clock.elapsed().as_nanos();
    Instant::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
}

fn note(ready: &mut Ready, event: &Event) {
    ready.read |= event.is_readable() || event.is_read_closed() || event.is_error();
    ready.write |= event.is_writable() || event.is_write_closed() || event.is_error();
}
