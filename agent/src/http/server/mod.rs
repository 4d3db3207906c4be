//! The server.

mod exchange;
mod request;
mod response;

use core::net::SocketAddr;
use core::time::Duration;

use self::exchange::Exchange;
use crate::queue::BoundedQueue;
use crate::{Close, Connection, Datagram, Instant, Opened, Refused, Service, SocketRequest};
use crate::{ns, span};

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

/// A [`Finished`] with its time in nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Record {
    peer: SocketAddr,
    octets: u64,
    span_ns: u64,
    sent: bool,
}

/// A server for up to `CONNECTIONS` connections.
#[derive(Debug)]
pub struct Server<const CONNECTIONS: usize> {
    port: u16,
    listens: bool,
    timeout_ns: u64,
    /// Served requests, oldest first.
    finished: BoundedQueue<Record, CONNECTIONS>,
    exchanges: [Exchange; CONNECTIONS],
}

impl<const CONNECTIONS: usize> Server<CONNECTIONS> {
    /// Creates a server on this port. A connection is closed after `timeout` without progress, or if
    /// receiving a head takes longer than that.
    #[must_use]
    pub const fn new(port: u16, timeout: Duration) -> Self {
        assert!(CONNECTIONS > 0);
        Self {
            port,
            listens: false,
            timeout_ns: ns(timeout),
            finished: BoundedQueue::new(),
            exchanges: const { [Exchange::FREE; CONNECTIONS] },
        }
    }

    /// Returns each served request once, oldest first; keeps as many as there are connections.
    #[inline(never)]
    pub fn take_finished(&mut self) -> Option<Finished> {
        let record = self.finished.pop()?;
        Some(Finished {
            sent: record.sent,
            peer: record.peer,
            octets: record.octets,
            span: span(record.span_ns),
        })
    }

    fn exchange(
        &mut self,
        connection: Connection,
    ) -> Option<(&mut Exchange, &mut BoundedQueue<Record, CONNECTIONS>)> {
        let mut exchanges = self.exchanges.iter_mut();
        let exchange = exchanges.find(|it| it.is_of(connection))?;
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
        let slots = &self.exchanges;
        let free = slots.iter().position(Exchange::is_free);
        let free = free.or_else(|| slots.iter().position(|it| it.gives_way(now)));
        let slot = self.exchanges.get_mut(free.ok_or(Refused)?);
        slot.ok_or(Refused)?
            .begin_with(connection, &from, self.timeout_ns, now);
        Ok(())
    }

    fn received(&mut self, connection: Connection, octets: &[u8], now: Instant) {
        if let Some((exchange, queue)) = self.exchange(connection) {
            exchange.received(octets, now, &mut |record| queue.push(record));
        }
    }

    fn fill(&mut self, connection: Connection, buffer: &mut [u8], now: Instant) -> usize {
        self.exchange(connection).map_or(0, |(exchange, queue)| {
            exchange.fill(buffer, now, &mut |record| queue.push(record))
        })
    }

    fn ended(&mut self, connection: Connection, _: Instant) {
        if let Some((exchange, _)) = self.exchange(connection) {
            exchange.ended();
        }
    }

    fn closed(&mut self, connection: Connection, _: Instant) {
        if let Some((exchange, _)) = self.exchange(connection) {
            exchange.free();
        }
    }

    fn close(&self, connection: Connection) -> Close {
        let mut exchanges = self.exchanges.iter();
        exchanges
            .find(|it| it.is_of(connection))
            .map_or(Close::Reset, Exchange::close)
    }

    /// Sends no datagrams, but checks the timeouts.
    fn next_datagram(&mut self, _: &mut [u8], now: Instant) -> Option<Datagram> {
        for exchange in &mut self.exchanges {
            exchange.check_timeout(now);
        }
        None
    }

    fn wake_at(&self) -> Option<Instant> {
        let mut first = Instant::NEVER;
        for exchange in &self.exchanges {
            first = first.earlier(exchange.wake_at());
        }
        first.finite()
    }
}
