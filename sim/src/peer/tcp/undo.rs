//! Undo of an unnecessary recovery, and processing of DSACK blocks (RFC 2883).

use super::retransmission::Delivery;
use super::sender::{Phase, Sender};

impl Sender {
    pub(super) fn remember_for_undo(&mut self) {
        self.recovery.prior_window = self.window_segments;
        self.recovery.prior_threshold = self.current_threshold();
        self.recovery.undo_from = Some(self.unacknowledged);
        self.recovery.unproven =
            self.queue.iter().filter(|sent| sent.retransmitting).count() as i64;
    }

    pub(super) fn may_undo(&self) -> bool {
        self.recovery.undo_from.is_some() && self.recovery.unproven == 0
    }

    pub(super) fn undo(&mut self) {
        self.queue.forgive();
        self.window_segments = self.window_segments.max(self.recovery.prior_window);
        self.threshold = self.threshold.max(self.recovery.prior_threshold);
        self.recovery.undo_from = None;
        self.recovery.f_rto = false;
        self.phase = Phase::Open;
        self.statistics.undone += 1;
    }

    /// Undoes a recovery of which every retransmission was unnecessary: there was no loss.
    pub(super) fn undo_by_duplicate_sack(&mut self, delivery: &Delivery) {
        let fast = self.phase <= Phase::Disorder || self.phase == Phase::Recovery;
        if fast && delivery.duplicate_sack.is_some() && self.may_undo() {
            self.rack.recovered(false);
            self.undo();
        }
    }

    pub(super) fn take_duplicate_sack(&mut self, (start, end): (u64, u64)) {
        let segments = (end - start).div_ceil(self.path.mss as u64).max(1);
        self.recovery.reported_twice += segments;
        if self.recovery.reported_twice > self.statistics.retransmissions.len() as u64 {
            // The network duplicated it.
            return;
        }
        if segments > 1 || self.recovery.probe_end != Some(end) {
            self.rack.duplicated();
        }
        let Some(from) = self.recovery.undo_from else {
            return;
        };
        if self.recovery.unproven > 0 && start >= from && end <= self.recovery.point {
            self.recovery.unproven -= 1;
        }
    }
}
