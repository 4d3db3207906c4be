//! A file of `scenarios/causes`.
//!
//! Texts in it name values in braces. Each value has one entry for each severity: a number or a text, or the
//! bounds between which each seed picks its own.

use anyhow::{Context, Result, bail};
use linerate_results::record::Cause;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use xtask::sh;

/// Where the files are.
pub const FOLDER: &str = "scenarios/causes";

/// How bad it is. What that means is the case's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The one with which the rules were written.
    A,
    /// The one that was put by.
    B,
}

impl Severity {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::A, Self::B];
}

/// What is brought about.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Name of the file.
    #[serde(skip)]
    pub name: String,
    /// One line for people.
    pub title: String,
    /// The cause that must be named first; none for a control with nothing wrong.
    pub expected: Option<Cause>,
    /// How it is brought about.
    #[serde(flatten)]
    pub set_up: SetUp,
    a: Values,
    b: Values,
}

type Values = BTreeMap<String, Value>;

/// How it is brought about.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SetUp {
    /// Two ends on Linux with a relay between.
    Linux(Linux),
    /// The simulated board.
    Board(Board),
    /// A measurement of a target.
    Sweep(Sweep),
}

/// Two ends on Linux.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[derive(Default)]
pub struct Linux {
    /// What the relay does in both directions.
    pub both: String,
    /// Beside that, from the sender to the receiver.
    pub forward: String,
    /// And back.
    pub backward: String,
    /// Lines of shell at the sender's end, before.
    pub left: Vec<String>,
    /// The same at the receiver's.
    pub right: Vec<String>,
    /// What the sender does: words of `talk`.
    pub send: String,
    /// What the receiver does.
    pub receive: String,
    /// What a further program at the receiver's end does meanwhile, if any.
    pub beside: String,
    /// Each packet is missing from the capture with this probability.
    pub missed: String,
}

/// A measurement of a made-up device; no capture is made of it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Sweep {
    /// What the relay does in both directions.
    pub both: String,
    /// Lines of shell at the measuring end, before.
    pub left: Vec<String>,
    /// What a frame costs the device: words of `device`.
    pub device: String,
    /// The measurement: words of `linerate`, with TARGET for the device.
    pub measure: String,
    /// The measuring program stands still for so many seconds, again and again.
    pub away: String,
}

/// A run of the simulated board.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Board {
    /// Programs and variants that it takes, as file names have them: `http_get-line-rate`.
    pub firmware: String,
    /// What its transfers ask for (`LINERATE_SIZES`).
    pub sizes: String,
    /// The scenario, without name and board.
    pub scenario: String,
    /// Entries of the timing table that differ.
    #[serde(default)]
    pub timing: BTreeMap<String, String>,
    /// Whether the run's results are read along with the capture.
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

/// A case at one severity with one seed: no values are left to be filled in.
#[derive(Debug)]
pub struct Made {
    /// Of its files.
    pub name: String,
    /// Of what is random where it is brought about.
    pub seed: u64,
    /// How.
    pub set_up: SetUp,
}

/// Every case, by name.
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
    /// It at this severity with this seed.
    ///
    /// # Errors
    /// A text names a value that is not there.
    pub fn made(&self, severity: Severity, seed: u64) -> Result<Made> {
        let (letter, values) = match severity {
            Severity::A => ("a", &self.a),
            Severity::B => ("b", &self.b),
        };
        let name = format!("{}-{letter}-{seed}", self.name);
        let fill = |text: &str| filled(text, values, &name);
        let fill_all = |texts: &[String]| texts.iter().map(|it| fill(it)).collect::<Result<_>>();
        let set_up = match &self.set_up {
            SetUp::Linux(it) => SetUp::Linux(Linux {
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
            SetUp::Board(it) => SetUp::Board(Board {
                firmware: it.firmware.clone(),
                sizes: it.sizes.clone(),
                scenario: fill(&it.scenario)?,
                timing: it
                    .timing
                    .iter()
                    .map(|(entry, value)| Ok((entry.clone(), fill(value)?)))
                    .collect::<Result<_>>()?,
                with_results: it.with_results,
            }),
            SetUp::Sweep(it) => SetUp::Sweep(Sweep {
                both: fill(&it.both)?,
                left: fill_all(&it.left)?,
                device: fill(&it.device)?,
                measure: fill(&it.measure)?,
                away: fill(&it.away)?,
            }),
        };
        let seed = random(&name);
        Ok(Made { name, seed, set_up })
    }
}

/// `text` with each value in its place, those between bounds as `run` has them.
fn filled(text: &str, values: &Values, run: &str) -> Result<String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (key, behind) = after.split_once('}').context("a brace is open")?;
        filled.push_str(before);
        // `{{` is a brace.
        if let Some(literal) = key.strip_prefix('{') {
            filled.push('{');
            filled.push_str(literal);
            filled.push('}');
            rest = behind.strip_prefix('}').context("a double brace is open")?;
            continue;
        }
        let Some(value) = values.get(key) else {
            bail!("there is no value `{key}`");
        };
        filled.push_str(&value.of(&format!("{run} {key}")));
        rest = behind;
    }
    Ok(filled + rest)
}

impl Value {
    fn of(&self, which: &str) -> String {
        match self {
            Self::Whole(value) => value.to_string(),
            Self::Real(value) => value.to_string(),
            Self::Text(text) => text.clone(),
            Self::WholeBetween([least, most]) => {
                let span = most.abs_diff(*least) + 1;
                (least + (random(which) % span) as i64).to_string()
            }
            Self::Between([least, most]) => {
                let share = random(which) as f64 / u64::MAX as f64;
                format!("{:.6}", least + share * (most - least))
            }
        }
    }
}

/// A number that follows from `text` alone: FNV-1a, mixed.
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
    fn every_case_can_be_made_at_each_severity() {
        let cases = all().expect("readable");
        assert!(cases.iter().filter(|it| it.expected.is_none()).count() >= 3);
        for case in &cases {
            for severity in Severity::BOTH {
                let made = case.made(severity, 1);
                assert!(made.is_ok(), "{}: {made:?}", case.name);
            }
        }
    }

    #[test]
    fn values_lie_between_their_bounds_and_differ_by_run() {
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
