//! Where each frame went.

use std::collections::BTreeMap;

use linerate_ether::ledger::{Drop, Layer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::stats;

/// Every frame that the peer sent toward the device during the measurement, and its fate:
/// `sent_frames = delivered_frames + the sum over lost_frames`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ledger {
    /// Frames that the peer put on the wire.
    pub sent_frames: u64,
    /// Frames that the device's stack accepted.
    pub delivered_frames: u64,
    /// Frames lost, by cause (`ether::ledger::Drop`), zeros left out.
    pub lost_frames: BTreeMap<String, u64>,
    /// The device's own counters (`ether::ledger::Counter`) over the measurement, zeros left out.
    pub counters: BTreeMap<String, u64>,
}

impl Ledger {
    /// Adds `frames` lost for `cause`.
    pub fn lose(&mut self, cause: Drop, frames: u64) {
        if frames > 0 {
            *self.lost_frames.entry(cause.name().to_owned()).or_default() += frames;
        }
    }

    /// Frames lost, for any cause.
    pub fn lost(&self) -> u64 {
        self.lost_frames.values().sum()
    }

    /// Frames lost for `cause`.
    pub fn lost_for(&self, cause: Drop) -> u64 {
        self.lost_frames.get(cause.name()).copied().unwrap_or(0)
    }

    /// Frames lost at `layer`.
    pub fn lost_at(&self, layer: Layer) -> u64 {
        let at_layer = |cause: &Drop| cause.layer() == layer;
        Drop::ALL
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

    /// (frames sent - frames delivered) / frames sent; zero when nothing was sent.
    pub fn loss_rate(&self) -> f64 {
        let lost = self.sent_frames.saturating_sub(self.delivered_frames);
        stats::ratio(lost as f64, self.sent_frames as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds_up_or_says_what_is_missing() {
        let mut ledger = Ledger {
            sent_frames: 100,
            delivered_frames: 70,
            ..Ledger::default()
        };
        ledger.lose(Drop::Unheard, 20);
        ledger.lose(Drop::BadFcs, 4);
        ledger.lose(Drop::Unheard, 5);
        ledger.lose(Drop::QueueFull, 0);
        assert_eq!(ledger.lost(), 29);
        assert_eq!(ledger.missing_frames(), 1);
        assert_eq!(ledger.lost_at(Layer::Phy), 25);
        assert_eq!(ledger.lost_frames.len(), 2);
        assert!((ledger.loss_rate() - 0.3).abs() < 1e-12);
        ledger.delivered_frames = 72;
        assert_eq!(ledger.missing_frames(), -1);
    }
}
