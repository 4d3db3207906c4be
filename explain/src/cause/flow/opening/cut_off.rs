//! Servers whose hosts reset connections that were open.

use super::TRANSFER_SEGMENTS;
use super::kind::{FIRST_TIMEOUT_NS, MIN_REPEATED};
use crate::cause::flow::exchange::server_of;
use linerate_capture::tcp::{End, LoggedPacket, PacketClass, Segment};
use linerate_capture::traffic::Flow;

/// Octets that a client of iperf3 sends first in each stream (`COOKIE_SIZE` in `iperf.h`): at the end of a measurement, which the ends agree on
/// in another connection, its server closes what it did not read.
const IPERF3_COOKIE: u32 = 37;

/// A transfer that its server's host ended.
#[derive(Clone, Copy)]
pub(super) struct CutOff {
    /// Octets that had been acknowledged.
    pub(super) acked: u64,
    /// From the first packet to the reset.
    pub(super) lasted_ns: u64,
}

impl CutOff {
    /// The same for one of several connections. Another one between the same hosts meanwhile may be where both agree on the end, as those of
    /// iperf3 and FTP do.
    pub(super) fn among(flows: &[Flow], flow: &Flow) -> Option<Self> {
        let own = Self::of(flow)?;
        let hosts = |it: &Flow| {
            let mut hosts = it.ends.map(|(address, _)| address);
            hosts.sort_by_key(|address| address.0);
            hosts
        };
        let end_ns = flow.connection.start_ns + own.lasted_ns;
        let is_beside = |it: &&Flow| {
            it.ends != flow.ends
                && hosts(it) == hosts(flow)
                && it.payload_bytes() > 0
                && it.connection.start_ns <= end_ns
                && it.connection.end_ns >= flow.connection.start_ns
        };
        let mut beside = flows.iter().filter(is_beside);
        beside.all(|it| Self::of(it).is_some()).then_some(own)
    }

    fn of(flow: &Flow) -> Option<Self> {
        let server = server_of(flow)?;
        let packets = flow.connection.log().packets();
        let ends = |it: &LoggedPacket| it.has_any(Segment::RST | Segment::FIN);
        let at = packets.iter().position(ends)?;
        let (before, rest) = packets.split_at(at);
        let (reset, after) = rest.split_first()?;
        let is_reset = reset.from() == server && reset.has_any(Segment::RST);
        let is_payload = |it: &&LoggedPacket| it.len > 0 && it.class != PacketClass::NoData;
        let last = before.iter().rfind(is_payload)?;
        let sent = before.iter().filter(is_payload);
        let sent = sent.filter(|it| it.from() == last.from());
        let answers = |it: &&LoggedPacket| it.from() != last.from() && it.has_any(Segment::ACK);
        let acks = before.iter().rfind(answers)?;
        let first = sent.clone().next()?;
        let acked = acks.ack.wrapping_sub(first.seq);
        let largest = sent.clone().map(|it| it.len).max()?;
        // A server that has sent all may close with a reset: the end of what it sent was pushed, or does not fill a segment.
        let is_over = last.from() == server && (last.has_any(Segment::PSH) || last.len < largest);
        // Near the receiver all that arrived is acknowledged: more arrives, or resets answer acknowledgments that were under way.
        let arrives = |it: &LoggedPacket| it.from() != server && it.len > 0;
        let resets = rest.iter().filter(|it| it.from() == server);
        let is_under_way = !acks.acknowledges(last.seq.wrapping_add(last.len))
            || if last.from() == server {
                resets.count() >= MIN_REPEATED
            } else {
                after.iter().any(arrives)
            };
        // The host of a program that ended knows nothing of the connection; what a device in between resets goes on. A reset may overtake
        // an acknowledgment.
        let is_gone = |it: &LoggedPacket| {
            let is_soon = it.time_ns.saturating_sub(reset.time_ns) < FIRST_TIMEOUT_NS;
            let is_overtaken = it.len == 0 && it.ack == reset.ack;
            if it.from() == server {
                it.has_any(Segment::RST) || is_soon && is_overtaken
            } else {
                is_soon
            }
        };
        let is_measured = first.from() != server && first.len == IPERF3_COOKIE;
        (is_reset
            && !is_measured
            && sent.count() as u64 >= TRANSFER_SEGMENTS
            && reset.time_ns.saturating_sub(last.time_ns.max(acks.time_ns)) < FIRST_TIMEOUT_NS
            && acks.acknowledges(first.seq)
            && is_under_way
            && !is_over
            && after.iter().all(is_gone))
        .then_some(Self {
            acked: u64::from(acked),
            lasted_ns: reset.time_ns,
        })
    }
}

/// True if all that comes from a server, whose connection was not opened in the capture, are resets: it knows of no such connection (RFC
/// 9293 section 3.10.7.1).
pub(super) fn resets_data(packets: &[LoggedPacket]) -> bool {
    let asks = packets.iter().all(|it| !it.has_any(Segment::SYN));
    let mut answers = packets.iter().filter(|it| it.from() == End::Second);
    asks && answers.clone().count() >= MIN_REPEATED && answers.all(|it| it.has_any(Segment::RST))
}
