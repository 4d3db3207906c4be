//! The tests of the crates, by cargo.

use crate::steps::{Outcome, Steps, must_have_tools};
use crate::{board, sh, tools};
use anyhow::{Result, bail};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Runs `cargo test` on `what`, sums its result lines and lists the skipped checks.
pub(super) fn test(steps: &Steps, what: &[&str], flags: &[&str], log: &Path) -> Result<Outcome> {
    let mut command = sh::cargo();
    command.args(["test", "--locked", "--all-features", "--no-fail-fast"]);
    command.args(what).args(["--", "--show-output"]).args(flags);
    // Some tests need these; without them they print `skipped: ` with the reason.
    for (name, path) in [
        (
            "LINERATE_FIRMWARE",
            sh::out("firmware").join(board::DEFAULT),
        ),
        ("LINERATE_FOREIGN_ELFS", sh::out("foreign")),
        ("LINERATE_CAPTURES", sh::out("captures")),
        ("LINERATE_ESPTOOL", tools::esptool()),
        ("LINERATE_PYARROW", tools::pyarrow()),
    ] {
        if path.exists() {
            command.env(name, path);
        }
    }
    let result = sh::logged(&mut command, log);
    // Also after a failure, so that the totals are complete.
    let output = std::fs::read_to_string(log)?;
    let [passed, failed, ignored] = steps.count_tests(&output);
    let skips = reasons(&output, "skipped: ");
    // Checks against stock programs in real time that this machine had no time for.
    let inconclusive = reasons(&output, "inconclusive: ");
    for skip in &skips {
        println!("    skipped: {skip}");
    }
    for check in &inconclusive {
        println!("    inconclusive: {check}");
    }
    if failed > 0 {
        bail!("{}\ncomplete log: {}", failures(&output), log.display());
    }
    result?;
    if passed == 0 {
        bail!("cargo test ran no test");
    }
    let skips = skips.len();
    if skips > 0 && must_have_tools() {
        bail!("LINERATE_REQUIRE_TOOLS is set and {skips} checks were skipped");
    }
    Ok(Outcome::Done(format!(
        "{passed} passed, {failed} failed, {ignored} ignored, {skips} skipped (missing tool), {} inconclusive (busy \
         machine)",
        inconclusive.len()
    )))
}

/// The texts behind `prefix` at the beginning of a line, each once.
fn reasons<'a>(output: &'a str, prefix: &str) -> Vec<&'a str> {
    let lines = output.lines();
    let mut reasons: Vec<&str> = lines
        .filter_map(|line| line.trim().strip_prefix(prefix))
        .collect();
    reasons.sort_unstable();
    reasons.dedup();
    reasons
}

/// Tests that run longer with `LINERATE_LONG`: packages and tests of each call of cargo.
const LONG: [(&[&str], &[&str]); 7] = [
    (
        &["--package", "linerate-link"],
        &[
            "--lib",
            "--test",
            "noise",
            "--test",
            "wire",
            "--test",
            "self_test",
        ],
    ),
    (
        &["--package", "linerate-nic", "--package", "linerate-sim"],
        &["--test", "long", "--test", "hart", "--test", "memsys"],
    ),
    (
        &["--package", "linerate-bench"],
        &["--lib", "every_driver_passes"],
    ),
    (&["--package", "linerate"], &["--test", "explain_noise"]),
    (&["--package", "linerate"], &["--test", "interrupted"]),
    // Ten minutes of attacks.
    (&["--package", "linerate"], &["--test", "attack"]),
    (
        &["--package", "linerate-explain"],
        &["--test", "consistency", "generated"],
    ),
];

/// Runs the tests that take a thousand times longer with `LINERATE_LONG`, in release builds.
pub(super) fn long_runs(steps: &Steps, log: &Path) -> Result<Outcome> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let seed = now.as_secs().to_string();
    println!("    PROPTEST_RNG_SEED={seed}");
    let mut all = 0;
    for (packages, tests) in LONG {
        let mut command = sh::cargo();
        command
            .args(["test", "--locked", "--release", "--all-features"])
            .args(packages)
            .args(tests)
            .args(["--", "--show-output"])
            .env("LINERATE_LONG", "1")
            .env("PROPTEST_RNG_SEED", &seed)
            .env(
                "LINERATE_FIRMWARE",
                sh::out("firmware").join(board::DEFAULT),
            );
        let output = sh::logged(&mut command, log)?;
        let [passed, ..] = steps.count_tests(&output);
        if passed == 0 {
            bail!("no long test of {} ran", packages.join(" "));
        }
        all += passed;
    }
    Ok(Outcome::Done(format!("{all} passed")))
}

/// Output of the failed tests only.
fn failures(output: &str) -> String {
    let mut kept = Vec::new();
    let mut inside = false;
    for line in output.lines() {
        inside = (inside || line == "failures:") && !line.starts_with("test result:");
        if inside && !line.is_empty() {
            kept.push(line);
        }
    }
    kept.truncate(200);
    kept.join("\n")
}

/// Tests the receive queue under every interleaving that loom finds.
pub(super) fn loom(steps: &Steps, log: &Path) -> Result<Outcome> {
    let mut command = sh::cargo();
    command
        .args(["test", "--locked", "--profile", "loom"])
        .args(["--package", "linerate-nic", "--test", "*loom*"])
        .env("CARGO_TARGET_DIR", sh::out("loom"))
        .env("RUSTFLAGS", "--cfg loom")
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    let output = sh::logged(&mut command, log)?;
    let [passed, ..] = steps.count_tests(&output);
    if passed == 0 {
        bail!("loom ran no test");
    }
    Ok(Outcome::Done(format!("{passed} models")))
}

#[cfg(test)]
mod tests {
    use super::failures;

    #[test]
    fn failing_tests_are_shown_without_the_others() {
        let output = "\
running 2 tests
test a ... ok
test b ... FAILED

successes:

---- a stdout ----
noise

failures:

---- b stdout ----
left: 1

failures:
    b

test result: FAILED. 1 passed; 1 failed
running 1 test
test c ... ok
";
        let shown = failures(output);
        assert!(
            shown.contains("left: 1") && shown.contains("    b"),
            "{shown}"
        );
        assert!(
            !shown.contains("noise") && !shown.contains("running"),
            "{shown}"
        );
    }
}
