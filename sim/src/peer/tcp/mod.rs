//! A TCP whose behaviour on the wire is that of Linux.
//!
//! Initial window 10, CUBIC or Reno, RACK with tail-loss probes, proportional rate reduction, F-RTO, a
//! retransmission timeout of at least 200 ms beyond the round trip that stays backed off until the
//! next measurement, timers that run at the kernel's ticks, a send queue in batches of whole segments,
//! delayed and quick acknowledgments. Not implemented: pacing, `HyStart`, ECN, urgent data, Fast Open,
//! PAWS.
//!
//! `linerate-bench` replays a recorded host against it (`bench/src/replay`).
//!
//! | file | subject |
//! |---|---|
//! | [`segment`] | segments, parsed and emitted |
//! | [`connection`], `arrival` | the states of RFC 9293, handshake, closing; segment arrival |
//! | [`sender`], `batch`, [`timers`] | the stream, which data may be sent, in which pieces; the sender's timer |
//! | [`acknowledge`] | processing of an acknowledgment |
//! | [`recovery`], [`undo`] | loss: recovery, rate reduction; undo of spurious recovery |
//! | [`retransmission`] | the retransmission queue, the SACK scoreboard |
//! | [`rack`], [`rtt`] | loss detection by time, round trip and timeout |
//! | `growth`, [`cubic`], `reno` | the congestion window's growth, by algorithm |
//! | [`receiver`] | reassembly, offered window, delayed acknowledgment |
//! | [`statistics`] | statistics as visible in a capture |

pub mod acknowledge;
mod arrival;
mod batch;
pub mod connection;
mod credit;
pub mod cubic;
mod growth;
pub mod rack;
pub mod receiver;
pub mod recovery;
mod reno;
pub mod retransmission;
pub mod rtt;
pub mod segment;
pub mod sender;
pub mod statistics;
pub mod timers;
pub mod undo;

use std::collections::BTreeMap;

use smoltcp::wire::Ipv4Address;

pub use connection::{Connection, Failure, State};
pub use growth::Congestion;
pub use segment::{Control, Segment};
pub use statistics::{Retransmission, RetransmitReason, Statistics};

use crate::random::Random;
use crate::time::Instant;

/// First ephemeral port (Linux's `ip_local_port_range`).
const FIRST_LOCAL_PORT: u16 = 32_768;

/// Configuration of a host's TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Maximum payload of a segment, in octets.
    pub mss: u16,
    /// Offer and accept SACK.
    pub sack: bool,
    /// Ignore received SACK blocks, as if the receiver had negotiated SACK but never sent any. This
    /// is what smoltcp's client did up to 0.11, and so the published captures show it.
    pub disregard_sack_blocks: bool,
    /// Offer and accept timestamps.
    pub timestamps: bool,
    /// Offer window scaling by this shift, and accept it if offered.
    pub window_scale: Option<u8>,
    /// Receive buffer in octets.
    pub receive_buffer: usize,
    /// Send buffer in octets.
    pub send_buffer: usize,
    /// Congestion control.
    pub congestion: Congestion,
    /// Version of Linux where versions differ.
    pub kernel: Kernel,
}

/// Versions of Linux that send differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kernel {
    /// Before 6.10, like the host of the published capture: the send queue is cut batch by batch, and a short last
    /// segment with FIN may exceed the congestion window.
    #[default]
    Before6_10,
    /// Since 6.10: a batch takes octets from the one behind it, and a FIN waits for the congestion window.
    Since6_10,
}

impl Default for Config {
    /// Like a Linux host on Ethernet, except that timestamps are off: the published captures have none.
    fn default() -> Self {
        Self {
            mss: 1460,
            sack: true,
            disregard_sack_blocks: false,
            timestamps: false,
            window_scale: Some(7),
            receive_buffer: 64_240,
            send_buffer: 256 * 1024,
            congestion: Congestion::Cubic,
            kernel: Kernel::Before6_10,
        }
    }
}

/// An IPv4 address and a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Endpoint {
    /// The address.
    pub address: Ipv4Address,
    /// The port.
    pub port: u16,
}

/// Identifies a connection; never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(u64);

/// All connections of a host with one address.
#[derive(Debug)]
pub struct Tcp {
    config: Config,
    random: Random,
    /// Listening ports and their backlogs.
    listening: BTreeMap<u16, usize>,
    connections: BTreeMap<ConnectionId, Connection>,
    /// Retransmissions of removed connections.
    removed: BTreeMap<RetransmitReason, u64>,
    last_id: u64,
    next_port: u16,
    /// Pending RSTs that answer segments of no connection.
    pending_resets: Vec<(Ipv4Address, Segment)>,
}

impl Tcp {
    /// A host's TCP; `random` is the source of the initial sequence numbers.
    #[must_use]
    pub fn new(config: Config, random: Random) -> Self {
        Self {
            config,
            random,
            listening: BTreeMap::new(),
            connections: BTreeMap::new(),
            removed: BTreeMap::new(),
            last_id: 0,
            next_port: FIRST_LOCAL_PORT,
            pending_resets: Vec::new(),
        }
    }

    /// Accepts connections to `port`; at most `backlog` wait for the program to accept them. With 0,
    /// SYNs are ignored.
    pub fn listen(&mut self, port: u16, backlog: usize) {
        self.listening.insert(port, backlog);
    }

    /// Opens a connection.
    pub fn connect(&mut self, remote: Endpoint, now: Instant) -> ConnectionId {
        let port = self.next_port;
        self.next_port = self.next_port.checked_add(1).unwrap_or(FIRST_LOCAL_PORT);
        let initial = self.random.next_u64() as u32;
        self.add(Connection::connect(self.config, port, remote, initial, now))
    }

    fn add(&mut self, connection: Connection) -> ConnectionId {
        self.last_id += 1;
        let id = ConnectionId(self.last_id);
        self.connections.insert(id, connection);
        id
    }

    /// The next established connection to `port` that no program has accepted.
    pub fn accept(&mut self, port: u16) -> Option<ConnectionId> {
        self.connections.iter_mut().find_map(|(&id, connection)| {
            (connection.local_port() == port && connection.take_accepted()).then_some(id)
        })
    }

    /// The connection, if it exists.
    #[must_use]
    pub fn get(&self, id: ConnectionId) -> Option<&Connection> {
        self.connections.get(&id)
    }

    /// The connection, if it exists.
    pub fn get_mut(&mut self, id: ConnectionId) -> Option<&mut Connection> {
        self.connections.get_mut(&id)
    }

    /// All connections in the order of opening.
    pub fn connections(&self) -> impl Iterator<Item = (ConnectionId, &Connection)> {
        self.connections
            .iter()
            .map(|(&id, connection)| (id, connection))
    }

    /// Removes a closed connection, with its statistics. A connection that is not closed stays.
    pub fn remove_closed(&mut self, id: ConnectionId) {
        if self
            .get(id)
            .is_none_or(|connection| connection.state() != State::Closed)
        {
            return;
        }
        if let Some(connection) = self.connections.remove(&id) {
            for event in &connection.statistics().retransmissions {
                *self.removed.entry(event.reason).or_default() += 1;
            }
        }
    }

    /// Retransmissions for `reason`, of all connections so far.
    #[must_use]
    pub fn retransmissions(&self, reason: RetransmitReason) -> u64 {
        let open = self.connections.values();
        let open: u64 = open.map(|it| it.statistics().count(reason)).sum();
        open + self.removed.get(&reason).copied().unwrap_or_default()
    }

    /// Processes a segment from `source`.
    pub fn receive(&mut self, source: Ipv4Address, segment: &Segment, now: Instant) {
        let remote = Endpoint {
            address: source,
            port: segment.source_port,
        };
        let opens = segment.control == Control::Syn && segment.ack.is_none();
        let existing = self.connections.iter_mut().find(|(_, connection)| {
            connection.remote() == remote
                && connection.local_port() == segment.destination_port
                && connection.state() != State::Closed
                // A new connection may reuse the ports of one in TIME-WAIT (RFC 9293 3.6.1).
                && !(opens && connection.state() == State::TimeWait)
        });
        if let Some((_, connection)) = existing {
            connection.receive(segment, now);
        } else if opens && let Some(&backlog) = self.listening.get(&segment.destination_port) {
            let waiting = self.connections.values().filter(|connection| {
                connection.local_port() == segment.destination_port && !connection.is_accepted()
            });
            if waiting.count() < backlog {
                let initial = self.random.next_u64() as u32;
                self.add(Connection::from_syn(
                    self.config,
                    source,
                    segment,
                    initial,
                    now,
                ));
            }
        } else if segment.control != Control::Reset {
            self.pending_resets.push((source, reset_reply(segment)));
        }
    }

    /// The next segment to send at `now` and its destination.
    pub fn poll(&mut self, now: Instant) -> Option<(Ipv4Address, Segment)> {
        if let Some(reset) = self.pending_resets.pop() {
            return Some(reset);
        }
        for connection in self.connections.values_mut() {
            if connection.deadline() <= now {
                connection.on_timer(now);
            }
            if let Some(segment) = connection.poll(now) {
                return Some((connection.remote().address, segment));
            }
        }
        None
    }

    /// Next time [`Self::poll`] must be called if no segment arrives.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.connections
            .values()
            .map(Connection::deadline)
            .min()
            .unwrap_or(Instant::NEVER)
    }
}

/// The RST that answers a segment for which there is no connection (RFC 9293 section 3.5.2).
fn reset_reply(segment: &Segment) -> Segment {
    let ack = segment.sequence.wrapping_add(segment.sequence_len() as u32);
    Segment {
        source_port: segment.destination_port,
        destination_port: segment.source_port,
        sequence: segment.ack.unwrap_or(0),
        ack: segment.ack.is_none().then_some(ack),
        control: Control::Reset,
        ..Segment::default()
    }
}

#[cfg(test)]
mod tests;
