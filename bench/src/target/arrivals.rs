//! When each datagram of a test arrives.

use std::net::SocketAddr;

use linerate_agent::{Ask, Close, Connection, Datagram, Instant, Opened, Refused, Service, Udp};
use linerate_explain::record::Distribution;

use linerate_sim::peer::host::program::Program;

use crate::distribution::Times;

/// The datagrams of a stream: a protocol's own messages are no part of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Data {
    /// Of each.
    pub(super) octets: u32,
    /// Tells them from messages of the same size.
    pub(super) is_data: fn(&[u8]) -> bool,
}

impl Data {
    fn is(&self, octets: &[u8]) -> bool {
        self.octets as usize == octets.len() && (self.is_data)(octets)
    }
}

/// A service, and the times between the datagrams that it gets.
///
/// The time is when
/// this program has read a datagram: what waited in the system's buffer meanwhile comes at once. In a
/// simulation it is when the frame has ended on the wire.
#[derive(Debug)]
pub(super) struct Arrivals<S> {
    pub(super) inner: S,
    /// What counts; `None`: nothing does.
    data: Option<Data>,
    last: Option<Instant>,
    times: Option<Times>,
}

impl<S> Arrivals<S> {
    pub(super) const fn new(inner: S, data: Option<Data>) -> Self {
        Self {
            inner,
            data,
            last: None,
            times: None,
        }
    }

    /// The gaps; `None` where there are less than two datagrams.
    pub(super) fn gaps(&self) -> Option<Distribution> {
        self.times.as_ref()?.distribution()
    }
}

impl<S: Service> Service for Arrivals<S> {
    fn ask(&mut self) -> Option<Ask> {
        self.inner.ask()
    }

    fn opened(&mut self, at: Connection, how: Opened, now: Instant) -> Result<(), Refused> {
        self.inner.opened(at, how, now)
    }

    fn failed(&mut self, token: u8, now: Instant) {
        self.inner.failed(token, now);
    }

    fn received(&mut self, at: Connection, octets: &[u8], now: Instant) {
        self.inner.received(at, octets, now);
    }

    fn fill(&mut self, at: Connection, room: &mut [u8], now: Instant) -> usize {
        self.inner.fill(at, room, now)
    }

    fn ended(&mut self, at: Connection, now: Instant) {
        self.inner.ended(at, now);
    }

    fn closed(&mut self, at: Connection, now: Instant) {
        self.inner.closed(at, now);
    }

    fn close(&self, at: Connection) -> Close {
        self.inner.close(at)
    }

    fn datagram(&mut self, at: Udp, from: SocketAddr, octets: &[u8], now: Instant) {
        if self.data.is_some_and(|data| data.is(octets))
            && let Some(last) = self.last.replace(now)
        {
            let gap = now.ns().saturating_sub(last.ns());
            self.times.get_or_insert_default().record(gap);
        }
        self.inner.datagram(at, from, octets, now);
    }

    fn next_datagram(&mut self, room: &mut [u8], now: Instant) -> Option<Datagram> {
        self.inner.next_datagram(room, now)
    }

    fn wake_at(&self) -> Option<Instant> {
        self.inner.wake_at()
    }
}

impl<S: Program> Program for Arrivals<S> {
    fn is_over(&mut self, now: Instant) -> bool {
        self.inner.is_over(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_agent::echo::Echo;
    use std::net::Ipv4Addr;

    #[test]
    fn gaps_are_those_between_data_of_the_size() {
        let from = SocketAddr::from((Ipv4Addr::LOCALHOST, 7));
        let data = Data {
            octets: 16,
            is_data: |octets| octets[0] == 0,
        };
        let mut arrivals = Arrivals::new(Echo::<4, 64>::new(7), Some(data));
        for (ms, len, first) in [(0, 16, 0), (2, 60, 0), (3, 16, 0), (4, 16, 0), (250, 16, 9)] {
            let now = Instant::from_ns(ms * 1_000_000);
            let mut octets = [0; 64];
            octets[0] = first;
            arrivals.datagram(Udp(0), from, &octets[..len], now);
        }
        let gaps = arrivals.gaps().expect("two gaps");
        assert_eq!(
            (gaps.count, gaps.min_ns, gaps.max_ns),
            (2, 1_000_000, 3_000_000)
        );
    }
}
