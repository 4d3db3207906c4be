//! `cargo xtask test`: the checks in two tiers; each step is named, timed and summarised.
//!
//! | module | contents |
//! |---|---|
//! | `cargo` | tests of the crates: all, those that run longer, loom |
//! | `build` | format, clippy, rustdoc, other targets, the firmware of every board |

mod build;
mod cargo;

use crate::foreign::Foreign;
use crate::fuzz::Extent;
use crate::steps::{Outcome, Steps, must_have_tools};
use crate::{
    captures, dependencies, firmware, fuzz, imx6, lab, links, linux_board, procedures, repro,
    scenarios, sh, slurm, tap, tools,
};
use anyhow::{Result, bail};
use std::path::Path;

/// Extent of fuzzing per target in the quick tier (half a minute of two cores for all targets) and with `--long`.
const FUZZ: [Extent; 2] = [Extent::Fixed { inputs: 5000 }, Extent::New { seconds: 600 }];

/// Tests of stock tools against the simulated board behind a relay.
const BEHIND_RELAY: &str = "simulated_board::";
/// The test on published captures.
const PUBLISHED: &str = "published_captures";

/// Runs the command.
pub fn run(long: bool, wanted: &[String]) -> Result<()> {
    // Before the first `cargo test` replaces this binary.
    firmware::wrapper::copy()?;
    let steps = Steps::new(wanted);
    steps.step("format", |_, log| build::format(log));
    steps.step("clippy", |_, log| build::clippy(log));
    // Other people's programs are downloaded only where every check is wanted.
    let with_foreign = long || must_have_tools() || sh::out("foreign").is_dir();
    let foreign = with_foreign.then_some(if long {
        Foreign::All
    } else {
        Foreign::Examples
    });
    steps.step("firmware and foreign", |_, log| {
        build::firmware(foreign, long, log)
    });
    if long {
        running(&steps, true);
        computing(&steps, true);
    } else {
        // What runs waits for the network and for clocks half of its time.
        steps.both(
            |steps| computing(steps, false),
            |steps| running(steps, false),
        );
    }
    steps.finish()
}

/// The steps that run programs, many of which wait for the network.
fn running(steps: &Steps, long: bool) {
    let is_named = steps.has_names();
    steps.step("tests", |steps, log| {
        // Tests with the simulated board are a separate step, because it must run in real time.
        let later = ["--skip", BEHIND_RELAY, "--skip", PUBLISHED];
        cargo::test(steps, &["--workspace"], &later, log)
    });
    // The quick tier downloads no captures.
    if long || is_named || sh::out("captures").is_dir() {
        steps.step("captures", |steps, log| {
            captures::fetch(Some(log))?;
            let tshark = ["--workspace", "--test", "tshark"];
            cargo::test(steps, &tshark, &[PUBLISHED], log)
        });
    }
    if long {
        steps.step("long runs", cargo::long_runs);
        steps.step("linux board", linux_on_a_board);
    }
    // More than 200 runs, and a relay that must run in real time.
    if long || is_named {
        steps.step("causes", |_, log| causes(log));
        steps.step("slurm", |_, log| slurm::run(log));
    }
    steps.step("tap", |_, log| tap::run(Some(log)));
    steps.step("emulated", |_, log| tap::emulated::run(log));
    steps.step("lwip", |_, log| tap::emulated::run_lwip(log));
    steps.step("tap and relay", |steps, log| {
        // With the whole workspace, the features are those of the step `tests`, so nothing is built again.
        let relay = ["--workspace", "--test", "relay"];
        cargo::test(steps, &relay, &["--test-threads", "1", BEHIND_RELAY], log)
    });
}

/// The steps that only compute, also those in simulated time; first those with a target folder of their own: cargo
/// locks it while it builds.
fn computing(steps: &Steps, long: bool) {
    steps.step("fuzz", |_, log| fuzz::run(FUZZ[usize::from(long)], log));
    steps.step("loom", cargo::loom);
    steps.step("no_std", |_, log| build::no_std(log));
    steps.step("scenarios", |_, log| scenarios::run(long, log));
    steps.step("procedures", |_, log| procedures::run(long, log));
    if long || steps.has_names() {
        steps.step("other systems", |_, log| build::other_systems(log));
    }
    steps.step("rustdoc", |_, log| build::rustdoc(log));
    if long {
        steps.step("published boards", |_, log| published_boards(log));
        steps.step("repro", |_, log| repro::run(Some(log)));
        steps.step("dependencies", |_, log| dependencies::run(log));
    }
}

/// The experiments that compare simulated boards with published figures; their tests run in the quick tier.
fn published_boards(log: &Path) -> Result<Outcome> {
    // Also fails if an anomaly has none of the mechanisms that are said to cause it.
    lab::logged("an440", &["--ablation"], log)?;
    lab::logged("udp-path", &[], log)?;
    imx6::run(&[])?;
    links::run(false)?;
    Ok(Outcome::Done("an440, udp-path, imx6, links".to_owned()))
}

/// Makes the Linux system of an emulated board, and measures it.
fn linux_on_a_board(steps: &Steps, log: &Path) -> Result<Outcome> {
    linux_board::run()?;
    let mut command = sh::cargo();
    command
        .args(["test", "--locked", "--package", "linerate-bench", "--lib"])
        .args(["stock_iperf_on_linux", "--", "--show-output"])
        .env("LINERATE_LINUX", sh::out("firmware"));
    let output = sh::logged(&mut command, log)?;
    let [passed, ..] = steps.count_tests(&output);
    if passed != 1 {
        bail!("the test of Linux on a board did not run");
    }
    Ok(Outcome::done())
}

/// Provokes every cause, then compares the flags of each packet of the captures with tshark's.
fn causes(log: &Path) -> Result<Outcome> {
    if !cfg!(target_os = "linux") || !tools::is_root() {
        let why = "provoking causes needs root for network namespaces: sudo -E cargo xtask causes";
        return Ok(Outcome::Skipped(why.into()));
    }
    if !(sh::has("dumpcap") && sh::has("tshark")) {
        let why = "provoking causes needs dumpcap and tshark: apt-get install tshark";
        return Ok(Outcome::Skipped(why.into()));
    }
    let folder = sh::out("causes");
    lab::logged("causes", &[], log)?;
    sh::logged(&mut captures::against_tshark(&folder)?, log)?;
    let matrix = std::fs::read_to_string(folder.join("matrix.txt"))?;
    let sums = matrix.lines().filter(|line| line.contains(" causes ("));
    Ok(Outcome::Done(sums.collect::<Vec<_>>().join("; held out ")))
}
