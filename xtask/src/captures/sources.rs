//! Files of Debian source packages.

use crate::sh;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files to fetch from one source package.
pub struct Source {
    /// Name of the package.
    pub package: String,
    /// Version whose captures have these digests.
    pub version: String,
    /// The files.
    pub files: Vec<Wanted>,
}

/// A file of a source package.
pub struct Wanted {
    /// Path in the sources.
    pub path: String,
    /// Its digest.
    pub sha256: String,
    /// Its place after the fetch.
    pub place: PathBuf,
}

/// Fetches the files of `sources` that are not in their places; returns the number of all files as text.
///
/// # Errors
/// A file cannot be fetched. The others are fetched all the same.
pub fn fetch_missing(sources: &[Source], log: Option<&Path>) -> Result<String> {
    let missing: Vec<&Source> = sources.iter().filter(|it| !it.is_present()).collect();
    let mut failed = Vec::new();
    if !missing.is_empty() {
        let apt = Apt::with_sources(log)?;
        for source in missing {
            if let Err(error) = source.fetch(&apt, log) {
                failed.push(format!("{}: {error:#}", source.package));
            }
        }
    }
    if !failed.is_empty() {
        bail!("captures are missing: {}", failed.join("; "));
    }
    let all: usize = sources.iter().map(|it| it.files.len()).sum();
    Ok(format!("{all} captures of {} packages", sources.len()))
}

impl Source {
    fn is_present(&self) -> bool {
        self.files.iter().all(|it| is(&it.place, &it.sha256))
    }

    fn fetch(&self, apt: &Apt, log: Option<&Path>) -> Result<()> {
        let scratch = sh::out("captures/.sources").join(&self.package);
        if scratch.exists() {
            fs::remove_dir_all(&scratch)?;
        }
        fs::create_dir_all(&scratch)?;
        let mut source = apt.command("apt-get");
        source.args(["source", "--quiet", "--tar-only", "--only-source"]);
        source.arg(&self.package).current_dir(&scratch);
        sh::run_or_log(&mut source, log).context("apt-get cannot download the sources")?;
        let mut tar = sh::cmd("tar");
        tar.args(["--extract", "--wildcards", "--file"])
            .arg(sources(&scratch)?)
            .current_dir(&scratch);
        // The name of the top folder contains the release.
        tar.args(self.files.iter().map(|it| format!("*/{}", it.path)));
        let unpacked = sh::run_or_log(&mut tar, log);
        let top = folder_in(&scratch)?;
        for Wanted {
            path,
            sha256,
            place,
        } in &self.files
        {
            let found = top.join(path);
            if !is(&found, sha256) {
                unpacked?;
                bail!("{path} differs from the one of version {}", self.version);
            }
            fs::create_dir_all(place.parent().context("a place without a folder")?)?;
            fs::rename(found, place)?;
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
