//! Published captures of transfers, each with the causes that a reader of its packets saw.
//!
//! The labels rest on tshark's output alone. Rules are developed with `published.toml`; `published-frozen.toml` is only
//! for their score. The first digit of a capture's SHA-256 decides the list.

use super::sources::{Source, Wanted, fetch_missing};
use crate::sh;
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Folder of these captures in `target/captures`.
pub(super) const FOLDER: &str = "labelled";
/// Label of a capture without a fault.
const CONTROL: &str = "control";

/// A list of captures with labels.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Labels {
    /// Source packages of the captures.
    pub package: Vec<Package>,
}

/// A source package and its captures.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Package {
    /// Name of the source package.
    pub name: String,
    /// Version in which the captures were read.
    pub version: String,
    /// Its captures.
    pub capture: Vec<Capture>,
}

/// A capture and its label.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// Path in the sources.
    pub path: String,
    /// SHA-256 of the file.
    pub sha256: String,
    /// Place and extent of the capture.
    pub kind: Kind,
    /// Causes, the first one first; or only `control`: nothing to blame; or only `unknown`: the capture does not
    /// decide it.
    pub expected: Vec<String>,
    /// Figures and packets from which the label follows.
    pub reason: String,
}

/// Place and extent of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// At the sender of most payload.
    Sender,
    /// At the receiver of most payload.
    Receiver,
    /// Between the ends, or the round trips do not show where.
    Middle,
    /// Begins within the connections.
    Late,
    /// Frames are cut by the snap length.
    Snapped,
}

/// A part of the captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// Rules may be developed with these labels.
    Development,
    /// These labels are only for the score.
    Frozen,
}

impl Part {
    /// All parts.
    pub const ALL: [Self; 2] = [Self::Development, Self::Frozen];

    /// Part of the capture with this digest.
    #[must_use]
    pub fn of(sha256: &str) -> Self {
        if sha256.starts_with(|digit: char| digit < '8') {
            Self::Development
        } else {
            Self::Frozen
        }
    }

    fn list(self) -> &'static str {
        match self {
            Self::Development => "published.toml",
            Self::Frozen => "published-frozen.toml",
        }
    }

    fn folder(self) -> &'static str {
        match self {
            Self::Development => "dev",
            Self::Frozen => "frozen",
        }
    }
}

/// Line of `labels.ndjson`.
#[derive(Serialize)]
struct Line<'a> {
    file: &'a str,
    case: String,
    seed: u64,
    part: Part,
    kind: Kind,
    expected: &'a [String],
    control: bool,
    reason: &'a str,
    /// Published captures come without figures of the link.
    truth: serde_json::Map<String, serde_json::Value>,
}

/// Reads the labels of a part.
///
/// # Errors
/// The list is missing or malformed.
pub fn labels(part: Part) -> Result<Labels> {
    let list = sh::root().join("lab/links").join(part.list());
    let text = fs::read_to_string(&list).with_context(|| format!("no {}", list.display()))?;
    toml::from_str(&text).with_context(|| format!("{} is malformed", list.display()))
}

/// Fetches missing captures; returns their number as text.
pub(super) fn fetch(log: Option<&Path>) -> Result<String> {
    let mut sources: Vec<Source> = Vec::new();
    for part in Part::ALL {
        for package in labels(part)?.package {
            let files = package.capture.iter().map(|it| Wanted {
                path: it.path.clone(),
                sha256: it.sha256.clone(),
                place: place(&package.name, &it.path),
            });
            match sources.iter_mut().find(|it| it.package == package.name) {
                Some(source) => source.files.extend(files),
                None => sources.push(Source {
                    files: files.collect(),
                    package: package.name,
                    version: package.version,
                }),
            }
        }
    }
    fetch_missing(&sources, log)
}

/// Copies the captures to `folder`, each part to its own folder with its `labels.ndjson`; returns their numbers as
/// text.
pub(super) fn copy(folder: &Path) -> Result<String> {
    let mut numbers = Vec::new();
    for part in Part::ALL {
        let folder = folder.join(part.folder());
        fs::create_dir_all(&folder)?;
        let mut lines = String::new();
        let mut names = BTreeSet::new();
        for package in labels(part)?.package {
            for capture in &package.capture {
                let name = name(&package.name, &capture.path);
                fs::copy(place(&package.name, &capture.path), folder.join(&name))?;
                writeln!(lines, "{}", capture.line(part, &name)?)?;
                if !names.insert(name) {
                    bail!("two captures have the name of {}", capture.path);
                }
            }
        }
        fs::write(folder.join("labels.ndjson"), lines)?;
        numbers.push(format!("{} {}", names.len(), part.folder()));
    }
    Ok(numbers.join(" and "))
}

impl Capture {
    fn line(&self, part: Part, file: &str) -> Result<String> {
        let control = self.expected == [CONTROL];
        Ok(serde_json::to_string(&Line {
            file,
            case: file.split('.').next().unwrap_or(file).to_owned(),
            seed: 0,
            part,
            kind: self.kind,
            expected: if control { &[] } else { &self.expected },
            control,
            reason: &self.reason,
            truth: serde_json::Map::new(),
        })?)
    }
}

fn place(package: &str, path: &str) -> PathBuf {
    sh::out("captures").join(FOLDER).join(package).join(path)
}

/// Name of the copy of a capture.
fn name(package: &str, path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or(path);
    format!("{package}-{file}")
}

#[cfg(test)]
mod tests {
    use super::{Part, labels, name};
    use std::collections::BTreeSet;

    #[test]
    fn every_capture_is_listed_once_and_in_its_part() {
        let mut names = BTreeSet::new();
        for part in Part::ALL {
            for package in labels(part).expect("a list").package {
                for capture in package.capture {
                    assert_eq!(Part::of(&capture.sha256), part, "{}", capture.path);
                    assert!(
                        names.insert(name(&package.name, &capture.path)),
                        "{} is listed twice",
                        capture.path
                    );
                }
            }
        }
    }

    #[test]
    fn every_label_has_a_reason_with_figures() {
        for part in Part::ALL {
            for capture in labels(part)
                .expect("a list")
                .package
                .iter()
                .flat_map(|it| &it.capture)
            {
                assert!(!capture.expected.is_empty(), "{}", capture.path);
                let figures = capture.reason.chars().filter(char::is_ascii_digit);
                assert!(figures.count() >= 2, "{}: {}", capture.path, capture.reason);
            }
        }
    }
}
