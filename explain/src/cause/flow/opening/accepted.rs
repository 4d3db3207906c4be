//! What the clients whose attempts fail open beside them.

use std::collections::HashMap;

use super::attempts::Attempts;
use super::kind::{Opening, opening};
use linerate_capture::reader::Address;
use linerate_capture::traffic::Flow;

/// A client that has addresses of both versions of IP tries the other one so soon (RFC 8305 section 5: 250 ms, 2 s at most).
const OTHER_VERSION_NS: u64 = 2_000_000_000;

/// Connections to the same port that were accepted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Accepted {
    pub(super) before: u64,
    /// Time from the first attempt that failed to the next connection that was accepted.
    pub(super) after_ns: Option<u64>,
}

impl Accepted {
    pub(super) fn is_any(&self) -> bool {
        self.before > 0 || self.after_ns.is_some()
    }
}

/// Client, and address and port of the server.
type Ends = (Address, (Address, u16));

/// Connections by client and port of the server.
pub(super) struct ByPort<'a> {
    connections: HashMap<Ends, Vec<&'a Flow>>,
    /// Those of each client that were opened, and carried payload.
    opened: HashMap<Address, u64>,
    /// When they were begun, by the server's port and whether they are of IPv4.
    times: HashMap<(u16, bool), Vec<u64>>,
}

impl<'a> ByPort<'a> {
    pub(super) fn of(flows: &'a [Flow]) -> Self {
        let mut connections: HashMap<Ends, Vec<&Flow>> = HashMap::new();
        let mut opened: HashMap<Address, u64> = HashMap::new();
        let mut times: HashMap<(u16, bool), Vec<u64>> = HashMap::new();
        for flow in flows {
            let client = flow.ends[0].0;
            connections
                .entry((client, flow.ends[1]))
                .or_default()
                .push(flow);
            let is_open = flow.connection.handshake().syn_ack_ns.is_some();
            if is_open && flow.payload_bytes() > 0 {
                *opened.entry(client).or_default() += 1;
                let at = times.entry((flow.ends[1].1, client.is_v4())).or_default();
                at.push(flow.connection.start_ns);
            }
        }
        Self {
            connections,
            opened,
            times,
        }
    }

    /// Connections that the client of these attempts opened, to any server, and that carried payload.
    pub(super) fn opened(&self, attempts: &Attempts) -> u64 {
        self.opened.get(&attempts.client).copied().unwrap_or(0)
    }

    /// True if a connection by the other version of IP, to the same port, was opened as soon as the first of these attempts: the client
    /// does not wait for the one that fails.
    pub(super) fn opens_other_version(&self, attempts: &Attempts) -> bool {
        let other = (attempts.server.1, !attempts.client.is_v4());
        let soon = attempts.first_ns..=attempts.first_ns + OTHER_VERSION_NS;
        let times = self.times.get(&other).into_iter().flatten();
        times.into_iter().any(|ns| soon.contains(ns))
    }

    /// Connections of the client to the same port that were accepted before the first of these attempts, and after the last.
    pub(super) fn accepted(&self, attempts: &Attempts) -> Accepted {
        let mut accepted = Accepted::default();
        let same = self.connections.get(&(attempts.client, attempts.server));
        for flow in same.into_iter().flatten() {
            let connection = &flow.connection;
            let is_open = connection.handshake().syn_ack_ns.is_some();
            if !is_open || matches!(opening(flow), Some((Opening::Refused, _))) {
                continue;
            }
            if connection.start_ns < attempts.first_ns {
                accepted.before += 1;
            } else if connection.start_ns > attempts.last_ns {
                let ns = connection.start_ns - attempts.first_ns;
                accepted.after_ns = Some(accepted.after_ns.map_or(ns, |before| before.min(ns)));
            }
        }
        accepted
    }
}
