//! The fate of each frame.

use std::collections::BTreeMap;

use linerate_ether::ledger::{DropCause, Layer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::stats;

/// Every frame that the peer sent toward the device during the measurement, and its fate:
/// `sent_frames = delivered_frames + the sum over lost_frames`. A frame is counted as often as it
/// was put on the wire: each attempt that collided is one of `lost_frames`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ledger {
    /// Frames that the peer put on the wire.
    pub sent_frames: u64,
    /// Frames that the device's stack accepted.
    pub delivered_frames: u64,
    /// Frames lost, by cause (`ether::ledger::DropCause`), zeros left out.
    pub lost_frames: BTreeMap<String, u64>,
    /// The device's own counters (`ether::ledger::Counter`) over the measurement, zeros left out; left out if the
    /// firmware keeps none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, u64>,
}

impl Ledger {
    /// Adds a frame that was delivered, or `lost` for this cause.
    pub fn count(&mut self, lost: Option<DropCause>) {
        self.sent_frames += 1;
        match lost {
            None => self.delivered_frames += 1,
            Some(cause) => self.lose(cause, 1),
        }
    }

    /// Adds `frames` lost for `cause`.
    pub fn lose(&mut self, cause: DropCause, frames: u64) {
        if frames > 0 {
            *self.lost_frames.entry(cause.name().to_owned()).or_default() += frames;
        }
    }

    /// True if nothing was counted: frames were not observed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds the counts of another ledger.
    pub fn add(&mut self, other: &Self) {
        self.sent_frames += other.sent_frames;
        self.delivered_frames += other.delivered_frames;
        for (cause, frames) in &other.lost_frames {
            *self.lost_frames.entry(cause.clone()).or_default() += frames;
        }
        for (counter, count) in &other.counters {
            *self.counters.entry(counter.clone()).or_default() += count;
        }
    }

    /// Frames lost, for any cause.
    pub fn lost(&self) -> u64 {
        self.lost_frames.values().sum()
    }

    /// Frames lost for `cause`.
    pub fn lost_for(&self, cause: DropCause) -> u64 {
        self.lost_frames.get(cause.name()).copied().unwrap_or(0)
    }

    /// Frames lost at `layer`.
    pub fn lost_at(&self, layer: Layer) -> u64 {
        let at_layer = |cause: &DropCause| cause.layer() == layer;
        DropCause::ALL
            .into_iter()
            .filter(at_layer)
            .map(|cause| self.lost_for(cause))
            .sum()
    }

    /// Frames that were sent and neither delivered nor counted as lost: zero, or a defect in the
    /// counting. Negative when more was counted than sent.
    pub fn missing_frames(&self) -> i64 {
        self.sent_frames as i64 - self.delivered_frames as i64 - self.lost() as i64
    }

    /// Entries that are no frame with a final fate: attempts that the sender repeated, and
    /// frames in flight when the measurement ended.
    fn without_final_fate(&self) -> u64 {
        let causes = [
            DropCause::Collision,
            DropCause::InFlight,
            DropCause::LeftInQueue,
        ];
        causes.into_iter().map(|cause| self.lost_for(cause)).sum()
    }

    /// Share of sent frames that did not arrive; zero if nothing was sent.
    ///
    /// The ledger counts attempts, this counts frames: one whose attempt collided within its slot
    /// time and was repeated is one frame, and one that was still on the wire or in the device's
    /// queue at the end is neither lost nor delivered. A frame that its sender gave up is lost.
    pub fn loss_rate(&self) -> f64 {
        let decided = self.sent_frames.saturating_sub(self.without_final_fate());
        let lost = decided.saturating_sub(self.delivered_frames);
        stats::ratio(lost as f64, decided as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ledgers_add_up() {
        let mut sum = Ledger::default();
        assert!(sum.is_empty());
        let mut one = Ledger {
            sent_frames: 3,
            delivered_frames: 1,
            counters: BTreeMap::from([("RxValid".to_owned(), 1)]),
            ..Ledger::default()
        };
        one.lose(DropCause::BadFcs, 2);
        sum.add(&one);
        sum.add(&one);
        assert_eq!((sum.sent_frames, sum.lost_for(DropCause::BadFcs)), (6, 4));
        assert_eq!((sum.counters["RxValid"], sum.missing_frames()), (2, 0));
    }

    #[test]
    fn balances_or_reports_missing_frames() {
        let mut ledger = Ledger {
            sent_frames: 100,
            delivered_frames: 70,
            ..Ledger::default()
        };
        ledger.lose(DropCause::Unheard, 20);
        ledger.lose(DropCause::BadFcs, 4);
        ledger.lose(DropCause::Unheard, 5);
        ledger.lose(DropCause::QueueFull, 0);
        assert_eq!(ledger.lost(), 29);
        assert_eq!(ledger.missing_frames(), 1);
        assert_eq!(ledger.lost_at(Layer::Phy), 25);
        assert_eq!(ledger.lost_frames.len(), 2);
        assert!((ledger.loss_rate() - 0.3).abs() < 1e-12);
        ledger.delivered_frames = 72;
        assert_eq!(ledger.missing_frames(), -1);
    }

    #[test]
    fn a_ledger_without_counters_has_no_empty_field_for_them() {
        let mut ledger = Ledger::default();
        ledger.count(None);
        let text = serde_json::to_string(&ledger).expect("JSON");
        let expected = r#"{"sent_frames":1,"delivered_frames":1,"lost_frames":{}}"#;
        assert_eq!(text, expected);
        let read: Ledger = serde_json::from_str(&text).expect("readable");
        assert_eq!(read, ledger);
    }

    #[test]
    fn repeated_attempts_and_the_end_of_the_run_are_no_losses() {
        let mut ledger = Ledger {
            sent_frames: 106,
            delivered_frames: 98,
            ..Ledger::default()
        };
        ledger.lose(DropCause::Collision, 4);
        ledger.lose(DropCause::InFlight, 1);
        ledger.lose(DropCause::LeftInQueue, 1);
        ledger.lose(DropCause::ExcessiveCollisions, 1);
        ledger.lose(DropCause::BadFcs, 1);
        assert_eq!(ledger.missing_frames(), 0);
        assert!((ledger.loss_rate() - 0.02).abs() < 1e-12);
    }
}
