//! A program's UDP sockets.

use core::net::{IpAddr, SocketAddr};
use std::collections::{BTreeMap, VecDeque};

use linerate_agent::{Instant, Udp};
use smoltcp::wire::Ipv4Address;

use super::{DATAGRAM, Program};
use crate::peer::host::packet;

/// First ephemeral port of sockets (RFC 6335); TCP uses ports below.
const FIRST_PORT: u16 = 0xC000;

/// Result of asking a program for its next datagram.
#[derive(Debug)]
pub(super) enum Sending {
    Nothing,
    /// A datagram without a route or a bound socket: dropped.
    Lost,
    /// A datagram with its UDP header, and its destination.
    Datagram(Ipv4Address, Vec<u8>),
}

/// The sockets and their received datagrams.
#[derive(Debug, Default)]
pub(super) struct Datagrams {
    /// Bound ports by the program's socket number.
    ports: BTreeMap<u8, u16>,
    last_port: u16,
    came: VecDeque<(Udp, SocketAddr, Vec<u8>)>,
}

impl Datagrams {
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
    pub(super) fn arrived(&mut self, port: u16, from: (Ipv4Address, u16), octets: &[u8]) {
        if let Some((name, _)) = self.ports.iter().find(|(_, own)| **own == port) {
            let from = SocketAddr::new(IpAddr::V4(from.0), from.1);
            self.came.push_back((Udp(*name), from, octets.to_vec()));
        }
    }

    /// Delivers received datagrams to the program; true if there were any.
    pub(super) fn receive(&mut self, program: &mut dyn Program, now: Instant) -> bool {
        let some = !self.came.is_empty();
        for (socket, from, octets) in self.came.drain(..) {
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
    ) -> Sending {
        let mut room = [0; DATAGRAM];
        let Some(next) = program.next_datagram(&mut room, now) else {
            return Sending::Nothing;
        };
        let (IpAddr::V4(to), Some(port)) = (next.to.ip(), self.ports.get(&next.socket.0)) else {
            return Sending::Lost;
        };
        let octets = &room[..next.len.min(DATAGRAM)];
        let datagram = packet::udp((own, *port), (to, next.to.port()), octets);
        Sending::Datagram(to, datagram)
    }
}
