//! The `flood` measurement: more frames than an emulated board can receive.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Describe, Ledger, ReportRow, Setting};
use crate::format;

/// A flood of frames, and the board's remaining work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Flood {
    /// Parameters of the request.
    pub params: FloodParams,
    /// Results.
    pub metrics: FloodMetrics,
    /// Fate of the frames that reached the driver, by its counters.
    pub ledger: Ledger,
}

/// Parameters of a flood.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FloodParams {
    /// Run and conditions.
    #[serde(flatten)]
    pub setting: Setting,
    /// The board.
    pub board: String,
    /// Duration.
    pub span_ms: u64,
    /// True if the emulator's model of the controller loses frames that it does not count.
    pub may_lose_in_model: bool,
}

/// Metrics of a flood.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FloodMetrics {
    /// Frames sent, including those after the flood.
    pub sent_frames: u64,
    /// Of those, frames that the cable did not take, as the emulator had not read earlier ones.
    pub rejected_frames: u64,
    /// Of the others, those that the emulator passed to its network device.
    pub captured_frames: u64,
    /// Frames that the program counted.
    pub counted_frames: u64,
    /// Frames that are missing by the numbers of those.
    pub missing_frames: u64,
    /// The main loop before the flood, idle.
    pub idle: Rounds,
    /// Its report on the first half of the flood; left out if it did not arrive during the flood.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub during: Option<Rounds>,
    /// The report on the whole flood, or on its second half.
    pub after: Rounds,
    /// Time from the end of the flood until a frame was answered.
    pub answered_after_ns: u64,
}

/// Rounds of the firmware's main loop, as it counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rounds {
    /// Number of rounds.
    pub rounds: u64,
    /// Duration of all of them.
    pub span_us: u64,
    /// The longest time between two rounds.
    pub longest_us: u64,
    /// Maximum number of frames received between two rounds.
    #[serde(alias = "most_frames")]
    pub max_frames: u64,
}

impl Rounds {
    /// Rounds per second.
    pub fn per_s(&self) -> u64 {
        self.rounds * 1_000_000 / self.span_us.max(1)
    }
}

impl Flood {
    /// Frames passed to the emulator's network device that the ledger counts neither as received nor as lost.
    pub fn lost_in_model(&self) -> i64 {
        self.metrics.captured_frames as i64 - self.ledger.sent_frames as i64
    }

    /// Maximum number of frames, and maximum time in microseconds, between two rounds of the main loop.
    pub fn longest(&self) -> (u64, u64) {
        let rest = self.metrics.after;
        let first = self.metrics.during.unwrap_or(rest);
        (
            first.max_frames.max(rest.max_frames),
            first.longest_us.max(rest.longest_us),
        )
    }

    /// The frames lost by the driver's ledger, with their causes.
    pub fn losses(&self) -> String {
        let lost = self.ledger.lost_frames.iter();
        let lost = lost.map(|(cause, frames)| format!("{} {cause}", format::count(*frames)));
        let lost: Vec<String> = lost.collect();
        if lost.is_empty() {
            "0".to_owned()
        } else {
            lost.join(", ")
        }
    }
}

impl Describe for Flood {
    fn detail(&self) -> String {
        self.params.board.clone()
    }

    fn one_line(&self) -> String {
        let metrics = &self.metrics;
        format!(
            "flood of {} frames: {} delivered, lost by the driver {}; answers after {}",
            format::count(metrics.sent_frames),
            format::count(self.ledger.delivered_frames),
            self.losses(),
            format::time(metrics.answered_after_ns),
        )
    }

    fn failures(&self) -> Vec<String> {
        let FloodMetrics {
            sent_frames: sent,
            rejected_frames: rejected,
            captured_frames: captured,
            counted_frames: counted,
            missing_frames: missing,
            ..
        } = self.metrics;
        let (delivered, lost) = (self.ledger.delivered_frames, self.lost_in_model());
        let mut wrong = Vec::new();
        if rejected + captured != sent {
            wrong.push(format!(
                "{sent} frames were sent, but {rejected} rejected and {captured} captured"
            ));
        }
        if lost < 0 || (lost > 0 && !self.params.may_lose_in_model) {
            wrong.push(format!(
                "of {captured} frames {delivered} were delivered and lost as {}: {lost} too few",
                self.losses()
            ));
        }
        if counted != delivered || counted + missing != sent {
            wrong.push(format!(
                "{sent} frames were sent and {delivered} delivered, but the program has counted {counted} and misses \
                 {missing}"
            ));
        }
        wrong
    }

    fn row(&self) -> Option<ReportRow> {
        let passed = self.failures().is_empty();
        let words = format!("{}: {}", self.params.board, self.one_line());
        Some(ReportRow::new("flood", words, passed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_ether::ledger::DropCause;

    /// 100 frames, of which the cable rejects 60 and the driver loses 10.
    fn flood() -> Flood {
        let mut ledger = Ledger {
            sent_frames: 40,
            delivered_frames: 30,
            ..Ledger::default()
        };
        ledger.lose(DropCause::QueueFull, 10);
        Flood {
            params: FloodParams::default(),
            metrics: FloodMetrics {
                sent_frames: 100,
                rejected_frames: 60,
                captured_frames: 40,
                counted_frames: 30,
                missing_frames: 70,
                ..FloodMetrics::default()
            },
            ledger,
        }
    }

    #[test]
    fn a_frame_more_or_less_in_any_count_is_a_failure() {
        assert_eq!(flood().failures(), [""; 0]);
        let counts: [fn(&mut Flood) -> &mut u64; 6] = [
            |it| &mut it.metrics.sent_frames,
            |it| &mut it.metrics.rejected_frames,
            |it| &mut it.metrics.captured_frames,
            |it| &mut it.metrics.counted_frames,
            |it| &mut it.metrics.missing_frames,
            |it| &mut it.ledger.delivered_frames,
        ];
        for (at, count) in counts.into_iter().enumerate() {
            for more in [1, -1] {
                let mut changed = flood();
                let count = count(&mut changed);
                *count = count.saturating_add_signed(more);
                assert!(!changed.failures().is_empty(), "{at} {more}");
            }
        }
    }

    #[test]
    fn only_a_model_that_does_not_count_may_lose_frames() {
        let mut lossy = flood();
        lossy.metrics.captured_frames += 5;
        lossy.metrics.rejected_frames -= 5;
        assert_eq!(lossy.lost_in_model(), 5);
        assert!(lossy.failures()[0].contains("5 too few"));
        lossy.params.may_lose_in_model = true;
        assert_eq!(lossy.failures(), [""; 0]);
    }
}
