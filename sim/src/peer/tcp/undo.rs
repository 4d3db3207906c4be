//! Undo of an unnecessary recovery, and processing of DSACK blocks (RFC 2883).

use super::retransmission::Delivery;
use super::sender::{CongestionState, Sender};

impl Sender {
    pub(super) fn save_for_undo(&mut self) {
        self.recovery.prior_cwnd = self.cwnd;
        self.recovery.prior_ssthresh = self.current_ssthresh();
        self.recovery.undo_marker = Some(self.unacknowledged);
        self.recovery.undo_retransmissions =
            self.queue.iter().filter(|sent| sent.retransmitting).count() as i64;
    }

    pub(super) fn can_undo(&self) -> bool {
        self.recovery.undo_marker.is_some() && self.recovery.undo_retransmissions == 0
    }

    pub(super) fn undo(&mut self) {
        self.queue.clear_loss_marks();
        self.cwnd = self.cwnd.max(self.recovery.prior_cwnd);
        self.ssthresh = self.ssthresh.max(self.recovery.prior_ssthresh);
        self.recovery.undo_marker = None;
        self.recovery.f_rto = false;
        self.congestion_state = CongestionState::Open;
        self.statistics.undone_recoveries += 1;
    }

    /// Undoes a recovery of which every retransmission was unnecessary: there was no loss.
    pub(super) fn undo_by_dsack(&mut self, delivery: &Delivery) {
        let fast = self.congestion_state <= CongestionState::Disorder
            || self.congestion_state == CongestionState::Recovery;
        if fast && delivery.dsack.is_some() && self.can_undo() {
            self.rack.on_recovery_end(false);
            self.undo();
        }
    }

    pub(super) fn process_dsack(&mut self, (start, end): (u64, u64)) {
        let segments = (end - start).div_ceil(self.parameters.mss as u64).max(1);
        self.recovery.dsacked_segments += segments;
        if self.recovery.dsacked_segments > self.statistics.retransmissions.len() as u64 {
            // The network duplicated it.
            return;
        }
        if segments > 1 || self.recovery.tlp_end != Some(end) {
            self.rack.on_dsack();
        }
        let Some(from) = self.recovery.undo_marker else {
            return;
        };
        if self.recovery.undo_retransmissions > 0 && start >= from && end <= self.recovery.point {
            self.recovery.undo_retransmissions -= 1;
        }
    }
}
