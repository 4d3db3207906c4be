//! Fuzz targets under `fuzz/`, built and run by plain cargo on nightly.
//!
//! `cargo fuzz` passes the same compiler options; without it there is one tool less to install.

use crate::steps::Outcome;
use crate::{concurrent, sh, tools};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

/// Compiler flags for the coverage instrumentation that libFuzzer requires.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares \
    -Cllvm-args=-simplifycfg-branch-fold-threshold=0";

/// Finds wrong accesses of memory, which need `unsafe`: the targets and the crates of this project that they test have
/// none. It doubles the time to build, so only long runs have it, for what the dependencies do.
const SANITIZER: &str = "-Zsanitizer=address";

/// This target takes a hundred times longer for an input: it gets a fifth of a fixed number.
const SLOW: &str = "board_file";

/// Longest processor time of a fixed run of a target, seconds: the slowest took 6 s. It bounds what an input may cost
/// also where other programs leave the run next to no time.
const FIXED_CPU_S: u32 = 60;

/// Extent of a fuzzing run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// A fixed number of inputs: the same inputs each time, so that a failure is caused by the change under test.
    Fixed { inputs: u32 },
    /// New inputs for this time.
    New { seconds: u32 },
}

/// Targets listed in `fuzz/Cargo.toml`: all, or those that need no feature. The others take twice as long to build; in
/// the quick tier `cli/tests/mutated_inputs.rs` runs their checks without instrumentation.
fn targets(all: bool) -> Result<Vec<String>> {
    let manifest = sh::root().join("fuzz/Cargo.toml");
    let Ok(text) = std::fs::read_to_string(&manifest) else {
        return Ok(Vec::new());
    };
    let table: toml::Table = text.parse().context("fuzz/Cargo.toml")?;
    Ok(table
        .get("bin")
        .and_then(toml::Value::as_array)
        .into_iter()
        .flatten()
        .filter(|bin| all || bin.get("required-features").is_none())
        .filter_map(|bin| Some(bin.get("name")?.as_str()?.to_owned()))
        .collect())
}

/// Runs the targets, one per core at a time; a crash, a leak, a fixed run of more than a minute of processor time or a new input
/// slower than 10 s is a failure. Each target has its own log next to `log`.
///
/// # Errors
/// A target cannot be built or finds a failure.
pub fn run(extent: Extent, log: &Path) -> Result<Outcome> {
    let targets = targets(matches!(extent, Extent::New { .. }))?;
    if targets.is_empty() {
        return Ok(Outcome::Done("there are no fuzz targets".into()));
    }
    if !tools::has_nightly() {
        return Ok(Outcome::Skipped(
            "fuzzing needs nightly: rustup toolchain install nightly".into(),
        ));
    }
    let programs = build(extent, log)?;
    let results = concurrent::map(&targets, concurrent::cores(), |target| {
        fuzz(target, &programs, extent, log)
    });
    let failed: Vec<String> = results
        .into_iter()
        .filter_map(|result| Some(format!("{:#}", result.err()?)))
        .collect();
    if !failed.is_empty() {
        bail!("{}", failed.join("\n"));
    }
    let each = match extent {
        Extent::Fixed { inputs } => format!("{inputs} inputs"),
        Extent::New { seconds } => format!("{seconds} s"),
    };
    Ok(Outcome::Done(format!(
        "{} targets, {each} each",
        targets.len()
    )))
}

/// Builds the targets, for new inputs with the sanitizer; returns the folder with the programs.
fn build(extent: Extent, log: &Path) -> Result<PathBuf> {
    let is_sanitized = matches!(extent, Extent::New { .. });
    let host = sh::read(sh::nightly_cargo().arg("-vV"))?;
    let host = host
        .lines()
        .find_map(|l| l.strip_prefix("host: "))
        .unwrap_or("x86_64-unknown-linux-gnu")
        .to_owned();
    let profile = if is_sanitized { "release" } else { "quick" };
    let made = sh::out(if is_sanitized { "fuzz-long" } else { "fuzz" });
    let mut build = sh::nightly_cargo();
    build
        .args(["build", "--locked", "--profile", profile])
        .args(["--target", &host])
        .current_dir(sh::root().join("fuzz"))
        .env("CARGO_TARGET_DIR", &made)
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    if is_sanitized {
        build.arg("--all-features");
        build.env("RUSTFLAGS", format!("{FLAGS} {SANITIZER}"));
    } else {
        build.env("RUSTFLAGS", FLAGS);
    }
    sh::logged(&mut build, log)?;
    Ok(made.join(host).join(profile))
}

/// Runs one target and prints the number of inputs.
fn fuzz(target: &str, programs: &Path, extent: Extent, log: &Path) -> Result<()> {
    let artifacts = sh::out("fuzz-found");
    std::fs::create_dir_all(&artifacts)?;
    let program = programs.join(target);
    let mut fuzzer = match extent {
        Extent::Fixed { .. } => {
            let mut limited = sh::cmd("sh");
            let limit = format!(r#"ulimit -t {FIXED_CPU_S}; exec "$@""#);
            limited.args(["-c", &limit, "sh"]).arg(program);
            limited
        }
        Extent::New { .. } => sh::cmd(program),
    };
    fuzzer
        .args(["-rss_limit_mb=2048", "-print_final_stats=1"])
        .arg(format!(
            "-artifact_prefix={}/{target}-",
            artifacts.display()
        ));
    // libFuzzer writes new inputs to the first folder. They are kept, except in a fixed run, which must be
    // repeatable.
    let corpus = match extent {
        Extent::Fixed { inputs } => {
            let inputs = if target == SLOW { inputs / 5 } else { inputs };
            fuzzer.args(["-seed=1".into(), format!("-runs={inputs}")]);
            // The lowest priority: beside other programs an input of a millisecond may wait for seconds.
            fuzzer.arg("-timeout=300");
            let corpus = sh::out("fuzz-fixed").join(target);
            if corpus.is_dir() {
                std::fs::remove_dir_all(&corpus)?;
            }
            corpus
        }
        Extent::New { seconds } => {
            fuzzer.arg(format!("-max_total_time={seconds}"));
            fuzzer.arg("-timeout=10");
            sh::out("fuzz-corpus").join(target)
        }
    };
    std::fs::create_dir_all(&corpus)?;
    fuzzer.arg(corpus);
    let seeds = sh::root().join("fuzz/seeds").join(target);
    if seeds.is_dir() {
        fuzzer.arg(seeds);
    }
    let log = log.with_file_name(format!("fuzz-{target}.log"));
    std::fs::write(&log, "")?;
    let text = sh::logged(&mut fuzzer, &log)?;
    let stat = |name: &str| {
        let mut lines = text.lines();
        lines.find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()))
    };
    let runs = stat("stat::number_of_executed_units:").unwrap_or_else(|| "?".into());
    println!("    {target}: {runs} inputs");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::targets;
    use crate::sh;
    use std::collections::BTreeSet;

    /// Every file is in the list, from which the long tier runs all.
    #[test]
    fn every_target_is_run() {
        let files = std::fs::read_dir(sh::root().join("fuzz/targets")).expect("readable");
        let name = |file: std::io::Result<std::fs::DirEntry>| {
            let path = file.expect("readable").path();
            path.file_stem()
                .expect("a name")
                .to_string_lossy()
                .into_owned()
        };
        let files: BTreeSet<String> = files.map(name).collect();
        let listed: BTreeSet<String> = targets(true).expect("a list").into_iter().collect();
        assert_eq!(listed, files);
        // They parse what users are given by others, and they need features.
        for target in ["capture", "registers", "scenario"] {
            assert!(listed.contains(target), "{target}");
        }
    }
}
