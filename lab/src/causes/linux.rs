//! Two ends on Linux, connected by a relay, with a capture at the sender.

use super::case::{Linux, Trial};
use super::out;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use xtask::sh;

/// Timeout of a run, seconds.
const MAX_SECONDS: u64 = 20;
/// The address of the receiver's end.
const RECEIVER: &str = "10.0.0.2";

/// Runs the setup; returns the capture.
pub fn capture(linerate: &Path, trial: &Trial, set_up: &Linux) -> Result<PathBuf> {
    let file = out().join(format!("{}.pcap", trial.name));
    let log = out().join(format!("{}.log", trial.name));
    for old in [&file, &log] {
        let _ = std::fs::remove_file(old);
    }
    let [left, right] = ["left", "right"].map(|end| format!("cause{}-{end}", std::process::id()));
    let mut relay = sh::cmd(linerate);
    relay
        .args(["relay", "--namespaces", &format!("{left},{right}")])
        .args(["--seconds", &MAX_SECONDS.to_string()])
        .args(["--seed", &trial.seed.to_string()])
        .args(["--both", &set_up.both])
        .args(["--forward", &set_up.forward])
        .args(["--backward", &set_up.backward])
        .args(["--", "sh", "-c", &script(set_up, &right, &file)?]);
    sh::logged(&mut relay, &log)?;
    if !set_up.missed.is_empty() {
        let share = set_up.missed.parse().context("`missed` is a share")?;
        super::programs::thin_out(&file, share, trial.seed)?;
    }
    Ok(file)
}

/// Shell script for the sender's end: prepares, captures, sends, and stops what it started.
fn script(set_up: &Linux, right: &str, file: &Path) -> Result<String> {
    let program = std::env::current_exe()?;
    let (program, file) = (program.display(), file.display());
    let ready = out().join("ready");
    let ready = ready.display();
    // The algorithm of most hosts; in a namespace only a route can select one that is not the system's default.
    let cubic = "ip route change 10.0.0.0/24 dev eth0 congctl cubic";
    let lines = |own: &[String]| [&[cubic.to_owned()], own].concat().join("; ");
    let (at_left, at_right) = (lines(&set_up.left), lines(&set_up.right));
    let end = format!("exec {program} causes-end");
    let beside = if set_up.beside.is_empty() {
        String::new()
    } else {
        format!(
            "ip netns exec {right} sh -c \"{end} {}\" & beside=$!;",
            set_up.beside
        )
    };
    Ok(format!(
        "trap 'kill $capture $beside $receiver 2>/dev/null || true; wait' EXIT; trap 'exit 1' TERM INT; set -e; \
         {at_left}; ip netns exec {right} sh -c \"{at_right}\"; rm -f {ready}; \
         ip netns exec {right} sh -c \"{end} receive ready={ready} {receive}\" & receiver=$!; \
         dumpcap -q -P -i eth0 -s 160 -f 'not ip6' -w {file} 2>/dev/null & capture=$!; \
         until [ -s {file} ] && [ -e {ready} ]; do kill -0 $capture $receiver; sleep 0.02; done; {beside} \
         timeout {MAX_SECONDS} {program} causes-end send to={RECEIVER} {send}; \
         wait $receiver; n=0; until [ $(stat -c %s {file}) -gt 24 ] || [ $n -gt 60 ]; do n=$((n+1)); sleep 0.05; done; \
         sleep 0.3; kill $capture; wait $capture || true",
        receive = set_up.receive,
        send = set_up.send,
    ))
}
