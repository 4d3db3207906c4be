//! The connections of a capture, in bounded memory.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use serde::Serialize;

use crate::reader::Address;
use crate::tcp::{AnalysisFlags, Connection, End, Segment};

/// Connections tracked at the same time. Beyond that, those silent the longest are closed.
const MAX_OPEN: usize = 8192;
/// Closed connections that are reported individually: those with the most payload.
const MAX_DONE: usize = 2048;

/// Packets logged in all connections together. Beyond that, the connections with little payload are no longer logged.
const MAX_LOGGED_PACKETS: usize = 1 << 17;

/// Traced connections. Beyond that, the more costly half is kept.
const MAX_TRACED: usize = 64;

/// An address and a port.
pub type AddressPort = (Address, u16);

/// A connection with its ends, the one whose packet came first before the other.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Addresses and ports.
    pub ends: [AddressPort; 2],
    /// State of the connection.
    pub connection: Box<Connection>,
}

impl Flow {
    /// Which of its ends the first of `ends` is, if these are its ends.
    #[inline]
    fn end(&self, ends: &[AddressPort; 2]) -> Option<End> {
        let [source, destination] = ends;
        let [first, second] = &self.ends;
        // Ports differ more often than addresses, so compare them first.
        let same = |one: &AddressPort, other: &AddressPort| one.1 == other.1 && one.0 == other.0;
        if same(source, first) && same(destination, second) {
            Some(End::First)
        } else if same(source, second) && same(destination, first) {
            Some(End::Second)
        } else {
            None
        }
    }

    /// Octets of payload in both directions.
    pub fn payload_bytes(&self) -> u64 {
        let of = |end| self.connection.stats(end).payload_bytes;
        of(End::First) + of(End::Second)
    }

    /// Sort key: its payload, then its time.
    pub fn cost(&self) -> (u64, u64) {
        let lasted_ns = self.connection.end_ns - self.connection.start_ns;
        (self.payload_bytes(), lasted_ns)
    }
}

/// Sum of connections that are not reported individually.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OtherConnections {
    /// Number of connections.
    pub connections: u64,
    /// Their packets.
    pub packets: u64,
    /// Their payload in octets, in both directions.
    pub payload_bytes: u64,
}

#[derive(Debug, Default)]
pub(super) struct ConnectionTable {
    open: Vec<Flow>,
    by_ends: HashMap<ConnectionKey, usize, RandomState>,
    recent: RecentConnections,
    done: Vec<Flow>,
    others: OtherConnections,
    /// True if connections return flags.
    pub(super) flags: bool,
    /// True if connections are traced; `traced` counts them.
    pub(super) traces: bool,
    traced: usize,
    /// Packets recorded since the logs were counted: an upper bound of those logged.
    recorded: usize,
}

/// Indexes of recent connections by ports: the next packet with the same ports usually belongs to the same one. The
/// connection at that index has to be checked.
#[derive(Debug)]
struct RecentConnections([usize; Self::SLOTS]);

impl RecentConnections {
    const SLOTS: usize = 512;

    #[inline]
    fn of(&mut self, [(_, source), (_, destination)]: &[AddressPort; 2]) -> &mut usize {
        // The same for both directions.
        &mut self.0[usize::from(source ^ destination) % Self::SLOTS]
    }
}

impl Default for RecentConnections {
    fn default() -> Self {
        Self([0; Self::SLOTS])
    }
}

/// Both ends in sorted order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct ConnectionKey([(u128, u16); 2]);

impl ConnectionKey {
    #[inline]
    fn of(ends: &[AddressPort; 2]) -> Self {
        let [one, other] = ends.map(|(address, port)| (u128::from_ne_bytes(address.0), port));
        Self(if one <= other {
            [one, other]
        } else {
            [other, one]
        })
    }
}

impl ConnectionTable {
    /// Records a segment from the first of `ends` to the other.
    #[inline]
    pub(super) fn record(
        &mut self,
        ends: [AddressPort; 2],
        segment: &Segment<'_>,
        time_ns: u64,
        number: u64,
    ) -> AnalysisFlags {
        self.recorded += 1;
        if self.recorded > MAX_LOGGED_PACKETS {
            self.discard_logs();
        }
        let recent = *self.recent.of(&ends);
        if let Some(flow) = self.open.get_mut(recent)
            && let Some(end) = flow.end(&ends)
            && !segment.is_initial_syn()
        {
            return flow
                .connection
                .record_segment(end, segment, time_ns, number);
        }
        self.record_any(ends, segment, time_ns, number)
    }

    /// The same for any connection, including a new one.
    fn record_any(
        &mut self,
        ends: [AddressPort; 2],
        segment: &Segment<'_>,
        time_ns: u64,
        number: u64,
    ) -> AnalysisFlags {
        let mut flags = AnalysisFlags::default();
        let (at, end) = match self.find(&ends) {
            Some((at, end)) => {
                if self.open[at].connection.is_new_connection(end, segment) {
                    if self.flags {
                        flags = AnalysisFlags::REUSED_PORTS;
                    }
                    let flow = self.new_flow(ends, time_ns, number);
                    let before = std::mem::replace(&mut self.open[at], flow);
                    self.finish(before);
                    (at, End::First)
                } else {
                    (at, end)
                }
            }
            None => (self.open(ends, time_ns, number), End::First),
        };
        let connection = &mut self.open[at].connection;
        flags |= connection.record_segment(end, segment, time_ns, number);
        flags
    }

    /// The connection between `ends`, and which of its ends the first of them is.
    fn find(&mut self, ends: &[AddressPort; 2]) -> Option<(usize, End)> {
        let at = *self.by_ends.get(&ConnectionKey::of(ends))?;
        *self.recent.of(ends) = at;
        let end = self.open[at].end(ends)?;
        Some((at, end))
    }

    fn open(&mut self, ends: [AddressPort; 2], time_ns: u64, number: u64) -> usize {
        if self.open.len() == MAX_OPEN {
            self.close_idle();
        }
        let at = self.open.len();
        self.by_ends.insert(ConnectionKey::of(&ends), at);
        *self.recent.of(&ends) = at;
        let flow = self.new_flow(ends, time_ns, number);
        self.open.push(flow);
        at
    }

    fn new_flow(&mut self, ends: [AddressPort; 2], time_ns: u64, number: u64) -> Flow {
        let mut connection = Box::new(Connection::new(number, time_ns));
        if self.flags {
            connection.enable_flags();
        }
        if self.traces {
            if self.traced == MAX_TRACED {
                self.drop_cheap_traces();
            }
            self.traced += 1;
            connection.set_tracing(true);
        }
        Flow { ends, connection }
    }

    /// Keeps the logs of the connections with the most payload, up to half of the limit.
    #[cold]
    fn discard_logs(&mut self) {
        let flows = self.done.iter_mut().chain(&mut self.open);
        let mut logged: Vec<&mut Flow> = flows
            .filter(|flow| !flow.connection.log().packets().is_empty())
            .collect();
        logged.sort_by_cached_key(|flow| std::cmp::Reverse(flow.payload_bytes()));
        let mut kept = 0;
        for flow in logged {
            let packets = flow.connection.log().packets().len();
            if kept + packets > MAX_LOGGED_PACKETS / 2 {
                flow.connection.discard_log();
            } else {
                kept += packets;
            }
        }
        self.recorded = kept;
    }

    /// Keeps the traces of the half of the connections that cost most so far.
    fn drop_cheap_traces(&mut self) {
        let flows = self.done.iter_mut().chain(&mut self.open);
        let mut traced: Vec<&mut Flow> = flows
            .filter(|flow| flow.connection.trace(End::First).is_some())
            .collect();
        traced.sort_by_key(|flow| std::cmp::Reverse(flow.cost()));
        self.traced = traced.len().min(MAX_TRACED / 2);
        for flow in traced.into_iter().skip(MAX_TRACED / 2) {
            flow.connection.set_tracing(false);
        }
    }

    /// Closes the half of the connections that were silent the longest.
    fn close_idle(&mut self) {
        let mut flows = std::mem::take(&mut self.open);
        flows.sort_by_cached_key(|flow| flow.connection.last_packet);
        let rest = flows.split_off(MAX_OPEN / 2);
        for flow in flows {
            self.finish(flow);
        }
        let places = rest.iter().enumerate();
        self.by_ends = places
            .map(|(at, flow)| (ConnectionKey::of(&flow.ends), at))
            .collect();
        self.open = rest;
    }

    fn finish(&mut self, flow: Flow) {
        self.done.push(flow);
        if self.done.len() == 2 * MAX_DONE {
            self.trim_done();
        }
    }

    /// Keeps the closed connections with the most payload.
    fn trim_done(&mut self) {
        self.done
            .sort_by_cached_key(|flow| std::cmp::Reverse(flow.payload_bytes()));
        let most = self.done.len().min(MAX_DONE);
        for flow in self.done.drain(most..) {
            self.others.add(&flow);
        }
    }

    /// All connections in the order of their first packets, and the sum of those not reported.
    pub(super) fn into_flows(mut self) -> (Vec<Flow>, OtherConnections) {
        self.trim_done();
        let mut flows = self.done;
        flows.extend(self.open);
        flows.sort_by_key(|flow| flow.connection.first_packet);
        (flows, self.others)
    }
}

impl OtherConnections {
    fn add(&mut self, flow: &Flow) {
        let packets = |end| flow.connection.stats(end).packets;
        self.connections += 1;
        self.packets += packets(End::First) + packets(End::Second);
        self.payload_bytes += flow.payload_bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ends of a connection from a host whose address ends in `last` to a server.
    fn ends(last: u16, port: u16) -> [AddressPort; 2] {
        let mut host = [0; 16];
        host[14..].copy_from_slice(&last.to_be_bytes());
        [(Address(host), port), (Address([1; 16]), 443)]
    }

    fn record(table: &mut ConnectionTable, ends: [AddressPort; 2], number: u64) {
        let segment = Segment {
            flags: Segment::ACK,
            ..Segment::default()
        };
        table.record(ends, &segment, number, number);
    }

    #[test]
    fn connections_with_the_same_ports_are_distinguished() {
        let mut table = ConnectionTable::default();
        for number in 0..9 {
            let [host, server] = ends(number % 3, 5000);
            let back = number % 2 == 1;
            let ends = if back { [server, host] } else { [host, server] };
            record(&mut table, ends, u64::from(number) + 1);
        }
        let (flows, others) = table.into_flows();
        let packets = |flow: &Flow, end| flow.connection.stats(end).packets;
        let both = |flow| [packets(flow, End::First), packets(flow, End::Second)];
        assert_eq!(flows.iter().map(both).collect::<Vec<_>>(), [[2, 1]; 3]);
        assert_eq!(others, OtherConnections::default());
    }

    #[test]
    fn of_many_connections_the_oldest_are_closed_and_summed_up() {
        let mut table = ConnectionTable::default();
        let most = 4 * MAX_OPEN as u64;
        for number in 0..most {
            record(
                &mut table,
                ends((number >> 8) as u16, number as u16 & 0xFF),
                number,
            );
            // The first one stays active.
            record(&mut table, ends(0, 0), number);
        }
        let (flows, others) = table.into_flows();
        assert!(flows.len() <= MAX_OPEN + MAX_DONE);
        assert_eq!(flows.len() as u64 + others.connections, most);
        assert_eq!(flows[0].connection.stats(End::First).packets, most + 1);
    }
}
