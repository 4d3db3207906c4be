//! Two network namespaces joined by a veth pair, which are removed after the benchmark.

use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use xtask::sh;
use xtask::tap::board::Netns;

/// Interfaces and addresses of the sender's end (near) and the receiver's end (far).
pub const NEAR: &str = "lr-near";
pub const FAR: &str = "lr-far";
pub const FAR_ADDRESS: &str = "10.77.83.2";
const NEAR_ADDRESS: &str = "10.77.83.1";
/// Timeout of every program, seconds.
const LONGEST: &str = "30";
/// Timeout for a server to listen.
const START: Duration = Duration::from_secs(10);

/// Two namespaces joined by a veth pair.
pub struct Pair {
    near: Netns,
    far: Netns,
}

/// Segmentation and coalescing by the interfaces.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Offload {
    /// The sender's interface segments, and the receiver's system coalesces, as with a real line.
    Packets,
    /// The default of a veth pair: TCP super-packets cross it whole.
    Whole,
}

impl Pair {
    /// Creates both.
    pub fn create() -> Result<Self> {
        let id = std::process::id();
        let [near, far] =
            ["near", "far"].map(|end| Netns::create(format!("linerate-load-{id}-{end}")));
        let pair = Self {
            near: near?,
            far: far?,
        };
        let Self { near, far } = &pair;
        let link = ["link", "add", NEAR, "type", "veth", "peer", "name", FAR];
        near.ip(&[&link[..], &["netns", &far.0]].concat())?;
        for (end, interface, address) in [(near, NEAR, NEAR_ADDRESS), (far, FAR, FAR_ADDRESS)] {
            end.ip(&["address", "add", &format!("{address}/24"), "dev", interface])?;
            end.ip(&["link", "set", "lo", "up"])?;
            end.ip(&["link", "set", interface, "up"])?;
        }
        pair.offload(Offload::Packets)?;
        Ok(pair)
    }

    /// Sets segmentation and coalescing of the interfaces.
    pub fn offload(&self, offload: Offload) -> Result<()> {
        let on = if offload == Offload::Whole {
            "on"
        } else {
            "off"
        };
        let near = ["-K", NEAR, "tx-udp-segmentation", on, "tso", on];
        sh::read(self.near("ethtool").args(near))?;
        sh::read(self.far("ethtool").args(["-K", FAR, "gro", "on"]))?;
        Ok(())
    }

    /// Command at the sender's end, with a timeout.
    pub fn near(&self, program: impl AsRef<OsStr>) -> Command {
        Self::exec(&self.near, program)
    }

    /// Command at the receiver's end, with a timeout.
    pub fn far(&self, program: impl AsRef<OsStr>) -> Command {
        Self::exec(&self.far, program)
    }

    fn exec(end: &Netns, program: impl AsRef<OsStr>) -> Command {
        let mut command = sh::cmd("ip");
        command.args(["netns", "exec", &end.0, "timeout", LONGEST]);
        command.arg(program);
        command
    }

    /// Packet count of the receiver's interface.
    pub fn packets_received(&self) -> Result<u64> {
        let file = format!("/sys/class/net/{FAR}/statistics/rx_packets");
        let text = sh::read(self.far("cat").arg(file))?;
        text.trim()
            .parse()
            .context("the packet count is not a number")
    }
}

/// A program in the background, terminated when this value is dropped.
pub struct Server {
    child: Child,
}

impl Server {
    /// Starts it without waiting.
    pub fn running(command: &mut Command) -> Result<Self> {
        let shown = sh::show(command);
        let child = command.spawn();
        let child = child.with_context(|| format!("cannot start `{shown}`"))?;
        Ok(Self { child })
    }

    /// Starts it and waits until it prints that it is listening, on either output.
    pub fn start(command: &mut Command) -> Result<Self> {
        let shown = sh::show(command);
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start `{shown}`"))?;
        let mut server = Self { child };
        let (sender, lines) = std::sync::mpsc::channel();
        let listen = |output: Option<Box<dyn Read + Send>>| {
            let sender = sender.clone();
            let printed = output.map(|output| BufReader::new(output).lines());
            std::thread::spawn(move || {
                for line in printed.into_iter().flatten().map_while(Result::ok) {
                    if sender.send(line).is_err() {
                        break;
                    }
                }
            });
        };
        // The standard output of `load` and `limit` is read by `json`.
        let errors = server.child.stderr.take();
        listen(errors.map(|it| Box::new(it) as Box<dyn Read + Send>));
        if !shown.contains("/load ") && !shown.contains("/limit ") {
            let output = server.child.stdout.take();
            listen(output.map(|it| Box::new(it) as Box<dyn Read + Send>));
        }
        drop(sender);
        let started = Instant::now();
        while let Ok(line) = lines.recv_timeout(START.saturating_sub(started.elapsed())) {
            let line = line.to_lowercase();
            // iperf, iperf3, linerate serve.
            if line.contains("listening") || line.contains(&format!(" on {FAR_ADDRESS}")) {
                // Further lines are read and discarded, so that the pipe never fills.
                std::thread::spawn(move || for _ in lines {});
                return Ok(server);
            }
        }
        bail!("`{shown}` did not listen")
    }

    /// Waits for its exit; returns the JSON that it printed.
    pub fn json(mut self) -> Result<serde_json::Value> {
        let mut text = String::new();
        let mut output = self.child.stdout.take().context("no output")?;
        output.read_to_string(&mut text)?;
        serde_json::from_str(&text).with_context(|| format!("the output is not JSON: {text}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // `timeout` forwards SIGTERM to its child; after SIGKILL the child would keep running.
        let id = self.child.id();
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = sh::read(sh::cmd("kill").args(["-TERM", &id.to_string()]));
        }
        let _ = self.child.wait();
    }
}

/// Runs a program to its end; returns the JSON that it printed.
pub fn json(command: &mut Command) -> Result<serde_json::Value> {
    let text = sh::read(command)?;
    serde_json::from_str(&text)
        .with_context(|| format!("the output of `{}` is not JSON", sh::show(command)))
}

/// The number at `path`.
pub fn number(value: &serde_json::Value, path: &str) -> Result<f64> {
    let found = value.pointer(path).and_then(serde_json::Value::as_f64);
    found.with_context(|| format!("no {path} in {value}"))
}
