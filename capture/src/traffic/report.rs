//! Connections and streams as in the JSON report.

use std::collections::BTreeMap;
use std::ops::Deref;

use serde::Serialize;

use super::UdpStream;
use super::table::{AddressPort, Flow};
use crate::model::{Limit, LimitSpan, TimeShares};
use crate::tcp::{End, FIRST_DELAY_BOUND_NS, Histogram, SenderCounts, SenderStats, Trace};
use crate::udp::Tool;
use linerate_results::stats;

/// A connection with its trace.
#[derive(Clone, Debug)]
pub struct TracedConnection {
    /// Index in the report's connections.
    pub connection: usize,
    /// Trace of its payload sender.
    pub trace: Trace,
}

/// A TCP connection.
#[derive(Clone, Debug, Serialize)]
pub struct ConnectionReport {
    /// Payload sender with its port.
    pub sender: String,
    /// Payload receiver.
    pub receiver: String,
    /// Number of its first packet in the capture.
    pub first_packet: u64,
    /// Number of its last packet.
    pub last_packet: u64,
    /// Time from the capture's first packet to its first.
    pub start_ns: u64,
    /// Time from its first packet to its last.
    pub duration_ns: u64,
    /// End nearer to the capture point, if the handshake shows it.
    pub captured_near: Option<EndRole>,
    /// Round-trip time of its handshake, if captured.
    pub handshake_rtt_ns: Option<u64>,
    /// Acknowledged payload, each octet once, from the first packet to its last acknowledgment.
    pub goodput_bytes_per_s: f64,
    /// Time by limit: shares that add up to 1.
    pub time_share: BTreeMap<&'static str, f64>,
    /// Packets from which its limits and findings are derived: the first ones, if not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explained_packets: Option<u64>,
    /// The same in chronological order, without gaps; times since the capture's first packet.
    pub limits: Vec<LimitSpan>,
    /// Spans shorter than this were merged, with the limit that took the most of them; 0 if none were.
    pub limits_coarser_than_ns: u64,
    /// The payload sender's data and the acknowledgments for it.
    pub payload: DirectionReport,
    /// The same for the other direction.
    pub back: DirectionReport,
}

/// An end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EndRole {
    /// Payload sender.
    Sender,
    /// Payload receiver.
    Receiver,
}

/// One direction of a connection.
#[derive(Clone, Debug, Serialize)]
pub struct DirectionReport {
    /// Counts of its packets and of the acknowledgments for them.
    #[serde(flatten)]
    pub counts: SenderCounts,
    /// Time from a segment to its tail loss probe.
    pub tail_loss_probe_ns: Option<TimeSummary>,
    /// Retransmissions with payload by the time since the previous transmission.
    pub retransmission_delays: Vec<DelayRange>,
    /// Window scale, if the handshake was captured.
    pub window_shift: Option<u8>,
    /// Time from a segment to its acknowledgment.
    pub rtt_ns: Option<TimeSummary>,
    /// The same for isolated segments.
    pub isolated_rtt_ns: Option<TimeSummary>,
    /// Start of the longest stall, since the capture's first packet.
    pub longest_stall_start_ns: u64,
    /// New segments and their losses by burst position.
    pub bursts: Vec<BurstPosition>,
}

impl Deref for DirectionReport {
    type Target = SenderCounts;

    fn deref(&self) -> &SenderCounts {
        &self.counts
    }
}

/// Retransmissions within a range of delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct DelayRange {
    /// End of the range; it starts at the end of the previous one.
    pub below_ns: u64,
    /// Number of retransmissions.
    pub segments: u64,
}

/// A distribution of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TimeSummary {
    /// Number of times.
    pub count: u64,
    /// The shortest.
    pub min: u64,
    /// The median.
    pub p50: u64,
    /// 99th percentile.
    pub p99: u64,
    /// The longest.
    pub max: u64,
}

/// Segments at one burst position; the last entry includes all further positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BurstPosition {
    /// New segments.
    pub sent: u64,
    /// Of them, those lost.
    pub lost: u64,
}

/// A UDP stream of iperf 2 or iperf 3 at the capture point.
#[derive(Clone, Debug, Serialize)]
pub struct UdpStreamReport {
    /// Tool that sent it.
    pub tool: Tool,
    /// Sender with its port.
    pub sender: String,
    /// Receiver.
    pub receiver: String,
    /// Number of its first packet in the capture.
    pub first_packet: u64,
    /// Number of its last packet.
    pub last_packet: u64,
    /// Time from the capture's first packet to its first.
    pub start_ns: u64,
    /// Time from its first datagram to its last.
    pub duration_ns: u64,
    /// Datagrams captured.
    pub datagrams: u64,
    /// Octets of payload in them.
    pub payload_bytes: u64,
    /// Payload per second.
    pub bytes_per_s: f64,
    /// Octets of payload in the largest datagram.
    pub datagram_bytes: u32,
    /// Datagrams sent, derived from their numbers.
    pub sent_datagrams: u64,
    /// Of them, those not captured.
    pub lost_datagrams: u64,
    /// Datagrams captured after later ones.
    pub out_of_order: u64,
    /// Duplicate datagrams.
    pub duplicates: u64,
    /// Interarrival jitter at the end (RFC 3550 section 6.4.1); none without timestamps in the datagrams.
    pub jitter_ns: Option<u64>,
    /// Interarrival times.
    pub gap_ns: Option<TimeSummary>,
    /// Times between transmissions, on the sender's clock.
    pub sent_gap_ns: Option<TimeSummary>,
    /// Number of gaps in the numbering.
    pub holes: u64,
    /// The most datagrams missing in one gap.
    pub longest_hole: u64,
    /// True if loss is more frequent after the first datagram of a burst, or in longer gaps than by chance.
    pub loses_in_bursts: bool,
    /// Datagrams and gaps after them by position in the sender's burst.
    pub bursts: Vec<BurstPosition>,
}

impl UdpStreamReport {
    /// Report of a stream; times count from `start_ns`.
    pub fn new(stream: &UdpStream, start_ns: u64) -> Self {
        let UdpStream {
            sender,
            receiver,
            stream,
        } = stream;
        let duration = stream.duration();
        Self {
            tool: stream.tool,
            sender: format_end(*sender),
            receiver: format_end(*receiver),
            first_packet: stream.first_packet,
            last_packet: stream.last_packet,
            start_ns: stream.start_ns.saturating_sub(start_ns),
            duration_ns: duration.as_nanos() as u64,
            datagrams: stream.datagrams(),
            payload_bytes: stream.payload_bytes(),
            bytes_per_s: stats::ratio(stream.payload_bytes() as f64, duration.as_secs_f64()),
            datagram_bytes: stream.largest_bytes,
            sent_datagrams: stream.sent(),
            lost_datagrams: stream.lost(),
            out_of_order: stream.out_of_order(),
            duplicates: stream.duplicates(),
            jitter_ns: stream.jitter_ns(),
            gap_ns: TimeSummary::from_histogram(&stream.gaps),
            sent_gap_ns: TimeSummary::from_histogram(&stream.sent_gaps),
            holes: stream.gap_count,
            longest_hole: stream.longest_gap,
            loses_in_bursts: stream.loses_in_bursts(),
            bursts: bursts(&stream.received_by_position, &stream.gaps_by_position),
        }
    }
}

impl TimeSummary {
    fn from_histogram(histogram: &Histogram) -> Option<Self> {
        Some(Self {
            count: histogram.count(),
            min: histogram.min()?,
            p50: histogram.percentile(50.0)?,
            p99: histogram.percentile(99.0)?,
            max: histogram.max()?,
        })
    }
}

/// Connections with [traces](super::Traffic::with_traces), the most costly first. A connection without payload has
/// none.
pub fn traced_connections(flows: &[Flow]) -> Vec<TracedConnection> {
    let mut costly: Vec<(usize, &Flow)> = flows.iter().enumerate().collect();
    costly.sort_by_key(|(_, flow)| std::cmp::Reverse(flow.cost()));
    let traced = costly.into_iter().filter_map(|(connection, flow)| {
        let data_sender = flow.connection.data_sender();
        let has_payload = flow.connection.stats(data_sender).unique_bytes > 0;
        let trace = flow.connection.trace(data_sender).filter(|_| has_payload)?;
        Some(TracedConnection {
            connection,
            trace: trace.clone(),
        })
    });
    traced.collect()
}

impl ConnectionReport {
    /// Report of `flow` with its time by limit; times count from `start_ns`.
    pub fn new(flow: &Flow, time: TimeShares, start_ns: u64) -> Self {
        let connection = &flow.connection;
        let data_sender = connection.data_sender();
        let stats = connection.stats(data_sender);
        let log = connection.log();
        let total: u64 = time.shares.iter().sum();
        let mut limits = time.spans;
        for span in &mut limits {
            span.start_ns = span.start_ns.saturating_sub(start_ns);
            span.end_ns = span.end_ns.saturating_sub(start_ns);
        }
        // What was in flight at the end is not counted: its time is not, either.
        let acked_bytes = stats
            .unique_bytes
            .saturating_sub(u64::from(connection.in_flight(data_sender)));
        let seconds = stats.last_acked_ns.saturating_sub(connection.start_ns) as f64 / 1e9;
        Self {
            sender: format_end(flow.ends[data_sender as usize]),
            receiver: format_end(flow.ends[data_sender.other() as usize]),
            first_packet: connection.first_packet,
            last_packet: connection.last_packet,
            start_ns: connection.start_ns.saturating_sub(start_ns),
            duration_ns: connection.end_ns - connection.start_ns,
            captured_near: connection.handshake().nearer_end().map(|end| {
                if end == data_sender {
                    EndRole::Sender
                } else {
                    EndRole::Receiver
                }
            }),
            handshake_rtt_ns: connection.handshake().rtt_ns(),
            goodput_bytes_per_s: stats::ratio(acked_bytes as f64, seconds),
            time_share: Limit::ALL
                .into_iter()
                .zip(time.shares)
                .filter(|(_, ns)| *ns > 0)
                .map(|(limit, ns)| (limit.name(), stats::ratio(ns as f64, total as f64)))
                .collect(),
            explained_packets: log.is_truncated().then_some(log.packets().len() as u64),
            limits,
            limits_coarser_than_ns: time.coarser_than_ns,
            payload: DirectionReport::new(flow, data_sender, start_ns),
            back: DirectionReport::new(flow, data_sender.other(), start_ns),
        }
    }
}

impl DirectionReport {
    fn new(flow: &Flow, end: End, start_ns: u64) -> Self {
        let stats = flow.connection.stats(end);
        Self {
            counts: stats.counts.clone(),
            tail_loss_probe_ns: TimeSummary::from_histogram(&stats.probe_delays),
            retransmission_delays: delays(stats),
            window_shift: flow.connection.window_shift(end.other()),
            rtt_ns: TimeSummary::from_histogram(&stats.rtt),
            isolated_rtt_ns: TimeSummary::from_histogram(&stats.isolated_rtt),
            longest_stall_start_ns: stats.longest_stall_start_ns.saturating_sub(start_ns),
            bursts: bursts(&stats.sent_by_position, &stats.lost_by_position),
        }
    }
}

fn delays(stats: &SenderStats) -> Vec<DelayRange> {
    let ranges = stats
        .retransmit_delays
        .iter()
        .enumerate()
        .map(|(at, segments)| DelayRange {
            below_ns: FIRST_DELAY_BOUND_NS << at,
            segments: *segments,
        });
    ranges.filter(|delay| delay.segments > 0).collect()
}

fn bursts(sent: &[u64], lost: &[u64]) -> Vec<BurstPosition> {
    let places = sent.iter().zip(lost);
    let mut places: Vec<BurstPosition> = places
        .map(|(sent, lost)| BurstPosition {
            sent: *sent,
            lost: *lost,
        })
        .collect();
    while places
        .last()
        .is_some_and(|place| place.sent == 0 && place.lost == 0)
    {
        places.pop();
    }
    places
}

/// Formats an address and a port as in URLs.
fn format_end((address, port): AddressPort) -> String {
    if address.is_v4() {
        format!("{address}:{port}")
    } else {
        format!("[{address}]:{port}")
    }
}
