//! The step `dependencies`: licences, sources and duplicates of the crates in every lock file.

use crate::steps::Outcome;
use crate::{sh, tree};
use anyhow::{Result, bail};
use std::path::Path;

/// Runs cargo-deny beside each lock file; all failures are reported together.
///
/// # Errors
/// A crate has a licence or a source that `deny.toml` does not permit, or cargo-deny fails.
pub fn run(log: &Path) -> Result<Outcome> {
    if !sh::has("cargo-deny") {
        return Ok(Outcome::Skipped(
            "the dependency audit needs cargo-deny: cargo xtask setup --long".into(),
        ));
    }
    let locks = tree::files_named(&sh::root(), "Cargo.lock");
    let mut failures = Vec::new();
    for lock in &locks {
        let mut deny = sh::cargo();
        deny.args(["deny", "--locked", "--manifest-path"]);
        deny.arg(lock.with_file_name("Cargo.toml"));
        deny.arg("--all-features").arg("--config");
        deny.arg(sh::root().join("deny.toml")).arg("check");
        deny.args(["bans", "licenses", "sources"]);
        if let Err(error) = sh::logged(&mut deny, log) {
            failures.push(format!("{error:#}"));
        }
    }
    if !failures.is_empty() {
        bail!("{}", failures.join("\n"));
    }
    Ok(Outcome::Done(format!("{} lock files", locks.len())))
}
