//! A file of `scenarios/causes`.
//!
//! Texts in it contain names of values in braces. Each severity has its values: a number or a text, or the
//! bounds within which each seed selects a value.

use anyhow::{Context, Result, bail};
use linerate_results::record::Cause;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use xtask::sh;

/// Folder of the files.
pub const FOLDER: &str = "scenarios/causes";

/// Severity of the fault, as each case defines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The severity with which the rules were written.
    A,
    /// The held-out severity.
    B,
}

impl Severity {
    /// Both severities.
    pub const BOTH: [Self; 2] = [Self::A, Self::B];
}

/// A cause to provoke, or a control.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Name of the file, without extension.
    #[serde(skip)]
    pub name: String,
    /// Title of one line.
    pub title: String,
    /// The cause that must be named first; `None` for a control without a fault.
    pub expected: Option<Cause>,
    /// The setup that provokes it.
    #[serde(flatten)]
    pub set_up: Setup,
    a: Values,
    b: Values,
}

type Values = BTreeMap<String, Value>;

/// A setup that provokes a cause.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Setup {
    /// Two ends on Linux, connected by a relay.
    Linux(Linux),
    /// The simulated board.
    Board(Board),
    /// A measurement of a target.
    Sweep(Sweep),
}

/// Two ends on Linux, connected by a relay.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[derive(Default)]
pub struct Linux {
    /// Impairments by the relay in both directions.
    pub both: String,
    /// Additional impairments from the sender to the receiver.
    pub forward: String,
    /// Additional impairments from the receiver to the sender.
    pub backward: String,
    /// Shell commands at the sender's end, run first.
    pub left: Vec<String>,
    /// Shell commands at the receiver's end, run first.
    pub right: Vec<String>,
    /// Arguments of `causes-end send`.
    pub send: String,
    /// Arguments of `causes-end receive`.
    pub receive: String,
    /// Arguments of `causes-end` for another program at the receiver's end, if any.
    pub beside: String,
    /// Probability with which a packet is removed from the capture.
    pub missed: String,
}

/// A measurement of an emulated device, without a capture.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Sweep {
    /// Impairments by the relay in both directions.
    pub both: String,
    /// Shell commands at the measuring end, run first.
    pub left: Vec<String>,
    /// Processing times of the device: arguments of `causes-end device`.
    pub device: String,
    /// The measurement: arguments of `linerate`, with TARGET for the device.
    pub measure: String,
    /// Duration for which the measuring program is stopped repeatedly, seconds.
    pub away: String,
}

/// A run of the simulated board.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Board {
    /// Program and variant, as in the file name: `http_get-line-rate`.
    pub firmware: String,
    /// The scenario, without name and board.
    pub scenario: String,
    /// Changed entries of the timing table.
    #[serde(default)]
    pub timing: BTreeMap<String, String>,
    /// True if the run's results are explained together with the capture.
    #[serde(default)]
    pub with_results: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Value {
    Whole(i64),
    WholeBetween([i64; 2]),
    Between([f64; 2]),
    Real(f64),
    Text(String),
}

/// A case at one severity with one seed: all values are filled in.
#[derive(Debug)]
pub struct Trial {
    /// Name of its files.
    pub name: String,
    /// Seed of the random events in it.
    pub seed: u64,
    /// Its setup.
    pub set_up: Setup,
}

/// Reads all cases, sorted by name.
///
/// # Errors
/// A file cannot be read.
pub fn all() -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for entry in fs::read_dir(sh::root().join(FOLDER))? {
        let path = entry?.path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let text = fs::read_to_string(&path)?;
        let mut case: Case =
            toml::from_str(&text).with_context(|| format!("{FOLDER}/{stem}.toml"))?;
        case.name = stem.into_owned();
        cases.push(case);
    }
    cases.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(cases)
}

impl Case {
    /// The case at this severity with this seed.
    ///
    /// # Errors
    /// A text contains an unknown value.
    pub fn trial(&self, severity: Severity, seed: u64) -> Result<Trial> {
        let (letter, values) = match severity {
            Severity::A => ("a", &self.a),
            Severity::B => ("b", &self.b),
        };
        let name = format!("{}-{letter}-{seed}", self.name);
        let fill = |text: &str| filled(text, values, &name);
        let fill_all = |texts: &[String]| texts.iter().map(|it| fill(it)).collect::<Result<_>>();
        let set_up = match &self.set_up {
            Setup::Linux(it) => Setup::Linux(Linux {
                both: fill(&it.both)?,
                forward: fill(&it.forward)?,
                backward: fill(&it.backward)?,
                left: fill_all(&it.left)?,
                right: fill_all(&it.right)?,
                send: fill(&it.send)?,
                receive: fill(&it.receive)?,
                beside: fill(&it.beside)?,
                missed: fill(&it.missed)?,
            }),
            Setup::Board(it) => Setup::Board(Board {
                firmware: it.firmware.clone(),
                scenario: fill(&it.scenario)?,
                timing: it
                    .timing
                    .iter()
                    .map(|(entry, value)| Ok((entry.clone(), fill(value)?)))
                    .collect::<Result<_>>()?,
                with_results: it.with_results,
            }),
            Setup::Sweep(it) => Setup::Sweep(Sweep {
                both: fill(&it.both)?,
                left: fill_all(&it.left)?,
                device: fill(&it.device)?,
                measure: fill(&it.measure)?,
                away: fill(&it.away)?,
            }),
        };
        let seed = random(&name);
        Ok(Trial { name, seed, set_up })
    }
}

/// Replaces the names in `text` by values; values between bounds depend on `run`.
fn filled(text: &str, values: &Values, run: &str) -> Result<String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (key, behind) = after.split_once('}').context("a brace is not closed")?;
        filled.push_str(before);
        // `{{` is a literal brace.
        if let Some(literal) = key.strip_prefix('{') {
            filled.push('{');
            filled.push_str(literal);
            filled.push('}');
            rest = behind
                .strip_prefix('}')
                .context("a double brace is not closed")?;
            continue;
        }
        let Some(value) = values.get(key) else {
            bail!("there is no value `{key}`");
        };
        filled.push_str(&value.select(&format!("{run} {key}")));
        rest = behind;
    }
    Ok(filled + rest)
}

impl Value {
    fn select(&self, key: &str) -> String {
        match self {
            Self::Whole(value) => value.to_string(),
            Self::Real(value) => value.to_string(),
            Self::Text(text) => text.clone(),
            Self::WholeBetween([least, most]) => {
                let span = most.abs_diff(*least) + 1;
                (least + (random(key) % span) as i64).to_string()
            }
            Self::Between([least, most]) => {
                let share = random(key) as f64 / u64::MAX as f64;
                format!("{:.6}", least + share * (most - least))
            }
        }
    }
}

/// A number that depends on `text` only: FNV-1a, mixed.
fn random(text: &str) -> u64 {
    let hash = text.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    });
    let mixed = (hash ^ (hash >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed ^ (mixed >> 29)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_can_be_filled_in_at_each_severity() {
        let cases = all().expect("readable");
        assert!(cases.iter().filter(|it| it.expected.is_none()).count() >= 3);
        for case in &cases {
            for severity in Severity::BOTH {
                let trial = case.trial(severity, 1);
                assert!(trial.is_ok(), "{}: {trial:?}", case.name);
            }
        }
    }

    #[test]
    fn values_are_within_their_bounds_and_differ_by_run() {
        let values = BTreeMap::from([
            ("n".to_owned(), Value::WholeBetween([3, 9])),
            ("x".to_owned(), Value::Between([0.5, 0.75])),
        ]);
        let picked: Vec<String> = (0..40)
            .map(|run| filled("{n} {x} {{y}}", &values, &format!("case-{run}")).expect("filled"))
            .collect();
        for text in &picked {
            let mut words = text.split(' ');
            let mut next = || words.next().expect("a word");
            assert!((3..=9).contains(&next().parse::<i64>().expect("whole")));
            assert!((0.5..=0.75).contains(&next().parse::<f64>().expect("real")));
            assert_eq!(next(), "{y}");
        }
        assert!(picked.iter().any(|text| *text != picked[0]));
        assert!(filled("{z}", &values, "case").is_err());
    }
}
