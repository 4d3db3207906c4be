//! Retransmissions, as the analysis of captures finds them.

use std::collections::BTreeMap;

use linerate_ether::ledger::DropCause;

use super::{Frame, Segment, Side};
use crate::tcp::{Connection, End, SenderStats};

/// For each of `frames`, which are in chronological order: true if it carries sequence numbers that were sent before.
/// Connections are distinguished by the device's port.
pub(super) fn retransmissions(frames: &[Frame]) -> Vec<bool> {
    let mut connections = BTreeMap::new();
    let record = |(frame, number): (&Frame, u64)| {
        // The MAC retransmits a frame that collided: TCP is not involved.
        let is_from_tcp = frame.lost != Some(DropCause::Collision);
        let Some(&(mut segment)) = frame.segment().filter(|_| is_from_tcp) else {
            return false;
        };
        if !frame.delivered() {
            // The other end does not learn what it acknowledges, and may have to retransmit that.
            segment.flags &= !Segment::ACK;
        }
        let (end, port) = match frame.from {
            Side::Device => (End::First, segment.source),
            Side::Peer => (End::Second, segment.destination),
        };
        let open = || {
            let mut connection = Connection::new(number, frame.start_ns);
            connection.discard_log();
            connection
        };
        let connection = connections.entry(port).or_insert_with(open);
        if connection.is_new_connection(end, &segment) {
            *connection = open();
        }
        let before = sent_again(connection.stats(end));
        connection.record_segment(end, &segment, frame.start_ns, number);
        sent_again(connection.stats(end)) > before
    };
    frames.iter().zip(1..).map(record).collect()
}

/// Nothing overtakes on a wire: data that fills a gap was sent before, and collided for the last time.
fn sent_again(stats: &SenderStats) -> u64 {
    stats.retransmitted_segments + stats.out_of_order
}
