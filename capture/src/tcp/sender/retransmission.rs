//! Retransmissions and their reasons.

use super::rtt::LINUX_MIN_RTO_NS;
use super::stats::{DELAY_RANGES, FIRST_DELAY_BOUND_NS};
use super::{PROMPT_NS, SendClass, Sender};
use crate::tcp::segment::{Segment, seq_lt};
use crate::tcp::unacked::SentRange;

/// Data that fills a gap sooner than this was reordered, not retransmitted.
const REORDERED_NS: u64 = 3_000_000;

/// Reason for a retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetransmitReason {
    /// Tail loss probe: the last segment, to elicit an acknowledgment (RFC 8985 section 7).
    TailLossProbe,
    /// Fast retransmit: duplicate ACKs or SACK requested it (RFC 5681 section 3.2, RFC 6675).
    Fast,
    /// The retransmission timer expired (RFC 6298), for the n-th time in a row.
    Rto {
        /// 1 for the first expiry, 2 after the first doubling.
        backoff: u8,
    },
    /// Further lost data, after a fast retransmit or an RTO.
    Recovery,
    /// It was already acknowledged.
    Spurious,
}

/// State of loss recovery; `recovery_point` as in RFC 6675.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecoveryState {
    None,
    Fast { recovery_point: u32 },
    Rto { recovery_point: u32 },
}

impl Sender {
    /// Records data below SND.NXT: sent before, or not captured before.
    pub(super) fn on_old_data(
        &mut self,
        segment: &Segment<'_>,
        snd_nxt: u32,
        time_ns: u64,
        number: u64,
    ) -> SendClass {
        let (seq, end) = (segment.seq, segment.end());
        if !seq_lt(self.snd_una, end) {
            self.stats.spurious_retransmissions += 1;
            self.count_retransmission(segment, None);
            return SendClass::Retransmission(RetransmitReason::Spurious);
        }
        self.unacked.split_gaps(seq, end, self.last_ack.is_some());
        let payload = seq.wrapping_add(u32::from(segment.has_any(Segment::SYN)));
        let payload_end = payload.wrapping_add(segment.len);
        let mut oldest: Option<SentRange> = None;
        for range in self.unacked.overlapping(seq, end) {
            oldest.get_or_insert(*range);
            self.stats.unique_bytes += u64::from(range.missing(payload, payload_end));
        }
        let Some(sent_range) = oldest else {
            return SendClass::NoData;
        };
        let delay_ns = time_ns.saturating_sub(sent_range.last_ns);
        if sent_range.transmissions == 0 {
            let asked_for = self.dup_acks >= 3;
            if !asked_for && delay_ns < REORDERED_NS.max(self.rto.srtt_ns / 2) {
                self.stats.out_of_order += 1;
                self.stats.out_of_order_at.record(number, delay_ns);
                self.mark_sent(seq, end, time_ns, 0);
                return SendClass::Reordered;
            }
            self.stats.lost_before_capture += u64::from(!sent_range.precedes_capture);
        }
        let reason = self.retransmit_reason(seq, end, snd_nxt, &sent_range, delay_ns, time_ns);
        match reason {
            RetransmitReason::TailLossProbe => {
                self.stats.tail_loss_probes += 1;
                self.stats.probe_delays.add(delay_ns);
            }
            RetransmitReason::Fast => {
                self.stats.fast_retransmits += 1;
                self.recovery = RecoveryState::Fast {
                    recovery_point: snd_nxt,
                };
            }
            RetransmitReason::Rto { backoff } => {
                self.stats.time_outs += 1;
                self.rto_backoff = backoff;
                self.stats.max_backoff = self.stats.max_backoff.max(backoff);
                self.recovery = RecoveryState::Rto {
                    recovery_point: snd_nxt,
                };
            }
            RetransmitReason::Recovery => self.stats.recovery_retransmits += 1,
            RetransmitReason::Spurious => self.stats.spurious_retransmissions += 1,
        }
        if reason != RetransmitReason::Spurious {
            self.stats.first_retransmit = match self.stats.first_retransmit {
                0 => number,
                first => first,
            };
            self.stats.last_retransmit = number;
            if segment.len > 0 && sent_range.transmissions == 1 {
                self.stats.lost_by_position[usize::from(sent_range.burst_position)] += 1;
                self.stats.lost_by_flight[usize::from(sent_range.segments_ahead)] += 1;
            }
        }
        self.count_retransmission(
            segment,
            (sent_range.transmissions > 0 && segment.len > 0).then_some(delay_ns),
        );
        self.begin_or_continue_burst(time_ns);
        if reason != RetransmitReason::Spurious && segment.len > 0 {
            if sent_range.transmissions > 0 {
                self.stats.spacing.add_lost(sent_range.follows_closely);
            }
            self.stats.spacing.add_sent(self.follows_closely);
        }
        self.mark_sent(seq, end, time_ns, 1);
        SendClass::Retransmission(reason)
    }

    fn count_retransmission(&mut self, segment: &Segment<'_>, delay_ns: Option<u64>) {
        self.stats.retransmitted_segments += 1;
        self.stats.retransmitted_bytes += u64::from(segment.len);
        if let Some(delay_ns) = delay_ns {
            let doublings = (delay_ns / FIRST_DELAY_BOUND_NS)
                .checked_ilog2()
                .map_or(0, |log| log + 1);
            self.stats.retransmit_delays[(doublings as usize).min(DELAY_RANGES - 1)] += 1;
        }
    }

    /// Records a transmission of tracked octets; those captured for the first time were sent `before` times before.
    fn mark_sent(&mut self, seq: u32, end: u32, time_ns: u64, before: u8) {
        let (burst_position, follows_closely) = (self.burst_position, self.follows_closely);
        for range in self.unacked.overlapping(seq, end) {
            let before = range.transmissions.max(before);
            range.transmissions = before.saturating_add(1);
            range.last_ns = time_ns;
            range.burst_position = burst_position;
            range.follows_closely = follows_closely;
        }
    }

    fn retransmit_reason(
        &self,
        seq: u32,
        end: u32,
        snd_nxt: u32,
        range: &SentRange,
        delay_ns: u64,
        time_ns: u64,
    ) -> RetransmitReason {
        if range.sacked {
            return RetransmitReason::Spurious;
        }
        let quiet_ns = time_ns.saturating_sub(self.last_sent_ns.max(self.last_ack_ns));
        let prompted = quiet_ns < PROMPT_NS.max(self.rto.srtt_ns + self.rto.srtt_ns / 4);
        let first = self.snd_una == seq;
        let mut asked_for = self.dup_acks >= 3 || self.sacked_blocks > 0;
        let mut prompted = prompted;
        // Far from the sender, its answer to duplicate ACKs takes a round trip, but less than a timeout.
        let is_far = range.transmissions == 0 || self.far_rtt_ns > 0;
        let least_timeout_ns = LINUX_MIN_RTO_NS / 20 * 19 + self.far_rtt_ns;
        if is_far && quiet_ns < least_timeout_ns && (asked_for || self.dup_acks > 0) {
            (asked_for, prompted) = (true, true);
        }
        // The recovery began before the capture.
        if range.precedes_capture && quiet_ns < least_timeout_ns {
            (asked_for, prompted) = (true, true);
        }
        match self.recovery {
            _ if prompted && asked_for && self.recovery == RecoveryState::None => {
                RetransmitReason::Fast
            }
            RecoveryState::Fast { .. } | RecoveryState::Rto { .. } if prompted => {
                RetransmitReason::Recovery
            }
            _ if end == snd_nxt && range.transmissions == 1 && delay_ns < self.rto.min_rto_ns() => {
                RetransmitReason::TailLossProbe
            }
            _ if first || !prompted => RetransmitReason::Rto {
                backoff: self.rto_backoff.saturating_add(1),
            },
            _ => RetransmitReason::Recovery,
        }
    }
}
