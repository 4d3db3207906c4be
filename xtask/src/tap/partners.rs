//! Link partners with different abilities, between the firmware and real Linux: checks the state of the link
//! and the traffic over it. The scenario `negotiation` does the same with a simulated host.

use super::board::{DEVICE, Device, Namespace, check_downloaded};
use crate::{concurrent, sh};
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::time::Duration;

/// A link partner, and the expected state of the link.
struct Case {
    /// Argument of `linerate sim --partner`.
    partner: &'static str,
    outcome: Outcome,
}

enum Outcome {
    /// The link is up in half duplex; frames pass.
    Up {
        by: &'static str,
        fault: &'static str,
    },
    /// The link is down; the console prints the reason.
    Down { why: &'static str },
}

/// The firmware cannot receive while it sends, and advertises half duplex only.
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

/// Timeout of the boot. Without a link the firmware waits 5 s for one, and then continues.
const BOOT: Duration = Duration::from_mins(1);
const PINGS: &str = "5";
/// Arguments of a flood: requests arrive while answers are sent, so that both ends send all the time.
const FLOOD: [&str; 9] = ["-f", "-l", "20", "-c", "100", "-s", "1400", "-w", "30"];
const FLOOD_ANSWERS: u64 = 100;
/// Size of the file that `curl` fetches, bytes.
const BYTES: u64 = 300_000;

/// Runs all cases concurrently, because most of their time is waiting.
///
/// # Errors
/// The outcome of a case is wrong; the error names the partners.
pub(super) fn check_all(linerate: &Path, elf: &Path) -> Result<String> {
    let cases: Vec<_> = (0..).zip(&CASES).collect();
    let outcomes = concurrent::map(&cases, cases.len(), |(number, case)| {
        check(*number, case, linerate, elf)
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

fn check(number: usize, case: &Case, linerate: &Path, elf: &Path) -> Result<()> {
    let namespace = Namespace::create(&format!("-{number}"))?;
    let mut device = Device::start(&namespace, linerate, elf, &["--partner", case.partner])?;
    device.wait_for(BOOT, |line| line.contains("\"event\":\"listening\""))?;
    match case.outcome {
        Outcome::Up { by, fault } => {
            let links = device.events("link");
            let link = links
                .last()
                .context("the console printed no event `link`")?;
            let expected = [
                ("state", "up"),
                ("duplex", "half"),
                ("by", by),
                ("fault", fault),
            ];
            let differs = |(name, value): &(&str, &str)| link[*name] != *value;
            if expected.iter().any(differs) {
                bail!("the console printed {link}, not {expected:?}");
            }
            check_traffic(&namespace, number).with_context(|| device.recent_output())?;
        }
        Outcome::Down { why } => {
            if !device.lines.iter().any(|line| line.contains(why)) {
                bail!(
                    "the console did not print {why:?}\n{}",
                    device.recent_output()
                );
            }
            if device
                .events("link")
                .iter()
                .any(|link| link["state"] == "up")
            {
                bail!("the link came up\n{}", device.recent_output());
            }
            let text = ping(&namespace, &["-c", "2", "-i", "0.2", "-w", "1"])?;
            if !text.contains(" 0 received") {
                bail!("a ping was answered although the link is down:\n{text}");
            }
        }
    }
    let printed = device.stop()?;
    let end = printed
        .lines()
        .find(|line| line.starts_with("link partner: "))
        .with_context(|| {
            format!("linerate did not print the state of the link partner:\n{printed}")
        })?;
    let is_expected = match case.outcome {
        Outcome::Up { .. } => end.contains("up, half duplex"),
        Outcome::Down { .. } => {
            end.contains("partner: down; 0 frames sent") && !end.contains(" 0 frames held back")
        }
    };
    if !is_expected {
        bail!("{end}");
    }
    Ok(())
}

/// Checks that every ping is answered and a file arrives unchanged.
fn check_traffic(namespace: &Namespace, number: usize) -> Result<()> {
    let text = ping(namespace, &["-c", PINGS, "-i", "0.05", "-w", "20"])?;
    if !text.contains(&format!(" {PINGS} received")) {
        bail!("pings were lost:\n{text}");
    }
    let text = ping(namespace, &FLOOD)?;
    // On a busy machine answers come late, and ping sends more requests until it has as many as it wants.
    if received(&text).is_none_or(|answers| answers < FLOOD_ANSWERS) {
        bail!("a flood was not answered:\n{text}");
    }
    let file = sh::out("tap").join(format!("downloaded-{number}"));
    let mut curl = namespace.exec("curl");
    curl.args(["--silent", "--show-error", "--fail", "--max-time", "60"])
        .arg("--output")
        .arg(&file)
        .arg(format!("http://{DEVICE}/{BYTES}"));
    sh::read(&mut curl)?;
    check_downloaded(&file, BYTES)
}

/// Runs `ping` and returns its output; missing answers are not an error.
fn ping(namespace: &Namespace, args: &[&str]) -> Result<String> {
    let mut command = namespace.exec("ping");
    let done = command.arg("-q").args(args).arg(DEVICE).output()?;
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// Number of answers in the summary of `ping`.
fn received(summary: &str) -> Option<u64> {
    let (before, _) = summary.split_once(" received")?;
    before.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::received;

    #[test]
    fn the_answers_of_a_flood_are_counted() {
        let summary = "148 packets transmitted, 101 received, 31.7568% packet loss, time 1485ms";
        assert_eq!(received(summary), Some(101));
        assert_eq!(received("ping: unknown host"), None);
    }
}
