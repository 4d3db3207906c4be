//! Link partners that offer this and that, between the firmware and real Linux: what the two come to,
//! and whether frames then pass. The scenario `negotiation` is the same against a simulated host.

use super::board::{DEVICE, Device, Namespace};
use crate::sh;
use anyhow::{Context, Result, bail};
use linerate_ether::pattern;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// A link partner, and what the firmware must say of the link.
struct Case {
    /// As `linerate sim --partner` has it.
    partner: &'static str,
    outcome: Outcome,
}

enum Outcome {
    /// Frames pass, in half duplex.
    Up {
        by: &'static str,
        fault: &'static str,
    },
    /// None does, and the console says why.
    Down { why: &'static str },
}

/// The firmware is deaf while it sends and offers half duplex only.
const CASES: [Case; 7] = [
    Case {
        partner: "10base-t-half,10base-t-full,100base-tx-half,100base-tx-full",
        outcome: Outcome::Up {
            by: "auto-negotiation",
            fault: "",
        },
    },
    Case {
        partner: "10base-t-half",
        outcome: Outcome::Up {
            by: "auto-negotiation",
            fault: "",
        },
    },
    Case {
        partner: "10base-t-full",
        outcome: Outcome::Down {
            why: "partner: 10BASE-T full; polarity: normal; nothing in common",
        },
    },
    Case {
        partner: "nlp",
        outcome: Outcome::Up {
            by: "parallel detection",
            fault: "",
        },
    },
    Case {
        partner: "none",
        outcome: Outcome::Down {
            why: "No link pulses from a partner",
        },
    },
    Case {
        partner: "100base-tx-half,100base-tx-full",
        outcome: Outcome::Down {
            why: "partner: 100BASE-TX half, 100BASE-TX full; polarity: normal; nothing in common",
        },
    },
    Case {
        partner: "10base-t-half,10base-t-full,remote-fault",
        outcome: Outcome::Up {
            by: "auto-negotiation",
            fault: "remote fault",
        },
    },
];

/// Without a link the firmware waits 5 s for one, and then goes on.
const BOOT: Duration = Duration::from_mins(1);
const PINGS: &str = "5";
/// Requests that come while answers go out, so that both ends send all the time.
const FLOOD: [&str; 9] = ["-f", "-l", "20", "-c", "100", "-s", "1400", "-w", "30"];
/// What `curl` fetches.
const BYTES: usize = 300_000;

/// Every case, all at the same time: most of it is waiting.
///
/// # Errors
/// Names each partner with which something else came out.
pub(super) fn all(linerate: &Path, elf: &Path) -> Result<String> {
    let outcomes: Vec<Result<()>> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..)
            .zip(&CASES)
            .map(|(number, case)| scope.spawn(move || one(number, case, linerate, elf)))
            .collect();
        let ended = started.into_iter().map(|thread| match thread.join() {
            Ok(outcome) => outcome,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        ended.collect()
    });
    let wrong: Vec<String> = CASES
        .iter()
        .zip(outcomes)
        .filter_map(|(case, outcome)| Some(format!("{}: {:#}", case.partner, outcome.err()?)))
        .collect();
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    Ok(format!("{} link partners", CASES.len()))
}

fn one(number: usize, case: &Case, linerate: &Path, elf: &Path) -> Result<()> {
    let namespace = Namespace::create(&format!("-{number}"))?;
    let mut device = Device::start(&namespace, linerate, elf, &["--partner", case.partner])?;
    device.wait_for(BOOT, |line| line.contains("\"event\":\"listening\""))?;
    match case.outcome {
        Outcome::Up { by, fault } => {
            let told = device.events("link");
            let link = told
                .last()
                .context("the console says nothing of the link")?;
            let expected = [
                ("state", "up"),
                ("duplex", "half"),
                ("by", by),
                ("fault", fault),
            ];
            let differs = |(name, value): &(&str, &str)| link[*name] != *value;
            if expected.iter().any(differs) {
                bail!("the console says {link}, not {expected:?}");
            }
            passes(&namespace, number).with_context(|| device.last_words())?;
        }
        Outcome::Down { why } => {
            if !device.lines.iter().any(|line| line.contains(why)) {
                bail!("the console does not say {why:?}\n{}", device.last_words());
            }
            if device
                .events("link")
                .iter()
                .any(|link| link["state"] == "up")
            {
                bail!("the link came up\n{}", device.last_words());
            }
            let text = ping(&namespace, &["-c", "2", "-i", "0.2", "-w", "1"])?;
            if !text.contains(" 0 received") {
                bail!("without a link a ping is answered:\n{text}");
            }
        }
    }
    let said = device.stop()?;
    let end = said
        .lines()
        .find(|line| line.starts_with("link partner: "))
        .with_context(|| format!("linerate does not say what its partner came to:\n{said}"))?;
    let as_it_should = match case.outcome {
        Outcome::Up { .. } => end.contains("up, half duplex"),
        Outcome::Down { .. } => {
            end.contains("partner: down; 0 frames sent") && !end.contains(" 0 frames held back")
        }
    };
    if !as_it_should {
        bail!("{end}");
    }
    Ok(())
}

/// Every ping is answered, and a file arrives as it is.
fn passes(namespace: &Namespace, number: usize) -> Result<()> {
    let text = ping(namespace, &["-c", PINGS, "-i", "0.05", "-w", "20"])?;
    if !text.contains(&format!(" {PINGS} received")) {
        bail!("pings were lost:\n{text}");
    }
    let text = ping(namespace, &FLOOD)?;
    if !text.contains(" 100 received") {
        bail!("a flood was not answered:\n{text}");
    }
    let file = sh::out("tap").join(format!("downloaded-{number}"));
    let mut curl = namespace.exec("curl");
    curl.args(["--silent", "--show-error", "--fail", "--max-time", "60"])
        .arg("--output")
        .arg(&file)
        .arg(format!("http://{DEVICE}/{BYTES}"));
    sh::read(&mut curl)?;
    let got = fs::read(&file)?;
    if got.len() != BYTES || pattern::first_difference(0, &got).is_some() {
        bail!("curl got {} bytes, not the {BYTES} expected", got.len());
    }
    Ok(())
}

/// What `ping` says; that nobody answers is no error.
fn ping(namespace: &Namespace, args: &[&str]) -> Result<String> {
    let mut command = namespace.exec("ping");
    let done = command.arg("-q").args(args).arg(DEVICE).output()?;
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}
