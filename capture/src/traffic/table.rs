//! The connections of a capture, in bounded memory.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use serde::Serialize;

use crate::reader::Address;
use crate::tcp::{AnalysisFlags, Connection, End, Limit, Segment};

/// Connections that are followed at the same time. With more, those are let go of which nothing was heard
/// for the longest.
const MAX_OPEN: usize = 8192;
/// Connections that are told one by one when they are over; of more, those with the most payload.
const MAX_DONE: usize = 2048;

/// Connections of which is kept what pictures show. Of more, the half that cost most.
const MAX_TRACED: usize = 64;

/// An address and a port.
pub type AddressPort = (Address, u16);

/// A connection and its ends, the one whose packet came first before the other.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Who is connected.
    pub ends: [AddressPort; 2],
    /// What was seen of it.
    pub connection: Box<Connection>,
}

impl Flow {
    /// Which of its ends the first of `ends` is, if these are its ends.
    #[inline]
    fn end(&self, ends: &[AddressPort; 2]) -> Option<End> {
        let [source, destination] = ends;
        let [first, second] = &self.ends;
        // Ports differ more often than addresses, and are compared sooner.
        let same = |one: &AddressPort, other: &AddressPort| one.1 == other.1 && one.0 == other.0;
        if same(source, first) && same(destination, second) {
            Some(End::First)
        } else if same(source, second) && same(destination, first) {
            Some(End::Second)
        } else {
            None
        }
    }

    /// Octets of payload, both ways.
    pub fn payload_bytes(&self) -> u64 {
        let of = |end| self.connection.stats(end).payload_bytes;
        of(End::First) + of(End::Second)
    }

    /// What it cost, to be compared: the time in which its sender wanted to go on, then its payload.
    pub fn cost(&self) -> (u64, u64) {
        let shares = self.connection.shares();
        let idle = [Limit::SenderApplication, Limit::Tail].map(|limit| shares[limit as usize]);
        let total = shares.iter().sum::<u64>() - idle.iter().sum::<u64>();
        (total, self.payload_bytes())
    }
}

/// What is left of connections that are not told one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OtherConnections {
    /// How many.
    pub connections: u64,
    /// Their packets.
    pub packets: u64,
    /// Their payload in octets, both ways.
    pub payload_bytes: u64,
}

#[derive(Debug, Default)]
pub(super) struct ConnectionTable {
    open: Vec<Flow>,
    by_ends: HashMap<ConnectionKey, usize, RandomState>,
    recent: RecentConnections,
    done: Vec<Flow>,
    others: OtherConnections,
    /// Whether flags are told.
    pub(super) flags: bool,
    /// Whether pictures will be made, and of how many connections there may be what they show.
    pub(super) traces: bool,
    traced: usize,
}

/// Where the last packets belonged, by their ports: most often the next one with them does, too. Which connection
/// lies there now has to be looked at.
#[derive(Debug)]
struct RecentConnections([usize; Self::SLOTS]);

impl RecentConnections {
    const SLOTS: usize = 512;

    #[inline]
    fn of(&mut self, [(_, source), (_, destination)]: &[AddressPort; 2]) -> &mut usize {
        // Both directions have one.
        &mut self.0[usize::from(source ^ destination) % Self::SLOTS]
    }
}

impl Default for RecentConnections {
    fn default() -> Self {
        Self([0; Self::SLOTS])
    }
}

/// Both ends in an order of their own.
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
    /// Takes note of a segment from the first of `ends` to the other.
    #[inline]
    pub(super) fn record(
        &mut self,
        ends: [AddressPort; 2],
        segment: &Segment<'_>,
        time_ns: u64,
        number: u64,
    ) -> AnalysisFlags {
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

    /// The same wherever it belongs, and if it opens a connection.
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

    /// Keeps what pictures show of the half of the connections that cost most so far.
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

    /// Makes room: the half of which nothing was heard for the longest is over.
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

    /// Of those that are over, keeps the ones with the most payload.
    fn trim_done(&mut self) {
        self.done
            .sort_by_cached_key(|flow| std::cmp::Reverse(flow.payload_bytes()));
        let most = self.done.len().min(MAX_DONE);
        for flow in self.done.drain(most..) {
            self.others.add(&flow);
        }
    }

    /// All of them, in the order of their first packets, and the sum of those that are not told.
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

    /// What a host that ends in `last` sends a server, from a port of its own.
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
    fn connections_with_the_same_ports_are_told_apart() {
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
    fn of_many_connections_the_oldest_go_and_are_summed_up() {
        let mut table = ConnectionTable::default();
        let most = 4 * MAX_OPEN as u64;
        for number in 0..most {
            record(
                &mut table,
                ends((number >> 8) as u16, number as u16 & 0xFF),
                number,
            );
            // The first one goes on.
            record(&mut table, ends(0, 0), number);
        }
        let (flows, others) = table.into_flows();
        assert!(flows.len() <= MAX_OPEN + MAX_DONE);
        assert_eq!(flows.len() as u64 + others.connections, most);
        assert_eq!(flows[0].connection.stats(End::First).packets, most + 1);
    }
}
