//! Records the commit of this build, for the provenance of its results.

use std::process::Command;

fn main() {
    let commit = git(&["describe", "--always", "--dirty", "--abbrev=12"]);
    println!(
        "cargo::rustc-env=LINERATE_GIT={}",
        commit.as_deref().unwrap_or("unknown")
    );
    // Rebuilt when the commit changes; outside of a repository there is nothing to watch.
    if let Some(head) = git(&["rev-parse", "--git-path", "HEAD"]) {
        println!("cargo::rerun-if-changed={head}");
        if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
            println!("cargo::rerun-if-changed={log}");
        }
    } else {
        println!("cargo::rerun-if-changed=build.rs");
    }
}

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}
