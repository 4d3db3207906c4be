//! What the clients whose attempts fail open beside them.

use std::collections::HashMap;

use super::{Attempts, Opening, opening};
use linerate_capture::reader::Address;
use linerate_capture::traffic::Flow;

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
}

impl<'a> ByPort<'a> {
    pub(super) fn of(flows: &'a [Flow]) -> Self {
        let mut connections: HashMap<Ends, Vec<&Flow>> = HashMap::new();
        let mut opened: HashMap<Address, u64> = HashMap::new();
        for flow in flows {
            let client = flow.ends[0].0;
            connections
                .entry((client, flow.ends[1]))
                .or_default()
                .push(flow);
            let is_open = flow.connection.handshake().syn_ack_ns.is_some();
            *opened.entry(client).or_default() += u64::from(is_open && flow.payload_bytes() > 0);
        }
        Self {
            connections,
            opened,
        }
    }

    /// Connections that the client of these attempts opened, to any server, and that carried payload.
    pub(super) fn opened(&self, attempts: &Attempts) -> u64 {
        self.opened.get(&attempts.client).copied().unwrap_or(0)
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
