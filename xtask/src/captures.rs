//! `cargo xtask captures`: fetches published captures from the Debian source packages that contain them.
//!
//! `capture/tests/tshark/captures.toml` lists them with their SHA-256. Captures with the right digest are moved to
//! `target/captures/<package>`; the test next to that list compares their flags with tshark's.

use crate::sh;
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
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

/// Runs the command: fetches missing captures, or compares the flags of the captures in the folder `compare`
/// with tshark's.
pub fn run(compare: Option<&Path>) -> Result<()> {
    if let Some(folder) = compare {
        return sh::run(&mut against_tshark(folder)?);
    }
    println!("{} in target/captures", fetch(None)?);
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

/// Fetches missing captures; returns their number as text.
///
/// # Errors
/// A capture cannot be fetched. The others are fetched all the same.
pub fn fetch(log: Option<&Path>) -> Result<String> {
    let table = sh::root().join("capture/tests/tshark/captures.toml");
    let table: Table = toml::from_str(&fs::read_to_string(&table)?)?;
    let missing: Vec<&Package> = table.package.iter().filter(|it| !it.is_present()).collect();
    let mut failed = Vec::new();
    if !missing.is_empty() {
        let apt = Apt::with_sources(log)?;
        for package in missing {
            if let Err(error) = package.fetch(&apt, log) {
                failed.push(format!("{}: {error:#}", package.name));
            }
        }
    }
    if !failed.is_empty() {
        bail!("captures are missing: {}", failed.join("; "));
    }
    let all: usize = table.package.iter().map(|it| it.captures.len()).sum();
    Ok(format!(
        "{all} captures of {} packages",
        table.package.len()
    ))
}

impl Package {
    fn place(&self) -> PathBuf {
        sh::out("captures").join(&self.name)
    }

    fn is_present(&self) -> bool {
        let place = self.place();
        let mut captures = self.captures.iter();
        captures.all(|(name, sha256)| is(&place.join(name), sha256))
    }

    fn fetch(&self, apt: &Apt, log: Option<&Path>) -> Result<()> {
        let scratch = sh::out("captures/.sources").join(&self.name);
        let place = self.place();
        for folder in [&scratch, &place] {
            if folder.exists() {
                fs::remove_dir_all(folder)?;
            }
            fs::create_dir_all(folder)?;
        }
        let mut source = apt.command("apt-get");
        source.args(["source", "--quiet", "--tar-only", "--only-source"]);
        source.arg(&self.name).current_dir(&scratch);
        sh::run_or_log(&mut source, log).context("apt-get cannot download the sources")?;
        let mut tar = sh::cmd("tar");
        tar.args(["--extract", "--wildcards", "--file"])
            .arg(sources(&scratch)?)
            .current_dir(&scratch);
        // The name of the top folder contains the release.
        let names = self.captures.keys();
        tar.args(names.map(|name| format!("*/{}/{name}", self.folder)));
        let unpacked = sh::run_or_log(&mut tar, log);
        let top = folder_in(&scratch)?.join(&self.folder);
        for (name, sha256) in &self.captures {
            let found = top.join(name);
            if !is(&found, sha256) {
                unpacked?;
                bail!("{name} differs from the one of version {}", self.version);
            }
            fs::rename(found, place.join(name))?;
        }
        fs::remove_dir_all(&scratch)?;
        Ok(())
    }
}

fn is(file: &Path, sha256: &str) -> bool {
    sh::sha256(file).is_ok_and(|found| found == sha256)
}

/// The archive with the upstream sources.
fn sources(scratch: &Path) -> Result<PathBuf> {
    let is_it = |path: &PathBuf| {
        let name = path.to_string_lossy();
        name.contains(".orig.tar.") && !name.ends_with(".asc")
    };
    let mut paths = fs::read_dir(scratch)?.flatten().map(|entry| entry.path());
    paths.find(is_it).context("apt-get downloaded no sources")
}

fn folder_in(scratch: &Path) -> Result<PathBuf> {
    let mut paths = fs::read_dir(scratch)?.flatten().map(|entry| entry.path());
    paths
        .find(|path| path.is_dir())
        .context("the sources have no folder with the captures")
}

/// apt with the source packages of this machine's package lists, and its own state.
struct Apt {
    configuration: PathBuf,
}

impl Apt {
    fn with_sources(log: Option<&Path>) -> Result<Self> {
        if !sh::has("apt-get") {
            bail!("captures are fetched from Debian source packages, which needs apt-get");
        }
        let folder = sh::out("captures/.apt");
        let parts = folder.join("parts");
        for folder in [&parts, &folder.join("lists/partial")] {
            fs::create_dir_all(folder)?;
        }
        let machine = Path::new("/etc/apt");
        let mut lists = vec![machine.join("sources.list")];
        let more = fs::read_dir(machine.join("sources.list.d"));
        lists.extend(more.into_iter().flatten().flatten().map(|it| it.path()));
        for (number, list) in lists.iter().filter(|list| list.is_file()).enumerate() {
            let kind = list.extension().unwrap_or_default().to_string_lossy();
            if kind == "list" || kind == "sources" {
                let text = of_sources(&fs::read_to_string(list)?);
                fs::write(parts.join(format!("{number}.{kind}")), text)?;
            }
        }
        let folder = folder.display();
        let configuration = sh::out("captures/.apt/conf");
        let text = format!(
            "Dir::Etc::sourcelist \"/dev/null\";\nDir::Etc::sourceparts \"{folder}/parts\";\n\
             Dir::State::lists \"{folder}/lists\";\nDir::Cache \"{folder}\";\n"
        );
        fs::write(&configuration, text)?;
        let apt = Self { configuration };
        let mut update = apt.command("apt-get");
        sh::run_or_log(update.args(["update", "--quiet"]), log)
            .context("apt-get cannot list the source packages")?;
        Ok(apt)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = sh::cmd(program);
        command.env("APT_CONFIG", &self.configuration);
        command
    }
}

/// Converts a list of package repositories, in either of apt's formats, to one of source packages.
fn of_sources(list: &str) -> String {
    let lines = list.lines().map(|line| {
        if line.starts_with("Types:") {
            "Types: deb-src".to_owned()
        } else if line.starts_with("deb ") || line.starts_with("deb\t") {
            format!("deb-src{}", &line["deb".len()..])
        } else if line.starts_with("deb-src") {
            String::new()
        } else {
            line.to_owned()
        }
    });
    lines.map(|line| line + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::of_sources;

    #[test]
    fn lists_of_both_formats_are_converted_to_source_packages() {
        let one_line =
            "# ours\ndeb [arch=amd64] https://mirror a main\ndeb-src https://mirror a main\n";
        assert_eq!(
            of_sources(one_line),
            "# ours\ndeb-src [arch=amd64] https://mirror a main\n\n"
        );
        let fields = "Types: deb deb-src\nURIs: https://mirror\nSuites: a\n";
        assert_eq!(
            of_sources(fields),
            "Types: deb-src\nURIs: https://mirror\nSuites: a\n"
        );
    }
}
