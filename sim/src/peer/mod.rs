//! The other end of the cable: stations in virtual time.
//!
//! [`Station`] is the interface that the wire's MAC uses; [`Peer`] adds a report of results.
//! [`KINDS`] lists the available peers, one line each.

pub mod conformance;
pub mod counted;
pub mod generator;
pub mod host;
pub mod kinds;
pub mod outgoing;
pub mod tcp;
mod with_traffic;

pub use counted::Counted;
pub use generator::Generator;
pub use host::Host;
pub use kinds::{Config, KINDS, Kind, kind};
pub use outgoing::{Outgoing, TxOptions};
pub use with_traffic::WithTraffic;

use crate::time::Instant;

/// A station behind a MAC. Time is passed in and the caller polls; frames carry no preamble and no
/// FCS (the wire's MAC adds and checks them).
pub trait Station {
    /// A complete frame with a good FCS arrived.
    fn receive(&mut self, frame: &[u8], now: Instant);

    /// The next frame to send, if one is ready at `now`.
    fn poll_transmit(&mut self, now: Instant) -> Option<Vec<u8>>;

    /// The same with transmission options, for a station that may deviate from the standard.
    fn poll_outgoing(&mut self, now: Instant) -> Option<Outgoing> {
        self.poll_transmit(now).map(Outgoing::frame)
    }

    /// Next time [`Station::poll_transmit`] must be called if no frame arrives.
    fn poll_timeout(&self) -> Instant;
}

/// A station that reports results.
pub trait Peer: Station + core::fmt::Debug {
    /// Results so far.
    fn report(&self) -> Report;

    /// Files uploaded to it, in the order in which the uploads began; separate from the report because
    /// it is polled often and must be cheap.
    fn uploads(&self) -> &[host::http_server::Upload] {
        &[]
    }

    /// Its programs; `None` if it cannot run any.
    fn programs(&mut self) -> Option<&mut host::program::Programs> {
        None
    }
}

/// Results of a peer; a list is empty if the peer has no such function.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// HTTP requests that it served.
    pub requests: Vec<host::http_server::Request>,
    /// Files that it fetched.
    pub fetches: Vec<host::http_client::Fetch>,
    /// Echo requests that it sent.
    pub pings: Vec<host::ping::Ping>,
    /// DHCP leases that it granted.
    pub leases: Vec<host::dhcp::Lease>,
    /// Its frames, if they are counted.
    pub frames: Option<counted::FrameCounts>,
}

impl<S: Station + ?Sized> Station for Box<S> {
    fn receive(&mut self, frame: &[u8], now: Instant) {
        (**self).receive(frame, now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Vec<u8>> {
        (**self).poll_transmit(now)
    }

    fn poll_outgoing(&mut self, now: Instant) -> Option<Outgoing> {
        (**self).poll_outgoing(now)
    }

    fn poll_timeout(&self) -> Instant {
        (**self).poll_timeout()
    }
}

impl<P: Peer + ?Sized> Peer for Box<P> {
    fn report(&self) -> Report {
        (**self).report()
    }

    fn uploads(&self) -> &[host::http_server::Upload] {
        (**self).uploads()
    }

    fn programs(&mut self) -> Option<&mut host::program::Programs> {
        (**self).programs()
    }
}

#[cfg(test)]
pub(crate) mod tests;
