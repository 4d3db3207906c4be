//! The server.

mod exchange;
mod request;
mod response;

use core::net::SocketAddr;
use core::time::Duration;

use self::exchange::Exchange;
use crate::queue::BoundedQueue;
use crate::{Close, Connection, Datagram, Instant, Opened, Refused, Service, SocketRequest};

/// A request that was served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finished {
    /// True if the server sent the content.
    pub sent: bool,
    /// The client.
    pub peer: SocketAddr,
    /// Octets of content.
    pub octets: u64,
    /// From the end of the request's head to the last octet.
    pub span: Duration,
}

/// A server for up to `CONNECTIONS` connections.
#[derive(Debug)]
pub struct Server<const CONNECTIONS: usize> {
    port: u16,
    timeout: Duration,
    listens: bool,
    exchanges: [Option<Exchange>; CONNECTIONS],
    /// Served requests, oldest first.
    finished: BoundedQueue<Finished, CONNECTIONS>,
}

impl<const CONNECTIONS: usize> Server<CONNECTIONS> {
    /// Creates a server on this port. A connection is closed after `timeout` without progress, or if
    /// receiving a head takes longer than that.
    #[must_use]
    pub const fn new(port: u16, timeout: Duration) -> Self {
        assert!(CONNECTIONS > 0);
        Self {
            port,
            timeout,
            listens: false,
            exchanges: [None; CONNECTIONS],
            finished: BoundedQueue::new(),
        }
    }

    /// Returns each served request once, oldest first; keeps as many as there are connections.
    pub fn take_finished(&mut self) -> Option<Finished> {
        self.finished.pop()
    }

    fn exchange(
        &mut self,
        connection: Connection,
    ) -> Option<(&mut Exchange, &mut BoundedQueue<Finished, CONNECTIONS>)> {
        let is_it = |it: &&mut Exchange| it.connection == connection;
        let exchange = self.exchanges.iter_mut().flatten().find(is_it)?;
        Some((exchange, &mut self.finished))
    }
}

impl<const CONNECTIONS: usize> Service for Server<CONNECTIONS> {
    fn next_request(&mut self) -> Option<SocketRequest> {
        let listened = core::mem::replace(&mut self.listens, true);
        (!listened).then_some(SocketRequest::Listen(self.port))
    }

    fn opened(
        &mut self,
        connection: Connection,
        opened: Opened,
        now: Instant,
    ) -> Result<(), Refused> {
        let Opened::Accepted { from, .. } = opened else {
            return Err(Refused);
        };
        // A stalled connection without a slot is reset.
        let gives_way = |slot: &Option<Exchange>| slot.as_ref().is_some_and(|it| it.gives_way(now));
        let free = self.exchanges.iter().position(Option::is_none);
        let free = free.or_else(|| self.exchanges.iter().position(gives_way));
        let exchange = Exchange::new(connection, from, self.timeout, now);
        self.exchanges[free.ok_or(Refused)?] = Some(exchange);
        Ok(())
    }

    fn received(&mut self, connection: Connection, octets: &[u8], now: Instant) {
        if let Some((exchange, queue)) = self.exchange(connection) {
            exchange.received(octets, now, |finished| queue.push(finished));
        }
    }

    fn fill(&mut self, connection: Connection, buffer: &mut [u8], now: Instant) -> usize {
        self.exchange(connection).map_or(0, |(exchange, queue)| {
            exchange.fill(buffer, now, |finished| queue.push(finished))
        })
    }

    fn ended(&mut self, connection: Connection, _: Instant) {
        if let Some((exchange, _)) = self.exchange(connection) {
            exchange.ended();
        }
    }

    fn closed(&mut self, connection: Connection, _: Instant) {
        for slot in &mut self.exchanges {
            slot.take_if(|it| it.connection == connection);
        }
    }

    fn close(&self, connection: Connection) -> Close {
        let mut exchanges = self.exchanges.iter().flatten();
        exchanges
            .find(|it| it.connection == connection)
            .map_or(Close::Reset, Exchange::close)
    }

    /// Sends no datagrams, but checks the timeouts.
    fn next_datagram(&mut self, _: &mut [u8], now: Instant) -> Option<Datagram> {
        for exchange in self.exchanges.iter_mut().flatten() {
            exchange.check_timeout(now);
        }
        None
    }

    fn wake_at(&self) -> Option<Instant> {
        let exchanges = self.exchanges.iter().flatten();
        exchanges.filter_map(Exchange::wake_at).min()
    }
}
