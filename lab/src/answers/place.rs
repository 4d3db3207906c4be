//! The networks of the cases: a relay between two namespaces, boards behind a TAP interface, a device that sleeps.

use super::cases::{Case, Place};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use xtask::tap::board::{ChildGuard, DEVICE, Device, Namespace, Netns};
use xtask::{board, firmware, sh};

/// Duration of each transfer.
const SECONDS: &str = "4";
/// Longest duration of a test, with its captures.
const LIMIT_S: &str = "90";
/// Timeout of a board's boot.
const BOOT: Duration = Duration::from_mins(1);
/// Address of a board in QEMU, and of its host.
const BOARD: &str = "10.0.0.2";
const BOARD_HOST: &str = "10.0.0.1/24";
/// Program of the boards.
const AGENT: &str = "bench_agent";
/// Tries of a measurement that the machine disturbed.
const TRIES: u32 = 3;
/// The simulated board may fall behind real time by this share.
const BEHIND: f64 = 0.03;
/// Behind by this share of a transfer, another try is useless.
const TOO_SLOW: f64 = 0.75;

/// A board and a link have a clock of their own: other programs of this machine must not take their time.
const PRIORITY: [&str; 2] = ["-n", "-10"];

/// The place of a measurement: programs and folders.
pub(super) struct Bench {
    /// linerate.
    pub(super) program: PathBuf,
    /// True if the firmware of the boards is built already.
    pub(super) is_built: bool,
}

impl Bench {
    /// Tests the link of `case`; `capture` is empty or the option. Returns the run of linerate's results.
    pub(super) fn measure(&self, case: &Case, capture: &str) -> Result<Value> {
        let dir = sh::out("answers");
        fs::create_dir_all(&dir)?;
        let result = dir.join("result.json");
        let _ = fs::remove_file(&result);
        let test = Test {
            bench: self,
            case,
            capture,
            result: &result,
        };
        match case.place {
            Place::Relay(link) => test.over_relay(link),
            Place::Emulated {
                board,
                variant,
                icount,
            } => test.emulated(board, variant, icount),
            Place::Simulated => test.simulated(),
            Place::Sleeper(link) => test.sleeper(link),
        }
        .with_context(|| case.name)?;
        let text = fs::read_to_string(&result);
        let text = text.with_context(|| format!("{}: no results", case.name))?;
        Ok(serde_json::from_str(&text)?)
    }

    fn elf(&self, name: &str, variant: &str) -> Result<PathBuf> {
        if !self.is_built {
            let board = board::read(name)?;
            firmware::build(&board, &[AGENT.to_owned()], &[variant.to_owned()], None)?;
        }
        let file = format!("{name}/{AGENT}-{variant}.elf");
        let elf = sh::out("firmware").join(file);
        if !elf.is_file() {
            bail!("{} is missing", elf.display());
        }
        Ok(elf)
    }
}

/// One test of a case.
struct Test<'a> {
    bench: &'a Bench,
    case: &'a Case,
    capture: &'a str,
    result: &'a Path,
}

impl Test<'_> {
    fn over_relay(&self, link: &str) -> Result<()> {
        let [left, right] = ["left", "right"].map(|end| format!("ans{}-{end}", std::process::id()));
        let mut relay = sh::cmd("nice");
        relay
            .args(PRIORITY)
            .arg(&self.bench.program)
            .arg("relay")
            .args(["--namespaces", &format!("{left},{right}")])
            .args(["--seconds", LIMIT_S])
            .args(link.split_whitespace());
        let script = format!("{}{}", reno(&left), self.with_device(&right));
        relay.args(["--", "sh", "-c", &script]);
        sh::logged(&mut relay, &log())?;
        Ok(())
    }

    /// A board in QEMU whose instructions take a fixed time (`-icount`).
    fn emulated(&self, name: &str, variant: &str, icount: &str) -> Result<()> {
        let elf = self.bench.elf(name, variant)?;
        let board = board::read(name)?;
        let qemu = board.qemu.context("QEMU does not have this board")?;
        let namespace = Namespace::with_address("-ans", BOARD_HOST)?;
        let further = ["-icount", icount];
        let mut device = Device::emulated(&namespace, &qemu, &elf, &further)?;
        device.wait_for(BOOT, |line| line.contains("\"event\":\"listening\""))?;
        self.test_in(&namespace)
            .with_context(|| device.recent_output())
    }

    /// The simulated board, which has to keep up with real time.
    fn simulated(&self) -> Result<()> {
        let elf = self.bench.elf(board::DEFAULT, "line-rate")?;
        for _ in 0..TRIES {
            let namespace = Namespace::create("-ans")?;
            let mut device = Device::start(&namespace, &self.bench.program, &elf, &[])?;
            device.wait_for(BOOT, |line| line.contains("\"event\":\"listening\""))?;
            self.test_in(&namespace)
                .with_context(|| device.recent_output())?;
            let behind = seconds_behind(&device.stop()?);
            if behind <= BEHIND * 3.0 * SECONDS.parse::<f64>()? {
                return Ok(());
            }
            if behind > TOO_SLOW * SECONDS.parse::<f64>()? {
                bail!(
                    "the simulation fell behind by {behind:.1} s: this machine is too slow for it"
                );
            }
            println!("(disturbed: the simulation fell behind by {behind:.1} s; repeated)");
        }
        bail!("this machine is too busy to simulate the board in real time")
    }

    /// A device whose receiver sleeps when idle, behind the relay in Python.
    fn sleeper(&self, link: &str) -> Result<()> {
        let id = std::process::id();
        let [left, right] = ["left", "right"].map(|end| Netns::create(format!("ans{id}-{end}")));
        let ends = [left?, right?];
        let taps = ["l", "r"].map(|end| format!("ans{id}{end}"));
        let words = link.replace("LEFT", &taps[0]).replace("RIGHT", &taps[1]);
        let mut relay = sh::cmd("python3");
        relay
            .arg(sh::root().join("lab/links/relay.py"))
            .arg(words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(sh::out("answers").join("relay.log"))?);
        let mut relay = ChildGuard(relay.spawn().context("cannot start python3")?);
        let mut line = String::new();
        let stdout = relay.0.stdout.take().context("no output")?;
        BufReader::new(stdout).read_line(&mut line)?;
        if line.trim() != "ready" {
            bail!("the relay does not start: see target/answers/relay.log");
        }
        // Without IPv6, whose router solicitations and multicast reports would keep the device awake now and then.
        for ((tap, Netns(name)), address) in taps.iter().zip(&ends).zip(["10.0.0.1", "10.0.0.2"]) {
            let set_up = format!(
                "ip link set {tap} netns {name} name eth0 && \
                 ip netns exec {name} sysctl -qw net.ipv6.conf.all.disable_ipv6=1 && ip -n {name} address add {address}/24 dev eth0 && \
                 ip -n {name} link set eth0 up && ip -n {name} link set lo up"
            );
            sh::read(sh::cmd("sh").args(["-c", &set_up]))?;
        }
        let [left, right] = &ends;
        let script = format!("{}{}", reno(&left.0), self.with_device(&right.0));
        let mut test = sh::cmd("ip");
        test.args(["netns", "exec", &left.0, "timeout", LIMIT_S, "sh", "-c"])
            .arg(script);
        sh::logged(&mut test, &log())?;
        Ok(())
    }

    fn test_in(&self, namespace: &Namespace) -> Result<()> {
        let mut test = namespace.exec("timeout");
        let reno = "sysctl -qw net.ipv4.tcp_congestion_control=reno; ";
        let script = format!("{reno}{}", self.command());
        test.args([LIMIT_S, "sh", "-c", &script]);
        sh::logged(&mut test, &log())?;
        Ok(())
    }

    /// Shell script that starts the device in namespace `right` and tests it.
    fn with_device(&self, right: &str) -> String {
        format!(
            "{}{} ip netns exec {right} {} >/dev/null 2>&1 & device=$!; trap 'kill $device; wait $device' EXIT; \
             for try in 1 2 3 4 5 6 7 8 9 10; do ip netns exec {right} ss -Hltn | grep -q LISTEN && break; sleep 0.2; \
             done; sleep 0.5; {}",
            reno(right),
            self.case.before.replace("RIGHT", right),
            self.case.device,
            self.command(),
        )
    }

    fn command(&self) -> String {
        let length = if self.case.test.contains("-n ") {
            String::new()
        } else {
            format!("-t {SECONDS}")
        };
        format!(
            "{} test {} {length} --out {} --json {} {}",
            self.bench.program.display(),
            self.case
                .test
                .replace("BOARD", DEVICE)
                .replace("QEMU", BOARD),
            sh::out("answers").join("out").display(),
            self.result.display(),
            self.capture,
        )
    }
}

fn log() -> PathBuf {
    sh::out("answers").join("log.txt")
}

/// Reno in a namespace, as the devices have it: another congestion control may have another limit on the same link.
fn reno(namespace: &str) -> String {
    format!("ip netns exec {namespace} sysctl -qw net.ipv4.tcp_congestion_control=reno; ")
}

/// The time by which the simulation fell behind real time, by its message.
fn seconds_behind(messages: &str) -> f64 {
    let Some((_, rest)) = messages.split_once("it fell behind by ") else {
        return 0.0;
    };
    let mut words = rest.split_whitespace();
    let number: f64 = words
        .next()
        .and_then(|word| word.replace(',', "").parse().ok())
        .unwrap_or(0.0);
    match words.next() {
        Some("s") => number,
        Some("ms") => number / 1e3,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_simulation_that_falls_behind_is_noticed() {
        let message =
            "the simulation was too slow for real time: it fell behind by 1.25 s of 9 s\n";
        assert!((seconds_behind(message) - 1.25).abs() < 1e-9);
        assert!((seconds_behind("it fell behind by 20 ms of 9 s") - 0.02).abs() < 1e-9);
        assert!(seconds_behind("esp32c6-bitbang on linerate0") < 1e-9);
    }
}
