//! `cargo xtask answers`: does `linerate test` name the cause on throttled links, without and with a capture?
//!
//! Each link is made between two network namespaces. The hosts use Reno, as the devices do that linerate measures:
//! with another congestion control the same link may have another limit.

mod cases;

use anyhow::{Context, Result, bail};
use cases::{CASES, Case};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use xtask::sh;

/// Duration of each transfer.
const SECONDS: &str = "4";

/// Runs the cases whose name contains one of the words, or all, with this linerate or a new one.
pub fn run(words: &[String], linerate: Option<PathBuf>) -> Result<()> {
    if !cfg!(target_os = "linux") || !sh::has("ip") {
        bail!("this needs Linux with network namespaces and `ip`: apt-get install iproute2");
    }
    let program = match linerate {
        Some(program) => program,
        None => build()?,
    };
    let is_chosen = |case: &&Case| {
        let mut words = words.iter();
        words.len() == 0 || words.any(|word| case.name.contains(word.as_str()))
    };
    println!("| link | right | without a capture | with a capture |\n|---|---|---|---|");
    let (mut all, mut right) = (0, [0, 0]);
    for case in CASES.iter().filter(is_chosen) {
        let mut cells = Vec::new();
        for (at, capture) in ["", "--capture"].into_iter().enumerate() {
            let causes = causes(&program, case, capture)?;
            let first = causes.first().map(String::as_str);
            let is_right = first.is_some_and(|first| case.causes.contains(&first));
            right[at] += u32::from(is_right);
            let shown = first.unwrap_or("unknown");
            cells.push(format!("{shown}{}", if is_right { "" } else { " (wrong)" }));
        }
        all += 1;
        println!(
            "| {} | {} | {} |",
            case.name,
            case.causes.join(" or "),
            cells.join(" | ")
        );
    }
    println!(
        "right: {} of {all} without, {} of {all} with a capture",
        right[0], right[1]
    );
    Ok(())
}

fn build() -> Result<PathBuf> {
    sh::run(sh::cargo().args(["build", "--locked", "--release", "-p", "linerate"]))?;
    let target = std::env::var_os("CARGO_TARGET_DIR");
    let target = target.map_or_else(|| sh::root().join("target"), PathBuf::from);
    Ok(target.join("release/linerate"))
}

/// The causes that a test over the link names, the first one first.
fn causes(program: &Path, case: &Case, capture: &str) -> Result<Vec<String>> {
    let dir = sh::out("answers");
    fs::create_dir_all(&dir)?;
    let result = dir.join("result.json");
    let _ = fs::remove_file(&result);
    let [left, right] = ["left", "right"].map(|end| format!("ans{}-{end}", std::process::id()));
    let mut relay = sh::cmd(program);
    relay
        .arg("relay")
        .args(["--namespaces", &format!("{left},{right}")])
        .args(["--seconds", "60"])
        .args(case.link.split_whitespace());
    let script = script(program, case, &left, &right, capture, &result);
    relay.args(["--", "sh", "-c", &script]);
    sh::logged(&mut relay, &dir.join("log.txt"))
        .with_context(|| format!("{} over {}", case.name, case.link))?;
    let text = fs::read_to_string(&result).with_context(|| format!("{}: no results", case.name))?;
    let run: Value = serde_json::from_str(&text)?;
    let findings = run["results"][0]["findings"].as_array();
    let findings = findings.map_or(&[][..], Vec::as_slice).iter();
    Ok(findings
        .filter_map(|it| it["cause"].as_str())
        .map(str::to_owned)
        .collect())
}

fn script(
    program: &Path,
    case: &Case,
    left: &str,
    right: &str,
    capture: &str,
    result: &Path,
) -> String {
    let (program, out) = (program.display(), sh::out("answers").join("out"));
    let reno = |name: &str| {
        format!("ip netns exec {name} sysctl -qw net.ipv4.tcp_congestion_control=reno; ")
    };
    format!(
        "{}{}{} ip netns exec {right} {} >/dev/null 2>&1 & device=$!; trap 'kill $device; wait $device' EXIT; \
         for try in 1 2 3 4 5 6 7 8 9 10; do ip netns exec {right} ss -Hltn | grep -q LISTEN && break; sleep 0.2; \
         done; {program} test {} -t {SECONDS} --out {} --json {} {capture}",
        reno(left),
        reno(right),
        case.before.replace("RIGHT", right),
        case.device,
        case.test,
        out.display(),
        result.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_case_names_causes_of_the_results() {
        for case in CASES {
            for cause in case.causes {
                let known: Result<linerate_results::record::Cause, _> =
                    serde_json::from_value(Value::from(*cause));
                assert!(known.is_ok(), "{}: {cause}", case.name);
            }
        }
    }
}
