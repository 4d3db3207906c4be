//! Sums over the connections that send payload from one host to another: causes are properties of hosts and links, not
//! of a single connection.

use crate::reader::Address;
use crate::tcp::{
    BURST_POSITIONS, End, FLIGHT_BINS, Histogram, Limit, LossBySpacing, Occurrences, Shares,
};

use super::table::Flow;

/// A connection with less than 1 / this of the payload of another one on its path is idle.
const IDLE_DIVISOR: u64 = 500;

/// Maximum number of analyzed paths: an address scan has a path to each address.
const MAX_PATHS: usize = 1024;

/// The connections of a path.
struct PathMembers<'a> {
    /// Payload sender and receiver.
    ends: [Address; 2],
    /// The connections, with the end that sends the payload.
    flows: Vec<(&'a Flow, End)>,
}

impl PathMembers<'_> {
    /// Payload of the connection with the most.
    fn max_payload_bytes(&self) -> u64 {
        let carried = self
            .flows
            .iter()
            .map(|(flow, data_sender)| payload_bytes(flow, *data_sender));
        carried.max().unwrap_or(0)
    }

    /// Total time of the active connections.
    fn time_ns(&self) -> u64 {
        let most = self.max_payload_bytes();
        let active = self
            .flows
            .iter()
            .filter(|(flow, data_sender)| is_active(flow, *data_sender, most));
        let times = active.map(|(flow, _)| flow.connection.end_ns - flow.connection.start_ns);
        times.fold(0, u64::saturating_add)
    }
}

fn payload_bytes(flow: &Flow, data_sender: End) -> u64 {
    flow.connection.stats(data_sender).unique_bytes
}

/// True if the connection is active beside another of its path with `most` payload.
fn is_active(flow: &Flow, data_sender: End, most: u64) -> bool {
    payload_bytes(flow, data_sender) >= most / IDLE_DIVISOR
}

/// All connections that send their payload from one host to another.
#[derive(Clone, Debug)]
pub struct Path {
    /// Payload sender.
    pub sender: Address,
    /// Payload receiver.
    pub receiver: Address,
    /// Number of connections.
    pub connections: u64,
    /// Total time of the active connections.
    pub time_ns: u64,
    /// That time by limit.
    pub shares: Shares,
    /// Octets of payload, each once.
    pub unique_bytes: u64,
    /// Segments with payload or FIN.
    pub segments: u64,
    /// Retransmitted segments.
    pub retransmitted: u64,
    /// Of them, those already acknowledged.
    pub spurious: u64,
    /// Of them, those caused by an RTO.
    pub time_outs: u64,
    /// Of them, those lost before the capture point.
    pub lost_before_capture: u64,
    /// Reordered segments, before or after the capture point.
    pub out_of_order: u64,
    /// New segments by burst position.
    pub sent_by_position: [u64; BURST_POSITIONS],
    /// Of them, those that had to be retransmitted.
    pub lost_by_position: [u64; BURST_POSITIONS],
    /// Loss by distance to the sender's previous packet.
    pub spacing: LossBySpacing,
    /// New segments by the number of segments in flight when sent.
    pub sent_by_flight: [u64; FLIGHT_BINS],
    /// Of them, those that had to be retransmitted.
    pub lost_by_flight: [u64; FLIGHT_BINS],
    /// Octets that were acknowledged and never captured.
    pub unseen_bytes: u64,
    /// The longest time with unacknowledged data and no acknowledgment.
    pub longest_stall_ns: u64,
    /// Packets of the receiver that close the window.
    pub zero_windows: u64,
    /// The largest window that the receiver granted.
    pub max_window: u32,
    /// True if every handshake was captured and no window was scaled.
    pub unscaled: bool,
    /// Octets of a full segment.
    pub segment_bytes: u32,
    /// Median round-trip time of the connection with the most payload.
    pub rtt_ns: Option<u64>,
    /// Shortest round-trip time of that connection, its handshake included.
    pub min_rtt_ns: Option<u64>,
    /// Gaps between its bursts, without unacknowledged data.
    pub send_gaps: Option<Percentiles>,
    /// The largest flight size of a connection.
    pub max_in_flight: u32,
    /// Small segments sent while others were unacknowledged.
    pub small_while_unacked: u64,
    /// The receiver's MSS, or the largest segment sent if that is not known.
    pub mss: u32,
    /// Delayed ACKs for which the sender waited before sending a small segment.
    pub delayed_acks: u64,
    /// Total delay of these.
    pub delayed_ack_ns: u64,
    /// Packets of the first and last necessary retransmission; 0 for none.
    pub first_retransmit: u64,
    /// See `first_retransmit`.
    pub last_retransmit: u64,
    max_payload_bytes: u64,
    /// The packets that ended time of each limit.
    pub occurrences: [Occurrences; Limit::ALL.len()],
    /// The reordered packets.
    pub out_of_order_at: Occurrences,
    /// The packets that acknowledge uncaptured data.
    pub unseen_at: Occurrences,
    /// Small segments that waited for a delayed ACK.
    pub delayed_at: Occurrences,
}

/// Percentiles of a set of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Percentiles {
    /// Number of times.
    pub count: u64,
    /// 10th percentile.
    pub p10: u64,
    /// The median.
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
}

impl Percentiles {
    fn from_histogram(times: &Histogram) -> Option<Self> {
        Some(Self {
            count: times.count(),
            p10: times.percentile(10.0)?,
            p50: times.percentile(50.0)?,
            p90: times.percentile(90.0)?,
        })
    }
}

impl Path {
    /// The paths of `flows` by total time in descending order, at most 1,024. Connections without payload are on no
    /// path. Idle ones, such as a control connection, are counted, but not their time.
    pub fn from_flows(flows: &[Flow]) -> Vec<Self> {
        let mut all: Vec<PathMembers<'_>> = Vec::new();
        for flow in flows {
            let data_sender = flow.connection.data_sender();
            if flow.connection.stats(data_sender).unique_bytes == 0 {
                continue;
            }
            let ends = [data_sender, data_sender.other()].map(|end| flow.ends[end as usize].0);
            let found = all.iter().position(|members| members.ends == ends);
            let at = found.unwrap_or_else(|| {
                all.push(PathMembers {
                    ends,
                    flows: Vec::new(),
                });
                all.len() - 1
            });
            all[at].flows.push((flow, data_sender));
        }
        all.sort_by_cached_key(|members| std::cmp::Reverse(members.time_ns()));
        all.truncate(MAX_PATHS);
        let paths = all.iter().map(|members| {
            let [sender, receiver] = members.ends;
            let mut path = Self::new(sender, receiver);
            let most = members.max_payload_bytes();
            for (flow, data_sender) in &members.flows {
                path.add(flow, *data_sender, is_active(flow, *data_sender, most));
            }
            path
        });
        paths.collect()
    }

    fn new(sender: Address, receiver: Address) -> Self {
        Self {
            sender,
            receiver,
            connections: 0,
            time_ns: 0,
            shares: Shares::default(),
            unique_bytes: 0,
            segments: 0,
            retransmitted: 0,
            spurious: 0,
            time_outs: 0,
            lost_before_capture: 0,
            out_of_order: 0,
            sent_by_position: [0; BURST_POSITIONS],
            lost_by_position: [0; BURST_POSITIONS],
            spacing: LossBySpacing::default(),
            sent_by_flight: [0; FLIGHT_BINS],
            lost_by_flight: [0; FLIGHT_BINS],
            unseen_bytes: 0,
            longest_stall_ns: 0,
            zero_windows: 0,
            max_window: 0,
            unscaled: true,
            segment_bytes: 0,
            rtt_ns: None,
            min_rtt_ns: None,
            send_gaps: None,
            max_in_flight: 0,
            small_while_unacked: 0,
            mss: 0,
            delayed_acks: 0,
            delayed_ack_ns: 0,
            first_retransmit: 0,
            last_retransmit: 0,
            max_payload_bytes: 0,
            occurrences: Default::default(),
            out_of_order_at: Occurrences::default(),
            unseen_at: Occurrences::default(),
            delayed_at: Occurrences::default(),
        }
    }

    fn add(&mut self, flow: &Flow, data_sender: End, is_active: bool) {
        let connection = &flow.connection;
        let stats = connection.stats(data_sender);
        self.connections += 1;
        if is_active {
            let time_ns = connection.end_ns - connection.start_ns;
            self.time_ns = self.time_ns.saturating_add(time_ns);
            sum(&mut self.shares, &connection.shares());
            for (occurrences, limit) in self.occurrences.iter_mut().zip(Limit::ALL) {
                *occurrences = occurrences.merged(connection.occurrences(limit));
            }
        }
        self.out_of_order_at = self.out_of_order_at.merged(stats.out_of_order_at);
        self.unseen_at = self.unseen_at.merged(stats.unseen_at);
        self.delayed_at = self.delayed_at.merged(stats.delayed_at);
        self.unique_bytes += stats.unique_bytes;
        self.segments += stats.segments;
        self.retransmitted += stats.retransmitted;
        self.spurious += stats.spurious;
        self.time_outs += stats.time_outs;
        self.lost_before_capture += stats.lost_before_capture;
        self.out_of_order += stats.out_of_order + stats.reordered_after_capture;
        sum(&mut self.sent_by_position, &stats.sent_by_position);
        sum(&mut self.lost_by_position, &stats.lost_by_position);
        self.spacing = self.spacing.merged(stats.spacing);
        sum(&mut self.sent_by_flight, &stats.sent_by_flight);
        sum(&mut self.lost_by_flight, &stats.lost_by_flight);
        self.unseen_bytes += stats.unseen_bytes;
        self.longest_stall_ns = self.longest_stall_ns.max(stats.longest_stall_ns);
        self.zero_windows += stats.zero_windows;
        self.max_window = self.max_window.max(stats.max_window);
        self.unscaled &= connection.window_shift(data_sender.other()) == Some(0);
        self.segment_bytes = self.segment_bytes.max(stats.largest_segment);
        self.delayed_acks += stats.delayed_acks;
        self.delayed_ack_ns = self.delayed_ack_ns.saturating_add(stats.delayed_ack_ns);
        if stats.unique_bytes > self.max_payload_bytes {
            self.max_payload_bytes = stats.unique_bytes;
            self.rtt_ns = stats.rtt.percentile(50.0);
            let opened_ns = connection.handshake().rtt_ns();
            self.min_rtt_ns = stats.rtt.min().into_iter().chain(opened_ns).min();
            self.send_gaps = Percentiles::from_histogram(&stats.send_gaps);
        }
        self.max_in_flight = self.max_in_flight.max(stats.max_in_flight);
        self.small_while_unacked += stats.small_while_unacked;
        let mss = connection.mss(data_sender).map_or(0, u32::from);
        self.mss = self.mss.max(mss).max(stats.largest_segment);
        if stats.first_retransmit > 0 {
            self.first_retransmit = match self.first_retransmit {
                0 => stats.first_retransmit,
                first => first.min(stats.first_retransmit),
            };
            self.last_retransmit = self.last_retransmit.max(stats.last_retransmit);
        }
    }

    /// Segments lost: retransmitted and not spurious.
    pub fn lost(&self) -> u64 {
        self.retransmitted - self.spurious
    }
}

fn sum<const N: usize>(sums: &mut [u64; N], added: &[u64; N]) {
    for (sum, added) in sums.iter_mut().zip(added) {
        *sum = sum.saturating_add(*added);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::{Connection, Segment};

    fn flow(bytes: u32, end_ns: u64) -> Flow {
        let mut connection = Connection::new(1, 0);
        let mut segment = Segment {
            seq: 1,
            len: bytes / 2,
            flags: Segment::ACK,
            ..Segment::default()
        };
        connection.record_segment(End::First, &segment, 0, 1);
        segment.seq += segment.len;
        connection.record_segment(End::First, &segment, end_ns, 2);
        Flow {
            ends: [(Address([1; 16]), 1), (Address([2; 16]), 2)],
            connection: Box::new(connection),
        }
    }

    #[test]
    fn an_idle_connection_beside_another_costs_no_time() {
        let (working, control) = (flow(1_000_000, 10), flow(500, 100_000));
        let paths = Path::from_flows(&[control.clone(), working]);
        assert_eq!((paths[0].connections, paths[0].time_ns), (2, 10));
        assert_eq!(paths[0].unique_bytes, 1_000_500);
        assert_eq!(paths[0].shares.iter().sum::<u64>(), 10);
        // Alone it is the one to explain.
        assert_eq!(Path::from_flows(&[control])[0].time_ns, 100_000);
    }
}
