//! Loss: entering and leaving recovery, and rate reduction. Spurious recoveries are undone in
//! [`super::undo`].
//!
//! Fast recovery by RACK (RFC 8985) or `NewReno` (RFC 6582), proportional rate reduction (RFC 6937),
//! timeout with F-RTO (RFC 5682).

use super::retransmission::Delivery;
use super::sender::{Phase, Sender};
use super::timers::{TIMER_MARGIN, Timer};
use crate::time::Instant;

/// Number of segments delivered beyond a hole that indicates loss (RFC 5681 section 3.2).
const DUPLICATE_THRESHOLD: u32 = 3;

/// State of loss recovery.
#[derive(Debug, Clone, Default)]
pub struct Recovery {
    /// Recovery point: everything below was sent before the loss was detected.
    pub(super) point: u64,
    pub(super) prior_window: u32,
    pub(super) prior_threshold: u32,
    /// SND.UNA at the start of recovery, while it may still prove unnecessary.
    pub(super) undo_from: Option<u64>,
    /// Retransmissions since then that no DSACK has reported as unnecessary.
    pub(super) unproven: i64,
    /// F-RTO is active: it determines whether the timeout was spurious.
    pub(super) f_rto: bool,
    /// F-RTO requires new data to be sent before any retransmission.
    new_data_first: bool,
    /// Segments delivered and sent since recovery began (RFC 6937).
    delivered: u32,
    pub(super) sent_since: u32,
    /// Duplicate acknowledgments of a peer without SACK.
    duplicates: u32,
    /// End of the data covered by a tail-loss probe, until it is acknowledged.
    pub(super) probe_end: Option<u64>,
    /// Number of segments that the peer reported as received twice.
    pub(super) reported_twice: u64,
    /// The probe was a retransmission.
    pub(super) probe_repeats: bool,
}

impl Recovery {
    pub(super) fn retransmitted(&mut self) {
        self.unproven += 1;
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
    fn behind_hole(&self) -> u32 {
        if self.path.sack {
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
        let (rack, sack) = (self.rack.clone(), self.path.sack);
        let first_time = self.phase < Phase::Recovery;
        self.queue
            .lose_all(|index, sent| index != 0 && sack && rack.is_recent(sent, now));
        self.recovery.duplicates = 0;
        let fresh_episode = self.phase <= Phase::Disorder
            || self.unacknowledged >= self.recovery.point
            || (self.phase == Phase::Loss && self.timeouts_in_a_row == 0);
        if fresh_episode {
            self.remember_for_undo();
            self.threshold = self.cubic.loss(self.window_segments);
        }
        self.cubic.timeout();
        self.recovery.f_rto = first_time || self.timeouts_in_a_row > 0;
        self.recovery.new_data_first = false;
        self.recovery.probe_end = None;
        self.window_segments = self.in_flight() + 1;
        self.phase = Phase::Loss;
        self.recovery.point = self.next;
    }

    /// Slow-start threshold that retains three quarters of a window that has outgrown it.
    pub(super) fn current_threshold(&self) -> u32 {
        if self.phase >= Phase::Reduced {
            self.threshold
        } else {
            self.threshold.max(self.window_segments / 4 * 3)
        }
    }

    fn enter_recovery(&mut self) {
        if self.phase < Phase::Reduced {
            self.remember_for_undo();
            self.begin_reduction();
        }
        self.phase = Phase::Recovery;
        self.recovery.point = self.next;
    }

    fn begin_reduction(&mut self) {
        self.recovery.prior_window = self.window_segments;
        self.recovery.delivered = 0;
        self.recovery.sent_since = 0;
        self.recovery.probe_end = None;
        self.recovery.point = self.next;
        self.threshold = self.cubic.loss(self.window_segments);
    }

    /// Proportional rate reduction (RFC 6937): sets the window to what this acknowledgment permits.
    fn reduce_rate(&mut self, delivered: u32, newly_lost: bool, advanced: bool) {
        if delivered == 0 && self.recovery.sent_since > 0 {
            return;
        }
        let recovery = &mut self.recovery;
        recovery.delivered += delivered;
        let in_flight = self.queue.in_flight().saturating_sub(recovery.duplicates);
        let permitted = if in_flight > self.threshold {
            let share = u64::from(recovery.delivered) * u64::from(self.threshold);
            let due = share.div_ceil(u64::from(recovery.prior_window.max(1))) as u32;
            due.saturating_sub(recovery.sent_since)
        } else {
            let owed = recovery
                .delivered
                .saturating_sub(recovery.sent_since)
                .max(delivered);
            let bonus = u32::from(advanced && !newly_lost);
            (self.threshold - in_flight).min(owed + bonus)
        };
        // The first retransmission is always permitted.
        let least = u32::from(recovery.sent_since == 0);
        self.window_segments = in_flight + permitted.max(least);
    }

    /// Runs RACK's loss detection at `now`; true if it marked any loss. May set the reordering timer.
    fn detect(&mut self, now: Instant) -> bool {
        let impatient = self.phase >= Phase::Recovery || self.queue.sacked() >= DUPLICATE_THRESHOLD;
        let window = self.rack.reordering_window(
            impatient,
            self.round_trip.min(),
            self.round_trip.smoothed(),
        );
        let (wait, lost) = self.rack.detect(self.queue.iter_mut(), window, now);
        if let Some(wait) = wait {
            self.set_timer(Timer::Reordering, now + wait + TIMER_MARGIN);
        }
        lost > 0
    }

    /// The reordering timer expired.
    pub(super) fn detect_by_time(&mut self, now: Instant) {
        if self.detect(now) && self.phase < Phase::Recovery {
            self.enter_recovery();
            self.reduce_rate(1, true, false);
        }
    }

    /// Reacts to an acknowledgment after the scoreboard was updated.
    pub(super) fn react(
        &mut self,
        delivery: &Delivery,
        duplicate: bool,
        probe_to: u64,
        now: Instant,
    ) {
        let advanced = delivery.advanced > 0;
        if let Some(block) = delivery.duplicate_sack {
            self.take_duplicate_sack(block);
        }
        if !self.path.sack {
            self.count_duplicates(delivery, duplicate);
        }
        self.rack.adapt(self.unacknowledged, self.next);
        self.judge_probe(delivery, duplicate, probe_to);
        self.leave_if_recovered();
        self.undo_by_duplicate_sack(delivery);
        let mut newly_lost = false;
        match self.phase {
            Phase::Loss => {
                self.process_loss(delivery, duplicate);
                newly_lost = self.identify(advanced, now);
            }
            Phase::Recovery => newly_lost = self.identify(advanced, now),
            Phase::Open | Phase::Disorder | Phase::Reduced => {
                newly_lost = self.identify(advanced, now) || newly_lost;
                if newly_lost {
                    self.enter_recovery();
                } else if self.phase < Phase::Reduced {
                    let disorder = self.behind_hole() > 0;
                    self.phase = if disorder {
                        Phase::Disorder
                    } else {
                        Phase::Open
                    };
                }
            }
        }
        if matches!(self.phase, Phase::Reduced | Phase::Recovery) {
            self.reduce_rate(delivery.segments, newly_lost, advanced);
        } else if advanced {
            self.grow(delivery.segments, now);
        }
    }

    fn identify(&mut self, advanced: bool, now: Instant) -> bool {
        if self.path.sack {
            return self.rack.take_advanced() && self.detect(now);
        }
        let hole = if self.phase >= Phase::Recovery {
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
            recovery.duplicates = if self.phase == Phase::Recovery {
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
    fn judge_probe(&mut self, delivery: &Delivery, duplicate: bool, acknowledged: u64) {
        let Some(end) = self.recovery.probe_end else {
            return;
        };
        if acknowledged < end {
            return;
        }
        if !self.recovery.probe_repeats || delivery.duplicate_sack.is_some_and(|(_, to)| to == end)
        {
            self.recovery.probe_end = None;
        } else if acknowledged > end {
            // The probe repaired a loss that nothing else revealed.
            self.recovery.probe_end = None;
            if self.phase < Phase::Reduced {
                self.begin_reduction();
                self.window_segments = self.threshold;
                self.phase = Phase::Open;
            }
        } else if duplicate && delivery.sacked == 0 {
            self.recovery.probe_end = None;
        }
        if self.recovery.probe_end.is_none() {
            self.recovery.probe_repeats = false;
        }
    }

    fn leave_if_recovered(&mut self) {
        if self.unacknowledged < self.recovery.point {
            return;
        }
        match self.phase {
            Phase::Reduced => {
                self.window_segments = self.threshold;
                self.phase = Phase::Open;
            }
            Phase::Recovery => {
                if self.may_undo() {
                    self.undo();
                } else {
                    self.rack.recovered(true);
                    self.window_segments = self.threshold;
                }
                self.recovery.duplicates = 0;
                self.phase = Phase::Open;
            }
            Phase::Open | Phase::Disorder | Phase::Loss => {}
        }
    }

    /// After a timeout (RFC 5682 section 3.1).
    fn process_loss(&mut self, delivery: &Delivery, duplicate: bool) {
        let advanced = delivery.advanced > 0;
        let recovered = self.unacknowledged >= self.recovery.point;
        self.recovery.new_data_first = false;
        if advanced && self.may_undo() {
            self.undo();
            return;
        }
        if self.recovery.f_rto {
            if delivery.original && self.recovery.undo_from.is_some() {
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
            self.recovery.undo_from = None;
            self.recovery.f_rto = false;
            self.phase = Phase::Open;
        }
    }

    /// Grows the congestion window if it was the limit.
    fn grow(&mut self, delivered: u32, now: Instant) {
        let slow_start = self.window_segments < self.threshold;
        let limiting =
            self.limited_by_window || (slow_start && self.window_segments < 2 * self.most_in_queue);
        if !limiting {
            return;
        }
        let mut left = delivered;
        if slow_start {
            let step = left.min(self.threshold - self.window_segments);
            self.window_segments += step;
            left -= step;
        }
        if left > 0 {
            let round_trip = self.round_trip.smoothed().unwrap_or_default();
            self.window_segments = self
                .cubic
                .avoid(self.window_segments, left, now, round_trip);
        }
    }
}
