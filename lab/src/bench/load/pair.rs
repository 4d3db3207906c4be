//! Two network namespaces and a cable between them, which go with the benchmark.

use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use xtask::sh;

/// The sender's end and the receiver's: interface and address.
pub const NEAR: &str = "lr-near";
pub const FAR: &str = "lr-far";
pub const FAR_ADDRESS: &str = "10.77.83.2";
const NEAR_ADDRESS: &str = "10.77.83.1";
/// The longest that any program may run, seconds.
const LONGEST: &str = "30";
/// How long a server may take until it listens.
const START: Duration = Duration::from_secs(10);

/// Two namespaces, joined.
pub struct Pair {
    names: [String; 2],
}

/// What the interfaces leave to the next one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Offload {
    /// Nothing: each packet is one, and what is received is coalesced by the system as from a wire.
    Packets,
    /// As Linux makes a veth pair: TCP segments go whole.
    Whole,
}

impl Pair {
    /// Makes them.
    pub fn create() -> Result<Self> {
        let id = std::process::id();
        let pair = Self {
            names: ["near", "far"].map(|end| format!("linerate-load-{id}-{end}")),
        };
        for name in &pair.names {
            sh::read(sh::cmd("ip").args(["netns", "add", name]))
                .context("this machine lets no network namespace be made")?;
        }
        let [near, far] = &pair.names;
        let link = [
            "link", "add", NEAR, "netns", near, "type", "veth", "peer", "name", FAR,
        ];
        sh::read(sh::cmd("ip").args(link).args(["netns", far]))?;
        for (name, interface, address) in [(near, NEAR, NEAR_ADDRESS), (far, FAR, FAR_ADDRESS)] {
            let ip = |args: &[&str]| sh::read(sh::cmd("ip").args(["-n", name]).args(args));
            ip(&["address", "add", &format!("{address}/24"), "dev", interface])?;
            ip(&["link", "set", "lo", "up"])?;
            ip(&["link", "set", interface, "up"])?;
        }
        pair.offload(Offload::Packets)?;
        Ok(pair)
    }

    /// Sets what the interfaces leave to the next one.
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

    /// A program at the sender's end, for a limited time.
    pub fn near(&self, program: impl AsRef<OsStr>) -> Command {
        self.exec(0, program)
    }

    /// A program at the receiver's end, for a limited time.
    pub fn far(&self, program: impl AsRef<OsStr>) -> Command {
        self.exec(1, program)
    }

    fn exec(&self, end: usize, program: impl AsRef<OsStr>) -> Command {
        let mut command = sh::cmd("ip");
        command.args(["netns", "exec", &self.names[end], "timeout", LONGEST]);
        command.arg(program);
        command
    }

    /// What the receiver's interface has counted.
    pub fn packets_received(&self) -> Result<u64> {
        let file = format!("/sys/class/net/{FAR}/statistics/rx_packets");
        let text = sh::read(self.far("cat").arg(file))?;
        text.trim().parse().context("no count of packets")
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = sh::read(sh::cmd("ip").args(["netns", "delete", name]));
        }
    }
}

/// A program that runs beside another, and ends with this value.
pub struct Server {
    child: Child,
}

impl Server {
    /// Starts it, whatever it says.
    pub fn running(command: &mut Command) -> Result<Self> {
        let shown = sh::show(command);
        let child = command.spawn();
        let child = child.with_context(|| format!("cannot start `{shown}`"))?;
        Ok(Self { child })
    }

    /// Starts it and waits until it says that it is `listening`, in whatever case, on either output.
    pub fn start(command: &mut Command) -> Result<Self> {
        let shown = sh::show(command);
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start `{shown}`"))?;
        let mut server = Self { child };
        let (tell, told) = std::sync::mpsc::channel();
        let listen = |output: Option<Box<dyn Read + Send>>| {
            let tell = tell.clone();
            let lines = output.map(|output| BufReader::new(output).lines());
            std::thread::spawn(move || {
                for line in lines.into_iter().flatten().map_while(Result::ok) {
                    if tell.send(line).is_err() {
                        break;
                    }
                }
            });
        };
        // What comes after that it listens is read by `json` from a pipe of its own.
        let errors = server.child.stderr.take();
        listen(errors.map(|it| Box::new(it) as Box<dyn Read + Send>));
        if !shown.contains("/load ") {
            let output = server.child.stdout.take();
            listen(output.map(|it| Box::new(it) as Box<dyn Read + Send>));
        }
        drop(tell);
        let started = Instant::now();
        while let Ok(line) = told.recv_timeout(START.saturating_sub(started.elapsed())) {
            let line = line.to_lowercase();
            // iperf, iperf3, linerate serve.
            if line.contains("listening") || line.contains(&format!(" on {FAR_ADDRESS}")) {
                // The rest is not of interest, but has to go somewhere.
                std::thread::spawn(move || for _ in told {});
                return Ok(server);
            }
        }
        bail!("`{shown}` did not listen")
    }

    /// Waits for its end: the line of JSON that it printed.
    pub fn json(mut self) -> Result<serde_json::Value> {
        let mut text = String::new();
        let mut output = self.child.stdout.take().context("no output")?;
        output.read_to_string(&mut text)?;
        serde_json::from_str(&text).with_context(|| format!("no JSON: {text}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // `timeout` passes it on to what it runs; a kill would leave that behind.
        let id = self.child.id();
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = sh::read(sh::cmd("kill").args(["-TERM", &id.to_string()]));
        }
        let _ = self.child.wait();
    }
}

/// Runs a program to its end: the JSON that it printed.
pub fn json(command: &mut Command) -> Result<serde_json::Value> {
    let text = sh::read(command)?;
    serde_json::from_str(&text).with_context(|| format!("no JSON from `{}`", sh::show(command)))
}

/// A number in JSON, by its path.
pub fn number(value: &serde_json::Value, path: &str) -> Result<f64> {
    let found = value.pointer(path).and_then(serde_json::Value::as_f64);
    found.with_context(|| format!("no {path} in {value}"))
}
