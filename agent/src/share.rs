//! Slots for clients that nobody announces: the senders of datagrams. One host with many ports must not keep the
//! others out.

use core::net::{IpAddr, SocketAddr};

use crate::Instant;

/// A client in a slot.
pub(crate) trait Occupant {
    fn peer(&self) -> &SocketAddr;
    fn last_received(&self) -> Instant;
    fn standing(&self, now: Instant) -> Standing;
}

/// Right of a client to its slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Any newcomer may replace it.
    Idle,
    /// A newcomer whose host has fewer clients may.
    Active,
    /// No newcomer may.
    Fixed,
}

/// True if both addresses count as one host: the same IPv4 address, or the same network of 64 bits in IPv6, in
/// which a host chooses its addresses (RFC 8981).
fn is_same_source(one: &SocketAddr, other: &SocketAddr) -> bool {
    match (one.ip().to_canonical(), other.ip().to_canonical()) {
        (IpAddr::V6(one), IpAddr::V6(other)) => one.octets()[..8] == other.octets()[..8],
        (one, other) => one == other,
    }
}

/// Slot for a newcomer: a free one; else that of the longest idle client of its own host, or of any host; else that
/// of a client whose host has at least two more than the newcomer's. `None` if there is none.
pub(crate) fn slot_for<T: Occupant>(
    slots: &[Option<T>],
    newcomer: &SocketAddr,
    now: Instant,
) -> Option<usize> {
    let mut idle: Option<((bool, Instant), usize)> = None;
    for (at, slot) in slots.iter().enumerate() {
        let Some(it) = slot else {
            return Some(at);
        };
        if it.standing(now) == Standing::Idle {
            let rank = (!is_same_source(it.peer(), newcomer), it.last_received());
            if idle.is_none_or(|(best, _)| rank < best) {
                idle = Some((rank, at));
            }
        }
    }
    if let Some((_, at)) = idle {
        return Some(at);
    }
    let clients_of = |host: &SocketAddr| {
        let clients = slots.iter().flatten();
        clients.filter(|it| is_same_source(it.peer(), host)).count()
    };
    let fair = clients_of(newcomer) + 1;
    // No other host can have more then.
    if slots.len() < 2 * fair {
        return None;
    }
    let mut found: Option<(Instant, usize)> = None;
    for (at, it) in slots.iter().enumerate() {
        if let Some(it) = it
            && it.standing(now) == Standing::Active
            && found.is_none_or(|(best, _)| it.last_received() < best)
            && clients_of(it.peer()) > fair
        {
            found = Some((it.last_received(), at));
        }
    }
    found.map(|(_, at)| at)
}

#[cfg(test)]
mod tests {
    use super::{Occupant, Standing, slot_for};
    use crate::Instant;
    use std::format;
    use std::net::SocketAddr;

    struct Client {
        peer: SocketAddr,
        is_idle: bool,
        last: u64,
    }

    impl Occupant for Client {
        fn peer(&self) -> &SocketAddr {
            &self.peer
        }

        fn last_received(&self) -> Instant {
            Instant::from_ns(self.last)
        }

        fn standing(&self, _: Instant) -> Standing {
            match (self.last, self.is_idle) {
                (0, _) => Standing::Fixed,
                (_, true) => Standing::Idle,
                (_, false) => Standing::Active,
            }
        }
    }

    /// Idle clients are in upper case: `A1` is the host a's, with the last datagram at 1.
    fn slots<const N: usize>(clients: [&str; N]) -> [Option<Client>; N] {
        clients.map(|client| {
            let (host, last) = client.split_at_checked(1)?;
            Some(Client {
                peer: address(&host.to_lowercase(), last),
                is_idle: host.chars().all(char::is_uppercase),
                last: last.parse().ok()?,
            })
        })
    }

    fn address(host: &str, port: &str) -> SocketAddr {
        let ip = match host {
            "a" => "192.0.2.1",
            "b" => "192.0.2.2",
            "c" => "[2001:db8::1]",
            "d" => "[2001:db8::2]",
            _ => "[::ffff:192.0.2.1]",
        };
        format!("{ip}:4000{port}").parse().unwrap()
    }

    fn found<const N: usize>(clients: [&str; N], newcomer: &str) -> Option<usize> {
        let now = Instant::from_ns(9);
        slot_for(&slots(clients), &address(newcomer, "9"), now)
    }

    #[test]
    fn a_newcomer_takes_the_place_of_an_idle_client_first() {
        assert_eq!(found(["A1", ""], "b"), Some(1), "free");
        assert_eq!(found(["B1", "A3", "A2", "a4"], "a"), Some(2), "own first");
        assert_eq!(found(["A3", "A2", "a1"], "b"), Some(1), "the longest idle");
        assert_eq!(found(["A0", "A2"], "b"), Some(1), "not one that is fixed");
    }

    #[test]
    fn a_host_with_many_clients_keeps_nobody_out_and_nobody_is_pushed_out_in_turn() {
        assert_eq!(found(["a3", "a2", "a4"], "b"), Some(1));
        assert_eq!(found(["a3", "a2", "b1"], "b"), None, "one more is fair");
        assert_eq!(found(["a3", "b2", "b1"], "a"), None);
        assert_eq!(found(["a3", "a2", "a1"], "a"), None);
        assert_eq!(found(["a1", "b2"], "c"), None);
        // Addresses that one host can choose.
        assert_eq!(found(["c1", "d2"], "a"), Some(0));
        assert_eq!(found(["c1", "c2"], "d"), None);
        assert_eq!(found(["a1", "a2"], "e"), None, "mapped to IPv6");
    }
}
