//! Attempts to open connections, by hosts and port.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::cut_off::CutOff;
use super::kind::{FIRST_TIMEOUT_NS, Opening, opening, syns, unanswered};
use super::queued::queued_ns;
use crate::cause::busy::union_ns;
use crate::cause::flow::exchange::server_of;
use linerate_capture::reader::Address;
use linerate_capture::tcp::End;
use linerate_capture::traffic::Flow;
use linerate_results::format;

/// A host that refuses at so many ports has no program at any of them, or none for this client.
pub(super) const MIN_PORTS: usize = 3;

/// Attempts of one host to open connections to a port of another.
#[derive(Default)]
pub(super) struct Attempts {
    pub(super) client: Address,
    pub(super) server: (Address, u16),
    pub(super) connections: u64,
    pub(super) syns: u64,
    pub(super) time_ns: u64,
    pub(super) first_packet: u64,
    pub(super) last_packet: u64,
    pub(super) after_accept: u64,
    /// Octets of transfers that passed before their reset.
    pub(super) acked: u64,
    pub(super) first_ns: u64,
    pub(super) last_ns: u64,
    /// Start and end of each.
    pub(super) times: Vec<(u64, u64)>,
    /// The server's ports.
    pub(super) ports: BTreeSet<u16>,
}

impl Attempts {
    /// Adds the attempt of a connection, which took this time.
    fn add(&mut self, flow: &Flow, opening: Opening, time_ns: u64) {
        let connection = &flow.connection;
        self.syns += match opening {
            Opening::NoAnswer => unanswered(connection.log().packets()).0,
            _ => syns(flow),
        };
        self.times
            .push((connection.start_ns, connection.start_ns + time_ns));
        self.time_ns += time_ns;
        self.last_packet = connection.last_packet;
        self.last_ns = connection.start_ns;
        self.after_accept += u64::from(connection.handshake().syn_ack_ns.is_some());
        if self.connections == 0 {
            self.first_packet = connection.first_packet;
            self.first_ns = connection.start_ns;
        }
        self.connections += 1;
    }

    /// Time in which at least one of them waited. Whoever gives up after one SYN waits until the next attempt, or for less than the stack's
    /// timer.
    pub(super) fn passed_ns(&self) -> u64 {
        let mut times = self.times.clone();
        times.sort_unstable();
        for at in 1..times.len() {
            let (next_ns, (start_ns, end_ns)) = (times[at].0, &mut times[at - 1]);
            if *end_ns == *start_ns {
                *end_ns = next_ns.min(*start_ns + FIRST_TIMEOUT_NS);
            }
        }
        union_ns(times)
    }
}

/// How attempts went, the client, and the place that it tried to reach.
pub(super) type Key = (Opening, String, String);

/// The attempts that failed, were slow, or were cut off.
pub(super) fn attempts(flows: &[Flow]) -> BTreeMap<Key, Attempts> {
    let mut all: BTreeMap<Key, Attempts> = BTreeMap::new();
    let kinds: Vec<Option<(Opening, u64)>> = flows.iter().map(opening).collect();
    let refused = refused_ports(flows, &kinds);
    for (flow, kind) in flows.iter().zip(kinds) {
        let cut_off = CutOff::among(flows, flow);
        let cut = cut_off.map(|it| (Opening::CutOff, it.lasted_ns));
        let queued = || Some((Opening::Queued, queued_ns(flows, flow)?));
        let Some((opening, time_ns)) = cut.or(kind).or_else(queued) else {
            continue;
        };
        let [client, server] = client_and_server(flow);
        let ports = refused.get(&(client.0, server.0));
        let place = match ports.filter(|_| opening == Opening::Refused) {
            Some(ports) if ports.len() >= MIN_PORTS => {
                format!("{} ({} ports)", server.0, format::count(ports.len() as u64))
            }
            _ => format!("{} port {}", server.0, server.1),
        };
        let attempts = all
            .entry((opening, client.0.to_string(), place))
            .or_default();
        attempts.client = client.0;
        attempts.server = server;
        attempts.ports.insert(server.1);
        attempts.acked += cut_off.map_or(0, |it| it.acked);
        attempts.add(flow, opening, time_ns);
    }
    for ((opening, ..), attempts) in &mut all {
        if *opening == Opening::NoAnswer {
            attempts.time_ns = attempts.time_ns.max(attempts.passed_ns());
        }
    }
    all
}

/// The ports of each host at which it refuses connections of each client.
fn refused_ports(
    flows: &[Flow],
    kinds: &[Option<(Opening, u64)>],
) -> HashMap<(Address, Address), BTreeSet<u16>> {
    let mut ports: HashMap<(Address, Address), BTreeSet<u16>> = HashMap::new();
    for (flow, kind) in flows.iter().zip(kinds) {
        if matches!(kind, Some((Opening::Refused, _))) {
            let [client, server] = flow.ends;
            let of_host = ports.entry((client.0, server.0)).or_default();
            of_host.insert(server.1);
        }
    }
    ports
}

/// Client and server, by ports if the connection was open before the capture.
fn client_and_server(flow: &Flow) -> [(Address, u16); 2] {
    let server = server_of(flow).unwrap_or(End::Second);
    [server.other(), server].map(|end| flow.ends[end as usize])
}
