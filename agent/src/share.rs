//! Slots for clients that nobody announces: the senders of datagrams. One host with many ports must not keep the
//! others out.

use core::net::{IpAddr, SocketAddr};

use crate::Instant;

/// A client in a slot.
pub(crate) struct Occupant<'a> {
    pub(crate) peer: &'a SocketAddr,
    /// Any newcomer may replace it.
    pub(crate) is_idle: bool,
    /// No newcomer may.
    pub(crate) is_fixed: bool,
    pub(crate) last_received: Instant,
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
pub(crate) fn slot_for<T>(
    slots: &[Option<T>],
    newcomer: &SocketAddr,
    occupant: impl Fn(&T) -> Occupant<'_>,
) -> Option<usize> {
    let clients_of = |host: &SocketAddr| {
        let peers = slots.iter().flatten().map(|it| occupant(it).peer);
        peers.filter(|peer| is_same_source(peer, host)).count()
    };
    let mut found: Option<((u8, Instant), usize)> = None;
    for (at, slot) in slots.iter().enumerate() {
        let Some(it) = slot.as_ref().map(&occupant) else {
            return Some(at);
        };
        let rank = match it.is_idle {
            _ if it.is_fixed => continue,
            true => u8::from(!is_same_source(it.peer, newcomer)),
            false => 2,
        };
        let rank = (rank, it.last_received);
        let is_better = found.is_none_or(|(best, _)| rank < best);
        // Counted only for those that are left: each count is a pass over the slots.
        if is_better && (rank.0 < 2 || clients_of(it.peer) > clients_of(newcomer) + 1) {
            found = Some((rank, at));
        }
    }
    found.map(|(_, at)| at)
}

#[cfg(test)]
mod tests {
    use super::{Occupant, slot_for};
    use crate::Instant;
    use std::format;
    use std::net::SocketAddr;

    type Client = (SocketAddr, bool, u64);

    /// Idle clients are in upper case: `A1` is the host a's, with the last datagram at 1.
    fn slots<const N: usize>(clients: [&str; N]) -> [Option<Client>; N] {
        clients.map(|client| {
            let (host, last) = client.split_at_checked(1)?;
            let idle = host.chars().all(char::is_uppercase);
            Some((
                address(&host.to_lowercase(), last),
                idle,
                last.parse().ok()?,
            ))
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
        slot_for(&slots(clients), &address(newcomer, "9"), |it| Occupant {
            peer: &it.0,
            is_idle: it.1,
            is_fixed: it.2 == 0,
            last_received: Instant::from_ns(it.2),
        })
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
