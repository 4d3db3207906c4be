//! Connections and streams in stats, as JSON holds them.

use std::collections::BTreeMap;

use serde::Serialize;

use super::UdpStream;
use super::table::{AddressPort, Flow};
use crate::tcp::{End, FIRST_DELAY_BOUND_NS, Histogram, Limit, LimitSpan, SenderStats, Trace};
use crate::udp::Tool;
use linerate_results::stats;

/// What a picture shows of a connection.
#[derive(Clone, Debug)]
pub struct TracedConnection {
    /// Its place in the report's connections.
    pub connection: usize,
    /// What the sender of its payload did.
    pub trace: Trace,
}

/// A TCP connection.
#[derive(Clone, Debug, Serialize)]
pub struct ConnectionReport {
    /// Who sends the payload, with its port.
    pub sender: String,
    /// Who receives it.
    pub receiver: String,
    /// Number of its first packet in its capture.
    pub first_packet: u64,
    /// Number of its last one.
    pub last_packet: u64,
    /// From the first packet of all to its first.
    pub start_ns: u64,
    /// From its first packet to its last.
    pub duration_ns: u64,
    /// Which end is beside the place of capture, if its handshake tells.
    pub captured_near: Option<EndRole>,
    /// The round trip of its handshake, if that was captured.
    pub handshake_rtt_ns: Option<u64>,
    /// Payload, each octet once, from the first packet to the acknowledgment of the last.
    pub goodput_bytes_per_s: f64,
    /// What its time went to: shares that add up to 1.
    pub time_share: BTreeMap<&'static str, f64>,
    /// The same in the order of time, without gaps; from the first packet of all.
    pub limits: Vec<LimitSpan>,
    /// Spans shorter than this were put together, under what took the most of them; 0 if none were.
    pub limits_coarser_than_ns: u64,
    /// What the sender of the payload sent, and what came back for it.
    pub payload: DirectionReport,
    /// The same of the other direction.
    pub back: DirectionReport,
}

/// An end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EndRole {
    /// That which sends the payload.
    Sender,
    /// That which receives it.
    Receiver,
}

/// One direction of a connection.
#[derive(Clone, Debug, Serialize)]
pub struct DirectionReport {
    /// Packets of its sender.
    pub packets: u64,
    /// Of them, with payload or FIN.
    pub segments: u64,
    /// Octets of payload.
    pub payload_bytes: u64,
    /// The same, each once.
    pub unique_bytes: u64,
    /// Segments that were sent again.
    pub retransmitted_segments: u64,
    /// Octets of payload in them.
    pub retransmitted_bytes: u64,
    /// Of them, tail-loss probes.
    pub tail_loss_probes: u64,
    /// From a segment to the tail-loss probe that sends it again.
    pub tail_loss_probe_ns: Option<TimeSummary>,
    /// Of those sent again, asked for by acknowledgments.
    pub fast_retransmissions: u64,
    /// Of them, brought by the retransmission timer.
    pub time_outs: u64,
    /// How often in a row that timer ran out, each time twice as long.
    pub most_back_off: u8,
    /// Of them, the rest of a loss.
    pub recovered_segments: u64,
    /// Of them, sent again in vain.
    pub spurious_retransmissions: u64,
    /// How many of those with payload came how long after the one before: by the end of the range.
    pub retransmission_delays: Vec<DelayRange>,
    /// Segments that others overtook.
    pub out_of_order: u64,
    /// Acknowledgments that repeat the one before.
    pub duplicate_acks: u64,
    /// Packets that told a window and nothing else.
    pub window_updates: u64,
    /// Packets that closed the window.
    pub zero_windows: u64,
    /// Segments that filled it.
    pub window_full: u64,
    /// Acknowledgments that granted less than a segment.
    pub small_windows: u64,
    /// Acknowledgments with selective ones.
    pub selective_acks: u64,
    /// The smallest window granted to the sender.
    pub least_window_bytes: Option<u32>,
    /// The largest.
    pub most_window_bytes: u32,
    /// The shift of these windows, if the handshake was captured.
    pub window_shift: Option<u8>,
    /// The most octets outstanding.
    pub most_in_flight_bytes: u32,
    /// Octets in its largest segment.
    pub largest_segment_bytes: u32,
    /// Segments larger than the other end takes: the sender's adapter cuts them up behind the place of
    /// capture.
    pub super_segments: u64,
    /// Octets that were acknowledged and not captured.
    pub unseen_bytes: u64,
    /// Keep-alives.
    pub keep_alives: u64,
    /// Packets with RST.
    pub resets: u64,
    /// Acknowledgments held back while the sender waited with a small segment.
    pub held_back_acks: u64,
    /// From a segment to its acknowledgment.
    pub rtt_ns: Option<TimeSummary>,
    /// The same of segments that stood alone.
    pub isolated_rtt_ns: Option<TimeSummary>,
    /// The longest time that something was outstanding and no acknowledgment came.
    pub longest_stall_ns: u64,
    /// When it began, from the first packet of all.
    pub longest_stall_start_ns: u64,
    /// New segments by their place in a burst, and how many of them were lost.
    pub bursts: Vec<BurstPosition>,
}

/// Retransmissions within a range of delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct DelayRange {
    /// Where the range ends; it begins where the one before ends.
    pub below_ns: u64,
    /// How many there were.
    pub segments: u64,
}

/// A distribution of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TimeSummary {
    /// How many there were.
    pub count: u64,
    /// The shortest.
    pub min: u64,
    /// The median.
    pub p50: u64,
    /// 99 of 100 are no longer.
    pub p99: u64,
    /// The longest.
    pub max: u64,
}

/// Segments at one place of bursts; the last place stands for all behind it, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BurstPosition {
    /// New segments.
    pub sent: u64,
    /// Of them, lost.
    pub lost: u64,
}

/// A UDP stream of iperf 2 or iperf 3, as it came by the place of capture.
#[derive(Clone, Debug, Serialize)]
pub struct UdpStreamReport {
    /// Whose datagrams they are.
    pub tool: Tool,
    /// Who sends it, with its port.
    pub sender: String,
    /// Who receives it.
    pub receiver: String,
    /// Number of its first packet in its capture.
    pub first_packet: u64,
    /// Number of its last one.
    pub last_packet: u64,
    /// From the first packet of all to its first.
    pub start_ns: u64,
    /// From its first datagram to its last.
    pub duration_ns: u64,
    /// Datagrams that came by.
    pub datagrams: u64,
    /// Octets of payload in them.
    pub payload_bytes: u64,
    /// The same in a second.
    pub bytes_per_s: f64,
    /// Octets of payload in the largest.
    pub datagram_bytes: u32,
    /// Datagrams that were sent, as their numbers tell.
    pub sent_datagrams: u64,
    /// Of them, those that did not come by.
    pub lost_datagrams: u64,
    /// Datagrams that came by behind later ones.
    pub out_of_order: u64,
    /// Datagrams that came by again.
    pub duplicates: u64,
    /// Interarrival jitter at the end (RFC 3550 section 6.4.1); none without times in the datagrams.
    pub jitter_ns: Option<u64>,
    /// Between two of them.
    pub gap_ns: Option<TimeSummary>,
    /// The same when they were sent, on their sender's clock.
    pub sent_gap_ns: Option<TimeSummary>,
    /// How often some were missing.
    pub holes: u64,
    /// The most that were missing at once.
    pub longest_hole: u64,
    /// Whether what comes behind others is lost more often, or more at once than by chance.
    pub loses_in_bursts: bool,
    /// Datagrams by their place in a burst of the sender, and how often the next was missing.
    pub bursts: Vec<BurstPosition>,
}

impl UdpStreamReport {
    /// The stats of a stream; times count from `start_ns`.
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

/// The traces of `flows`, if they were [kept](super::Traffic::with_traces), those that cost most first. A connection
/// without payload has none.
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
    /// The stats of `flow`; times count from `start_ns`.
    pub fn new(flow: &Flow, start_ns: u64) -> Self {
        let connection = &flow.connection;
        let data_sender = connection.data_sender();
        let stats = connection.stats(data_sender);
        let total: u64 = connection.shares().iter().sum();
        let (mut limits, limits_coarser_than_ns) = connection.limits();
        for span in &mut limits {
            span.start_ns = span.start_ns.saturating_sub(start_ns);
            span.end_ns = span.end_ns.saturating_sub(start_ns);
        }
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
            goodput_bytes_per_s: stats::ratio(stats.unique_bytes as f64, seconds),
            time_share: Limit::ALL
                .into_iter()
                .zip(connection.shares())
                .filter(|(_, ns)| *ns > 0)
                .map(|(limit, ns)| (limit.name(), stats::ratio(ns as f64, total as f64)))
                .collect(),
            limits,
            limits_coarser_than_ns,
            payload: DirectionReport::new(flow, data_sender, start_ns),
            back: DirectionReport::new(flow, data_sender.other(), start_ns),
        }
    }
}

impl DirectionReport {
    fn new(flow: &Flow, end: End, start_ns: u64) -> Self {
        let stats = flow.connection.stats(end);
        Self {
            packets: stats.packets,
            segments: stats.segments,
            payload_bytes: stats.payload_bytes,
            unique_bytes: stats.unique_bytes,
            retransmitted_segments: stats.retransmitted,
            retransmitted_bytes: stats.retransmitted_bytes,
            tail_loss_probes: stats.tail_loss_probes,
            tail_loss_probe_ns: TimeSummary::from_histogram(&stats.probe_delays),
            fast_retransmissions: stats.fast_retransmits,
            time_outs: stats.time_outs,
            most_back_off: stats.max_backoff,
            recovered_segments: stats.recovery_retransmits,
            spurious_retransmissions: stats.spurious,
            retransmission_delays: delays(stats),
            out_of_order: stats.out_of_order,
            duplicate_acks: stats.duplicate_acks,
            window_updates: stats.window_updates,
            zero_windows: stats.zero_windows,
            window_full: stats.window_full,
            small_windows: stats.small_windows,
            selective_acks: stats.selective_acks,
            least_window_bytes: stats.min_window,
            most_window_bytes: stats.max_window,
            window_shift: flow.connection.window_shift(end.other()),
            most_in_flight_bytes: stats.max_in_flight,
            largest_segment_bytes: stats.largest_segment,
            super_segments: stats.super_segments,
            unseen_bytes: stats.unseen_bytes,
            keep_alives: stats.keep_alives,
            resets: stats.resets,
            held_back_acks: stats.delayed_acks,
            rtt_ns: TimeSummary::from_histogram(&stats.rtt),
            isolated_rtt_ns: TimeSummary::from_histogram(&stats.isolated_rtt),
            longest_stall_ns: stats.longest_stall_ns,
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

/// An address and a port, as URLs have them.
fn format_end((address, port): AddressPort) -> String {
    if address.is_v4() {
        format!("{address}:{port}")
    } else {
        format!("[{address}]:{port}")
    }
}
