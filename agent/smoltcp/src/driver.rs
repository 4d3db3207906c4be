//! The driver: what services ask for, and the order of a turn.

use core::time::Duration;

use linerate_agent::{Ask, Instant, Service};
use smoltcp::iface::{Interface, SocketHandle, SocketSet};

use crate::tcp::Streams;
use crate::udp::Datagrams;

/// How long is waited at least where all that is due waits for room in a socket.
const ROOMLESS: Duration = Duration::from_millis(1);

/// Runs services over `TCP` TCP sockets and `UDP` UDP sockets. All services of a driver are passed to each
/// of its calls, the same and in the same order.
#[derive(Debug)]
pub struct Driver<const TCP: usize, const UDP: usize> {
    streams: Streams<TCP>,
    datagrams: Datagrams<UDP>,
    /// When the services were last asked for what is due; whether anything came or went with that.
    looked: Instant,
    moved: bool,
}

impl<const TCP: usize, const UDP: usize> Driver<TCP, UDP> {
    /// A driver of these sockets, which nobody else uses. UDP sockets are lent in this order, first to the
    /// service that asks first. `seed` decides from which port the first connection is opened.
    #[must_use]
    pub fn new(tcp: [SocketHandle; TCP], udp: [SocketHandle; UDP], seed: u32) -> Self {
        const { assert!(TCP <= 256) };
        Self {
            streams: Streams::new(tcp, seed),
            datagrams: Datagrams::new(udp, seed),
            looked: Instant::from_ns(0),
            moved: true,
        }
    }

    /// Does what can be done: to be called when the interface has taken in what came, before it sends.
    /// `true`: something came or went, and there may be more to do.
    pub fn turn(
        &mut self,
        services: &mut [&mut dyn Service],
        iface: &mut Interface,
        sockets: &mut SocketSet<'_>,
        clock: impl Fn() -> Instant,
    ) -> bool {
        self.looked = clock();
        self.moved = false;
        self.do_asked(services, iface, sockets, &clock);
        self.streams.listen(sockets);
        self.moved |= self.datagrams.receive(services, sockets, &clock);
        self.moved |= self.streams.read(services, sockets, &clock);
        self.moved |= self.datagrams.send(services, sockets, &clock);
        self.moved |= self.streams.write(services, sockets, &clock);
        self.do_asked(services, iface, sockets, &clock);
        self.moved
    }

    /// How long nothing is to be done, unless a frame comes; `None`: for ever.
    pub fn idle_for(&self, services: &[&mut dyn Service], now: Instant) -> Option<Duration> {
        if self.moved {
            return Some(Duration::ZERO);
        }
        let due = services
            .iter()
            .filter_map(|service| service.wake_at())
            .min()?;
        // What was due had its chance: it waits for room, of which no time tells.
        Some(if due <= self.looked {
            ROOMLESS
        } else {
            due.since(now)
        })
    }

    fn do_asked(
        &mut self,
        services: &mut [&mut dyn Service],
        iface: &mut Interface,
        sockets: &mut SocketSet<'_>,
        clock: &impl Fn() -> Instant,
    ) {
        for (owner, service) in services.iter_mut().enumerate() {
            while let Some(ask) = service.ask() {
                self.moved = true;
                match ask {
                    Ask::Listen(port) => self.streams.add_port(owner, port),
                    Ask::Bind(socket, port) => self.datagrams.bind(owner, socket, port, sockets),
                    Ask::Unbind(socket) => self.datagrams.unbind(owner, socket, sockets),
                    Ask::Connect { to, token } => {
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
