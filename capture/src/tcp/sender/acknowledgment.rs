//! Packets from the receiver: acknowledgments, windows, round-trip times.

use super::retransmission::RecoveryState;
use super::rtt::SentSinceAck;
use super::{KnownSeq, Sender};
use crate::tcp::log::is_dsack;
use crate::tcp::segment::{Segment, seq_le, seq_lt};

/// An acknowledgment later than this was delayed (RFC 9293 section 3.8.6.3 allows 500 ms).
const DELAYED_ACK_NS: u64 = 30_000_000;

/// More octets cannot pass between two packets of a capture that has some of a connection: the longest pause of a capture on a fast
/// line lacks less.
const MAX_UNSEEN: u32 = 1 << 28;

impl Sender {
    /// Records a packet from the receiver, whose windows are scaled by `shift`, and which reports what arrives behind a gap if it
    /// `is_selective` (RFC 2018 section 4).
    #[inline]
    pub(in crate::tcp) fn on_ack(
        &mut self,
        segment: &Segment<'_>,
        shift: u8,
        is_selective: bool,
        time_ns: u64,
        number: u64,
    ) {
        if !segment.has_any(Segment::ACK) || segment.has_any(Segment::RST) {
            return;
        }
        let (ack, sack) = (segment.ack, segment.sack());
        // It acknowledges what no window can have permitted: it is of another connection, or garbled (RFC 9293 section 3.10.7.4).
        let unseen = ack.wrapping_sub(self.snd_nxt);
        if self.known_seq == KnownSeq::Sent && seq_lt(self.snd_nxt, ack) && unseen > MAX_UNSEEN {
            return;
        }
        if self.known_seq == KnownSeq::None || seq_lt(self.snd_una, ack) {
            self.advance_una(ack, time_ns, number);
        } else if self.snd_una == ack && segment.is_bare() {
            self.peer_responded |= self.has_unacked();
            if let Some((last, window)) = self.last_ack
                && last == ack
            {
                if window != segment.window {
                    self.stats.window_updates += 1;
                } else if self.has_unacked() {
                    self.stats.duplicate_acks += 1;
                    self.dup_acks += 1;
                    // One that answers a copy reports no gap, nor does one for nothing.
                    let is_needless = is_dsack(segment) || is_selective && sack.is_empty();
                    self.gap_reports += u32::from(!is_needless);
                }
            }
        }
        if !sack.is_empty() {
            self.stats.selective_acks += 1;
            for (left, right) in sack.blocks() {
                if self.unacked.sack(left, right) {
                    self.sacked_blocks += 1;
                }
            }
        }
        if !segment.is_bare() {
            // It was piggybacked on data.
            self.late_ack_ns = None;
        }
        self.update_window(segment, ack, shift);
        self.sent_since_ack = SentSinceAck::None;
        self.last_ack = Some((ack, segment.window));
        self.last_ack_ns = time_ns;
    }

    #[inline]
    fn advance_una(&mut self, ack: u32, time_ns: u64, number: u64) {
        let had_unacked = self.has_unacked();
        if self.may_precede_capture() {
            self.settle_if_idle(time_ns);
        }
        if self.known_seq != KnownSeq::Sent {
            self.known_seq = KnownSeq::AckOnly;
            self.snd_nxt = ack;
        } else if self.probe_end == Some(ack) && self.snd_nxt.wrapping_add(1) == ack {
            // The receiver took the octet.
            self.snd_nxt = ack;
            self.stats.payload_bytes += 1;
            self.stats.unique_bytes += 1;
        } else if seq_lt(self.snd_nxt, ack) && self.may_precede_capture() {
            self.in_sequence = 0;
            self.snd_nxt = ack;
        } else if seq_lt(self.snd_nxt, ack) {
            let unseen = u64::from(ack.wrapping_sub(self.snd_nxt));
            self.stats.unseen_bytes += unseen;
            self.stats.unseen_at.record(number, unseen);
            self.snd_nxt = ack;
        }
        let acknowledged = self.unacked.acknowledge(ack);
        self.stats.unseen_bytes += u64::from(acknowledged.unseen);
        if let Some(sent_ns) = acknowledged.sent_ns {
            let asked_for = self.gap_reports > 0 || self.sacked_blocks > 0;
            let reordered = asked_for && self.recovery == RecoveryState::None;
            self.stats.reordered_after_capture += u64::from(reordered);
            let rtt_ns = time_ns.saturating_sub(sent_ns);
            self.stats.rtt.add(rtt_ns);
            self.rto.add(rtt_ns);
            self.rto_backoff = 0;
            let late = rtt_ns >= DELAYED_ACK_NS.max(3 * self.stats.rtt.min().unwrap_or(0));
            self.late_ack_ns =
                (late && self.last_was_small && !self.has_unacked()).then_some(time_ns);
        }
        if let SentSinceAck::One { end, sent_ns } = self.sent_since_ack
            && seq_le(end, ack)
        {
            self.stats.isolated_rtt.add(time_ns.saturating_sub(sent_ns));
        }
        if had_unacked {
            let stall_ns = time_ns.saturating_sub(self.unacked_since_ns);
            if stall_ns > self.stats.longest_stall_ns {
                self.stats.longest_stall_ns = stall_ns;
                self.stats.longest_stall_start_ns = self.unacked_since_ns;
            }
        }
        if self
            .payload_end
            .is_some_and(|end| seq_lt(self.snd_una, end))
        {
            self.stats.last_acked_ns = time_ns;
        }
        self.unacked_since_ns = time_ns;
        self.snd_una = ack;
        self.dup_acks = 0;
        self.gap_reports = 0;
        self.peer_responded = false;
        self.sacked_blocks = 0;
        if let RecoveryState::Fast { recovery_point } | RecoveryState::Rto { recovery_point } =
            self.recovery
            && seq_le(recovery_point, ack)
        {
            self.recovery = RecoveryState::None;
        }
    }

    #[inline]
    fn update_window(&mut self, segment: &Segment<'_>, ack: u32, shift: u8) {
        let is_syn = segment.has_any(Segment::SYN);
        let window = u32::from(segment.window) << if is_syn { 0 } else { shift };
        self.right_edge = Some(ack.wrapping_add(window));
        self.stats.max_window = self.stats.max_window.max(window);
        if is_syn {
            return;
        }
        if self.stats.min_window.is_none_or(|least| window < least) {
            self.stats.min_window = Some(window);
        }
        if window == 0 && !segment.has_any(Segment::FIN) {
            self.stats.zero_windows += 1;
        } else if window < self.segment_size && self.stats.segments > 0 {
            self.stats.small_windows += 1;
        }
    }
}
