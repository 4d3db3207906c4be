//! Arrival times of a test's datagrams.

use linerate_agent::{DatagramTap, Instant, TappedService};
use linerate_results::record::Distribution;

use linerate_results::distribution::TimeRecorder;

/// Selects the datagrams of a stream, without a protocol's control messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct DataFilter {
    /// Octets of each.
    pub(super) octets: u32,
    /// Distinguishes them from control messages of the same size.
    pub(super) is_data: fn(&[u8]) -> bool,
}

impl DataFilter {
    fn matches(&self, octets: &[u8]) -> bool {
        self.octets as usize == octets.len() && (self.is_data)(octets)
    }
}

/// A service, and the gaps between the datagrams that it receives.
pub(super) type Arrivals<S> = TappedService<S, Gaps>;

/// Gaps between datagrams.
///
/// The arrival time is when this program reads a datagram: datagrams queued in the system's buffer arrive
/// together. In a simulation it is the end of the frame on the wire.
#[derive(Debug)]
pub(super) struct Gaps {
    /// The datagrams that count; `None`: none.
    data: Option<DataFilter>,
    last: Option<Instant>,
    times: Option<TimeRecorder>,
}

impl Gaps {
    /// Measures the gaps between the datagrams that `service` receives.
    pub(super) const fn wrap<S>(service: S, data: Option<DataFilter>) -> Arrivals<S> {
        let tap = Self {
            data,
            last: None,
            times: None,
        };
        TappedService { service, tap }
    }

    /// The gaps; `None` if there are less than two datagrams.
    pub(super) fn distribution(&self) -> Option<Distribution> {
        self.times.as_ref()?.distribution()
    }
}

impl DatagramTap for Gaps {
    fn on_datagram(&mut self, octets: &[u8], now: Instant) {
        if self.data.is_some_and(|data| data.matches(octets))
            && let Some(last) = self.last.replace(now)
        {
            let gap = now.ns().saturating_sub(last.ns());
            self.times.get_or_insert_default().record(gap);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_agent::echo::Echo;
    use linerate_agent::{Service, Udp};
    use std::net::{Ipv4Addr, SocketAddr};

    #[test]
    fn gaps_are_those_between_data_of_the_size() {
        let from = SocketAddr::from((Ipv4Addr::LOCALHOST, 7));
        let data = DataFilter {
            octets: 16,
            is_data: |octets| octets[0] == 0,
        };
        let mut arrivals = Gaps::wrap(Echo::<4, 64>::new(7), Some(data));
        for (ms, len, first) in [(0, 16, 0), (2, 60, 0), (3, 16, 0), (4, 16, 0), (250, 16, 9)] {
            let now = Instant::from_ns(ms * 1_000_000);
            let mut octets = [0; 64];
            octets[0] = first;
            arrivals.datagram(Udp(0), from, &octets[..len], now);
        }
        let gaps = arrivals.tap.distribution().expect("two gaps");
        assert_eq!(
            (gaps.count, gaps.min_ns, gaps.max_ns),
            (2, 1_000_000, 3_000_000)
        );
    }
}
