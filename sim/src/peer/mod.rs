//! The other end of the cable: stations that live in virtual time.
//!
//! [`Station`] is what the wire's MAC needs of a station; [`Peer`] adds what a result needs of it.
//! [`KINDS`] lists the peers there are, one line each.

pub mod conformance;
pub mod generator;
pub mod host;
pub mod kinds;
pub mod outgoing;
pub mod tcp;
pub mod with_traffic;

pub use generator::Generator;
pub use host::Host;
pub use kinds::{Config, KINDS, Kind, kind};
pub use outgoing::{Manner, Outgoing};
pub use with_traffic::WithTraffic;

use crate::time::Instant;

/// A station behind a MAC. Time is passed in and the caller polls; frames carry no preamble and no
/// FCS (the wire's MAC adds and checks them).
pub trait Station {
    /// A frame arrived whole, with a good FCS.
    fn receive(&mut self, frame: &[u8], now: Instant);

    /// The next frame that the station wants on the wire, if it has one ready at `now`.
    fn poll_transmit(&mut self, now: Instant) -> Option<Vec<u8>>;

    /// The same for a station that may send in another manner than the standard's.
    fn poll_outgoing(&mut self, now: Instant) -> Option<Outgoing> {
        self.poll_transmit(now).map(Outgoing::frame)
    }

    /// When [`Station::poll_transmit`] is worth calling again without a received frame.
    fn poll_timeout(&self) -> Instant;
}

/// A station that can say what happened.
pub trait Peer: Station + core::fmt::Debug {
    /// What it did and saw so far.
    fn report(&self) -> Report;

    /// Files that were put on it, in the order in which they began; apart from the report because
    /// it is cheap to look at often.
    fn uploads(&self) -> &[host::http_server::Upload] {
        &[]
    }

    /// Where programs run on it; `None` where none can.
    fn programs(&mut self) -> Option<&mut host::program::Programs> {
        None
    }
}

/// What a peer did and saw; empty where it is not of that kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Files it was asked for.
    pub requests: Vec<host::http_server::Request>,
    /// Files it asked for.
    pub fetches: Vec<host::http_client::Fetch>,
    /// Echo requests it sent.
    pub pings: Vec<host::ping::Ping>,
    /// Addresses it gave out.
    pub leases: Vec<host::dhcp::Lease>,
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
