//! UDP sockets.

use core::time::Duration;

use linerate_agent::{Instant, Service, Udp};
use smoltcp::iface::{SocketHandle, SocketSet};
use smoltcp::socket::udp::Socket;
use smoltcp::wire::IpEndpoint;

use crate::address::{endpoint, next_port};

/// Maximum length of a sent datagram: the capacity of a frame.
pub const MAX_DATAGRAM: usize = 1472;
/// Maximum number of consecutive datagrams of a service before the others' turn.
const TURN: usize = 8;
/// If a socket's queue makes no progress for this long, its destination does not resolve: smoltcp keeps
/// datagrams that wait for a neighbour. At 10 Mbit/s no frame waits that long for the medium, even with 16
/// attempts.
const STUCK_AFTER: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy)]
struct Slot {
    handle: SocketHandle,
    /// Index of the service, and its identifier of the socket.
    owner: Option<(usize, Udp)>,
    /// `UdpSockets` are dropped until the socket has space again.
    is_stuck: bool,
}

/// A datagram that did not fit its socket.
#[derive(Debug, Clone, Copy)]
struct Unsent {
    slot: usize,
    to: IpEndpoint,
    len: usize,
    since: Instant,
}

/// All UDP sockets of a driver.
#[derive(Debug)]
pub(crate) struct UdpSockets<const UDP: usize> {
    slots: [Slot; UDP],
    local_port: u16,
    room: [u8; MAX_DATAGRAM],
    unsent: Option<Unsent>,
}

impl<const UDP: usize> UdpSockets<UDP> {
    pub(crate) fn new(handles: [SocketHandle; UDP], seed: u32) -> Self {
        Self {
            slots: handles.map(|handle| Slot {
                handle,
                owner: None,
                is_stuck: false,
            }),
            local_port: (seed >> 16) as u16,
            room: [0; MAX_DATAGRAM],
            unsent: None,
        }
    }

    /// Assigns a free socket, if any; otherwise the service's datagrams are dropped.
    pub(crate) fn bind(
        &mut self,
        owner: usize,
        name: Udp,
        port: Option<u16>,
        sockets: &mut SocketSet<'_>,
    ) {
        let Some(slot) = self.slots.iter_mut().find(|it| it.owner.is_none()) else {
            return;
        };
        let port = port.unwrap_or_else(|| {
            self.local_port = next_port(self.local_port);
            self.local_port
        });
        // A closed socket can be bound, and no service requests port 0.
        if sockets.get_mut::<Socket>(slot.handle).bind(port).is_ok() {
            slot.owner = Some((owner, name));
            slot.is_stuck = false;
        }
    }

    pub(crate) fn unbind(&mut self, owner: usize, name: Udp, sockets: &mut SocketSet<'_>) {
        let Some(at) = self.slot(owner, name) else {
            return;
        };
        self.slots[at].owner = None;
        self.unsent.take_if(|unsent| unsent.slot == at);
        sockets.get_mut::<Socket>(self.slots[at].handle).close();
    }

    fn slot(&self, owner: usize, name: Udp) -> Option<usize> {
        let owner = Some((owner, name));
        self.slots.iter().position(|it| it.owner == owner)
    }

    /// Passes received datagrams to the services. `true`: there were some.
    pub(crate) fn receive(
        &mut self,
        services: &mut [&mut dyn Service],
        sockets: &mut SocketSet<'_>,
        clock: &impl Fn() -> Instant,
    ) -> bool {
        let mut moved = false;
        for slot in &self.slots {
            let Some((owner, name)) = slot.owner else {
                continue;
            };
            let socket = sockets.get_mut::<Socket>(slot.handle);
            while let Ok((octets, about)) = socket.recv() {
                moved = true;
                services[owner].datagram(name, about.endpoint.into(), octets, clock());
            }
        }
        moved
    }

    /// Sends due datagrams, for one turn. `true`: there were some.
    pub(crate) fn send(
        &mut self,
        services: &mut [&mut dyn Service],
        sockets: &mut SocketSet<'_>,
        clock: &impl Fn() -> Instant,
    ) -> bool {
        let mut moved = false;
        if let Some(unsent) = self.unsent.take() {
            self.slots[unsent.slot].is_stuck = clock().since(unsent.since) >= STUCK_AFTER;
            if !self.queue_on_socket(unsent, sockets) {
                self.unsent = Some(unsent);
                return moved;
            }
            moved = true;
        }
        for (owner, service) in services.iter_mut().enumerate() {
            for _ in 0..TURN {
                let Some(next) = service.next_datagram(&mut self.room, clock()) else {
                    break;
                };
                moved = true;
                let (Some(slot), Some(to)) = (self.slot(owner, next.socket), endpoint(next.to))
                else {
                    // Dropped, as on any network.
                    continue;
                };
                let len = next.len.min(MAX_DATAGRAM);
                let since = clock();
                let unsent = Unsent {
                    slot,
                    to,
                    len,
                    since,
                };
                if !self.queue_on_socket(unsent, sockets) {
                    self.unsent = Some(unsent);
                    return moved;
                }
            }
        }
        moved
    }

    /// Passes the datagram to its socket, or drops it. `false`: it must wait for space.
    fn queue_on_socket(&mut self, it: Unsent, sockets: &mut SocketSet<'_>) -> bool {
        let slot = &mut self.slots[it.slot];
        let socket = sockets.get_mut::<Socket>(slot.handle);
        // No address, or longer than the whole buffer.
        if it.len > socket.payload_send_capacity() || it.to.addr.is_unspecified() {
            return true;
        }
        let sent = socket.can_send() && socket.send_slice(&self.room[..it.len], it.to).is_ok();
        slot.is_stuck &= !sent;
        sent || slot.is_stuck
    }
}
