//! Loss: entering and leaving recovery, and rate reduction. Spurious recoveries are undone in
//! [`super::undo`].
//!
//! Fast recovery by RACK (RFC 8985) or `NewReno` (RFC 6582), proportional rate reduction (RFC 6937),
//! timeout with F-RTO (RFC 5682).

use super::retransmission::Delivery;
use super::sender::{CongestionState, Sender};
use super::timers::{Timer, margin};
use crate::time::Instant;

/// Number of segments delivered beyond a hole that indicates loss (RFC 5681 section 3.2).
const DUPLICATE_THRESHOLD: u32 = 3;

/// State of loss recovery.
#[derive(Debug, Clone, Default)]
pub struct Recovery {
    /// Recovery point: everything below was sent before the loss was detected.
    pub(super) point: u64,
    pub(super) prior_cwnd: u32,
    pub(super) prior_ssthresh: u32,
    /// SND.UNA at the start of recovery, while it may still prove unnecessary.
    pub(super) undo_marker: Option<u64>,
    /// Retransmissions since then that no DSACK has reported as unnecessary.
    pub(super) undo_retransmissions: i64,
    /// F-RTO is active: it determines whether the timeout was spurious.
    pub(super) f_rto: bool,
    /// F-RTO requires new data to be sent before any retransmission.
    new_data_first: bool,
    /// Segments delivered and sent since recovery began (RFC 6937).
    prr_delivered: u32,
    pub(super) prr_out: u32,
    /// Duplicate acknowledgments of a peer without SACK.
    duplicates: u32,
    /// End of the data covered by a tail-loss probe, until it is acknowledged.
    pub(super) tlp_end: Option<u64>,
    /// Number of segments that the peer reported as received twice.
    pub(super) dsacked_segments: u64,
    /// The probe was a retransmission.
    pub(super) tlp_is_retransmission: bool,
}

impl Recovery {
    pub(super) fn retransmitted(&mut self) {
        self.undo_retransmissions += 1;
    }
}

impl Sender {
    /// Segments believed to be in the network.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.queue
            .in_flight()
            .saturating_sub(self.recovery.duplicates)
    }

    /// Segments known to be delivered beyond a hole.
    fn delivered_beyond_hole(&self) -> u32 {
        if self.parameters.sack {
            self.queue.sacked()
        } else {
            self.recovery.duplicates
        }
    }

    pub(super) fn prefers_new_data(&self) -> bool {
        self.recovery.new_data_first
    }

    /// F-RTO has no new data to send. If some was sent, waits for its acknowledgment; else retransmits.
    pub(super) fn new_data_exhausted(&mut self) {
        if self.next <= self.recovery.point {
            self.recovery.f_rto = false;
            self.recovery.new_data_first = false;
        }
    }

    /// The retransmission timer expired.
    pub(super) fn enter_loss(&mut self, now: Instant) {
        let (rack, sack) = (self.rack.clone(), self.parameters.sack);
        let first_time = self.congestion_state < CongestionState::Recovery;
        self.queue
            .mark_all_lost(|index, sent| index != 0 && sack && rack.is_recent(sent, now));
        self.recovery.duplicates = 0;
        let new_episode = self.congestion_state <= CongestionState::Disorder
            || self.unacknowledged >= self.recovery.point
            || (self.congestion_state == CongestionState::Loss && self.consecutive_timeouts == 0);
        if new_episode {
            self.save_for_undo();
            self.ssthresh = self.growth.on_loss(self.cwnd);
        }
        self.growth.on_timeout();
        self.recovery.f_rto = first_time || self.consecutive_timeouts > 0;
        self.recovery.new_data_first = false;
        self.recovery.tlp_end = None;
        self.cwnd = self.in_flight() + 1;
        self.congestion_state = CongestionState::Loss;
        self.recovery.point = self.next;
    }

    /// Slow-start threshold that retains three quarters of a window that has outgrown it.
    pub(super) fn current_ssthresh(&self) -> u32 {
        if self.congestion_state >= CongestionState::Cwr {
            self.ssthresh
        } else {
            self.ssthresh.max(self.cwnd / 4 * 3)
        }
    }

    fn enter_recovery(&mut self) {
        if self.congestion_state < CongestionState::Cwr {
            self.save_for_undo();
            self.begin_reduction();
        }
        self.congestion_state = CongestionState::Recovery;
        self.recovery.point = self.next;
    }

    fn begin_reduction(&mut self) {
        self.recovery.prior_cwnd = self.cwnd;
        self.recovery.prr_delivered = 0;
        self.recovery.prr_out = 0;
        self.recovery.tlp_end = None;
        self.recovery.point = self.next;
        self.ssthresh = self.growth.on_loss(self.cwnd);
    }

    /// Proportional rate reduction (RFC 6937): sets the window to what this acknowledgment permits.
    fn reduce_rate(&mut self, delivered: u32, newly_lost: bool, advanced: bool) {
        if delivered == 0 && self.recovery.prr_out > 0 {
            return;
        }
        let recovery = &mut self.recovery;
        recovery.prr_delivered += delivered;
        let in_flight = self.queue.in_flight().saturating_sub(recovery.duplicates);
        let permitted = if in_flight > self.ssthresh {
            let share = u64::from(recovery.prr_delivered) * u64::from(self.ssthresh);
            let due = share.div_ceil(u64::from(recovery.prior_cwnd.max(1))) as u32;
            due.saturating_sub(recovery.prr_out)
        } else {
            let owed = recovery
                .prr_delivered
                .saturating_sub(recovery.prr_out)
                .max(delivered);
            let bonus = u32::from(advanced && !newly_lost);
            (self.ssthresh - in_flight).min(owed + bonus)
        };
        // The first retransmission is always permitted.
        let least = u32::from(recovery.prr_out == 0);
        self.cwnd = in_flight + permitted.max(least);
    }

    /// Runs RACK's loss detection at `now`; true if it marked any loss. May set the reordering timer.
    fn detect_loss(&mut self, now: Instant) -> bool {
        let impatient = self.congestion_state >= CongestionState::Recovery
            || self.queue.sacked() >= DUPLICATE_THRESHOLD;
        let window = self.rack.reordering_window(
            impatient,
            self.round_trip.min(),
            self.round_trip.smoothed(),
        );
        let (wait, lost) = self.rack.detect_loss(self.queue.iter_mut(), window, now);
        if let Some(wait) = wait {
            self.set_timer(
                Timer::Reordering,
                now + wait + margin(self.parameters.kernel),
                now,
            );
        }
        lost > 0
    }

    /// The reordering timer expired.
    pub(super) fn on_reordering_timer(&mut self, now: Instant) {
        if self.detect_loss(now) && self.congestion_state < CongestionState::Recovery {
            self.enter_recovery();
            self.reduce_rate(1, true, false);
        }
    }

    /// Reacts to an acknowledgment after the scoreboard was updated.
    pub(super) fn react_to_ack(
        &mut self,
        delivery: &Delivery,
        duplicate: bool,
        probe_to: u64,
        now: Instant,
    ) {
        let advanced = delivery.advanced > 0;
        if let Some(block) = delivery.dsack {
            self.process_dsack(block);
        }
        if !self.parameters.sack {
            self.count_duplicates(delivery, duplicate);
        }
        self.rack.adapt_window(self.unacknowledged, self.next);
        self.process_probe_ack(delivery, duplicate, probe_to);
        self.leave_if_recovered();
        self.undo_by_dsack(delivery);
        let mut newly_lost = false;
        match self.congestion_state {
            CongestionState::Loss => {
                self.process_loss(delivery, duplicate);
                newly_lost = self.identify_loss(advanced, now);
            }
            CongestionState::Recovery => newly_lost = self.identify_loss(advanced, now),
            CongestionState::Open | CongestionState::Disorder | CongestionState::Cwr => {
                newly_lost = self.identify_loss(advanced, now) || newly_lost;
                if newly_lost {
                    self.enter_recovery();
                } else if self.congestion_state < CongestionState::Cwr {
                    let disorder = self.delivered_beyond_hole() > 0;
                    self.congestion_state = if disorder {
                        CongestionState::Disorder
                    } else {
                        CongestionState::Open
                    };
                }
            }
        }
        if matches!(
            self.congestion_state,
            CongestionState::Cwr | CongestionState::Recovery
        ) {
            self.reduce_rate(delivery.delivered_segments, newly_lost, advanced);
        } else if advanced {
            self.grow(delivery.delivered_segments, now);
        }
    }

    fn identify_loss(&mut self, advanced: bool, now: Instant) -> bool {
        if self.parameters.sack {
            return self.rack.take_advanced() && self.detect_loss(now);
        }
        let hole = if self.congestion_state >= CongestionState::Recovery {
            // A partial acknowledgment indicates the next hole (RFC 6582).
            advanced
        } else {
            self.recovery.duplicates >= DUPLICATE_THRESHOLD
        };
        match self.queue.get_mut(0) {
            Some(head) if hole && (!head.lost || head.retransmitting) => {
                head.lost = true;
                head.retransmitting = false;
                true
            }
            _ => false,
        }
    }

    /// Without SACK, each duplicate acknowledgment indicates a segment that left the network.
    fn count_duplicates(&mut self, delivery: &Delivery, duplicate: bool) {
        let recovery = &mut self.recovery;
        if delivery.advanced > 0 {
            recovery.duplicates = if self.congestion_state == CongestionState::Recovery {
                recovery
                    .duplicates
                    .saturating_sub(delivery.acknowledged.saturating_sub(1))
            } else {
                0
            };
        } else if duplicate {
            recovery.duplicates = (recovery.duplicates + 1).min(self.queue.len().saturating_sub(1));
        }
    }

    /// Evaluates the acknowledgment of an outstanding tail-loss probe (RFC 8985 section 7.4).
    fn process_probe_ack(&mut self, delivery: &Delivery, duplicate: bool, acknowledged: u64) {
        let Some(end) = self.recovery.tlp_end else {
            return;
        };
        if acknowledged < end {
            return;
        }
        if !self.recovery.tlp_is_retransmission || delivery.dsack.is_some_and(|(_, to)| to == end) {
            self.recovery.tlp_end = None;
        } else if acknowledged > end {
            // The probe repaired a loss that nothing else revealed.
            self.recovery.tlp_end = None;
            if self.congestion_state < CongestionState::Cwr {
                self.begin_reduction();
                self.cwnd = self.ssthresh;
                self.congestion_state = CongestionState::Open;
            }
        } else if duplicate && delivery.sacked == 0 {
            self.recovery.tlp_end = None;
        }
        if self.recovery.tlp_end.is_none() {
            self.recovery.tlp_is_retransmission = false;
        }
    }

    fn leave_if_recovered(&mut self) {
        if self.unacknowledged < self.recovery.point {
            return;
        }
        match self.congestion_state {
            CongestionState::Cwr => {
                self.cwnd = self.ssthresh;
                self.congestion_state = CongestionState::Open;
            }
            CongestionState::Recovery => {
                if self.can_undo() {
                    self.undo();
                } else {
                    self.rack.on_recovery_end(true);
                    self.cwnd = self.ssthresh;
                }
                self.recovery.duplicates = 0;
                self.congestion_state = CongestionState::Open;
            }
            CongestionState::Open | CongestionState::Disorder | CongestionState::Loss => {}
        }
    }

    /// After a timeout (RFC 5682 section 3.1).
    fn process_loss(&mut self, delivery: &Delivery, duplicate: bool) {
        let advanced = delivery.advanced > 0;
        let recovered = self.unacknowledged >= self.recovery.point;
        self.recovery.new_data_first = false;
        if advanced && self.can_undo() {
            self.undo();
            return;
        }
        if self.recovery.f_rto {
            if delivery.original_delivered && self.recovery.undo_marker.is_some() {
                // Step 3b: a segment that was not retransmitted arrived, so the timeout was spurious.
                self.undo();
                return;
            }
            if self.next > self.recovery.point {
                if delivery.sacked > 0 || duplicate {
                    self.recovery.f_rto = false;
                }
            } else if advanced && !recovered {
                // Step 2b: new data shows whether more arrives than was retransmitted.
                self.recovery.point = self.next;
                self.recovery.new_data_first = true;
                return;
            }
        }
        if recovered {
            self.recovery.undo_marker = None;
            self.recovery.f_rto = false;
            self.congestion_state = CongestionState::Open;
        }
    }

    /// Grows the congestion window if it was the limit.
    fn grow(&mut self, delivered: u32, now: Instant) {
        let slow_start = self.cwnd < self.ssthresh;
        let limiting = self.cwnd_limited || (slow_start && self.cwnd < 2 * self.max_in_queue);
        if !limiting {
            return;
        }
        let mut left = delivered;
        if slow_start {
            let step = left.min(self.ssthresh - self.cwnd);
            self.cwnd += step;
            left -= step;
        }
        if left > 0 {
            let round_trip = self.round_trip.smoothed().unwrap_or_default();
            self.cwnd = self.growth.on_ack(self.cwnd, left, now, round_trip);
        }
    }
}
