//! One direction of a connection: the data of its sender and the acknowledgments for it.
//!
//! | module | contents |
//! |---|---|
//! | `stats` | counters |
//! | `retransmission` | retransmissions and their reasons |
//! | `acknowledgment` | acknowledgments and windows from the receiver |
//! | `rtt` | round-trip times, retransmission timeout |

mod acknowledgment;
mod retransmission;
mod rtt;
mod stats;

use super::segment::{Segment, seq_lt};
use super::unacked::{SentRange, Unacked};
use retransmission::RecoveryState;
use rtt::{RtoEstimator, SentSinceAck};

pub use retransmission::RetransmitReason;
pub use stats::{
    BURST_POSITIONS, DELAY_RANGES, FIRST_DELAY_BOUND_NS, FLIGHT_BINS, SenderCounts, SenderStats,
};

/// Segments of one burst are at most this far apart.
const WITHIN_BURST_NS: u64 = 500_000;
/// A faster reaction was triggered by the packet just before; a timer is slower.
const PROMPT_NS: u64 = 1_500_000;
/// Time of a full frame at 10 Mbit/s, rounded up.
const SLOW_WIRE_NS: u64 = 1_300_000;

/// So many new segments in sequence show that SND.NXT is known: what was sent before the capture is repeated out of
/// sequence, or alone.
const SETTLED_SEGMENTS: u8 = 64;

/// A sender with data in flight does not wait longer after it was acknowledged.
const IDLE_NS: u64 = 1_000_000_000;

/// Effect of a packet on its sender's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SendClass {
    /// Takes no sequence space.
    NoData,
    /// New data.
    NewData,
    /// Data that others overtook.
    Reordered,
    /// Data sent before.
    Retransmission(RetransmitReason),
}

/// Sequence numbers that are known of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KnownSeq {
    None,
    /// Those that were acknowledged.
    AckOnly,
    /// Those that were sent, too.
    Sent,
}

/// One direction of a connection.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    pub(super) stats: SenderStats,
    unacked: Unacked,
    /// SND.NXT: after the highest octet sent; equal to `snd_una` until one is.
    snd_nxt: u32,
    /// After the last octet of payload.
    payload_end: Option<u32>,
    /// SND.UNA: after the highest octet acknowledged; the first one sent until one is.
    snd_una: u32,
    /// Validity of these two.
    known_seq: KnownSeq,
    /// Number and window of the last acknowledgment, to detect duplicates.
    last_ack: Option<(u32, u16)>,
    /// Right edge of the window that the receiver granted.
    right_edge: Option<u32>,
    /// MSS of the receiver, if its SYN was captured.
    mss: Option<u16>,
    /// Octets of a full segment: the receiver's MSS or the largest segment sent.
    pub(super) segment_size: u32,
    /// Window scale of this end's own windows.
    pub(super) shift: Option<u8>,
    pub(super) sack_permitted: bool,
    pub(super) syn_seen: bool,
    pub(super) fin_sent: bool,
    /// Round trip from the capture point to this end, if the other one is much nearer; else 0.
    pub(super) far_rtt_ns: u64,
    /// New segments in sequence, if the capture began in the middle of the connection.
    in_sequence: u8,
    dup_acks: u32,
    /// Of them, those that report a gap.
    gap_reports: u32,
    /// A duplicate ACK or window update arrived for unacknowledged data: some of it has reached the receiver.
    peer_responded: bool,
    sacked_blocks: u32,
    recovery: RecoveryState,
    rto_backoff: u8,
    burst_position: u8,
    /// True if the current packet follows another of this sender closely.
    follows_closely: bool,
    /// Time since that packet.
    gap_ns: u64,
    last_packet_ns: u64,
    last_sent_ns: u64,
    last_ack_ns: u64,
    unacked_since_ns: u64,
    rto: RtoEstimator,
    /// Arrival time of a late acknowledgment for a small segment: a segment sent right after it waited for it.
    late_ack_ns: Option<u64>,
    last_was_small: bool,
    /// Shortest gap between two full-size segments, the second sent without waiting for the acknowledgment of the
    /// first: the path's serialization time, or less.
    min_gap_ns: u64,
    last_was_largest: bool,
    sent_since_ack: SentSinceAck,
    /// After the octet that probed a closed window, until the receiver takes it or the window opens.
    probe_end: Option<u32>,
    last_probe_ns: u64,
}

impl Default for Sender {
    fn default() -> Self {
        Self {
            stats: SenderStats::default(),
            unacked: Unacked::default(),
            snd_nxt: 0,
            payload_end: None,
            snd_una: 0,
            known_seq: KnownSeq::None,
            last_ack: None,
            right_edge: None,
            mss: None,
            segment_size: 1,
            shift: None,
            sack_permitted: false,
            syn_seen: false,
            fin_sent: false,
            far_rtt_ns: 0,
            in_sequence: 0,
            dup_acks: 0,
            gap_reports: 0,
            peer_responded: false,
            sacked_blocks: 0,
            recovery: RecoveryState::None,
            rto_backoff: 0,
            burst_position: 0,
            follows_closely: false,
            gap_ns: 0,
            last_packet_ns: 0,
            last_sent_ns: 0,
            last_ack_ns: 0,
            unacked_since_ns: 0,
            rto: RtoEstimator::default(),
            late_ack_ns: None,
            last_was_small: false,
            min_gap_ns: u64::MAX,
            last_was_largest: false,
            sent_since_ack: SentSinceAck::None,
            probe_end: None,
            last_probe_ns: 0,
        }
    }
}

impl Sender {
    /// Flight size: octets sent and not acknowledged.
    #[inline]
    pub(super) fn in_flight(&self) -> u32 {
        if seq_lt(self.snd_una, self.snd_nxt) {
            self.snd_nxt.wrapping_sub(self.snd_una)
        } else {
            0
        }
    }

    /// Left and right edge of the window: SND.UNA and the end of the granted window.
    pub(super) fn window_edges(&self) -> Option<(u32, u32)> {
        let edge = self
            .right_edge
            .filter(|_| self.known_seq != KnownSeq::None)?;
        Some((self.snd_una, edge))
    }

    #[inline]
    pub(super) fn has_unacked(&self) -> bool {
        !self.unacked.is_empty()
    }

    /// True if data that was not captured may have been sent before the capture began: the first captured segments may
    /// repeat older data, below SND.NXT.
    fn may_precede_capture(&self) -> bool {
        !self.syn_seen && self.in_sequence < SETTLED_SEGMENTS
    }

    /// After a silence with all acknowledged, SND.NXT is known.
    fn settle_if_idle(&mut self, time_ns: u64) {
        let since_ns = time_ns.saturating_sub(self.last_sent_ns.max(self.last_ack_ns));
        if self.last_sent_ns > 0 && since_ns >= IDLE_NS && !self.has_unacked() {
            self.in_sequence = SETTLED_SEGMENTS;
        }
    }

    fn update_segment_size(&mut self) {
        let largest = self.stats.largest_segment.max(1);
        // Timestamps in each segment leave less room than the handshake announces.
        self.segment_size = self.mss.map_or(largest, |mss| u32::from(mss).min(largest));
    }

    /// MSS of the receiver, if its SYN was captured.
    pub(super) fn mss(&self) -> Option<u16> {
        self.mss
    }

    /// Sets the MSS from the receiver's SYN.
    pub(super) fn set_mss(&mut self, mss: Option<u16>) {
        self.mss = mss;
        self.update_segment_size();
    }

    /// Records a packet from the sender.
    #[inline]
    pub(super) fn on_sent(
        &mut self,
        segment: &Segment<'_>,
        time_ns: u64,
        number: u64,
    ) -> SendClass {
        self.stats.packets += 1;
        self.gap_ns = time_ns.saturating_sub(std::mem::replace(&mut self.last_packet_ns, time_ns));
        if segment.has_any(Segment::RST) {
            self.stats.resets += 1;
            return SendClass::NoData;
        }
        let (seq, end) = (segment.seq, segment.end());
        if seq == end {
            if self.known_seq == KnownSeq::Sent && seq == self.snd_nxt.wrapping_sub(1) {
                self.stats.keep_alives += 1;
            }
            return SendClass::NoData;
        }
        if self.probes_closed_window(segment) {
            self.probe_end = Some(end);
            self.last_probe_ns = time_ns;
            return SendClass::NoData;
        }
        self.probe_end = None;
        if segment.len > 0 || segment.has_any(Segment::FIN) {
            self.stats.segments += 1;
            self.stats.payload_bytes += u64::from(segment.len);
        }
        self.fin_sent |= segment.has_any(Segment::FIN);
        if self.known_seq != KnownSeq::Sent {
            self.set_first_seq(seq);
        }
        if self.may_precede_capture() {
            self.settle_if_idle(time_ns);
        }
        let snd_nxt = self.snd_nxt;
        let sent = if seq_lt(seq, snd_nxt) {
            // One octet before SND.NXT is a keep-alive.
            if segment.len == 1 && seq == snd_nxt.wrapping_sub(1) && !self.has_unacked() {
                self.stats.keep_alives += 1;
                return SendClass::NoData;
            }
            self.on_old_data(segment, snd_nxt, time_ns, number)
        } else {
            if seq != snd_nxt {
                self.track_gap(snd_nxt, seq, time_ns);
            }
            SendClass::NewData
        };
        if seq_lt(snd_nxt, end) {
            let from = if seq_lt(seq, snd_nxt) { snd_nxt } else { seq };
            self.on_new_data(segment, from, time_ns);
        }
        if segment.len > 0 {
            self.sent_since_ack = match self.sent_since_ack {
                SentSinceAck::None => SentSinceAck::One {
                    end,
                    sent_ns: time_ns,
                },
                _ => SentSinceAck::Several,
            };
        }
        self.last_sent_ns = time_ns;
        sent
    }

    /// True for one octet beyond a closed window, all of which before it is acknowledged (RFC 9293 section 3.8.6.1): its repetitions
    /// are no losses, and a receiver that does not take it gets it again with what follows. One that is there answers each (RFC 1122 section
    /// 4.2.2.17).
    fn probes_closed_window(&self, segment: &Segment<'_>) -> bool {
        let is_answered = self.probe_end.is_none() || self.last_ack_ns >= self.last_probe_ns;
        segment.len == 1
            && is_answered
            && !self.has_unacked()
            && self
                .last_ack
                .is_some_and(|(ack, window)| window == 0 && ack == segment.seq)
    }

    #[cold]
    fn set_first_seq(&mut self, seq: u32) {
        self.snd_nxt = seq;
        if self.known_seq == KnownSeq::None {
            self.snd_una = seq;
        }
        self.known_seq = KnownSeq::Sent;
    }

    /// Records new data from `seq` on.
    #[inline]
    fn on_new_data(&mut self, segment: &Segment<'_>, seq: u32, time_ns: u64) {
        let end = segment.end();
        let mut segments_ahead = self.segments_in_flight();
        if segment.len > 0 {
            self.stats.sent_by_flight[usize::from(segments_ahead)] += 1;
            self.begin_or_continue_burst(time_ns);
            self.stats.sent_by_position[usize::from(self.burst_position)] += 1;
            self.stats.spacing.add_sent(self.follows_closely);
            let controls =
                u32::from(segment.has_any(Segment::SYN)) + u32::from(segment.has_any(Segment::FIN));
            self.stats.unique_bytes += u64::from(end.wrapping_sub(seq).saturating_sub(controls));
            self.payload_end = Some(end.wrapping_sub(u32::from(segment.has_any(Segment::FIN))));
            // Without a full segment so far, the largest one is no reference.
            let half = self.mss.map_or(0, |mss| u32::from(mss) / 2);
            self.last_was_small = segment.len < self.segment_size.max(half);
            if segment.len > self.stats.largest_segment {
                self.stats.largest_segment = segment.len;
                self.update_segment_size();
                segments_ahead = self.segments_in_flight();
                self.min_gap_ns = u64::MAX;
            } else if segment.len == self.stats.largest_segment
                && self.last_was_largest
                && self.has_unacked()
            {
                let gap_ns = time_ns.saturating_sub(self.last_sent_ns);
                self.min_gap_ns = self.min_gap_ns.min(gap_ns);
            }
            self.last_was_largest = segment.len == self.stats.largest_segment;
            self.stats.super_segments +=
                u64::from(self.mss.is_some_and(|mss| segment.len > u32::from(mss)));
            if self.right_edge == Some(end) {
                self.stats.window_full += 1;
            }
            if let Some(at_ns) = self.late_ack_ns.take() {
                let is_prompt = time_ns.saturating_sub(at_ns) < PROMPT_NS;
                self.stats.delayed_acks += u64::from(is_prompt);
            }
        }
        if self.unacked.is_empty() {
            self.unacked_since_ns = time_ns;
        }
        self.in_sequence = self.in_sequence.saturating_add(1);
        self.track_segment((seq, end), 1, segments_ahead, time_ns);
        self.snd_nxt = end;
        self.stats.max_in_flight = self.stats.max_in_flight.max(self.in_flight());
    }

    /// Number of full segments in flight, as [`SenderStats::sent_by_flight`] counts them.
    #[inline]
    fn segments_in_flight(&self) -> u8 {
        (self.in_flight() / self.segment_size.max(1)).min(FLIGHT_BINS as u32 - 1) as u8
    }

    /// Tracks octets from `from` to `until` that were not captured, or not yet.
    fn track_gap(&mut self, from: u32, until: u32, time_ns: u64) {
        if self.unacked.is_empty() {
            self.unacked_since_ns = time_ns;
        }
        self.track_segment((from, until), 0, self.segments_in_flight(), time_ns);
        self.in_sequence = SETTLED_SEGMENTS;
        self.snd_nxt = until;
    }

    #[inline]
    fn track_segment(
        &mut self,
        (seq, end): (u32, u32),
        transmissions: u8,
        segments_ahead: u8,
        time_ns: u64,
    ) {
        let range = SentRange {
            seq,
            end,
            first_ns: time_ns,
            last_ns: time_ns,
            transmissions,
            burst_position: self.burst_position,
            segments_ahead,
            follows_closely: self.follows_closely,
            sacked: false,
            precedes_capture: transmissions == 0 && self.may_precede_capture(),
        };
        self.unacked.push(range, self.last_ack.is_some());
    }

    #[inline]
    fn begin_or_continue_burst(&mut self, time_ns: u64) {
        let (min_rtt_ns, min_gap_ns) = (self.stats.rtt.min(), self.min_gap_ns);
        let is_within_burst = |ns: u64| {
            ns < WITHIN_BURST_NS
                || ns < min_rtt_ns.unwrap_or(0) / 4
                // On a slow link the frames themselves take longer.
                || min_gap_ns <= SLOW_WIRE_NS && ns < min_gap_ns + min_gap_ns / 4
        };
        self.follows_closely = is_within_burst(self.gap_ns);
        self.burst_position = if is_within_burst(time_ns.saturating_sub(self.last_sent_ns)) {
            (self.burst_position + 1).min(BURST_POSITIONS as u8 - 1)
        } else {
            0
        };
    }
}
