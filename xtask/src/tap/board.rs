//! A simulated board on a TAP device in a separate network namespace.

use crate::board::Qemu;
use crate::{board, sh};
use anyhow::{Context, Result, bail};
use linerate_ether::pattern;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Addresses of the simulated board, built into its programs, and of the host.
pub const DEVICE: &str = "169.254.10.2";
pub const HOST: &str = "169.254.10.1";
/// Name of the TAP device.
pub const TAP: &str = "linerate0";
/// Timeout for the simulator to write its results and exit.
const STOP: Duration = Duration::from_secs(10);

/// A network namespace, removed when this value is dropped.
pub struct Netns(pub String);

impl Netns {
    /// Creates one of this name.
    pub fn create(name: String) -> Result<Self> {
        sh::read(sh::cmd("ip").args(["netns", "add", &name]))
            .context("cannot create a network namespace")?;
        Ok(Self(name))
    }

    /// Runs `ip` for it.
    pub fn ip(&self, args: &[&str]) -> Result<String> {
        sh::read(sh::cmd("ip").args(["-n", &self.0]).args(args))
    }
}

impl Drop for Netns {
    fn drop(&mut self) {
        let _ = sh::read(sh::cmd("ip").args(["netns", "delete", &self.0]));
    }
}

/// A network namespace with one TAP device in it.
pub struct Namespace(Netns);

impl Namespace {
    /// Creates one for the simulated board; `suffix` makes its name unique.
    pub fn create(suffix: &str) -> Result<Self> {
        Self::with_address(suffix, &format!("{HOST}/16"))
    }

    /// Creates one with the host's `address`, with prefix length.
    pub fn with_address(suffix: &str, address: &str) -> Result<Self> {
        let name = format!("linerate-{}{suffix}", std::process::id());
        let namespace = Netns::create(name)?;
        namespace.ip(&["link", "set", "lo", "up"])?;
        namespace.ip(&["tuntap", "add", "dev", TAP, "mode", "tap"])?;
        namespace.ip(&["address", "add", address, "dev", TAP])?;
        namespace.ip(&["link", "set", TAP, "up"])?;
        Ok(Self(namespace))
    }

    /// Path of a file that no other namespace uses.
    pub fn file(&self, name: &str) -> PathBuf {
        sh::out("tap").join(format!("{}-{name}", self.0.0))
    }

    /// Command that runs in the namespace before all others: a board in real time must keep it however busy this machine
    /// is, and its stock peers must not be what is slow.
    pub fn exec(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = sh::cmd("nice");
        command.args(["-n", "-20", "ip", "netns", "exec", &self.0.0]);
        command.arg(program);
        command
    }
}

/// A process that is killed when this value is dropped.
pub struct ChildGuard(pub Child);

impl Drop for ChildGuard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A board on the TAP device, and the output of its console.
pub struct Device {
    process: ChildGuard,
    console: Receiver<String>,
    /// Lines read from the console.
    pub lines: Vec<String>,
    errors: PathBuf,
}

impl Device {
    /// Switches the simulated board on with `elf`; `further` arguments are passed to `linerate sim`.
    pub fn start(
        namespace: &Namespace,
        linerate: &Path,
        elf: &Path,
        further: &[&str],
    ) -> Result<Self> {
        let mut command = namespace.exec(linerate);
        command
            .args(["sim", board::DEFAULT, "--tap", TAP, "--elf"])
            .arg(elf)
            .args(further);
        Self::spawn(namespace, &mut command)
    }

    /// Starts a firmware on a board that QEMU emulates, with `further` arguments.
    pub fn emulated(
        namespace: &Namespace,
        qemu: &Qemu,
        elf: &Path,
        further: &[&str],
    ) -> Result<Self> {
        let mac = |argument: &String| argument.replace("{mac}", "02:00:00:00:00:02");
        let network = format!("tap,id=n0,ifname={TAP},script=no,downscript=no");
        let mut emulator = namespace.exec(&qemu.program);
        emulator
            .args(&qemu.arguments)
            .args(["-display", "none", "-monitor", "none", "-serial", "stdio"])
            .args(["-netdev", &network])
            .args(qemu.device.iter().map(mac))
            .arg("-kernel")
            .arg(elf)
            .args(further);
        Self::spawn(namespace, &mut emulator)
    }

    /// Starts a program that emulates a board.
    fn spawn(namespace: &Namespace, command: &mut Command) -> Result<Self> {
        let folder = sh::out("tap");
        fs::create_dir_all(&folder)?;
        let errors = folder.join(format!("{}.log", namespace.0.0));
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(&errors)?);
        let mut process = ChildGuard(command.spawn().context("cannot start the board")?);
        let stdout = process.0.stdout.take().context("no console")?;
        let (send, console) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Self {
            process,
            console,
            lines: Vec::new(),
            errors,
        })
    }

    /// Reads the console until a line is `wanted`, at most for `limit`.
    pub fn wait_for(&mut self, limit: Duration, wanted: impl Fn(&str) -> bool) -> Result<()> {
        let started = Instant::now();
        loop {
            let left = limit.saturating_sub(started.elapsed());
            let Ok(line) = self.console.recv_timeout(left) else {
                bail!(
                    "the firmware did not print the expected line within {} s\n{}",
                    limit.as_secs(),
                    self.recent_output()
                );
            };
            let found = wanted(&line);
            self.lines.push(line);
            if found {
                return Ok(());
            }
        }
    }

    /// All `event`s among the lines read from the console.
    pub fn events(&self, event: &str) -> Vec<serde_json::Value> {
        self.lines
            .iter()
            .filter_map(|l| serde_json::from_str(l.split_once("@ ")?.1).ok())
            .filter(|e: &serde_json::Value| e["event"] == event)
            .collect()
    }

    /// Ends it with SIGINT, like Ctrl-C, and returns its messages.
    pub fn stop(mut self) -> Result<String> {
        let id = self.process.0.id();
        sh::read(sh::cmd("sh").args(["-c", &format!("kill -INT {id}")]))?;
        let asked = Instant::now();
        while self.process.0.try_wait()?.is_none() {
            if asked.elapsed() > STOP {
                bail!(
                    "linerate did not exit after SIGINT\n{}",
                    self.recent_output()
                );
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(fs::read_to_string(&self.errors)?)
    }

    /// The last lines of the console and of the simulator's messages, for an error.
    pub fn recent_output(&self) -> String {
        let tail = |lines: Vec<&str>| lines[lines.len().saturating_sub(10)..].join("\n");
        let console = tail(self.lines.iter().map(String::as_str).collect());
        let errors = fs::read_to_string(&self.errors).unwrap_or_default();
        format!(
            "console:\n{console}\nlinerate:\n{}",
            tail(errors.lines().collect())
        )
    }
}

/// Checks that curl got the first `octets` octets of the pattern.
pub(super) fn check_downloaded(file: &Path, octets: u64) -> Result<()> {
    let got = fs::read(file)?;
    if got.len() as u64 != octets || pattern::first_difference(0, &got).is_some() {
        bail!("curl got {} bytes, not the {octets} expected", got.len());
    }
    Ok(())
}
