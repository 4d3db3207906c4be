//! A host whose cable also carries a generator's traffic, like a port of a busy network.

use super::outgoing::Outgoing;
use super::{Generator, Peer, Report, Station, host};
use crate::time::Instant;

/// A peer and the traffic beside it. The peer's frames have priority, so that a storm does not keep
/// it from talking to the device.
#[derive(Debug)]
pub struct WithTraffic<P> {
    peer: P,
    traffic: Generator,
}

impl<P: Peer> WithTraffic<P> {
    /// `peer` with additional `traffic`.
    #[must_use]
    pub const fn new(peer: P, traffic: Generator) -> Self {
        Self { peer, traffic }
    }
}

impl<P: Peer> Station for WithTraffic<P> {
    fn receive(&mut self, frame: &[u8], now: Instant) {
        self.peer.receive(frame, now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Vec<u8>> {
        self.poll_outgoing(now).map(|outgoing| outgoing.octets)
    }

    fn poll_outgoing(&mut self, now: Instant) -> Option<Outgoing> {
        self.peer
            .poll_outgoing(now)
            .or_else(|| self.traffic.poll_outgoing(now))
    }

    fn poll_timeout(&self) -> Instant {
        self.peer.poll_timeout().min(self.traffic.poll_timeout())
    }
}

impl<P: Peer> Peer for WithTraffic<P> {
    fn report(&self) -> Report {
        self.peer.report()
    }

    fn uploads(&self) -> &[host::http_server::Upload] {
        self.peer.uploads()
    }

    fn programs(&mut self) -> Option<&mut host::program::Programs> {
        self.peer.programs()
    }
}
