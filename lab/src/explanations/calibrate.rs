//! `cargo xtask explanations calibrate`: the model from which `linerate explain` takes its confidence.

use super::bands::Bands;
use super::explained::{Explained, program};
use super::label::{self, Part};
use super::logistic::{self, Prior, Row};
use super::tally::{Count, Outcome, name};

use anyhow::{Result, bail};
use linerate_results::record::Cause;
use linerate_results::vantage::Vantage;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The table.
const TABLE: &str = "explain/src/cause/calibration/table.rs";
/// No rule is certain, as in `explain/src/cause/calibration`.
const BOUNDS: (f64, f64) = (0.02, 0.98);
/// Coefficients that every answer may have; those of causes follow.
const INTERCEPT: usize = 0;
const SLOPE: usize = 1;
const LATE: usize = 2;
const BETWEEN: usize = 3;
const SEVERAL: usize = 4;
const WRITTEN_WITH: usize = 5;
const CAUSES: usize = 6;
/// What is known before any answer: a rule is right as often as it states, wherever the capture was made. The precision of
/// a cause predicts the answers of left-out cases best, of 2, 4 and 8 those within a percent of each other; the greater
/// one remembers less.
const PRIORS: [Prior; CAUSES] = [
    Prior {
        value: 0.0,
        precision: 0.01,
    },
    Prior {
        value: 1.0,
        precision: 2.0,
    },
    Prior {
        value: 0.0,
        precision: 0.3,
    },
    Prior {
        value: 0.0,
        precision: 0.3,
    },
    Prior {
        value: 0.0,
        precision: 0.3,
    },
    Prior {
        value: 0.0,
        precision: 0.3,
    },
];
const CAUSE_PRIOR: Prior = Prior {
    value: 0.0,
    precision: 8.0,
};

/// Options of `calibrate`.
#[derive(Debug, clap::Args)]
pub struct Calibrate {
    /// Folders with the captures and labels.ndjson; FOLDER=PROGRAM for those that the rules of that linerate had not been written
    /// with, which alone set the level of the confidence
    #[arg(required = true, value_name = "FOLDER[=PROGRAM]")]
    folders: Vec<String>,
    /// Also use captures of other parts than the development part: they must have been scored, and are spent
    #[arg(long)]
    scored: bool,
    /// Use this linerate
    #[arg(long, value_name = "PROGRAM")]
    linerate: Option<PathBuf>,
    /// Keep intercept and offset of captures with several paths at this sum: captures that others have published have them, and the
    /// folders have none of these
    #[arg(long, value_name = "LOGIT", allow_hyphen_values = true)]
    several: Option<f64>,
}

/// The first answer for a capture.
#[derive(Clone, Debug)]
struct Answer {
    /// Folder and case: captures that are alike.
    case: (usize, String),
    cause: Cause,
    vantage: Vantage,
    /// Confidence of the rule, and as stated.
    rule: f64,
    stated: f64,
    has_several: bool,
    /// True if the rules were written, or changed, with such captures in view.
    is_written_with: bool,
    is_right: bool,
    /// Several captures of a transfer are parts of it.
    weight: f64,
}

/// Answers as rows of the regression.
struct Design {
    causes: Vec<Cause>,
    priors: Vec<Prior>,
}

impl Design {
    fn of(answers: &[Answer]) -> Self {
        let named: BTreeMap<String, Cause> = answers
            .iter()
            .map(|it| (name(Some(it.cause)), it.cause))
            .collect();
        let causes: Vec<Cause> = named.into_values().collect();
        let of_causes = causes.iter().map(|_| CAUSE_PRIOR);
        Self {
            priors: PRIORS.into_iter().chain(of_causes).collect(),
            causes,
        }
    }

    fn features(&self, answer: &Answer) -> Vec<(usize, f64)> {
        let rule = answer.rule.clamp(BOUNDS.0, BOUNDS.1);
        let mut features = vec![(INTERCEPT, 1.0), (SLOPE, (rule / (1.0 - rule)).ln())];
        match answer.vantage {
            Vantage::Late => features.push((LATE, 1.0)),
            Vantage::Between => features.push((BETWEEN, 1.0)),
            Vantage::Sender | Vantage::Receiver | Vantage::Other => {}
        }
        if answer.has_several {
            features.push((SEVERAL, 1.0));
        }
        let cause = self.causes.iter().position(|it| *it == answer.cause);
        features.extend(cause.map(|at| (CAUSES + at, 1.0)));
        features
    }

    fn row(&self, answer: &Answer) -> Row {
        let mut features = self.features(answer);
        if answer.is_written_with {
            features.push((WRITTEN_WITH, 1.0));
        }
        Row {
            features,
            is_right: answer.is_right,
            weight: answer.weight,
        }
    }

    /// Confidence of each answer by the model of all other cases, for a capture that no rule was written with.
    fn left_out(&self, answers: &[Answer]) -> Vec<f64> {
        let rows: Vec<Row> = answers.iter().map(|it| self.row(it)).collect();
        let cases: BTreeSet<&(usize, String)> = answers.iter().map(|it| &it.case).collect();
        let mut found = vec![0.0; answers.len()];
        for case in cases {
            let is_other = |(answer, _): &(&Answer, &Row)| answer.case != *case;
            let others = answers.iter().zip(&rows).filter(is_other);
            let model = logistic::fit(&others.map(|(_, row)| row), &self.priors);
            for (at, answer) in answers
                .iter()
                .enumerate()
                .filter(|(_, it)| it.case == *case)
            {
                let probability = logistic::probability(&self.features(answer), &model);
                found[at] = probability.clamp(BOUNDS.0, BOUNDS.1);
            }
        }
        found
    }

    /// The table in Rust.
    fn source(&self, model: &[f64]) -> String {
        let mut text = "//! Written by `cargo xtask explanations calibrate`: a model of right answers among labelled captures.\n\nuse linerate_results::record::Cause;\n\nuse super::Model;\n\n\
                        pub(super) const MODEL: Model = Model {\n"
            .to_owned();
        let coefficients = [
            ("intercept", INTERCEPT),
            ("slope", SLOPE),
            ("late", LATE),
            ("between", BETWEEN),
            ("several", SEVERAL),
        ];
        for (name, at) in coefficients {
            let _ = writeln!(text, "    {name}: {:.2},", model[at]);
        }
        text += "    causes: &[\n";
        for (cause, offset) in self.causes.iter().zip(&model[CAUSES..]) {
            let _ = writeln!(text, "        (Cause::{cause:?}, {offset:.2}),");
        }
        text + "    ],\n};\n"
    }
}

/// Explains the development captures, writes the table, and prints how well it predicts cases that were left out of it.
///
/// # Errors
/// There are none, or one of them belongs to another part.
pub fn run(options: &Calibrate) -> Result<()> {
    let linerate = program(options.linerate.as_deref())?;
    let mut answers = Vec::new();
    for (number, folder) in options.folders.iter().enumerate() {
        let (folder, blind) = match folder.split_once('=') {
            Some((folder, program)) => (folder, Some(Path::new(program))),
            None => (folder.as_str(), None),
        };
        let set = Set {
            folder: Path::new(folder),
            number,
            is_written_with: blind.is_none(),
        };
        answers.extend(set.answers(blind.unwrap_or(&linerate), options.scored)?);
    }
    let design = Design::of(&answers);
    let left_out = design.left_out(&answers);
    for (set, is_written_with) in [
        ("captures that rules were changed with", true),
        ("captures that no rule had seen", false),
    ] {
        print!("{}", reliability(set, &answers, &left_out, is_written_with));
    }
    let rows: Vec<Row> = answers.iter().map(|it| design.row(it)).collect();
    let mut model = logistic::fit(&rows.iter(), &design.priors);
    if let Some(logit) = options.several {
        model[SEVERAL] = logit - model[INTERCEPT];
    }
    fs::write(TABLE, design.source(&model))?;
    println!(
        "{TABLE}: {} answers, {} causes",
        answers.len(),
        design.causes.len()
    );
    Ok(())
}

/// Share of right answers by confidence, and the mean logarithmic loss of what the rules state, of what was stated, and of
/// the model without the answer's case.
fn reliability(set: &str, answers: &[Answer], left_out: &[f64], is_written_with: bool) -> String {
    let of_set = || {
        answers
            .iter()
            .zip(left_out)
            .filter(|(it, _)| it.is_written_with == is_written_with)
    };
    let mut bands = Bands::default();
    for (answer, confidence) in of_set() {
        bands.add((confidence * 100.0).round() / 100.0, answer.is_right);
    }
    let weight: f64 = of_set().map(|(it, _)| it.weight).sum();
    let loss = |confidence: fn(&Answer, f64) -> f64| {
        let losses = of_set().map(|(it, left_out)| {
            let confidence = confidence(it, *left_out).clamp(BOUNDS.0, BOUNDS.1);
            let of_outcome = if it.is_right {
                confidence
            } else {
                1.0 - confidence
            };
            -it.weight * of_outcome.ln()
        });
        losses.sum::<f64>() / weight.max(f64::MIN_POSITIVE)
    };
    format!(
        "{set}, each case by the model of the others\n{}logarithmic loss {:.3}; as stated by this program {:.3}, by its rules \
         {:.3}\n\n",
        bands.lines(),
        loss(|_, left_out| left_out),
        loss(|it, _| it.stated),
        loss(|it, _| it.rule),
    )
}

/// Labelled captures.
struct Set<'a> {
    folder: &'a Path,
    /// Distinguishes its cases from those of others.
    number: usize,
    is_written_with: bool,
}

impl Set<'_> {
    /// The first answers of a program.
    fn answers(&self, linerate: &Path, scored: bool) -> Result<Vec<Answer>> {
        let labels = label::read(self.folder)?;
        let is_usable = |part: Part| part == Part::Development || scored;
        if let Some(other) = labels.iter().find(|it| !is_usable(it.part)) {
            bail!(
                "{} is no development capture: score its part first, then use --scored",
                other.file
            );
        }
        let mut captures: BTreeMap<(String, u64), Count> = BTreeMap::new();
        for label in &labels {
            captures
                .entry((label.case.clone(), label.seed))
                .or_default()
                .add(true);
        }
        let mut answers = Vec::new();
        for label in labels {
            let weight = 1.0 / captures[&(label.case.clone(), label.seed)].of as f64;
            let case = (self.number, label.case.clone());
            let explained = Explained::of(linerate, &self.folder.join(&label.file))?;
            let (vantage, has_several) = (explained.vantage, explained.has_several);
            let outcome = Outcome::new(label, explained);
            if let Some(((first, is_right), vantage)) = outcome.first_answer().zip(vantage) {
                answers.push(Answer {
                    case,
                    cause: first.cause,
                    vantage,
                    rule: first.rule_confidence,
                    stated: first.confidence,
                    has_several,
                    is_written_with: self.is_written_with,
                    is_right,
                    weight,
                });
            }
        }
        Ok(answers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(
        case: &str,
        cause: Cause,
        right: usize,
        of: usize,
        is_written_with: bool,
    ) -> Vec<Answer> {
        let answer = |at| Answer {
            case: (0, case.to_owned()),
            cause,
            vantage: Vantage::Sender,
            rule: 0.8,
            stated: 0.8,
            has_several: false,
            is_written_with,
            is_right: at < right,
            weight: 1.0,
        };
        (0..of).map(answer).collect()
    }

    #[test]
    fn captures_that_rules_were_written_with_do_not_raise_the_confidence() {
        let own = answers("own", Cause::Policed, 60, 60, true);
        let alone = answers("other", Cause::Policed, 30, 50, false);
        let other = answers("another", Cause::Policed, 30, 50, false);
        let all = [own, alone, other].concat();
        let design = Design::of(&all);
        let found = design.left_out(&all);
        assert!((found[100] - 0.6).abs() < 0.05, "{}", found[100]);
    }

    #[test]
    fn a_case_that_is_left_out_does_not_count() {
        let wrong = answers("wrong", Cause::Policed, 0, 20, false);
        let right = answers("right", Cause::RandomLoss, 20, 20, false);
        let all = [wrong, right].concat();
        let found = Design::of(&all).left_out(&all);
        assert!(
            found[0] > 0.8 && found[20] < 0.3,
            "{} {}",
            found[0],
            found[20]
        );
    }

    #[test]
    fn the_table_has_the_coefficients_of_each_cause() {
        let all = answers("case", Cause::Policed, 3, 4, false);
        let design = Design::of(&all);
        let source = design.source(&[0.5, 1.0, 0.0, -1.0, -0.75, 2.0, 0.25]);
        assert!(
            source.contains("    between: -1.00,\n    several: -0.75,\n"),
            "{source}"
        );
        assert!(
            source.contains("        (Cause::Policed, 0.25),\n"),
            "{source}"
        );
        assert!(!source.contains("2.00"), "{source}");
    }
}
