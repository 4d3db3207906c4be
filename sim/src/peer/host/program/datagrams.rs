//! A program's UDP sockets.

use core::net::{IpAddr, SocketAddr};
use std::collections::{BTreeMap, VecDeque};

use linerate_agent::{Instant, Udp};
use smoltcp::wire::Ipv4Address;

use super::{MAX_DATAGRAM, Program};
use crate::peer::host::packet;

/// First ephemeral port of sockets (RFC 6335); TCP uses ports below.
const FIRST_PORT: u16 = 0xC000;

/// Result of asking a program for its next datagram.
#[derive(Debug)]
pub(super) enum NextDatagram {
    Idle,
    /// A datagram without a route or a bound socket: dropped.
    Unroutable,
    /// A datagram with its UDP header, and its destination.
    Datagram(Ipv4Address, Vec<u8>),
}

/// The sockets and their received datagrams.
#[derive(Debug, Default)]
pub(super) struct UdpSockets {
    /// Bound ports by the program's socket number.
    ports: BTreeMap<u8, u16>,
    last_port: u16,
    received: VecDeque<(Udp, SocketAddr, Vec<u8>)>,
}

impl UdpSockets {
    pub(super) fn bind(&mut self, Udp(name): Udp, port: Option<u16>) {
        let port = port.unwrap_or_else(|| {
            self.last_port = FIRST_PORT | self.last_port.wrapping_add(1);
            self.last_port
        });
        self.ports.insert(name, port);
    }

    pub(super) fn unbind(&mut self, Udp(name): Udp) {
        self.ports.remove(&name);
    }

    /// Queues a received datagram if a socket is bound to `port`.
    pub(super) fn on_datagram(&mut self, port: u16, from: (Ipv4Address, u16), octets: &[u8]) {
        if let Some((name, _)) = self.ports.iter().find(|(_, own)| **own == port) {
            let from = SocketAddr::new(IpAddr::V4(from.0), from.1);
            self.received.push_back((Udp(*name), from, octets.to_vec()));
        }
    }

    /// Delivers received datagrams to the program; true if there were any.
    pub(super) fn receive(&mut self, program: &mut dyn Program, now: Instant) -> bool {
        let some = !self.received.is_empty();
        for (socket, from, octets) in self.received.drain(..) {
            program.datagram(socket, from, &octets, now);
        }
        some
    }

    /// Gets the program's next datagram.
    pub(super) fn send(
        &mut self,
        program: &mut dyn Program,
        own: Ipv4Address,
        now: Instant,
    ) -> NextDatagram {
        let mut room = [0; MAX_DATAGRAM];
        let Some(next) = program.next_datagram(&mut room, now) else {
            return NextDatagram::Idle;
        };
        let (IpAddr::V4(to), Some(port)) = (next.to.ip(), self.ports.get(&next.socket.0)) else {
            return NextDatagram::Unroutable;
        };
        let octets = &room[..next.len.min(MAX_DATAGRAM)];
        let datagram = packet::udp((own, *port), (to, next.to.port()), octets);
        NextDatagram::Datagram(to, datagram)
    }
}
