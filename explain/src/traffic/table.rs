//! The connections of a capture, in bounded memory.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use serde::Serialize;

use crate::capture::Address;
use crate::tcp::{Connection, End, Flags, Limit, Segment};

/// Connections that are followed at the same time. With more, those are let go of which nothing was heard
/// for the longest.
const MOST_OPEN: usize = 8192;
/// Connections that are told one by one when they are over; of more, those with the most payload.
const MOST_DONE: usize = 2048;

/// Connections of which is kept what pictures show. Of more, the half that cost most.
const MOST_TRACED: usize = 64;

/// An address and a port.
pub type Place = (Address, u16);

/// A connection and its ends, the one whose packet came first before the other.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Who is connected.
    pub ends: [Place; 2],
    /// What was seen of it.
    pub connection: Connection,
}

impl Flow {
    /// Octets of payload, both ways.
    pub fn payload_bytes(&self) -> u64 {
        let of = |end| self.connection.figures(end).payload_bytes;
        of(End::First) + of(End::Second)
    }

    /// What it cost, to be compared: the time in which its sender wanted to go on, then its payload.
    pub fn cost(&self) -> (u64, u64) {
        let shares = self.connection.shares();
        let idle = [Limit::Sender, Limit::Tail].map(|limit| shares[limit as usize]);
        let total = shares.iter().sum::<u64>() - idle.iter().sum::<u64>();
        (total, self.payload_bytes())
    }
}

/// What is left of connections that are not told one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Others {
    /// How many.
    pub connections: u64,
    /// Their packets.
    pub packets: u64,
    /// Their payload in octets, both ways.
    pub payload_bytes: u64,
}

#[derive(Debug, Default)]
pub(super) struct Table {
    open: Vec<Flow>,
    by_ends: HashMap<Key, usize>,
    /// Where the packet before belonged: most often the next one does, too.
    last: Option<usize>,
    done: Vec<Flow>,
    others: Others,
    /// Whether pictures will be made, and of how many connections there may be what they show.
    pub(super) traces: bool,
    traced: usize,
}

/// Both ends in an order of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key([Place; 2]);

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for (address, port) in self.0 {
            state.write_u128(u128::from_ne_bytes(address.0));
            state.write_u16(port);
        }
    }
}

impl Key {
    fn of(source: Place, destination: Place) -> Self {
        Self(if source <= destination {
            [source, destination]
        } else {
            [destination, source]
        })
    }
}

impl Table {
    /// Takes note of a segment from `source` to `destination`.
    #[inline]
    pub(super) fn take(
        &mut self,
        [source, destination]: [Place; 2],
        segment: &Segment<'_>,
        time_ns: u64,
        number: u64,
    ) -> Flags {
        let found = self.last.filter(|at| {
            let ends = &self.open[*at].ends;
            *ends == [source, destination] || *ends == [destination, source]
        });
        let found = found.or_else(|| self.by_ends.get(&Key::of(source, destination)).copied());
        let mut flags = Flags::default();
        let at = match found {
            Some(at) => {
                let end = self.end(at, source);
                if self.open[at].connection.is_reopened(end, segment) {
                    flags = Flags::REUSED_PORTS;
                    let flow = self.flow([source, destination], time_ns, number);
                    let before = std::mem::replace(&mut self.open[at], flow);
                    self.finish(before);
                }
                at
            }
            None => self.begin([source, destination], time_ns, number),
        };
        self.last = Some(at);
        let end = self.end(at, source);
        flags |= self.open[at].connection.take(end, segment, time_ns, number);
        flags
    }

    #[inline]
    fn end(&self, at: usize, source: Place) -> End {
        if self.open[at].ends[0] == source {
            End::First
        } else {
            End::Second
        }
    }

    fn begin(&mut self, ends: [Place; 2], time_ns: u64, number: u64) -> usize {
        if self.open.len() == MOST_OPEN {
            self.let_go();
        }
        let at = self.open.len();
        self.by_ends.insert(Key::of(ends[0], ends[1]), at);
        let flow = self.flow(ends, time_ns, number);
        self.open.push(flow);
        at
    }

    fn flow(&mut self, ends: [Place; 2], time_ns: u64, number: u64) -> Flow {
        let mut connection = Connection::new(number, time_ns);
        if self.traces {
            if self.traced == MOST_TRACED {
                self.forget_traces();
            }
            self.traced += 1;
            connection.keep_traces(true);
        }
        Flow { ends, connection }
    }

    /// Keeps what pictures show of the half of the connections that cost most so far.
    fn forget_traces(&mut self) {
        let flows = self.done.iter_mut().chain(&mut self.open);
        let mut traced: Vec<&mut Flow> = flows
            .filter(|flow| flow.connection.trace(End::First).is_some())
            .collect();
        traced.sort_by_key(|flow| std::cmp::Reverse(flow.cost()));
        self.traced = traced.len().min(MOST_TRACED / 2);
        for flow in traced.into_iter().skip(MOST_TRACED / 2) {
            flow.connection.keep_traces(false);
        }
    }

    /// Makes room: the half of which nothing was heard for the longest is over.
    fn let_go(&mut self) {
        let mut flows = std::mem::take(&mut self.open);
        flows.sort_by_key(|flow| flow.connection.last_packet);
        let rest = flows.split_off(MOST_OPEN / 2);
        for flow in flows {
            self.finish(flow);
        }
        let places = rest.iter().enumerate();
        self.by_ends = places
            .map(|(at, flow)| (Key::of(flow.ends[0], flow.ends[1]), at))
            .collect();
        self.open = rest;
        self.last = None;
    }

    fn finish(&mut self, flow: Flow) {
        self.done.push(flow);
        if self.done.len() < 2 * MOST_DONE {
            return;
        }
        self.done
            .sort_by_key(|flow| std::cmp::Reverse(flow.payload_bytes()));
        for flow in self.done.drain(MOST_DONE..) {
            self.others.add(&flow);
        }
    }

    /// All of them, in the order of their first packets, and the sum of those that are not told.
    pub(super) fn into_flows(self) -> (Vec<Flow>, Others) {
        let mut flows = self.done;
        flows.extend(self.open);
        flows.sort_by_key(|flow| flow.connection.first_packet);
        (flows, self.others)
    }
}

impl Others {
    fn add(&mut self, flow: &Flow) {
        let packets = |end| flow.connection.figures(end).packets;
        self.connections += 1;
        self.packets += packets(End::First) + packets(End::Second);
        self.payload_bytes += flow.payload_bytes();
    }
}
