//! Loss and waiting of TCP connections, from their segments.

use std::collections::BTreeMap;

use linerate_ether::ledger::DropCause;

use super::retransmission::retransmissions;
use super::{Frame, Segment, Side};
use linerate_results::stats;

/// TCP statistics of one station's data, over all connections in some frames.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TcpStats {
    /// Segments with payload or FIN that were sent before.
    pub retransmitted_segments: u64,
    /// For each of those, the time since the last transmission of its first octet (start to start).
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
}

/// The statistics of the data that `sender` sends in `frames`, which are in chronological order and begin with the
/// connections.
pub fn tcp_stats(frames: &[Frame], sender: Side) -> TcpStats {
    let mut stats = TcpStats::default();
    let mut last_sent_ns = BTreeMap::new();
    let from_sender = |(frame, _): &(&Frame, _)| frame.from == sender;
    let sent = frames.iter().zip(retransmissions(frames));
    for (frame, is_retransmission) in sent.filter(from_sender) {
        let is_sequenced = |segment: &&Segment| segment.sequence_len() > 0;
        let Some(segment) = frame.segment().filter(is_sequenced) else {
            continue;
        };
        let octet = |seq| (segment.source, segment.destination, seq);
        if is_retransmission && !segment.has_any(Segment::SYN) {
            stats.retransmitted_segments += 1;
            // A FIN may come again without the payload before it.
            let mut before = last_sent_ns.range(octet(0)..=octet(segment.seq));
            let delay_ns = before
                .next_back()
                .map(|(_, last_ns)| frame.start_ns - last_ns);
            stats.retransmission_delays_ns.extend(delay_ns);
        }
        // The MAC retransmits a frame that collided: to TCP, that is one transmission.
        let last_ns = last_sent_ns
            .entry(octet(segment.seq))
            .or_insert(frame.start_ns);
        if frame.lost != Some(DropCause::Collision) {
            *last_ns = frame.start_ns;
        }
    }
    let to_ack_ns = |triple| lone_segment_to_ack_ns(triple, sender);
    stats.segment_to_ack_ns = frames.windows(3).filter_map(to_ack_ns).collect();
    stats
}

fn lone_segment_to_ack_ns(triple: &[Frame], sender: Side) -> Option<u64> {
    let [previous, frame, answer] = triple else {
        return None;
    };
    let (segment, ack) = (frame.segment()?, answer.segment()?);
    let alone = frame.from == sender
        && answer.from != sender
        && (previous.from != sender
            || frame.start_ns.saturating_sub(previous.end_ns) > super::LINE_GAP_NS);
    let covered = segment.len >= FULL_SEGMENT && ack.ack == segment.end();
    (alone && covered).then(|| answer.end_ns - frame.start_ns)
}

/// Minimum payload of a full segment, with any options.
const FULL_SEGMENT: u32 = 1_400;

#[cfg(test)]
mod tests {
    use super::super::Packet;
    use super::super::sample::{ack, data, frame, lost};
    use super::*;

    fn syn(start_us: u64, from: Side, seq: u32) -> Frame {
        let (source, destination, flags) = match from {
            Side::Device => (4000, 80, Segment::SYN),
            Side::Peer => (80, 4000, Segment::SYN | Segment::ACK),
        };
        let segment = Segment {
            source,
            destination,
            seq,
            ack: 1,
            flags,
            window: 500,
            ..Segment::default()
        };
        frame(start_us, from, segment)
    }

    fn syn_ack() -> Frame {
        syn(0, Side::Peer, 0)
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
        let stats = tcp_stats(&frames, Side::Peer);
        assert_eq!(stats.retransmitted_segments, 2);
        assert_eq!(stats.retransmission_delays_ns, [202_000_000, 410_000_000]);
    }

    #[test]
    fn an_attempt_that_collided_is_no_retransmission() {
        let mut collided = data(1_000, 1, 1460);
        collided.lost = Some(DropCause::Collision);
        let frames = [syn_ack(), collided, data(1_100, 1, 1460)];
        assert_eq!(tcp_stats(&frames, Side::Peer).retransmitted_segments, 0);
    }

    #[test]
    fn a_segment_that_collided_for_the_last_time_is_retransmitted() {
        let collided = lost(data(1_000, 1, 1460), DropCause::Collision);
        let frames = [
            syn_ack(),
            collided,
            data(2_300, 1461, 1460),
            lost(data(3_900, 1, 1460), DropCause::Collision),
            data(4_000, 1, 1460),
        ];
        let stats = tcp_stats(&frames, Side::Peer);
        assert_eq!(stats.retransmission_delays_ns, [3_000_000]);
    }

    #[test]
    fn a_fin_retransmitted_alone_was_sent_with_the_payload() {
        let mut frames = [data(1_000, 1, 1460), data(204_000, 1461, 0)];
        for frame in &mut frames {
            if let Packet::Tcp(segment) = &mut frame.packet {
                segment.flags |= Segment::FIN;
            }
        }
        let stats = tcp_stats(&frames, Side::Peer);
        assert_eq!(stats.retransmission_delays_ns, [203_000_000]);
    }

    #[test]
    fn a_retransmitted_handshake_is_no_retransmitted_data() {
        let mut again = syn_ack();
        again.start_ns += 1_000_000_000;
        assert_eq!(
            tcp_stats(&[syn_ack(), again], Side::Peer),
            TcpStats::default()
        );
    }

    #[test]
    fn a_reused_port_is_another_connection() {
        let frames = [
            syn(0, Side::Device, 0),
            syn(300, Side::Peer, 90_000),
            data(1_000, 90_001, 1460),
            syn(9_000, Side::Device, 70_000),
            syn(9_300, Side::Peer, 0),
            data(10_000, 1, 1460),
        ];
        assert_eq!(tcp_stats(&frames, Side::Peer), TcpStats::default());
    }

    #[test]
    fn what_a_lost_acknowledgment_acknowledges_is_retransmitted() {
        let lost_ack = lost(ack(3_000, 2), DropCause::BadFcs);
        let frames = [syn_ack(), data(1_000, 1, 1), lost_ack, data(204_000, 1, 1)];
        let stats = tcp_stats(&frames, Side::Peer);
        assert_eq!(stats.retransmission_delays_ns, [203_000_000]);
    }

    #[test]
    fn a_keep_alive_is_no_retransmission() {
        let frames = [
            syn_ack(),
            data(1_000, 1, 1460),
            ack(3_000, 1461),
            data(7_200_000, 1460, 1),
        ];
        assert_eq!(tcp_stats(&frames, Side::Peer).retransmitted_segments, 0);
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
        assert_eq!(
            tcp_stats(&frames, Side::Peer).segment_to_ack_ns,
            [end_ns - 1_000_000]
        );
    }

    #[test]
    fn sequence_numbers_wrap() {
        let start = u32::MAX - 729;
        let frames = [
            data(0, start, 1460),
            data(2_000, start.wrapping_add(1460), 1460),
        ];
        assert_eq!(tcp_stats(&frames, Side::Peer).retransmitted_segments, 0);
    }
}
