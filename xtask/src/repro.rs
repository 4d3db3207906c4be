//! `cargo xtask repro`: checks that two clones in different folders, with different `CARGO_HOME`s, build identical
//! firmware and record identical wire events, and that another seed gives another trace.

use crate::steps::Outcome;
use crate::{board, sh};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Clones and `CARGO_HOME`s, at paths of different depth and length, so that a path in an ELF changes it.
const PLACES: [(&str, &str); 2] = [("a", "home-a"), ("rather/deeper/clone-b", "other/home-b")];
/// The programs that are built.
const PROGRAMS: [&str; 2] = ["http_get", "ping"];
const VARIANT: &str = "line-rate";

/// Output of a clone.
#[derive(PartialEq)]
struct Made {
    elfs: Vec<String>,
    trace: String,
}

/// Runs the command.
///
/// # Errors
/// A build fails, the clones differ, or another seed gives the same trace.
pub fn run(log: Option<&Path>) -> Result<Outcome> {
    let base = sh::out("repro");
    if base.exists() {
        fs::remove_dir_all(&base)?;
    }
    let commit = sh::read(sh::cmd("git").args(["rev-parse", "HEAD"]))?;
    let mut made = Vec::new();
    let mut other_seed = String::new();
    for (clone, home) in PLACES {
        let clone = Clone::make(&base.join(clone), &base.join(home), commit.trim())?;
        let this = Made {
            elfs: clone.firmware(log)?,
            trace: clone.trace(1, log)?,
        };
        println!("{}\n  trace {}", this.elfs.join("\n"), this.trace);
        if made.is_empty() {
            other_seed = clone.trace(2, log)?;
        }
        made.push(this);
    }
    if made[0] != made[1] {
        bail!("the two clones differ");
    }
    if made[0].trace == other_seed {
        bail!("seed 2 gives the trace of seed 1");
    }
    Ok(Outcome::Done(
        "equal ELFs and traces; another seed, another trace".into(),
    ))
}

struct Clone {
    dir: PathBuf,
    home: PathBuf,
}

impl Clone {
    /// Clones one commit of the checkout, with an empty `CARGO_HOME`.
    fn make(dir: &Path, home: &Path, commit: &str) -> Result<Self> {
        fs::create_dir_all(home)?;
        let mut git = sh::cmd("git");
        git.args(["clone", "--quiet", "--local"]);
        sh::run(git.arg(sh::root()).arg(dir))?;
        let mut git = sh::cmd("git");
        sh::run(git.arg("-C").arg(dir).args(["checkout", "--quiet", commit]))?;
        // The configuration of the user's CARGO_HOME may name a mirror that the build needs.
        let own = std::env::var_os("CARGO_HOME")
            .map(PathBuf::from)
            .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
        let config = own.map(|own| own.join("config.toml"));
        if let Some(config) = config.filter(|c| c.is_file()) {
            fs::copy(config, home.join("config.toml"))
                .context("cannot copy cargo's configuration")?;
        }
        Ok(Self {
            dir: dir.to_path_buf(),
            home: home.to_path_buf(),
        })
    }

    fn cargo(&self) -> Command {
        let mut cargo = sh::cargo();
        cargo
            .current_dir(&self.dir)
            .env("CARGO_HOME", &self.home)
            .env_remove("CARGO_TARGET_DIR");
        cargo
    }

    /// Builds the firmware; returns hash and name of each ELF.
    fn firmware(&self, log: Option<&Path>) -> Result<Vec<String>> {
        let mut hashes = Vec::new();
        for program in PROGRAMS {
            let mut xtask = self.cargo();
            xtask.args(["xtask", "firmware", program, VARIANT]);
            sh::run_or_log(&mut xtask, log)?;
            let elf = format!("target/firmware/{}/{program}-{VARIANT}.elf", board::DEFAULT);
            hashes.push(format!("{}  {elf}", sh::sha256(&self.dir.join(&elf))?));
        }
        Ok(hashes)
    }

    /// Runs the pings with a seed; returns the hash over all wire events.
    fn trace(&self, seed: u32, log: Option<&Path>) -> Result<String> {
        let target = self.dir.join("target");
        let scenario = target.join("repro.toml");
        let text = format!(
            "schema = 1\nname = \"repro\"\ntitle = \"Ten pings\"\nboard = \"{}\"\nseed = {seed}\n\
             [[run]]\nvariant = \"{VARIANT}\"\nping = {{ count = 10 }}\n",
            board::DEFAULT
        );
        fs::write(&scenario, text)?;
        let out = target.join("repro");
        let mut linerate = self.cargo();
        linerate
            .args(["run", "--locked", "--package", "linerate", "--", "run"])
            .arg(&scenario)
            .arg("--out")
            .arg(&out);
        sh::run_or_log(&mut linerate, log)?;
        let run: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(out.join("run.json"))?)?;
        let hashes = &run["provenance"]["trace_hash"];
        let hash = hashes.as_object().and_then(|h| h.values().next()?.as_str());
        Ok(hash.context("run.json names no trace hash")?.to_owned())
    }
}
