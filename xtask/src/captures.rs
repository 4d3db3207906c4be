//! `cargo xtask captures`: captures that others published, out of the Debian source packages that ship them.
//!
//! Which ones stands in `capture/tests/tshark/captures.toml`. They lie in `target/captures/<package>` once
//! each has the SHA-256 that it says there; the test beside that list holds their flags against tshark's.

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

/// A source package and what is taken out of it.
#[derive(Deserialize)]
struct Package {
    name: String,
    /// In which they were found.
    version: String,
    /// Where they lie in its sources.
    folder: String,
    /// SHA-256 by name.
    captures: BTreeMap<String, String>,
}

/// The command: brings what is missing, or holds the flags of the captures in the folder `compare` against
/// tshark's.
pub fn run(compare: Option<&Path>) -> Result<()> {
    if let Some(folder) = compare {
        return sh::run(&mut against_tshark(folder)?);
    }
    println!("{} in target/captures", bring(None)?);
    Ok(())
}

/// Holds the flags of the captures in `folder` against tshark's.
pub fn against_tshark(folder: &Path) -> Result<Command> {
    let folder = folder
        .canonicalize()
        .with_context(|| format!("no folder {}", folder.display()))?;
    let mut test = sh::cargo();
    test.args(["test", "--locked", "--package", "linerate-capture"])
        .args(["--test", "tshark", "captures_of_the_data_folder"])
        .args(["--", "--nocapture"])
        .env("LINERATE_DATA", folder)
        .env("LINERATE_REQUIRE_TOOLS", "1");
    Ok(test)
}

/// Brings what is missing; says how many there are.
///
/// # Errors
/// Where one of them cannot be brought. What could be is there.
pub fn bring(log: Option<&Path>) -> Result<String> {
    let table = sh::root().join("capture/tests/tshark/captures.toml");
    let table: Table = toml::from_str(&fs::read_to_string(&table)?)?;
    let missing: Vec<&Package> = table.package.iter().filter(|it| !it.is_there()).collect();
    let mut failed = Vec::new();
    if !missing.is_empty() {
        let apt = Apt::with_sources(log)?;
        for package in missing {
            if let Err(error) = package.bring(&apt, log) {
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

    fn is_there(&self) -> bool {
        let place = self.place();
        let mut captures = self.captures.iter();
        captures.all(|(name, sha256)| is(&place.join(name), sha256))
    }

    fn bring(&self, apt: &Apt, log: Option<&Path>) -> Result<()> {
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
        sh::run_or_log(&mut source, log).context("apt-get brings no sources")?;
        let mut tar = sh::cmd("tar");
        tar.args(["--extract", "--wildcards", "--file"])
            .arg(sources(&scratch)?)
            .current_dir(&scratch);
        // The folder at the top is named for the release.
        let names = self.captures.keys();
        tar.args(names.map(|name| format!("*/{}/{name}", self.folder)));
        let unpacked = sh::run_or_log(&mut tar, log);
        let top = folder_in(&scratch)?.join(&self.folder);
        for (name, sha256) in &self.captures {
            let found = top.join(name);
            if !is(&found, sha256) {
                unpacked?;
                bail!("its {name} is not that of version {}", self.version);
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

/// The archive with the sources as they were published.
fn sources(scratch: &Path) -> Result<PathBuf> {
    let is_it = |path: &PathBuf| {
        let name = path.to_string_lossy();
        name.contains(".orig.tar.") && !name.ends_with(".asc")
    };
    let mut paths = fs::read_dir(scratch)?.flatten().map(|entry| entry.path());
    paths.find(is_it).context("no sources came")
}

fn folder_in(scratch: &Path) -> Result<PathBuf> {
    let mut paths = fs::read_dir(scratch)?.flatten().map(|entry| entry.path());
    paths
        .find(|path| path.is_dir())
        .context("nothing in the sources is where it was")
}

/// apt with the sources of the packages that this machine can install, and with lists of its own.
struct Apt {
    configuration: PathBuf,
}

impl Apt {
    fn with_sources(log: Option<&Path>) -> Result<Self> {
        if !sh::has("apt-get") {
            bail!("captures come out of Debian's source packages, and apt-get is not here");
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
            .context("apt-get cannot tell which source packages there are")?;
        Ok(apt)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = sh::cmd(program);
        command.env("APT_CONFIG", &self.configuration);
        command
    }
}

/// A list of where packages are, of their sources instead: in either of apt's formats.
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
    fn lists_of_either_format_name_sources() {
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
