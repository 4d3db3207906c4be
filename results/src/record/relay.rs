//! The `relay` measurement: frames that passed an emulated link.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Describe, Ledger, ReportRow, Setting};
use crate::format;

/// Frames between two interfaces of this machine, through impairments in each direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Relay {
    /// Parameters of the request.
    pub params: RelayParams,
    /// Results.
    pub metrics: RelayMetrics,
    /// Not in the file: the fates of the frames are in the metrics, by direction.
    #[serde(skip)]
    pub ledger: Ledger,
}

/// Parameters of a relay. The seed is in the provenance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RelayParams {
    /// Run and conditions.
    #[serde(flatten)]
    pub setting: Setting,
    /// Impairments from the first end to the second, as `--forward` of `linerate relay` accepts them
    /// (`loss=1%,delay=5ms`); empty if frames are forwarded unchanged.
    pub forward: String,
    /// The same from the second end to the first.
    pub backward: String,
    /// True if the relay never slept.
    pub is_busy: bool,
}

/// Metrics of a relay: frame counters and accuracy of the times.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RelayMetrics {
    /// Duration of the run.
    pub span_ns: u64,
    /// First end to second.
    pub forward: RelayDirection,
    /// Second end to first.
    pub backward: RelayDirection,
    /// Longest time without polling for frames, because the relay was busy or not scheduled: frames
    /// that arrived meanwhile count as arrived at its end.
    pub longest_poll_gap_ns: u64,
}

/// One direction of a relay.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RelayDirection {
    /// Frame counters of the link.
    #[serde(flatten)]
    pub counts: RelayCounts,
    /// Of the sent frames: not accepted by the interface, because it was down.
    pub refused_frames: u64,
    /// Of the sent frames: sent more than 100 us after their due time.
    pub late_frames: u64,
    /// Largest lateness.
    pub max_lateness_ns: u64,
    /// Frames that the system discarded before the relay, being too slow, received them; left out if
    /// unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discarded_frames: Option<u64>,
}

/// Frame counters of one direction: the reference for a measurement through the relay. With all impairments,
/// `frames_in + duplicated_frames == frames_out + lost_frames() + held_frames`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RelayCounts {
    /// Frames received.
    pub frames_in: u64,
    /// Their octets, without FCS.
    pub octets_in: u64,
    /// Duplicates made of them.
    pub duplicated_frames: u64,
    /// Frames and duplicates sent.
    pub frames_out: u64,
    /// Their octets, without FCS.
    pub octets_out: u64,
    /// Lost by `loss`.
    pub lost_random_frames: u64,
    /// Lost by `burst_loss`.
    pub lost_burst_frames: u64,
    /// Lost by `bit_errors`.
    pub lost_bit_error_frames: u64,
    /// Lost because the queue was full.
    pub lost_queue_frames: u64,
    /// Lost because the relay's buffer limit was reached.
    pub lost_room_frames: u64,
    /// Frames with bits flipped by `corrupt`, which are forwarded.
    pub corrupted_frames: u64,
    /// Bits flipped in them.
    pub corrupted_bits: u64,
    /// Frames held back by `reorder`.
    pub held_back_frames: u64,
    /// Frames sent after one that arrived later, for any reason (reordered as in RFC 4737).
    pub reordered_frames: u64,
    /// In flight or held back at the end.
    pub held_frames: u64,
}

impl RelayCounts {
    /// Frames lost for any reason.
    #[must_use]
    pub const fn lost_frames(&self) -> u64 {
        self.lost_random_frames
            + self.lost_burst_frames
            + self.lost_bit_error_frames
            + self.lost_queue_frames
            + self.lost_room_frames
    }

    /// True if every frame has one fate.
    const fn is_balanced(&self) -> bool {
        self.frames_in + self.duplicated_frames
            == self.frames_out + self.lost_frames() + self.held_frames
    }
}

impl RelayMetrics {
    /// True if the relay applied its impairments exactly: no frame late, none discarded by the system.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        let is_exact =
            |it: &RelayDirection| it.late_frames == 0 && it.discarded_frames.unwrap_or(0) == 0;
        is_exact(&self.forward) && is_exact(&self.backward)
    }
}

impl RelayDirection {
    /// The direction `name` with these impairments, in lines.
    fn lines(&self, name: &str, impairments: &str) -> Vec<String> {
        let counts = &self.counts;
        let mut lines = vec![format!(
            "{name} ({}): {} frames received ({}), {} sent ({})",
            or_none(impairments),
            format::count(counts.frames_in),
            format::bytes(counts.octets_in),
            format::count(counts.frames_out),
            format::bytes(counts.octets_out),
        )];
        let causes = listed(&[
            (counts.lost_random_frames, "by loss"),
            (counts.lost_burst_frames, "by burst_loss"),
            (counts.lost_bit_error_frames, "by bit_errors"),
            (counts.lost_queue_frames, "queue full"),
            (counts.lost_room_frames, "buffer limit reached"),
        ]);
        let lost = format!("  lost {}", format::count(counts.lost_frames()));
        lines.push(if causes.is_empty() {
            lost
        } else {
            format!("{lost}: {causes}")
        });
        let others = listed(&[
            (counts.duplicated_frames, "duplicated"),
            (counts.reordered_frames, "reordered"),
            (counts.held_back_frames, "held back by reorder"),
            (counts.corrupted_frames, "corrupted"),
            (counts.corrupted_bits, "bits flipped"),
            (counts.held_frames, "in flight at the end"),
            (
                self.refused_frames,
                "rejected because the interface was down",
            ),
            (
                self.discarded_frames.unwrap_or(0),
                "discarded by the system",
            ),
        ]);
        if !others.is_empty() {
            lines.push(format!("  {others}"));
        }
        if self.discarded_frames.is_none() {
            let why = "because the interface was moved to another namespace";
            lines.push(format!(
                "  frames discarded by the system are unknown, {why}"
            ));
        }
        lines
    }
}

fn or_none(impairments: &str) -> &str {
    if impairments.is_empty() {
        "no impairment"
    } else {
        impairments
    }
}

/// The counts that are not 0, with their words.
fn listed(counts: &[(u64, &str)]) -> String {
    let nonzero = counts.iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = nonzero
        .map(|(count, what)| format!("{} {what}", format::count(*count)))
        .collect();
    parts.join(", ")
}

impl Relay {
    /// Both directions with the fates of their frames, in lines.
    pub fn lines(&self) -> Vec<String> {
        let (params, metrics) = (&self.params, &self.metrics);
        let mut lines = metrics.forward.lines("forward", &params.forward);
        lines.extend(metrics.backward.lines("backward", &params.backward));
        lines
    }
}

impl Describe for Relay {
    fn detail(&self) -> String {
        format!(
            "forward {}, backward {}",
            or_none(&self.params.forward),
            or_none(&self.params.backward)
        )
    }

    fn one_line(&self) -> String {
        let of = |it: &RelayDirection| {
            format!(
                "{} frames received, {} sent, {} lost",
                format::count(it.counts.frames_in),
                format::count(it.counts.frames_out),
                format::count(it.counts.lost_frames())
            )
        };
        format!(
            "forward {}; backward {}; in {}",
            of(&self.metrics.forward),
            of(&self.metrics.backward),
            format::time(self.metrics.span_ns)
        )
    }

    fn failures(&self) -> Vec<String> {
        let directions = [
            ("forward", &self.metrics.forward.counts),
            ("backward", &self.metrics.backward.counts),
        ];
        let unbalanced = directions.into_iter().filter(|(_, it)| !it.is_balanced());
        let sentence = |(name, it): (&str, &RelayCounts)| {
            format!(
                "{name}: {} frames were received and {} duplicated, but {} sent, {} lost and {} in flight",
                it.frames_in,
                it.duplicated_frames,
                it.frames_out,
                it.lost_frames(),
                it.held_frames
            )
        };
        unbalanced.map(sentence).collect()
    }

    fn row(&self) -> Option<ReportRow> {
        let lines = self.lines();
        let lines: Vec<&str> = lines.iter().map(|it| it.trim_start()).collect();
        let passed = self.failures().is_empty();
        Some(ReportRow::new("relay", lines.join("; "), passed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Measurement, Provenance, Run};

    fn relay() -> Relay {
        let counts = RelayCounts {
            frames_in: 1_000,
            octets_in: 64_000,
            duplicated_frames: 20,
            frames_out: 1_007,
            octets_out: 64_448,
            lost_random_frames: 7,
            lost_queue_frames: 4,
            held_frames: 2,
            ..RelayCounts::default()
        };
        Relay {
            params: RelayParams {
                forward: "loss=1%,duplicate=2%".to_owned(),
                ..RelayParams::default()
            },
            metrics: RelayMetrics {
                span_ns: 2_000_000_000,
                forward: RelayDirection {
                    counts,
                    discarded_frames: Some(0),
                    ..RelayDirection::default()
                },
                ..RelayMetrics::default()
            },
            ledger: Ledger::default(),
        }
    }

    #[test]
    fn a_relay_survives_the_file_and_its_row_has_the_fates_of_both_directions() {
        let mut run = Run::new("relay", String::new(), Provenance::default());
        run.results = vec![Measurement::Relay(relay())];
        assert_eq!(Run::from_json(&run.to_json()).expect("readable"), run);
        let row = relay().row().expect("a row");
        assert!(row.passed);
        for part in [
            "forward (loss=1%,duplicate=2%): 1,000 frames received (64 kB), 1,007 sent",
            "lost 11: 7 by loss, 4 queue full; 20 duplicated, 2 in flight at the end; \
             backward (no impairment): 0 frames",
            "discarded by the system are unknown",
        ] {
            assert!(row.outcome.contains(part), "{part}: {}", row.outcome);
        }
    }

    #[test]
    fn a_frame_more_or_less_in_any_count_is_a_failure() {
        assert_eq!(relay().failures(), [""; 0]);
        let counts: [fn(&mut RelayCounts) -> &mut u64; 8] = [
            |it| &mut it.frames_in,
            |it| &mut it.duplicated_frames,
            |it| &mut it.frames_out,
            |it| &mut it.lost_random_frames,
            |it| &mut it.lost_burst_frames,
            |it| &mut it.lost_bit_error_frames,
            |it| &mut it.lost_queue_frames,
            |it| &mut it.held_frames,
        ];
        for count in counts {
            let mut changed = relay();
            *count(&mut changed.metrics.forward.counts) += 1;
            let failures = changed.failures();
            assert!(failures[0].starts_with("forward: 100"), "{failures:?}");
            assert!(!changed.row().expect("a row").passed);
        }
    }

    #[test]
    fn late_and_discarded_frames_are_inexact_but_no_failure() {
        let mut late = relay();
        assert!(late.metrics.is_exact(), "what is unknown is no deviation");
        late.metrics.backward.late_frames = 1;
        assert!(!late.metrics.is_exact() && late.failures().is_empty());
        let mut discarded = relay();
        discarded.metrics.forward.discarded_frames = Some(1);
        assert!(!discarded.metrics.is_exact() && discarded.failures().is_empty());
    }
}
