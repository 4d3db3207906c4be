//! Connections of a service, shared fairly among hosts.
//!
//! A client that opens connections and then stalls would otherwise keep everyone else out until its timeouts. At the
//! limit a new connection takes the place of a stalled one, first of the host with most connections. If none is stalled,
//! it takes the place of the slowest one of the host with most, if that has at least two more than the newcomer's.

use super::activity::Activity;
use linerate_agent::{
    Close, Connection, Datagram, Instant, Opened, Refused, Service, SocketRequest, Udp, echo, http,
    iperf2, stamp,
};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

/// Connection numbers.
const NUMBERS: usize = 1 << u8::BITS;

/// A service whose connections depend on each other.
pub(super) trait Depends: Service {
    /// True if the connection must stay open although it moves nothing, as others depend on it that are not stalled.
    fn is_needed(&self, _: Connection, _: Instant) -> bool {
        false
    }
}

impl<const N: usize> Depends for iperf2::Server<N> {}
impl<const N: usize> Depends for http::Server<N> {}
impl<const S: usize, const W: usize, const O: usize> Depends for stamp::Reflector<S, W, O> {}
impl<const W: usize, const O: usize> Depends for echo::Echo<W, O> {}

#[derive(Debug, Clone, Copy)]
struct Client {
    source: Source,
    opened: Instant,
    activity: Activity,
    /// Another one has its place: it is reset in this turn.
    is_evicted: bool,
}

/// A host as it can be recognized: an IPv4 address, or a network of 64 bits in IPv6, in which a host chooses its
/// addresses (RFC 8981).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Source([u8; 16]);

impl Source {
    fn of(address: IpAddr) -> Self {
        let mut octets = match address.to_canonical() {
            IpAddr::V4(ip) => return Self(ip.to_ipv6_mapped().octets()),
            IpAddr::V6(ip) => ip.octets(),
        };
        octets[8..].fill(0);
        Self(octets)
    }
}

/// A service with at most `limit` connections.
pub(super) struct FairService<S> {
    service: S,
    limit: usize,
    clients: [Option<Client>; NUMBERS],
    /// Destinations of requested connections.
    requested: [Option<SocketAddr>; NUMBERS],
}

impl<S: Depends> FairService<S> {
    pub(super) fn new(service: S, limit: usize) -> Self {
        Self {
            service,
            limit,
            clients: [None; NUMBERS],
            requested: [None; NUMBERS],
        }
    }

    pub(super) fn service(&mut self) -> &mut S {
        &mut self.service
    }

    fn is_evicted(&self, Connection(at): Connection) -> bool {
        self.clients[usize::from(at)].is_some_and(|client| client.is_evicted)
    }

    fn count(&mut self, Connection(at): Connection, octets: usize, now: Instant) {
        if let Some(client) = &mut self.clients[usize::from(at)] {
            client.activity.add(octets, now);
        }
    }

    /// Makes a place for a connection of this host, if there is none.
    fn make_place(&mut self, newcomer: Source, now: Instant) -> Result<(), Refused> {
        let open = || {
            let numbered = (0..=u8::MAX).zip(&self.clients);
            let open = numbered
                .filter_map(|(number, client)| Some((Connection(number), client.as_ref()?)));
            open.filter(|(_, client)| !client.is_evicted)
        };
        let mut of_source: HashMap<Source, usize> = HashMap::new();
        for (_, client) in open() {
            *of_source.entry(client.source).or_default() += 1;
        }
        if of_source.values().sum::<usize>() < self.limit {
            return Ok(());
        }
        let count = |source: &Source| of_source.get(source).copied().unwrap_or(0);
        let fair = count(&newcomer) + 1;
        let rank = |(connection, client): (Connection, &Client)| {
            let is_stalled =
                client.activity.is_stalled(now) && !self.service.is_needed(connection, now);
            let count = count(&client.source);
            let recent = client.activity.recent_octets(now);
            (is_stalled || count > fair).then_some((
                (!is_stalled, Reverse(count), recent, client.opened),
                connection,
            ))
        };
        let (_, victim) = open().filter_map(rank).min().ok_or(Refused)?;
        self.service.closed(victim, now);
        if let Some(client) = &mut self.clients[usize::from(victim.0)] {
            client.is_evicted = true;
        }
        Ok(())
    }
}

impl<S: Depends> Service for FairService<S> {
    fn next_request(&mut self) -> Option<SocketRequest> {
        let request = self.service.next_request();
        if let Some(SocketRequest::Connect { to, token }) = request {
            self.requested[usize::from(token)] = Some(to);
        }
        request
    }

    fn opened(
        &mut self,
        connection: Connection,
        opened: Opened,
        now: Instant,
    ) -> Result<(), Refused> {
        let peer = match opened {
            Opened::Accepted { from, .. } => Some(from),
            Opened::Connected { token } => self.requested[usize::from(token)].take(),
        };
        let source = Source::of(peer.ok_or(Refused)?.ip());
        self.make_place(source, now)?;
        self.service.opened(connection, opened, now)?;
        self.clients[usize::from(connection.0)] = Some(Client {
            source,
            opened: now,
            activity: Activity::new(now),
            is_evicted: false,
        });
        Ok(())
    }

    fn failed(&mut self, token: u8, now: Instant) {
        self.service.failed(token, now);
    }

    fn received(&mut self, connection: Connection, octets: &[u8], now: Instant) {
        if !self.is_evicted(connection) {
            self.count(connection, octets.len(), now);
            self.service.received(connection, octets, now);
        }
    }

    fn fill(&mut self, connection: Connection, buffer: &mut [u8], now: Instant) -> usize {
        if self.is_evicted(connection) {
            return 0;
        }
        let len = self.service.fill(connection, buffer, now);
        self.count(connection, len, now);
        len
    }

    fn ended(&mut self, connection: Connection, now: Instant) {
        if !self.is_evicted(connection) {
            self.service.ended(connection, now);
        }
    }

    fn closed(&mut self, connection: Connection, now: Instant) {
        if !self.is_evicted(connection) {
            self.service.closed(connection, now);
        }
        self.clients[usize::from(connection.0)] = None;
    }

    fn close(&self, connection: Connection) -> Close {
        if self.is_evicted(connection) {
            return Close::Reset;
        }
        self.service.close(connection)
    }

    fn datagram(&mut self, socket: Udp, from: SocketAddr, octets: &[u8], now: Instant) {
        self.service.datagram(socket, from, octets, now);
    }

    fn next_datagram(&mut self, buffer: &mut [u8], now: Instant) -> Option<Datagram> {
        self.service.next_datagram(buffer, now)
    }

    fn wake_at(&self) -> Option<Instant> {
        self.service.wake_at()
    }
}

#[cfg(test)]
mod tests;
