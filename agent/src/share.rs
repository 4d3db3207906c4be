//! Slots for clients that nobody announces: the senders of datagrams. One host with many ports must not keep the
//! others out.

use core::net::SocketAddr;

use crate::Instant;
use crate::answer::network;

/// A client in a slot.
pub(crate) struct Occupant<'a> {
    pub(crate) peer: &'a SocketAddr,
    pub(crate) last_received: Instant,
    pub(crate) standing: Standing,
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

/// Slot of `len` for a newcomer: a free one; else that of the longest idle client of its own host, or of any host;
/// else that of a client whose host has at least two more than the newcomer's. `None` if there is none.
///
/// `occupant` is called by reference, so that all services share one copy of this function.
pub(crate) fn slot_for<'a>(
    len: usize,
    newcomer: &SocketAddr,
    occupant: &dyn Fn(usize) -> Option<Occupant<'a>>,
) -> Option<usize> {
    let host = network(newcomer);
    let mut found = None;
    let mut best = (true, Instant::NEVER);
    for at in 0..len {
        let Some(it) = occupant(at) else {
            return Some(at);
        };
        let rank = (network(it.peer) != host, it.last_received);
        if it.standing == Standing::Idle && rank < best {
            best = rank;
            found = Some(at);
        }
    }
    let clients_of = |host: u64| {
        let clients = (0..len).filter_map(occupant);
        clients.filter(|it| network(it.peer) == host).count()
    };
    let fair = clients_of(host) + 1;
    // No other host can have more then.
    if found.is_some() || len < 2 * fair {
        return found;
    }
    let mut oldest = Instant::NEVER;
    for (at, it) in (0..len).filter_map(|at| Some((at, occupant(at)?))) {
        if it.standing == Standing::Active
            && it.last_received < oldest
            && clients_of(network(it.peer)) > fair
        {
            oldest = it.last_received;
            found = Some(at);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{Occupant, Standing, slot_for};
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
        let slots = slots(clients);
        let occupant = |at: usize| {
            let it = slots[at].as_ref()?;
            Some(Occupant {
                peer: &it.0,
                last_received: Instant::from_ns(it.2),
                standing: match (it.2, it.1) {
                    (0, _) => Standing::Fixed,
                    (_, true) => Standing::Idle,
                    (_, false) => Standing::Active,
                },
            })
        };
        slot_for(N, &address(newcomer, "9"), &occupant)
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
