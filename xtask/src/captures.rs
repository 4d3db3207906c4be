//! `cargo xtask captures`: fetches published captures from the Debian source packages that contain them.
//!
//! | list | captures | place |
//! |---|---|---|
//! | `capture/tests/tshark/captures.toml` | of unusual packets; a test compares their flags with tshark's | `target/captures/<package>` |
//! | `lab/links/published.toml`, `published-frozen.toml` | of transfers, with the causes that a reader saw | `target/captures/labelled/<package>` |
//!
//! Both lists contain the SHA-256 of each capture. A file with another digest is not used.

mod labels;
mod sources;

pub use labels::{Capture, Kind, Labels, Part, labels};

use self::sources::{Source, Wanted, fetch_missing};
use crate::sh;
use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

#[derive(Deserialize)]
struct Table {
    package: Vec<Package>,
}

/// A source package and its captures.
#[derive(Deserialize)]
struct Package {
    name: String,
    /// Version of the package with these digests.
    version: String,
    /// Folder of the captures in the sources.
    folder: String,
    /// SHA-256 by name.
    captures: BTreeMap<String, String>,
}

/// Runs the command: fetches missing captures of both lists, or compares the flags of the captures in the folder
/// `compare` with tshark's, or copies the captures with labels to the folder `copies`.
pub fn run(compare: Option<&Path>, copies: Option<&Path>) -> Result<()> {
    if let Some(folder) = compare {
        return sh::run(&mut against_tshark(folder)?);
    }
    println!("{} in target/captures", fetch(None)?);
    println!(
        "{} in target/captures/{}",
        labels::fetch(None)?,
        labels::FOLDER
    );
    if let Some(folder) = copies {
        println!("{} in {}", labels::copy(folder)?, folder.display());
    }
    Ok(())
}

/// Command that compares the flags of the captures in `folder` with tshark's.
pub fn against_tshark(folder: &Path) -> Result<Command> {
    let folder = folder
        .canonicalize()
        .with_context(|| format!("there is no folder {}", folder.display()))?;
    let mut test = sh::cargo();
    test.args(["test", "--locked", "--package", "linerate-capture"])
        .args(["--test", "tshark", "captures_of_the_data_folder"])
        .args(["--", "--nocapture"])
        .env("LINERATE_DATA", folder)
        .env("LINERATE_REQUIRE_TOOLS", "1");
    Ok(test)
}

/// Fetches missing captures for the test of the flags; returns their number as text.
///
/// # Errors
/// A capture cannot be fetched. The others are fetched all the same.
pub fn fetch(log: Option<&Path>) -> Result<String> {
    let table = sh::root().join("capture/tests/tshark/captures.toml");
    let table: Table = toml::from_str(&fs::read_to_string(&table)?)?;
    let sources: Vec<Source> = table.package.into_iter().map(Source::from).collect();
    fetch_missing(&sources, log)
}

impl From<Package> for Source {
    fn from(package: Package) -> Self {
        let place = sh::out("captures").join(&package.name);
        let files = package.captures.into_iter().map(|(name, sha256)| Wanted {
            path: format!("{}/{name}", package.folder),
            sha256,
            place: place.join(name),
        });
        Self {
            files: files.collect(),
            package: package.name,
            version: package.version,
        }
    }
}
