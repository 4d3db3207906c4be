//! TCP sockets and their connections.

use core::net::SocketAddr;

use linerate_agent::{Close, Connection, Instant, Opened, Service};
use smoltcp::iface::{Interface, SocketHandle, SocketSet};
use smoltcp::socket::tcp::{Socket, State};
use smoltcp::time::Duration;
use smoltcp::wire::IpEndpoint;

use crate::address::{endpoint, next_port};

/// Maximum number of listening ports of all services; further ones are ignored.
const PORTS: usize = 8;
/// Timeout for a peer that acknowledges nothing.
const UNANSWERED: Duration = Duration::from_secs(30);

/// Use of a socket. A service is identified by its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// Unused.
    Free,
    /// Listening on this port, by its index among the ports.
    Listening(usize),
    /// Connecting for a service.
    Connecting { owner: usize, token: u8 },
    /// Connected, or partly closed.
    Open {
        owner: usize,
        ended: bool,
        finished: bool,
    },
    /// Closing; the last segment may still have to be sent.
    Leaving,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    handle: SocketHandle,
    used: Use,
}

/// All TCP sockets of a driver. A connection's number is its socket's index.
#[derive(Debug)]
pub(crate) struct Streams<const TCP: usize> {
    places: [Place; TCP],
    /// Listening ports, and the service of each.
    ports: [Option<(u16, usize)>; PORTS],
    local_port: u16,
}

impl<const TCP: usize> Streams<TCP> {
    pub(crate) fn new(handles: [SocketHandle; TCP], seed: u32) -> Self {
        let used = Use::Free;
        Self {
            places: handles.map(|handle| Place { handle, used }),
            ports: [None; PORTS],
            local_port: seed as u16,
        }
    }

    pub(crate) fn add_port(&mut self, owner: usize, port: u16) {
        if let Some(free) = self.ports.iter_mut().find(|it| it.is_none()) {
            *free = Some((port, owner));
        }
    }

    /// Lets free sockets listen on the port with the fewest listeners. If a port has none and no socket is
    /// free, reassigns a listener of a port with several.
    pub(crate) fn listen(&mut self, sockets: &mut SocketSet<'_>) {
        for place in &mut self.places {
            let is_closed = sockets.get::<Socket>(place.handle).state() == State::Closed;
            // A listener is closed if its connection was reset before it was polled.
            if place.used == Use::Leaving || is_closed && matches!(place.used, Use::Listening(_)) {
                place.used = Use::Free;
            }
        }
        while let Some((fewest, at)) = self.by_listeners(sockets).min() {
            let free = self.places.iter().position(|it| it.used == Use::Free);
            let spare = || (fewest == 0).then(|| self.spare(sockets))?;
            let Some(place) = free.or_else(spare) else {
                return;
            };
            let Some((port, _)) = self.ports[at] else {
                return;
            };
            let socket = sockets.get_mut::<Socket>(self.places[place].handle);
            // Discards a finished connection, or another port's listener.
            socket.abort();
            prepare(socket);
            // A closed socket can listen, except on port 0.
            self.places[place].used = match socket.listen(port) {
                Ok(()) => Use::Listening(at),
                Err(_) => Use::Free,
            };
            if self.places[place].used == Use::Free {
                self.ports[at] = None;
            }
        }
    }

    /// Number of listeners of each port, and the port's index.
    fn by_listeners(&self, sockets: &SocketSet<'_>) -> impl Iterator<Item = (usize, usize)> {
        let mut listeners = [0; PORTS];
        for place in &self.places {
            if let Use::Listening(at) = place.used
                && place.listens(sockets)
            {
                listeners[at] += 1;
            }
        }
        let asked = self.ports.iter().zip(listeners).enumerate();
        asked.filter_map(|(at, (port, count))| port.map(|_| (count, at)))
    }

    /// A listening socket that can be reassigned, as others listen on its port.
    fn spare(&self, sockets: &SocketSet<'_>) -> Option<usize> {
        let (most, port) = self.by_listeners(sockets).max()?;
        let is_it = |it: &Place| it.used == Use::Listening(port) && it.listens(sockets);
        (most > 1).then(|| self.places.iter().position(is_it))?
    }

    /// Opens a connection; `None` if that fails.
    pub(crate) fn connect(
        &mut self,
        owner: usize,
        to: SocketAddr,
        token: u8,
        iface: &mut Interface,
        sockets: &mut SocketSet<'_>,
    ) -> Option<()> {
        let to: IpEndpoint = endpoint(to)?;
        let listening = |it: &Place| matches!(it.used, Use::Listening(_)) && it.listens(sockets);
        let free = self.places.iter().position(|it| it.used == Use::Free);
        let place = free.or_else(|| self.places.iter().position(listening))?;
        let place = &mut self.places[place];
        let socket = sockets.get_mut::<Socket>(place.handle);
        socket.abort();
        prepare(socket);
        self.local_port = next_port(self.local_port);
        place.used = Use::Free;
        socket.connect(iface.context(), to, self.local_port).ok()?;
        place.used = Use::Connecting { owner, token };
        Some(())
    }

    /// Passes new connections and received data to the services. `true`: there were some.
    pub(crate) fn read(
        &mut self,
        services: &mut [&mut dyn Service],
        sockets: &mut SocketSet<'_>,
        clock: &impl Fn() -> Instant,
    ) -> bool {
        let mut moved = false;
        for (at, place) in self.places.iter_mut().enumerate() {
            let connection = Connection(at as u8);
            let socket = sockets.get_mut::<Socket>(place.handle);
            if let Some((owner, opened)) = place.opened(socket, &self.ports) {
                moved = true;
                let service = &mut *services[owner];
                let is_taken = match opened {
                    Ok(opened) => service.opened(connection, opened, clock()).is_ok(),
                    Err(token) => {
                        service.failed(token, clock());
                        false
                    }
                };
                place.used = if is_taken {
                    Use::Open {
                        owner,
                        ended: false,
                        finished: false,
                    }
                } else {
                    socket.abort();
                    Use::Leaving
                };
            }
            let Use::Open { owner, ended, .. } = &mut place.used else {
                continue;
            };
            let service = &mut *services[*owner];
            while socket.can_recv() {
                let taken = socket.recv(|octets| {
                    service.received(connection, octets, clock());
                    (octets.len(), ())
                });
                moved = true;
                if taken.is_err() {
                    break;
                }
            }
            let no_more = matches!(
                socket.state(),
                State::CloseWait | State::LastAck | State::Closing | State::TimeWait
            );
            if no_more && !core::mem::replace(ended, true) {
                moved = true;
                service.ended(connection, clock());
            }
        }
        moved
    }

    /// Sends the services' data, and closes connections as they request. `true`: there were some.
    pub(crate) fn write(
        &mut self,
        services: &mut [&mut dyn Service],
        sockets: &mut SocketSet<'_>,
        clock: &impl Fn() -> Instant,
    ) -> bool {
        let mut moved = false;
        for (at, place) in self.places.iter_mut().enumerate() {
            let Use::Open {
                owner, finished, ..
            } = &mut place.used
            else {
                continue;
            };
            let connection = Connection(at as u8);
            let service = &mut *services[*owner];
            let socket = sockets.get_mut::<Socket>(place.handle);
            while socket.can_send() {
                let filled = socket.send(|room| {
                    let len = service.fill(connection, room, clock()).min(room.len());
                    (len, len)
                });
                match filled {
                    Ok(len) if len > 0 => moved = true,
                    _ => break,
                }
            }
            match service.close(connection) {
                Close::Keep => {}
                Close::Finish => {
                    if !core::mem::replace(finished, true) {
                        socket.close();
                    }
                }
                Close::Reset => socket.abort(),
            }
            if matches!(socket.state(), State::Closed | State::TimeWait) {
                moved = true;
                place.used = Use::Leaving;
                service.closed(connection, clock());
            }
        }
        moved
    }
}

impl Place {
    /// True if the socket listens and has no connection yet.
    fn listens(&self, sockets: &SocketSet<'_>) -> bool {
        sockets.get::<Socket>(self.handle).state() == State::Listen
    }

    /// The owner of a connection that was established or failed, and which of the two.
    fn opened(
        &self,
        socket: &Socket<'_>,
        ports: &[Option<(u16, usize)>],
    ) -> Option<(usize, Result<Opened, u8>)> {
        match (self.used, socket.state()) {
            (
                Use::Listening(_) | Use::Connecting { .. },
                State::Listen | State::SynSent | State::SynReceived,
            ) => None,
            (Use::Listening(at), _) => {
                let (port, owner) = ports.get(at).copied().flatten()?;
                let from = socket.remote_endpoint()?.into();
                Some((owner, Ok(Opened::Accepted { port, from })))
            }
            (Use::Connecting { owner, token }, State::Closed) => Some((owner, Err(token))),
            (Use::Connecting { owner, token }, _) => Some((owner, Ok(Opened::Connected { token }))),
            _ => None,
        }
    }
}

fn prepare(socket: &mut Socket<'_>) {
    // Short requests must not wait for the acknowledgement of earlier data.
    socket.set_nagle_enabled(false);
    socket.set_timeout(Some(UNANSWERED));
}
