//! A service whose received datagrams are also passed to a tap.

use core::net::SocketAddr;

use crate::{Close, Connection, Datagram, Instant, Opened, Refused, Service, SocketRequest, Udp};

/// Observes the datagrams that a service receives.
pub trait DatagramTap {
    /// Called for each received datagram.
    fn on_datagram(&mut self, octets: &[u8], now: Instant);
}

/// A service with a tap that gets each datagram before the service does: to measure what the service does not
/// report.
#[derive(Debug)]
pub struct TappedService<S, E> {
    /// The service, unchanged.
    pub service: S,
    /// The tap.
    pub tap: E,
}

impl<S: Service, E: DatagramTap> Service for TappedService<S, E> {
    fn next_request(&mut self) -> Option<SocketRequest> {
        self.service.next_request()
    }

    fn opened(&mut self, at: Connection, how: Opened, now: Instant) -> Result<(), Refused> {
        self.service.opened(at, how, now)
    }

    fn failed(&mut self, token: u8, now: Instant) {
        self.service.failed(token, now);
    }

    fn received(&mut self, at: Connection, octets: &[u8], now: Instant) {
        self.service.received(at, octets, now);
    }

    fn zeros(&mut self, at: Connection, most: usize, now: Instant) -> usize {
        self.service.zeros(at, most, now)
    }

    fn fill(&mut self, at: Connection, buffer: &mut [u8], now: Instant) -> usize {
        self.service.fill(at, buffer, now)
    }

    fn ended(&mut self, at: Connection, now: Instant) {
        self.service.ended(at, now);
    }

    fn closed(&mut self, at: Connection, now: Instant) {
        self.service.closed(at, now);
    }

    fn close(&self, at: Connection) -> Close {
        self.service.close(at)
    }

    fn datagram(&mut self, at: Udp, from: SocketAddr, octets: &[u8], now: Instant) {
        self.tap.on_datagram(octets, now);
        self.service.datagram(at, from, octets, now);
    }

    fn next_datagram(&mut self, buffer: &mut [u8], now: Instant) -> Option<Datagram> {
        self.service.next_datagram(buffer, now)
    }

    fn wake_at(&self) -> Option<Instant> {
        self.service.wake_at()
    }
}
