//! Loss and waiting of TCP connections, from their segments.

use std::collections::BTreeMap;

use linerate_ether::ledger::DropCause;

use super::{Frame, Segment, Side};
use linerate_results::stats;

/// TCP statistics over all connections in some frames.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TcpStats {
    /// Segments with payload or FIN from the peer.
    pub data_segments: u64,
    /// Of them, those that begin with octets sent before.
    pub retransmitted_segments: u64,
    /// For each of those, the time since the last transmission of the same octet (start to start).
    pub retransmission_delays_ns: Vec<u64>,
    /// From the first bit of an isolated data segment to the last bit of the acknowledgment of just this segment: as a
    /// capture at the sender shows it, including the segment's time on the wire.
    pub segment_to_ack_ns: Vec<u64>,
}

impl TcpStats {
    /// Median of [`TcpStats::segment_to_ack_ns`].
    pub fn segment_to_ack_ns_p50(&self) -> Option<u64> {
        stats::percentile(&self.segment_to_ack_ns, 50.0)
    }

    /// Adds the statistics of other frames.
    pub fn extend(&mut self, other: Self) {
        self.data_segments += other.data_segments;
        self.retransmitted_segments += other.retransmitted_segments;
        self.retransmission_delays_ns
            .extend(other.retransmission_delays_ns);
        self.segment_to_ack_ns.extend(other.segment_to_ack_ns);
    }
}

/// The statistics of `frames`, which are in chronological order and begin with the connections.
pub fn tcp_stats(frames: &[Frame]) -> TcpStats {
    let mut stats = TcpStats::default();
    let mut sent = SentOctets::default();
    for frame in frames.iter().filter(|frame| frame.from == Side::Peer) {
        if frame
            .segment()
            .is_none_or(|segment| segment.has_any(Segment::SYN))
        {
            sent.record(frame);
            continue;
        }
        match sent.record(frame) {
            SegmentData::None => {}
            SegmentData::New => stats.data_segments += 1,
            SegmentData::Retransmitted { delay_ns } => {
                stats.data_segments += 1;
                stats.retransmitted_segments += 1;
                stats.retransmission_delays_ns.push(delay_ns);
            }
        }
    }
    for triple in frames.windows(3) {
        stats
            .segment_to_ack_ns
            .extend(lone_segment_to_ack_ns(triple));
    }
    stats
}

/// Data of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SegmentData {
    /// No sequence space: a pure ACK, RST, or an attempt that collided.
    None,
    /// New octets.
    New,
    /// Octets sent before, the first of them `delay_ns` ago.
    Retransmitted {
        /// Start to start.
        delay_ns: u64,
    },
}

/// Octets sent by both stations, by sender and the device's port (one connection each).
#[derive(Default)]
pub(super) struct SentOctets {
    flows: BTreeMap<(bool, u16), Flow>,
}

#[derive(Default)]
struct Flow {
    next_seq: u32,
    last_sent_ns: BTreeMap<u32, u64>,
}

impl SentOctets {
    /// Records `frame`.
    pub(super) fn record(&mut self, frame: &Frame) -> SegmentData {
        let Some(segment) = frame.segment() else {
            return SegmentData::None;
        };
        // The MAC retransmits a frame that collided: TCP is not involved.
        if segment.sequence_len() == 0 || frame.lost == Some(DropCause::Collision) {
            return SegmentData::None;
        }
        let from_device = frame.from == Side::Device;
        let port = if from_device {
            segment.source
        } else {
            segment.destination
        };
        let flow = self
            .flows
            .entry((from_device, port))
            .or_insert_with(|| Flow::new(segment.seq));
        if segment.has_any(Segment::SYN) && !flow.last_sent_ns.contains_key(&segment.seq) {
            // The port is reused for a new connection.
            *flow = Flow::new(segment.seq);
        }
        let end = segment.end();
        let retransmitted = seq_lt(segment.seq, flow.next_seq);
        if seq_lt(flow.next_seq, end) {
            flow.next_seq = end;
        }
        match flow.last_sent_ns.insert(segment.seq, frame.start_ns) {
            _ if !retransmitted => SegmentData::New,
            Some(last_ns) => SegmentData::Retransmitted {
                delay_ns: frame.start_ns - last_ns,
            },
            None => SegmentData::Retransmitted { delay_ns: 0 },
        }
    }
}

impl Flow {
    fn new(next_seq: u32) -> Self {
        Self {
            next_seq,
            ..Self::default()
        }
    }
}

/// True if `a` precedes `b` in sequence space (RFC 9293 section 3.4).
fn seq_lt(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

fn lone_segment_to_ack_ns(triple: &[Frame]) -> Option<u64> {
    let [previous, frame, answer] = triple else {
        return None;
    };
    let (segment, ack) = (frame.segment()?, answer.segment()?);
    let alone = frame.from == Side::Peer
        && answer.from == Side::Device
        && (previous.from == Side::Device
            || frame.start_ns.saturating_sub(previous.end_ns) > super::LINE_GAP_NS);
    let covered = segment.len >= FULL_SEGMENT && ack.ack == segment.end();
    (alone && covered).then(|| answer.end_ns - frame.start_ns)
}

/// Minimum payload of a full segment, with any options.
const FULL_SEGMENT: u32 = 1_400;

#[cfg(test)]
mod tests {
    use super::super::Packet;
    use super::super::sample::{ack, data, frame};
    use super::*;

    fn syn_ack() -> Frame {
        let segment = Segment {
            source: 80,
            destination: 4000,
            seq: 0,
            ack: 1,
            len: 0,
            flags: Segment::SYN | Segment::ACK,
            window: 500,
            ..Segment::default()
        };
        frame(0, Side::Peer, segment)
    }

    #[test]
    fn retransmitted_data_is_counted_with_its_delay() {
        let frames = [
            syn_ack(),
            data(1_000, 1, 1460),
            data(2_300, 1461, 1460),
            ack(4_000, 1461),
            data(204_300, 1461, 1460),
            data(614_300, 1461, 1460),
        ];
        let stats = tcp_stats(&frames);
        assert_eq!(stats.data_segments, 4);
        assert_eq!(stats.retransmitted_segments, 2);
        assert_eq!(stats.retransmission_delays_ns, [202_000_000, 410_000_000]);
    }

    #[test]
    fn an_attempt_that_collided_is_no_retransmission() {
        let mut collided = data(1_000, 1, 1460);
        collided.lost = Some(DropCause::Collision);
        let frames = [syn_ack(), collided, data(1_100, 1, 1460)];
        assert_eq!(tcp_stats(&frames).retransmitted_segments, 0);
    }

    #[test]
    fn a_retransmitted_handshake_is_no_retransmitted_data() {
        let mut again = syn_ack();
        again.start_ns += 1_000_000_000;
        assert_eq!(tcp_stats(&[syn_ack(), again]), TcpStats::default());
    }

    #[test]
    fn a_reused_port_is_another_connection() {
        let mut next = syn_ack();
        next.start_ns = 9_000_000;
        if let Packet::Tcp(segment) = &mut next.packet {
            segment.seq = 90_000;
        }
        let frames = [
            syn_ack(),
            data(1_000, 1, 1460),
            next,
            data(10_000, 90_001, 1460),
        ];
        assert_eq!(tcp_stats(&frames).retransmitted_segments, 0);
    }

    #[test]
    fn only_a_lone_full_segment_is_timed() {
        let frames = [
            syn_ack(),
            ack(100, 1),
            data(1_000, 1, 1460),
            ack(3_500, 1461),
            data(5_000, 1461, 1460),
            data(6_230, 2921, 1460),
            ack(9_000, 4381),
            data(10_000, 4381, 300),
            ack(12_000, 4681),
        ];
        let end_ns = 3_500_000 + linerate_results::line::frame_ns(40);
        assert_eq!(tcp_stats(&frames).segment_to_ack_ns, [end_ns - 1_000_000]);
    }

    #[test]
    fn sequence_numbers_wrap() {
        let start = u32::MAX - 729;
        let frames = [
            data(0, start, 1460),
            data(2_000, start.wrapping_add(1460), 1460),
        ];
        assert_eq!(tcp_stats(&frames).retransmitted_segments, 0);
    }
}
