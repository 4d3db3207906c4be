//! Clients that are served: stock programs, and our STAMP sender.

use std::process::Command;
use std::time::{Duration, Instant};

use super::server::Ports;

/// Time in which a client must have been served.
pub const LIMIT: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy)]
pub enum Client {
    Iperf2Tcp,
    Iperf2Reverse,
    Iperf2Udp,
    Iperf3Tcp,
    Iperf3Reverse,
    Iperf3Udp,
    Download,
    Upload,
    Stamp,
}

/// Result of a client.
pub struct Outcome {
    pub took: Duration,
    pub is_ok: bool,
    pub printed: String,
}

impl Outcome {
    /// What is wrong with it, if anything.
    pub fn failure(&self) -> Option<String> {
        let what = if !self.is_ok {
            "was not served"
        } else if self.took > LIMIT {
            "was served late"
        } else {
            return None;
        };
        Some(format!(
            "{what} in {:?}: {}",
            self.took,
            self.printed.trim()
        ))
    }
}

impl Client {
    pub const ALL: &[Self] = &[
        Self::Iperf2Tcp,
        Self::Iperf2Reverse,
        Self::Iperf2Udp,
        Self::Iperf3Tcp,
        Self::Iperf3Reverse,
        Self::Iperf3Udp,
        Self::Download,
        Self::Upload,
        Self::Stamp,
    ];

    /// The command, and what it prints if it succeeds.
    pub fn command(self, ports: &Ports) -> String {
        let Ports {
            iperf2,
            iperf3,
            http,
            stamp,
            ..
        } = ports;
        let linerate = env!("CARGO_BIN_EXE_linerate");
        match self {
            Self::Iperf2Tcp => format!("iperf -c 127.0.0.1 -p {iperf2} -n 500000 -f B"),
            Self::Iperf2Reverse => format!("iperf -c 127.0.0.1 -p {iperf2} -n 500000 -f B -R"),
            Self::Iperf2Udp => format!("iperf -c 127.0.0.1 -p {iperf2} -u -b 5m -n 100000 -f B"),
            Self::Iperf3Tcp => format!("iperf3 -c 127.0.0.1 -p {iperf3} -n 500000"),
            Self::Iperf3Reverse => format!("iperf3 -c 127.0.0.1 -p {iperf3} -n 500000 -R"),
            Self::Iperf3Udp => format!("iperf3 -c 127.0.0.1 -p {iperf3} -u -b 5M -n 100000"),
            Self::Download => {
                format!(
                    "curl -sS -o /dev/null -w %{{size_download}}. http://127.0.0.1:{http}/500000"
                )
            }
            Self::Upload => {
                format!("head -c 500000 /dev/zero | curl -sS -T - http://127.0.0.1:{http}/x")
            }
            Self::Stamp => {
                format!("{linerate} latency stamp://127.0.0.1:{stamp} -n 20 -i 10 --out .")
            }
        }
    }

    /// Text of a client that was served.
    const fn expected(self) -> &'static str {
        match self {
            Self::Iperf2Tcp | Self::Iperf2Reverse => "500000 Bytes",
            Self::Iperf2Udp => "Server Report:",
            Self::Iperf3Tcp | Self::Iperf3Reverse | Self::Iperf3Udp => "iperf Done.",
            Self::Download => "500000.",
            Self::Upload => "500000",
            Self::Stamp => "median",
        }
    }

    pub fn run(self, ports: &Ports) -> Outcome {
        let folder = tempfile::tempdir().expect("a folder");
        let began = Instant::now();
        let output = Command::new("timeout")
            .args(["-k", "1", "20", "sh", "-c", &self.command(ports)])
            .current_dir(&folder)
            .output()
            .expect("timeout runs");
        let took = began.elapsed();
        let mut printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let is_ok = output.status.success() && printed.contains(self.expected());
        printed.push_str(&String::from_utf8_lossy(&output.stderr));
        Outcome {
            took,
            is_ok,
            printed,
        }
    }
}

/// Tools that are not installed.
pub fn missing_tools() -> Vec<&'static str> {
    let is_missing = |tool: &&str| Command::new(tool).arg("--version").output().is_err();
    ["iperf", "iperf3", "curl"]
        .into_iter()
        .filter(is_missing)
        .collect()
}
