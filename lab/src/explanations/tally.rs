//! How often the right cause came first, by part, kind of capture and cause.

use super::bands::Bands;
use super::explained::Explained;
use super::label::{Answer, Label};
use linerate_results::record::Cause;
use serde::Serialize;
use std::collections::BTreeMap;

/// A predicted gain is right within this factor of the measured one.
const GAIN_FACTOR: f64 = 1.5;

/// A cause that was named, with the predicted gain.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    pub cause: Cause,
    pub confidence: f64,
    /// Confidence of its rule, before calibration.
    pub rule_confidence: f64,
    /// How many times faster it would be without the cause.
    pub gain: Option<f64>,
}

/// From this confidence on, an answer counts where nobody knows the right one.
const CONFIDENT: f64 = 0.8;

/// A labelled capture and what was named for it.
#[derive(Debug)]
pub struct Outcome {
    label: Label,
    named: Vec<Named>,
    contradictions: Vec<String>,
}

impl Outcome {
    pub fn new(label: Label, explained: Explained) -> Self {
        Self {
            label,
            named: explained.named,
            contradictions: explained.contradictions,
        }
    }

    pub fn file(&self) -> &str {
        &self.label.file
    }

    /// Sentences of the answer that contradict a figure beside them.
    pub fn contradictions(&self) -> &[String] {
        &self.contradictions
    }

    pub fn set(&self) -> String {
        self.label.set()
    }

    pub fn case(&self) -> &str {
        &self.label.case
    }

    pub fn is_control(&self) -> bool {
        self.label.control
    }

    pub fn is_undecided(&self) -> bool {
        self.label.expected == Answer::Unknown
    }

    /// `sender`, `receiver`, `late` or `snapped`; `middle` for published captures.
    pub fn kind(&self) -> &str {
        let kind = &self.label.kind;
        kind.split_once('-').map_or(kind.as_str(), |(how, _)| how)
    }

    pub fn expected(&self) -> Option<Cause> {
        self.label.expected.causes().first().copied()
    }

    pub fn first(&self) -> Option<Cause> {
        self.named.first().map(|it| it.cause)
    }

    /// The first that was named on a control although it is a fault. The limit of a healthy transfer is none.
    pub fn false_alarm(&self) -> Option<Cause> {
        let is_limit = |it: &Named| matches!(it.cause, Cause::PathRate | Cause::AtLineRate);
        self.named
            .iter()
            .find(|it| !is_limit(it))
            .map(|it| it.cause)
    }

    /// The first answer with its confidence, and true if it is right. `None` if there is none, if nobody knows the right
    /// one, or if a control was given the limit of a healthy transfer.
    pub fn first_answer(&self) -> Option<(Named, bool)> {
        let first = *self.named.first()?;
        let is_open =
            self.is_undecided() || self.is_control() && self.false_alarm() != Some(first.cause);
        (!is_open).then(|| (first, self.label.expected.causes().contains(&first.cause)))
    }

    /// True if the right cause was named first; for a control, if none was named; where nobody knows it, if none was named
    /// with confidence; where a reader may find nothing wrong, also if none was named.
    pub fn is_right(&self) -> bool {
        self.is_right_in(1)
    }

    /// True if the right cause was among the first that were named; for a control, if none was named.
    pub fn is_right_in(&self, first: usize) -> bool {
        if self.is_control() {
            return self.false_alarm().is_none();
        }
        if self.is_undecided() {
            return self.named.iter().all(|it| it.confidence < CONFIDENT);
        }
        if self.label.or_none && self.false_alarm().is_none() {
            return true;
        }
        let mut named = self.named.iter().take(first);
        named.any(|it| self.label.expected.causes().contains(&it.cause))
    }

    /// The predicted gain of the right cause compared with the measured one.
    fn gain(&self) -> Gain {
        let Some(measured) = self.label.truth.gain() else {
            return Gain::Unknown;
        };
        let mut named = self.named.iter();
        match named.find(|it| self.label.expected.causes().contains(&it.cause)) {
            None => Gain::Unknown,
            Some(Named { gain: None, .. }) => Gain::NotGiven,
            Some(Named {
                gain: Some(gain), ..
            }) => Gain::Ratio(gain / measured),
        }
    }
}

/// A predicted gain compared with the measured one.
#[derive(Clone, Copy, Debug)]
enum Gain {
    /// It was not measured, or the right cause was not named.
    Unknown,
    /// The right cause was named without a prediction.
    NotGiven,
    /// Predicted over measured.
    Ratio(f64),
}

/// How many of how many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    pub right: usize,
    pub of: usize,
}

impl Count {
    pub fn add(&mut self, right: bool) {
        self.right += usize::from(right);
        self.of += 1;
    }

    /// Per cent; 100 of none.
    pub fn percent(self) -> f64 {
        if self.of == 0 {
            100.0
        } else {
            100.0 * self.right as f64 / self.of as f64
        }
    }
}

/// Predicted gains compared with measured ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Gains {
    /// Within the factor of the measured gain.
    pub right: usize,
    pub of: usize,
    /// The cause was right, without a prediction.
    pub not_given: usize,
    /// The greatest factor by which a gain was overestimated.
    pub worst_overestimate: f64,
}

/// How often a cause was right when it came first, and how often it came first when it was right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OfCause {
    pub precision: Count,
    pub recall: Count,
}

/// The scores of a part. Except for the controls, only captures with a cause count.
#[derive(Debug, Default, Serialize)]
pub struct Tally {
    pub first: Count,
    pub first_two: Count,
    pub controls_clean: Count,
    /// Captures of which nobody knows the cause: none was named with confidence.
    pub undecided: Count,
    pub kinds: BTreeMap<String, Count>,
    pub controls_by_kind: BTreeMap<String, Count>,
    pub causes: BTreeMap<String, OfCause>,
    pub gains: Gains,
    /// First answers by confidence.
    pub confidence: Bands,
}

impl Tally {
    pub fn of(outcomes: &[&Outcome]) -> Self {
        let mut tally = Self::default();
        for outcome in outcomes {
            tally.add(outcome);
        }
        tally
    }

    fn add(&mut self, outcome: &Outcome) {
        let right = outcome.is_right();
        if outcome.is_undecided() {
            self.undecided.add(right);
            return;
        }
        if let Some((first, is_right)) = outcome.first_answer() {
            self.confidence.add(first.confidence, is_right);
        }
        let kind = outcome.kind().to_owned();
        if outcome.is_control() {
            self.controls_clean.add(right);
            self.controls_by_kind.entry(kind).or_default().add(right);
            if let Some(cause) = outcome.false_alarm() {
                self.cause(cause).precision.add(false);
            }
            return;
        }
        self.first.add(right);
        self.first_two.add(outcome.is_right_in(2));
        self.kinds.entry(kind).or_default().add(right);
        if let Some(cause) = outcome.first() {
            self.cause(cause).precision.add(right);
        }
        if let Some(cause) = outcome.expected() {
            self.cause(cause).recall.add(right);
        }
        match outcome.gain() {
            Gain::Ratio(ratio) => {
                let is_near = (1.0 / GAIN_FACTOR..=GAIN_FACTOR).contains(&ratio);
                self.gains.right += usize::from(is_near);
                self.gains.of += 1;
                self.gains.worst_overestimate = self.gains.worst_overestimate.max(ratio);
            }
            Gain::NotGiven => self.gains.not_given += 1,
            Gain::Unknown => {}
        }
    }

    fn cause(&mut self, cause: Cause) -> &mut OfCause {
        self.causes.entry(name(Some(cause))).or_default()
    }
}

/// Name of a cause as in results.
pub fn name(cause: Option<Cause>) -> String {
    let text = cause.and_then(|it| serde_json::to_value(it).ok());
    let text = text.as_ref().and_then(serde_json::Value::as_str);
    text.unwrap_or("none").to_owned()
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::explanations::label::{Part, Truth};

    /// An outcome of the case `case`.
    pub fn outcome(kind: &str, expected: &[Cause], named: &[Cause]) -> Outcome {
        let named = named.iter().map(|&cause| Named {
            cause,
            confidence: 0.7,
            rule_confidence: 0.7,
            gain: None,
        });
        let label = Label {
            file: "case-1-sender.pcap".to_owned(),
            case: "case".to_owned(),
            part: Part::Frozen,
            kind: kind.to_owned(),
            seed: 1,
            expected: Answer::Causes(expected.to_vec()),
            or_none: false,
            control: expected.is_empty(),
            truth: Truth::default(),
            path: None,
        };
        let explained = Explained {
            named: named.collect(),
            ..Explained::default()
        };
        Outcome::new(label, explained)
    }

    fn tally(outcomes: &[Outcome]) -> Tally {
        Tally::of(&outcomes.iter().collect::<Vec<_>>())
    }

    fn count(right: usize, of: usize) -> Count {
        Count { right, of }
    }

    #[test]
    fn any_expected_cause_may_come_first_or_second() {
        let expected = [Cause::RandomLoss, Cause::NoSack];
        let sums = tally(&[
            outcome("sender", &expected, &[Cause::NoSack, Cause::Paused]),
            outcome(
                "late-sender",
                &expected,
                &[Cause::Paused, Cause::RandomLoss],
            ),
            outcome("snapped-receiver", &expected, &[Cause::Paused]),
            outcome("receiver", &expected, &[]),
        ]);
        assert_eq!((sums.first, sums.first_two), (count(1, 4), count(2, 4)));
        assert_eq!(sums.kinds["late"], count(0, 1));
        assert_eq!(sums.kinds["sender"], count(1, 1));
        assert_eq!(sums.controls_clean, count(0, 0));
    }

    #[test]
    fn the_limit_of_a_healthy_transfer_is_no_false_alarm() {
        let sums = tally(&[
            outcome("sender", &[], &[Cause::PathRate, Cause::AtLineRate]),
            outcome("sender", &[], &[]),
            outcome("sender", &[], &[Cause::AtLineRate, Cause::Bufferbloat]),
        ]);
        assert_eq!(sums.controls_clean, count(2, 3));
        assert_eq!(sums.first, count(0, 0));
        assert_eq!(sums.causes["bufferbloat"].precision, count(0, 1));
    }

    #[test]
    fn where_nobody_knows_the_cause_only_confident_answers_are_wrong() {
        let undecided = |confidence| {
            let mut it = outcome("sender", &[], &[Cause::Policed]);
            it.label.expected = Answer::Unknown;
            it.label.control = false;
            it.named[0].confidence = confidence;
            it
        };
        let sums = tally(&[undecided(0.79), undecided(0.8)]);
        assert_eq!((sums.undecided, sums.first), (count(1, 2), count(0, 0)));
        assert_eq!(sums.confidence, Bands::default());
    }

    #[test]
    fn where_a_reader_may_find_nothing_wrong_no_cause_is_right_too() {
        let named = |causes| {
            let mut it = outcome("receiver", &[Cause::HostPacing], causes);
            it.label.or_none = true;
            it
        };
        let sums = tally(&[
            named(&[]),
            named(&[Cause::PathRate]),
            named(&[Cause::HostPacing]),
            named(&[Cause::Policed]),
        ]);
        assert_eq!(sums.first, count(3, 4));
    }

    #[test]
    fn precision_counts_what_was_named_and_recall_what_was_there() {
        let sums = tally(&[
            outcome("sender", &[Cause::Policed], &[Cause::Policed]),
            outcome("sender", &[Cause::Policed], &[Cause::RandomLoss]),
            outcome("sender", &[Cause::RandomLoss], &[Cause::RandomLoss]),
        ]);
        let [policed, random] = ["policed", "random-loss"].map(|it| sums.causes[it]);
        assert_eq!(
            (policed.precision, policed.recall),
            (count(1, 1), count(1, 2))
        );
        assert_eq!(
            (random.precision, random.recall),
            (count(1, 2), count(1, 1))
        );
    }

    #[test]
    fn gains_are_compared_with_the_run_without_the_cause() {
        let with_gain = |gain| {
            let mut it = outcome("sender", &[Cause::Policed], &[Cause::Policed]);
            it.named[0].gain = gain;
            it.label.truth = Truth {
                goodput_bits_per_s: Some(2e6),
                without_bits_per_s: Some(8e6),
            };
            it
        };
        let gains = [Some(4.0), Some(2.7), Some(2.6), Some(12.0), None].map(with_gain);
        let sums = tally(&gains).gains;
        assert_eq!((sums.right, sums.of, sums.not_given), (2, 4, 1));
        assert!((sums.worst_overestimate - 3.0).abs() < 1e-9);
    }
}
