//! A simulated board on a TAP device, both in a namespace of their own.

use crate::{board, sh};
use anyhow::{Context, Result, bail};
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// The simulated board's address, built into its programs, and this machine's.
pub(super) const DEVICE: &str = "169.254.10.2";
pub(super) const HOST: &str = "169.254.10.1";
pub(super) const TAP: &str = "linerate0";
/// How long the simulator may take to write down what it has.
const STOP: Duration = Duration::from_secs(10);

/// A network namespace with one TAP device in it.
pub(super) struct Namespace(String);

impl Namespace {
    /// A new one, told from others by `suffix`, for the simulated board.
    pub fn create(suffix: &str) -> Result<Self> {
        Self::with_address(suffix, &format!("{HOST}/16"))
    }

    /// The same with another address of this machine, and the length of its network's prefix.
    pub fn with_address(suffix: &str, address: &str) -> Result<Self> {
        let name = format!("linerate-{}{suffix}", std::process::id());
        sh::read(sh::cmd("ip").args(["netns", "add", &name]))?;
        // From here on, dropping it removes it.
        let namespace = Self(name);
        namespace.ip(&["link", "set", "lo", "up"])?;
        namespace.ip(&["tuntap", "add", "dev", TAP, "mode", "tap"])?;
        namespace.ip(&["address", "add", address, "dev", TAP])?;
        namespace.ip(&["link", "set", TAP, "up"])?;
        Ok(namespace)
    }

    fn ip(&self, args: &[&str]) -> Result<String> {
        sh::read(sh::cmd("ip").args(["-n", &self.0]).args(args))
    }

    /// A program that runs inside.
    pub fn exec(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = sh::cmd("ip");
        command.args(["netns", "exec", &self.0]).arg(program);
        command
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = sh::read(sh::cmd("ip").args(["netns", "delete", &self.0]));
    }
}

/// A process that ends with this value.
pub(super) struct Owned(pub Child);

impl Drop for Owned {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The simulated board on the TAP device, and what its console printed.
pub(super) struct Device {
    process: Owned,
    console: Receiver<String>,
    /// What was read of the console.
    pub lines: Vec<String>,
    errors: PathBuf,
}

impl Device {
    /// Switches the board on with `elf`; `further` arguments go to `linerate sim`.
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

    /// Starts a program that is a board.
    pub fn spawn(namespace: &Namespace, command: &mut Command) -> Result<Self> {
        let folder = sh::out("tap");
        fs::create_dir_all(&folder)?;
        let errors = folder.join(format!("{}.log", namespace.0));
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(&errors)?);
        let mut process = Owned(command.spawn().context("the board cannot be started")?);
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

    /// Reads the console until a line is `wanted`.
    pub fn wait_for(&mut self, limit: Duration, wanted: impl Fn(&str) -> bool) -> Result<()> {
        let started = Instant::now();
        loop {
            let left = limit.saturating_sub(started.elapsed());
            let Ok(line) = self.console.recv_timeout(left) else {
                bail!(
                    "the firmware did not get as far as it should within {} s\n{}",
                    limit.as_secs(),
                    self.last_words()
                );
            };
            let found = wanted(&line);
            self.lines.push(line);
            if found {
                return Ok(());
            }
        }
    }

    /// What the console has told as `event`, so far as it was read.
    pub fn events(&self, event: &str) -> Vec<serde_json::Value> {
        self.lines
            .iter()
            .filter_map(|l| serde_json::from_str(l.split_once("@ ")?.1).ok())
            .filter(|e: &serde_json::Value| e["event"] == event)
            .collect()
    }

    /// Ends it as Ctrl-C does, and returns what it then says of the run.
    pub fn stop(mut self) -> Result<String> {
        let id = self.process.0.id();
        sh::read(sh::cmd("sh").args(["-c", &format!("kill -INT {id}")]))?;
        let asked = Instant::now();
        while self.process.0.try_wait()?.is_none() {
            if asked.elapsed() > STOP {
                bail!("linerate did not end when told to\n{}", self.last_words());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(fs::read_to_string(&self.errors)?)
    }

    /// The end of the console and of the simulator's messages, for an error.
    pub fn last_words(&self) -> String {
        let tail = |lines: Vec<&str>| lines[lines.len().saturating_sub(10)..].join("\n");
        let console = tail(self.lines.iter().map(String::as_str).collect());
        let errors = fs::read_to_string(&self.errors).unwrap_or_default();
        format!(
            "console:\n{console}\nlinerate:\n{}",
            tail(errors.lines().collect())
        )
    }
}
