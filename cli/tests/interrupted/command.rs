//! The commands that are interrupted, and the server that two of them measure.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A command that measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measuring {
    Run,
    Sweep,
    Test,
}

/// A short scenario: pings of two programs, and a limit that is not met.
const SCENARIO: &str = r#"schema = 1
name = "short"
title = "Pings of two programs"
board = "esp32c6-bitbang"
record = { pcapng = true, vcd_ms = 1 }

[[run]]
variant = "line-rate"
ping = { count = 10 }

[[run]]
variant = "windowed"
ping = { count = 10 }

[[expect]]
variant = "windowed"
measurement = "ping"
metric = "received"
min = 11
"#;

impl Measuring {
    /// Exit code without a fault.
    pub const fn code(self) -> i32 {
        match self {
            Self::Run => 1,
            Self::Sweep | Self::Test => 0,
        }
    }

    /// Its title in a report.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Run => "# Pings of two programs",
            Self::Sweep => "# sweep of iperf3 at ",
            Self::Test => "# test of iperf3 at ",
        }
    }

    /// The command that measures `server` and writes to `out`.
    pub fn command(self, server: &Server, folder: &Path, out: &Path) -> Command {
        let mut command = linerate();
        let target = format!("iperf3://127.0.0.1:{}", server.port);
        match self {
            Self::Run => {
                let scenario = folder.join("short.toml");
                std::fs::write(&scenario, SCENARIO).expect("written");
                let firmware = firmware().expect("checked before");
                command.arg("run").arg(scenario).args(["--threads", "1"]);
                command.arg("--elf-dir").arg(firmware);
            }
            Self::Sweep => {
                command.args(["sweep", &target, "load", "--forward", "--from", "500k"]);
                command.args(["--to", "1M", "--steps", "2", "-t", "1", "--settle", "0"]);
            }
            Self::Test => {
                command.args(["test", &target, "-u", "-n", "20k"]);
            }
        }
        command.arg("--out").arg(out);
        command
    }
}

pub fn linerate() -> Command {
    Command::new(env!("CARGO_BIN_EXE_linerate"))
}

/// The folder with the folders of the boards' programs, if they are built.
pub fn firmware() -> Option<PathBuf> {
    let board = std::env::var_os("LINERATE_FIRMWARE")?;
    Some(PathBuf::from(board).parent()?.to_owned())
}

/// `linerate serve iperf3`, until it is dropped.
pub struct Server {
    child: Child,
    pub port: u16,
}

impl Server {
    pub fn start() -> Self {
        loop {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
            let port = listener.local_addr().expect("an address").port();
            drop(listener);
            let mut child = linerate()
                .args(["serve", &format!("iperf3:{port}"), "--seconds", "600"])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .expect("it starts");
            let messages = BufReader::new(child.stderr.take().expect("a pipe"));
            let mut lines = messages.lines().map_while(Result::ok);
            let server = Self { child, port };
            // Otherwise the port was taken in the meantime.
            if lines.any(|line| line.starts_with("iperf3 on ")) {
                return server;
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
