use super::SocketError;
use super::connection::{CHUNK_OCTETS, Ready, Stream};
use super::log::SocketLog;
use super::tcp_info;
use crate::load::udp::drops_of_port;
use linerate_agent::{Instant, Service, SocketRequest, Udp};
use linerate_results::record::TcpConnection;
use mio::event::Event;
use mio::net::{TcpListener, UdpSocket};
use mio::{Events, Interest, Poll, Token};
use socket2::SockRef;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant as Clock};

/// Maximum datagram size.
const MAX_DATAGRAM: usize = 65_536;
/// Requested receive buffer of a UDP socket: it absorbs bursts while this thread is not scheduled. The
/// system may grant less.
const UDP_BUFFER: usize = 4 << 20;
/// Time before a deadline in which the driver polls instead of sleeping: a sleep is rounded up to whole
/// milliseconds, and the system wakes later than that.
const SPIN: Duration = Duration::from_micros(1_100);
/// Sleep time while all due data waits for buffer space.
const BLOCKED_WAIT: Duration = Duration::from_millis(1);

/// Maximum TCP connections of a driver: they are numbered by an octet.
pub const MAX_CONNECTIONS: usize = 1 << 8;
/// First tokens in the event queue: connections from 0, then UDP sockets, then listeners.
const UDP_TOKENS: usize = MAX_CONNECTIONS;
const LISTENER_TOKENS: usize = 1 << 16;

/// Configuration of a driver.
#[derive(Debug, Clone, Copy)]
pub struct DriverConfig {
    /// Local address for listening and sending.
    pub address: IpAddr,
    /// Maximum number of TCP connections, up to [`MAX_CONNECTIONS`].
    pub connections: usize,
    /// Timeout for an outgoing connection; the system has its own, of minutes.
    pub connect_timeout: Duration,
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
            connect_timeout: Duration::MAX,
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

pub(super) struct Listener {
    pub(super) port: u16,
    pub(super) socket: TcpListener,
    /// A connection may be pending.
    pub(super) ready: bool,
}

pub(super) struct DatagramSocket {
    pub(super) socket: UdpSocket,
    pub(super) ready: Ready,
}

impl DatagramSocket {
    /// Datagrams dropped because the socket was full; `None` if unavailable on this system.
    fn dropped(&self) -> Option<u64> {
        drops_of_port(self.socket.local_addr().ok()?.port())
    }
}

/// Runs a service.
pub struct Driver<S> {
    pub(super) service: S,
    pub(super) config: DriverConfig,
    pub(super) poll: Poll,
    pub(super) events: Events,
    pub(super) clock: Clock,
    pub(super) listeners: Vec<Listener>,
    pub(super) streams: Vec<Option<Stream>>,
    pub(super) datagrams: BTreeMap<u8, DatagramSocket>,
    /// Drops of closed sockets; `None` if unavailable.
    pub(super) dropped: Option<u64>,
    pub(super) chunk: Vec<u8>,
    /// Datagram that did not fit in the send buffer.
    pub(super) unsent: Option<(Udp, SocketAddr, Vec<u8>)>,
    /// There is work without waiting.
    pub(super) busy: bool,
    /// Start of the last turn, and whether anything was received or sent in it.
    pub(super) turn_start: Instant,
    pub(super) progressed: bool,
    pub(super) log: Option<SocketLog>,
    /// An outgoing connection was established, or the first one was refused.
    pub(super) has_connected: bool,
    pub(super) is_refused: bool,
    pub(super) has_failed: bool,
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
        let is_pending = pending().any(|stream| stream.connecting.is_some());
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
                && stream.connecting.is_none()
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
}

/// Time since the driver's start.
pub(super) fn now(clock: Clock) -> Instant {
    let ns = clock.elapsed().as_nanos();
    Instant::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
}

fn update_ready(ready: &mut Ready, event: &Event) {
    ready.read |= event.is_readable() || event.is_read_closed() || event.is_error();
    ready.write |= event.is_writable() || event.is_write_closed() || event.is_error();
}
