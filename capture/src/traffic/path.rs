//! What the connections that carry payload from one host to another have in common: causes lie in hosts and
//! links, not in a single connection.

use crate::reader::Address;
use crate::tcp::{AHEAD, Buckets, End, Limit, Marks, POSITIONS, Shares, Spacing};

use super::table::Flow;

/// What carries a smaller part of what another connection of its path does, only waits beside it.
const NEXT_TO_NOTHING: u64 = 500;

/// Of so many paths causes are looked for: whoever scans addresses has a path to each.
const MOST_PATHS: usize = 1024;

/// The connections of a path.
struct Members<'a> {
    /// The sender of the payload and its receiver.
    ends: [Address; 2],
    /// They, and which of their ends is the sender.
    flows: Vec<(&'a Flow, End)>,
}

impl Members<'_> {
    /// What the one carried that carried the most.
    fn most(&self) -> u64 {
        let carried = self
            .flows
            .iter()
            .map(|(flow, carrier)| carried(flow, *carrier));
        carried.max().unwrap_or(0)
    }

    /// The time of those that carry something.
    fn time_ns(&self) -> u64 {
        let most = self.most();
        let working = self
            .flows
            .iter()
            .filter(|(flow, carrier)| works(flow, *carrier, most));
        let times = working.map(|(flow, _)| flow.connection.end_ns - flow.connection.start_ns);
        times.fold(0, u64::saturating_add)
    }
}

fn carried(flow: &Flow, carrier: End) -> u64 {
    flow.connection.figures(carrier).unique_bytes
}

/// Whether it carries something beside another of its path that carries the `most`.
fn works(flow: &Flow, carrier: End, most: u64) -> bool {
    carried(flow, carrier) >= most / NEXT_TO_NOTHING
}

/// All connections that carry their payload from one host to another.
#[derive(Clone, Debug)]
pub struct Path {
    /// Who sends the payload.
    pub sender: Address,
    /// Who receives it.
    pub receiver: Address,
    /// How many connections there were.
    pub connections: u64,
    /// The time of all of them together that carry something.
    pub time_ns: u64,
    /// What it went to.
    pub shares: Shares,
    /// Octets of payload, each once.
    pub unique_bytes: u64,
    /// Segments with payload or FIN.
    pub segments: u64,
    /// Segments that were sent again.
    pub retransmitted: u64,
    /// Of them, those that had been acknowledged before.
    pub spurious: u64,
    /// Of them, those that a time-out brought.
    pub time_outs: u64,
    /// Of them, those that had been lost before the place of capture.
    pub lost_before: u64,
    /// Segments that others overtook, before the place of capture or behind it.
    pub out_of_order: u64,
    /// New segments by their place in a burst.
    pub sent_at: [u64; POSITIONS],
    /// Of them, those that had to be sent again.
    pub lost_at: [u64; POSITIONS],
    /// What became of all that was sent, by how closely it followed other packets.
    pub spacing: Spacing,
    /// New segments by how many were outstanding when they were sent.
    pub sent_behind: [u64; AHEAD],
    /// Of them, those that had to be sent again.
    pub lost_behind: [u64; AHEAD],
    /// Octets that were acknowledged and never captured.
    pub unseen_bytes: u64,
    /// The longest time that something was outstanding and no acknowledgment came.
    pub longest_stall_ns: u64,
    /// Packets by which the receiver closed the window.
    pub zero_windows: u64,
    /// The largest window that the receiver granted.
    pub most_window: u32,
    /// Whether every handshake was captured and windows were not scaled in any.
    pub unscaled: bool,
    /// Octets of a full segment.
    pub segment_bytes: u32,
    /// The median round trip of the connection that carried the most.
    pub rtt_ns: Option<u64>,
    /// The shortest round trip of that connection, its handshake's among them.
    pub least_rtt_ns: Option<u64>,
    /// How long its sender was quiet, with nothing outstanding.
    pub send_gaps: Option<Spread>,
    /// The most octets outstanding in a connection.
    pub most_in_flight: u32,
    /// Small segments that were sent while others were outstanding.
    pub small_behind: u64,
    /// Octets of the largest segment that the receiver takes, or of the largest that was sent where it did not say.
    pub mss: u32,
    /// Acknowledgments that were held back while the sender waited for them to send a small segment.
    pub held_back: u64,
    /// The time that took.
    pub held_back_ns: u64,
    /// Packet of the first and of the last segment that had to be sent again; 0 for none.
    pub first_again: u64,
    /// See `first_again`.
    pub last_again: u64,
    most_carried: u64,
    /// The packets that ended time of each limit.
    pub marks: [Marks; Limit::ALL.len()],
    /// Those that others overtook.
    pub overtaken: Marks,
    /// Those that acknowledge what was not captured.
    pub unseen: Marks,
    /// Small segments that waited for an acknowledgment.
    pub held: Marks,
}

/// How far times of a kind lie apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// How many there are.
    pub count: u64,
    /// One in ten is shorter.
    pub p10: u64,
    /// The median.
    pub p50: u64,
    /// One in ten is longer.
    pub p90: u64,
}

impl Spread {
    fn of(times: &Buckets) -> Option<Self> {
        Some(Self {
            count: times.count(),
            p10: times.percentile(10.0)?,
            p50: times.percentile(50.0)?,
            p90: times.percentile(90.0)?,
        })
    }
}

impl Path {
    /// The paths of `flows`, the one that took the most time first, and no more than 1,024 of them. Connections
    /// without payload are on none. Those that carry next to nothing beside another of their path count, but their
    /// time does not: a control connection idles while the others work.
    pub fn of(flows: &[Flow]) -> Vec<Self> {
        let mut all: Vec<Members<'_>> = Vec::new();
        for flow in flows {
            let carrier = flow.connection.carrier();
            if flow.connection.figures(carrier).unique_bytes == 0 {
                continue;
            }
            let ends = [carrier, carrier.other()].map(|end| flow.ends[end as usize].0);
            let found = all.iter().position(|members| members.ends == ends);
            let at = found.unwrap_or_else(|| {
                all.push(Members {
                    ends,
                    flows: Vec::new(),
                });
                all.len() - 1
            });
            all[at].flows.push((flow, carrier));
        }
        all.sort_by_cached_key(|members| std::cmp::Reverse(members.time_ns()));
        all.truncate(MOST_PATHS);
        let paths = all.iter().map(|members| {
            let [sender, receiver] = members.ends;
            let mut path = Self::new(sender, receiver);
            let most = members.most();
            for (flow, carrier) in &members.flows {
                path.add(flow, *carrier, works(flow, *carrier, most));
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
            lost_before: 0,
            out_of_order: 0,
            sent_at: [0; POSITIONS],
            lost_at: [0; POSITIONS],
            spacing: Spacing::default(),
            sent_behind: [0; AHEAD],
            lost_behind: [0; AHEAD],
            unseen_bytes: 0,
            longest_stall_ns: 0,
            zero_windows: 0,
            most_window: 0,
            unscaled: true,
            segment_bytes: 0,
            rtt_ns: None,
            least_rtt_ns: None,
            send_gaps: None,
            most_in_flight: 0,
            small_behind: 0,
            mss: 0,
            held_back: 0,
            held_back_ns: 0,
            first_again: 0,
            last_again: 0,
            most_carried: 0,
            marks: Default::default(),
            overtaken: Marks::default(),
            unseen: Marks::default(),
            held: Marks::default(),
        }
    }

    fn add(&mut self, flow: &Flow, carrier: End, works: bool) {
        let connection = &flow.connection;
        let figures = connection.figures(carrier);
        self.connections += 1;
        if works {
            let time_ns = connection.end_ns - connection.start_ns;
            self.time_ns = self.time_ns.saturating_add(time_ns);
            sum(&mut self.shares, &connection.shares());
            for (marks, limit) in self.marks.iter_mut().zip(Limit::ALL) {
                *marks = marks.and(connection.marks(limit));
            }
        }
        self.overtaken = self.overtaken.and(figures.overtaken);
        self.unseen = self.unseen.and(figures.unseen);
        self.held = self.held.and(figures.held);
        self.unique_bytes += figures.unique_bytes;
        self.segments += figures.segments;
        self.retransmitted += figures.retransmitted;
        self.spurious += figures.spurious;
        self.time_outs += figures.time_outs;
        self.lost_before += figures.lost_before;
        self.out_of_order += figures.out_of_order + figures.overtaken_behind;
        sum(&mut self.sent_at, &figures.sent_at);
        sum(&mut self.lost_at, &figures.lost_at);
        self.spacing = self.spacing.and(figures.spacing);
        sum(&mut self.sent_behind, &figures.sent_behind);
        sum(&mut self.lost_behind, &figures.lost_behind);
        self.unseen_bytes += figures.unseen_bytes;
        self.longest_stall_ns = self.longest_stall_ns.max(figures.longest_stall_ns);
        self.zero_windows += figures.zero_windows;
        self.most_window = self.most_window.max(figures.most_window);
        self.unscaled &= connection.window_shift(carrier.other()) == Some(0);
        self.segment_bytes = self.segment_bytes.max(figures.largest_segment);
        self.held_back += figures.held_back;
        self.held_back_ns = self.held_back_ns.saturating_add(figures.held_back_ns);
        if figures.unique_bytes > self.most_carried {
            self.most_carried = figures.unique_bytes;
            self.rtt_ns = figures.rtt.percentile(50.0);
            let opened_ns = connection.handshake().rtt_ns();
            self.least_rtt_ns = figures.rtt.min().into_iter().chain(opened_ns).min();
            self.send_gaps = Spread::of(&figures.send_gaps);
        }
        self.most_in_flight = self.most_in_flight.max(figures.most_in_flight);
        self.small_behind += figures.small_behind;
        let taken = connection.largest_taken(carrier).map_or(0, u32::from);
        self.mss = self.mss.max(taken).max(figures.largest_segment);
        if figures.first_again > 0 {
            self.first_again = match self.first_again {
                0 => figures.first_again,
                first => first.min(figures.first_again),
            };
            self.last_again = self.last_again.max(figures.last_again);
        }
    }

    /// Segments that were lost: sent again, and not in vain.
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
        connection.take(End::First, &segment, 0, 1);
        segment.seq += segment.len;
        connection.take(End::First, &segment, end_ns, 2);
        Flow {
            ends: [(Address([1; 16]), 1), (Address([2; 16]), 2)],
            connection: Box::new(connection),
        }
    }

    #[test]
    fn a_connection_that_idles_beside_another_costs_no_time() {
        let (working, control) = (flow(1_000_000, 10), flow(500, 100_000));
        let paths = Path::of(&[control.clone(), working]);
        assert_eq!((paths[0].connections, paths[0].time_ns), (2, 10));
        assert_eq!(paths[0].unique_bytes, 1_000_500);
        assert_eq!(paths[0].shares.iter().sum::<u64>(), 10);
        // Alone it is what there is to explain.
        assert_eq!(Path::of(&[control])[0].time_ns, 100_000);
    }
}
