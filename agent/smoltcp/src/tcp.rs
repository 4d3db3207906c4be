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
const ACK_TIMEOUT: Duration = Duration::from_secs(30);
/// A client whose handshake hangs, or that sends nothing, gives way after this time if a port has no listener: all
/// clients of these protocols send first.
const SILENCE: core::time::Duration = core::time::Duration::from_secs(3);

/// `SlotUse` of a socket. A service is identified by its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SlotUse {
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
    Closing,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    handle: SocketHandle,
    used: SlotUse,
    /// Time when a client's handshake began, until the client sends something.
    silent_since: Option<Instant>,
}

/// All TCP sockets of a driver. A connection's number is its socket's index.
#[derive(Debug)]
pub(crate) struct TcpSockets<const TCP: usize> {
    slots: [Slot; TCP],
    /// Listening ports, and the service of each.
    ports: [Option<(u16, usize)>; PORTS],
    local_port: u16,
    /// Time when a silent client gives way.
    next_eviction: Option<Instant>,
}

impl<const TCP: usize> TcpSockets<TCP> {
    pub(crate) fn new(handles: [SocketHandle; TCP], seed: u32) -> Self {
        let used = SlotUse::Free;
        Self {
            slots: handles.map(|handle| Slot {
                handle,
                used,
                silent_since: None,
            }),
            ports: [None; PORTS],
            local_port: seed as u16,
            next_eviction: None,
        }
    }

    pub(crate) fn add_port(&mut self, owner: usize, port: u16) {
        if let Some(free) = self.ports.iter_mut().find(|it| it.is_none()) {
            *free = Some((port, owner));
        }
    }

    /// Lets free sockets listen on the port with the fewest listeners. If a port has none and no socket is
    /// free, reassigns a listener of a port with several, or resets the connection of a silent client, whose socket is
    /// free in the next turn.
    pub(crate) fn listen(&mut self, sockets: &mut SocketSet<'_>, now: Instant) {
        self.next_eviction = None;
        for slot in &mut self.slots {
            let state = sockets.get::<Socket>(slot.handle).state();
            if matches!(slot.used, SlotUse::Listening(_)) && state != State::Listen {
                slot.silent_since.get_or_insert(now);
            }
            let is_closed = state == State::Closed;
            // A listener is closed if its connection was reset before it was polled.
            if slot.used == SlotUse::Closing
                || is_closed && matches!(slot.used, SlotUse::Listening(_))
            {
                slot.used = SlotUse::Free;
            }
        }
        while let Some((fewest, at)) = self.listener_counts(sockets).min() {
            let free = self.slots.iter().position(|it| it.used == SlotUse::Free);
            let spare = || (fewest == 0).then(|| self.spare_listener(sockets))?;
            let Some(slot) = free.or_else(spare) else {
                if fewest == 0 {
                    self.evict(sockets, now);
                }
                return;
            };
            let Some((port, _)) = self.ports[at] else {
                return;
            };
            let socket = sockets.get_mut::<Socket>(self.slots[slot].handle);
            // Discards a finished connection, or another port's listener.
            socket.abort();
            configure(socket);
            // A closed socket can listen, except on port 0.
            self.slots[slot].silent_since = None;
            self.slots[slot].used = match socket.listen(port) {
                Ok(()) => SlotUse::Listening(at),
                Err(_) => SlotUse::Free,
            };
            if self.slots[slot].used == SlotUse::Free {
                self.ports[at] = None;
            }
        }
    }

    /// Resets the connection of the client that has been silent for longest, if that is long enough.
    fn evict(&mut self, sockets: &mut SocketSet<'_>, now: Instant) {
        let silent = self.slots.iter();
        let silent = silent.filter_map(|slot| Some((slot.silent_since?, slot.handle)));
        let Some((since, handle)) = silent.min_by_key(|(since, _)| *since) else {
            return;
        };
        let due = since.after(SILENCE);
        self.next_eviction = Some(due);
        if now >= due {
            sockets.get_mut::<Socket>(handle).abort();
        }
    }

    /// Time when a silent client gives way, if its socket is needed.
    pub(crate) const fn wake_at(&self) -> Option<Instant> {
        self.next_eviction
    }

    /// Number of listeners of each port, and the port's index.
    fn listener_counts(&self, sockets: &SocketSet<'_>) -> impl Iterator<Item = (usize, usize)> {
        let mut listeners = [0; PORTS];
        for slot in &self.slots {
            if let SlotUse::Listening(at) = slot.used
                && slot.listens(sockets)
            {
                listeners[at] += 1;
            }
        }
        let asked = self.ports.iter().zip(listeners).enumerate();
        asked.filter_map(|(at, (port, count))| port.map(|_| (count, at)))
    }

    /// A listening socket that can be reassigned, as others listen on its port.
    fn spare_listener(&self, sockets: &SocketSet<'_>) -> Option<usize> {
        let (most, port) = self.listener_counts(sockets).max()?;
        let is_it = |it: &Slot| it.used == SlotUse::Listening(port) && it.listens(sockets);
        (most > 1).then(|| self.slots.iter().position(is_it))?
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
        let listening = |it: &Slot| matches!(it.used, SlotUse::Listening(_)) && it.listens(sockets);
        let free = self.slots.iter().position(|it| it.used == SlotUse::Free);
        let slot = free.or_else(|| self.slots.iter().position(listening))?;
        let slot = &mut self.slots[slot];
        let socket = sockets.get_mut::<Socket>(slot.handle);
        socket.abort();
        configure(socket);
        self.local_port = next_port(self.local_port);
        slot.used = SlotUse::Free;
        slot.silent_since = None;
        socket.connect(iface.context(), to, self.local_port).ok()?;
        slot.used = SlotUse::Connecting { owner, token };
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
        for (at, slot) in self.slots.iter_mut().enumerate() {
            let connection = Connection(at as u8);
            let socket = sockets.get_mut::<Socket>(slot.handle);
            if let Some((owner, opened)) = slot.opened(socket, &self.ports) {
                moved = true;
                let service = &mut *services[owner];
                let is_taken = match opened {
                    Ok(opened) => service.opened(connection, opened, clock()).is_ok(),
                    Err(token) => {
                        service.failed(token, clock());
                        false
                    }
                };
                slot.used = if is_taken {
                    SlotUse::Open {
                        owner,
                        ended: false,
                        finished: false,
                    }
                } else {
                    socket.abort();
                    SlotUse::Closing
                };
            }
            let SlotUse::Open { owner, ended, .. } = &mut slot.used else {
                continue;
            };
            let service = &mut *services[*owner];
            while socket.can_recv() {
                slot.silent_since = None;
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
        for (at, slot) in self.slots.iter_mut().enumerate() {
            let SlotUse::Open {
                owner, finished, ..
            } = &mut slot.used
            else {
                continue;
            };
            let connection = Connection(at as u8);
            let service = &mut *services[*owner];
            let socket = sockets.get_mut::<Socket>(slot.handle);
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
                slot.used = SlotUse::Closing;
                slot.silent_since = None;
                service.closed(connection, clock());
            }
        }
        moved
    }
}

impl Slot {
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
                SlotUse::Listening(_) | SlotUse::Connecting { .. },
                State::Listen | State::SynSent | State::SynReceived,
            ) => None,
            (SlotUse::Listening(at), _) => {
                let (port, owner) = ports.get(at).copied().flatten()?;
                let from = socket.remote_endpoint()?.into();
                Some((owner, Ok(Opened::Accepted { port, from })))
            }
            (SlotUse::Connecting { owner, token }, State::Closed) => Some((owner, Err(token))),
            (SlotUse::Connecting { owner, token }, _) => {
                Some((owner, Ok(Opened::Connected { token })))
            }
            _ => None,
        }
    }
}

fn configure(socket: &mut Socket<'_>) {
    // Short requests must not wait for the acknowledgement of earlier data.
    socket.set_nagle_enabled(false);
    socket.set_timeout(Some(ACK_TIMEOUT));
}
