//! `cargo xtask links calibrate`: the table from which `linerate explain` takes its confidence.

use super::explained::{Explained, program};
use super::label::{self, Part};
use super::tally::{Count, Outcome, name};

use anyhow::{Result, bail};
use linerate_results::record::Cause;
use linerate_results::vantage::Vantage;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The table.
const TABLE: &str = "explain/src/cause/calibration/table.rs";

/// Options of `calibrate`.
#[derive(Debug, clap::Args)]
pub struct Calibrate {
    /// Folders with the captures and labels.ndjson; only their development part is used
    #[arg(required = true)]
    folders: Vec<PathBuf>,
    /// Use this linerate
    #[arg(long, value_name = "PROGRAM")]
    linerate: Option<PathBuf>,
}

/// Transfers by cause and place of capture; several captures of a transfer are parts of it.
#[derive(Debug, Default)]
struct Rows(BTreeMap<(String, Vantage), (Cause, f64, f64)>);

impl Rows {
    fn add(&mut self, cause: Cause, vantage: Vantage, is_right: bool, weight: f64) {
        let row = self
            .0
            .entry((name(Some(cause)), vantage))
            .or_insert((cause, 0.0, 0.0));
        row.1 += if is_right { weight } else { 0.0 };
        row.2 += weight;
    }

    /// The table in Rust.
    fn source(&self) -> String {
        let mut text = "//! Written by `cargo xtask links calibrate`: right answers among labelled transfers of the \
                        development part.\n\nuse linerate_results::record::Cause;\nuse \
                        linerate_results::vantage::Vantage;\n\nuse super::Row;\n\n"
            .to_owned();
        let _ = writeln!(text, "pub(super) const TABLE: [Row; {}] = [", self.0.len());
        for ((_, vantage), (cause, right, of)) in &self.0 {
            let _ = writeln!(
                text,
                "    (Cause::{cause:?}, Vantage::{vantage:?}, {right:.2}, {of:.2}),"
            );
        }
        text + "];\n"
    }
}

/// Explains the development captures and writes the table.
///
/// # Errors
/// There are none, or one of them belongs to another part.
pub fn run(options: &Calibrate) -> Result<()> {
    let linerate = program(options.linerate.as_deref())?;
    let mut rows = Rows::default();
    for folder in &options.folders {
        add_folder(&mut rows, &linerate, folder)?;
    }
    fs::write(TABLE, rows.source())?;
    println!("{TABLE}: {} rows", rows.0.len());
    Ok(())
}

fn add_folder(rows: &mut Rows, linerate: &Path, folder: &Path) -> Result<()> {
    let labels = label::read(folder)?;
    if let Some(other) = labels.iter().find(|it| it.part != Part::Development) {
        bail!("{} is no development capture", other.file);
    }
    let mut captures: BTreeMap<(String, u64), Count> = BTreeMap::new();
    for label in &labels {
        captures
            .entry((label.case.clone(), label.seed))
            .or_default()
            .add(true);
    }
    for label in labels {
        let weight = 1.0 / captures[&(label.case.clone(), label.seed)].of as f64;
        let explained = Explained::of(linerate, &folder.join(&label.file))?;
        let vantage = explained.vantage;
        let outcome = Outcome::new(label, explained);
        if let Some(((first, is_right), vantage)) = outcome.first_answer().zip(vantage) {
            rows.add(first.cause, vantage, is_right, weight);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captures_of_a_transfer_are_parts_of_it() {
        let mut rows = Rows::default();
        for is_right in [true, true, false] {
            rows.add(Cause::Policed, Vantage::Late, is_right, 0.25);
        }
        let source = rows.source();
        assert!(source.contains("[Row; 1]"), "{source}");
        assert!(
            source.contains("    (Cause::Policed, Vantage::Late, 0.50, 0.75),\n"),
            "{source}"
        );
    }
}
