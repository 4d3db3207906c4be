//! The driver: executes the services' requests and calls them in the right order.

use core::time::Duration;

use linerate_agent::{Instant, Service, SocketRequest};
use smoltcp::iface::{Interface, SocketHandle, SocketSet};

use crate::tcp::TcpSockets;
use crate::udp::UdpSockets;

/// Minimum wait when all due data wait for socket buffer space.
const BUFFER_WAIT: Duration = Duration::from_millis(1);

/// Runs services over `TCP` TCP sockets and `UDP` UDP sockets. Each call takes all services of the driver,
/// the same ones in the same order.
#[derive(Debug)]
pub struct Driver<const TCP: usize, const UDP: usize> {
    streams: TcpSockets<TCP>,
    datagrams: UdpSockets<UDP>,
    /// Time of the last turn, and whether anything was received or sent in it.
    last_turn: Instant,
    moved: bool,
}

impl<const TCP: usize, const UDP: usize> Driver<TCP, UDP> {
    /// Creates a driver with exclusive use of these sockets. UDP sockets are assigned in this order, first
    /// come first served. `seed` determines the local port of the first connection.
    #[must_use]
    pub fn new(tcp: [SocketHandle; TCP], udp: [SocketHandle; UDP], seed: u32) -> Self {
        const { assert!(TCP <= 256) };
        Self {
            streams: TcpSockets::new(tcp, seed),
            datagrams: UdpSockets::new(udp, seed),
            last_turn: Instant::from_ns(0),
            moved: true,
        }
    }

    /// Runs one turn: call it after the interface has received and before it sends. `true`: something was
    /// received or sent, and there may be more to do.
    pub fn turn(
        &mut self,
        services: &mut [&mut dyn Service],
        iface: &mut Interface,
        sockets: &mut SocketSet<'_>,
        clock: impl Fn() -> Instant,
    ) -> bool {
        self.last_turn = clock();
        self.moved = false;
        self.handle_requests(services, iface, sockets, &clock);
        self.streams.listen(sockets, self.last_turn);
        self.moved |= self.datagrams.receive(services, sockets, &clock);
        self.moved |= self.streams.read(services, sockets, &clock);
        self.moved |= self.datagrams.send(services, sockets, &clock);
        self.moved |= self.streams.write(services, sockets, &clock);
        self.handle_requests(services, iface, sockets, &clock);
        self.moved
    }

    /// Time for which there is nothing to do unless a frame arrives; `None`: unlimited.
    pub fn idle_for(&self, services: &[&mut dyn Service], now: Instant) -> Option<Duration> {
        if self.moved {
            return Some(Duration::ZERO);
        }
        let due = services
            .iter()
            .filter_map(|service| service.wake_at())
            .chain(self.streams.wake_at())
            .min()?;
        // The due data had an opportunity: they wait for buffer space, which no timer predicts.
        Some(if due <= self.last_turn {
            BUFFER_WAIT
        } else {
            due.since(now)
        })
    }

    fn handle_requests(
        &mut self,
        services: &mut [&mut dyn Service],
        iface: &mut Interface,
        sockets: &mut SocketSet<'_>,
        clock: &impl Fn() -> Instant,
    ) {
        for (owner, service) in services.iter_mut().enumerate() {
            while let Some(request) = service.next_request() {
                self.moved = true;
                match request {
                    SocketRequest::Listen(port) => self.streams.add_port(owner, port),
                    SocketRequest::Bind(socket, port) => {
                        self.datagrams.bind(owner, socket, port, sockets);
                    }
                    SocketRequest::Unbind(socket) => self.datagrams.unbind(owner, socket, sockets),
                    SocketRequest::Connect { to, token } => {
                        let connects = self.streams.connect(owner, to, token, iface, sockets);
                        if connects.is_none() {
                            service.failed(token, clock());
                        }
                    }
                }
            }
        }
    }
}
