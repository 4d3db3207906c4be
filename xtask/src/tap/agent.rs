//! The firmware's `bench_agent` with stock iperf, iperf3 and curl: the counts of both ends must be equal.

use super::board::{Device, Namespace, check_downloaded};
use crate::sh;
use anyhow::{Context, Result, bail};
use linerate_ether::pattern;
use serde_json::Value;
use std::fs;
use std::process::Command;
use std::time::Duration;

/// UDP rate in bit/s of real time, low enough for a simulation several times slower than real time.
const RATE: &str = "1M";
/// Payloads of the datagrams, octets.
const SIZES: [u64; 3] = [64, 1000, 1470];
/// Port of lwiperf, and a segment of TCP.
const LWIPERF_PORT: &str = "5002";
const SEGMENT: u64 = 1460;
/// Timeouts of a program in seconds, and of the event on the console after it.
const PROGRAM_TIMEOUT_S: &str = "120";
const EVENT_TIMEOUT: Duration = Duration::from_secs(30);
/// Number of datagrams sent to the echo service, and the program that sends them.
const ECHOES: usize = 20;
const ECHO: &str = "import socket,sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(10)
good = 0
for n in range(int(sys.argv[2])):
    sent = bytes((n + i) % 256 for i in range(100 + 50 * n))
    s.sendto(sent, (sys.argv[1], 7))
    good += s.recv(2000) == sent
print(good)";

/// A device that stock programs test.
pub(super) struct Bench<'a> {
    namespace: &'a Namespace,
    pub(super) device: &'a mut Device,
    /// Address at which it listens.
    address: &'static str,
    /// Octets that each test transfers.
    octets: u64,
    /// Number of `served` events that were checked.
    checked: usize,
}

impl<'a> Bench<'a> {
    /// The device listens at `address`; each test transfers `octets` octets.
    pub(super) fn new(
        namespace: &'a Namespace,
        device: &'a mut Device,
        address: &'static str,
        octets: u64,
    ) -> Self {
        Self {
            namespace,
            checked: device.events("served").len(),
            device,
            address,
            octets,
        }
    }

    /// Runs all programs.
    ///
    /// # Errors
    /// The counts of a program and of the firmware differ; the error names the program.
    pub(super) fn all(&mut self) -> Result<()> {
        self.iperf2().context("iperf")?;
        self.iperf3().context("iperf3")?;
        self.curl().context("curl")?;
        self.echo().context("echo")
    }

    /// lwIP's own iperf server: iperf sends to it, and lets it send (`-r`).
    ///
    /// # Errors
    /// A test is aborted, or the counts of the two ends differ by more than a segment. lwiperf counts 24 octets of the
    /// first segment, and sends whole blocks.
    pub(super) fn lwiperf(&mut self) -> Result<()> {
        let all = self.octets.to_string();
        let port = ["-p", LWIPERF_PORT];
        let args = [
            &["-c", self.address, "-n", &all, "-r", "-y", "C"],
            &port[..],
        ]
        .concat();
        let printed = self.read("iperf", &args).context("lwiperf")?;
        let counted = csv_column(&printed, 7)?;
        let done = |line: &str| line.contains("\"direction\":\"sent\"") && line.contains("lwiperf");
        self.device.wait_for(EVENT_TIMEOUT, done)?;
        let reports = self.device.events("lwiperf");
        let is_complete = reports.len() == 2 && counted.len() == 2;
        let is_equal = |(report, counted): (&Value, &u64)| {
            let near = report["octets"].as_u64().map(|it| it.abs_diff(*counted));
            report["result"] == "done" && near.is_some_and(|it| it <= SEGMENT)
        };
        if !is_complete || !reports.iter().zip(&counted).all(is_equal) {
            bail!("lwiperf reported {reports:?}, iperf counted {counted:?}");
        }
        Ok(())
    }

    fn program(&self, name: &str, args: &[&str]) -> Command {
        let mut command = self.namespace.exec("timeout");
        command.args([PROGRAM_TIMEOUT_S, name]).args(args);
        command
    }

    fn read(&self, name: &str, args: &[&str]) -> Result<String> {
        let read = sh::read(&mut self.program(name, args));
        read.with_context(|| format!("{name} {}\n{}", args.join(" "), self.device.recent_output()))
    }

    /// The next `served` event of the firmware.
    fn served(&mut self, protocol: &str, transport: &str, direction: &str) -> Result<Value> {
        let served = self.served_any(protocol, transport)?;
        if served["direction"] != direction {
            bail!("the firmware reported {served}, not {direction}");
        }
        Ok(served)
    }

    /// The next `served` event, in either direction.
    fn served_any(&mut self, protocol: &str, transport: &str) -> Result<Value> {
        if self.device.events("served").len() <= self.checked {
            let next = |line: &str| line.contains("\"event\":\"served\"");
            self.device.wait_for(EVENT_TIMEOUT, next)?;
        }
        let served = self.device.events("served").swap_remove(self.checked);
        self.checked += 1;
        let expected = [("protocol", protocol), ("transport", transport)];
        if expected.iter().any(|(name, value)| served[*name] != *value) {
            bail!("the firmware reported {served}, not {expected:?}");
        }
        Ok(served)
    }

    fn iperf2(&mut self) -> Result<()> {
        let all = self.octets;
        let octets = all.to_string();
        let run = |bench: &Self, further: &[&str]| {
            let args = ["-c", bench.address, "-n", &octets, "-y", "C"];
            bench.read("iperf", &[&args, further].concat())
        };
        run(self, &[])?;
        expect_equal(&self.served("iperf2", "tcp", "received")?["octets"], all)?;
        let printed = run(self, &["-R"])?;
        let received = csv(&printed, 7)?;
        expect_equal(&self.served("iperf2", "tcp", "sent")?["octets"], received)?;
        // Requests and data in segments of odd size, and in small writes.
        for further in [["-M", "101"], ["-l", "64"]] {
            run(self, &further)?;
            expect_equal(&self.served("iperf2", "tcp", "received")?["octets"], all)?;
        }
        // Both directions sequentially, and at the same time: two connections.
        for both in ["-r", "-d"] {
            let printed = run(self, &[both])?;
            let counted = csv_column(&printed, 7)?;
            let mut served = [0; 2];
            for octets in &mut served {
                *octets = number(&self.served_any("iperf2", "tcp")?["octets"])?;
            }
            if served != [all; 2] || counted != served {
                bail!("{both}: the firmware counted {served:?}, iperf {counted:?}");
            }
        }
        for size in SIZES {
            let printed = run(self, &["-u", "-b", RATE, "-l", &size.to_string()])?;
            let served = self.served("iperf2", "udp", "received")?;
            let sent = csv(&printed, 7)?;
            // It numbers the end of a stream, so every datagram is in a count. If its time is over between the numbering of
            // a datagram and its sending, it sends none of that number. One datagram is shorter, the last one with data,
            // and one of 64 octets is longer, the first: either, if lost, is accounted for as one of `size`.
            let slack = if served["lost"] == 0 { 0 } else { size - 1 };
            let known = accounted(&served, size)?;
            let is_all = [sent, sent + size]
                .into_iter()
                .any(|sent| known.abs_diff(sent) <= slack);
            let is_most = number(&served["octets"])? > sent / 2;
            if !is_all || !is_most {
                bail!("the firmware counted {served}, the other end sent {sent} octets");
            }
        }
        Ok(())
    }

    fn iperf3(&mut self) -> Result<()> {
        let all = self.octets;
        let octets = all.to_string();
        let run = |bench: &Self, further: &[&str]| -> Result<Value> {
            let args = ["-c", bench.address, "-n", &octets, "-J"];
            let printed = bench.read("iperf3", &[&args, further].concat())?;
            Ok(serde_json::from_str(&printed)?)
        };
        let printed = run(self, &[])?;
        let served = self.served("iperf3", "tcp", "received")?;
        expect_equal(
            &served["octets"],
            number(&printed["end"]["sum_sent"]["bytes"])?,
        )?;
        // Data in flight when the client ends the test is not read.
        let printed = run(self, &["-R"])?;
        let (sent, received) = (
            number(&self.served("iperf3", "tcp", "sent")?["octets"])?,
            number(&printed["end"]["sum_received"]["bytes"])?,
        );
        if received < all || sent < received {
            bail!("{received} of {sent} octets received");
        }
        run(self, &["--bidir"])?;
        for direction in ["received", "sent"] {
            let octets = number(&self.served("iperf3", "tcp", direction)?["octets"])?;
            if octets == 0 {
                bail!("--bidir: nothing was {direction}");
            }
        }
        for size in SIZES {
            let printed = run(self, &["-u", "-b", RATE, "-l", &size.to_string()])?;
            let served = self.served("iperf3", "udp", "received")?;
            expect_equal(
                &served["lost"],
                number(&printed["end"]["sum"]["lost_packets"])?,
            )?;
            let sent = number(&printed["end"]["sum"]["bytes"])?;
            expect_datagrams(&served, size, sent)?;
        }
        run(self, &["-u", "-b", RATE, "-l", "1000", "--bidir"])?;
        for direction in ["received", "sent"] {
            let octets = number(&self.served("iperf3", "udp", direction)?["octets"])?;
            if octets == 0 {
                bail!("-u --bidir: nothing was {direction}");
            }
        }
        let printed = run(self, &["-u", "-b", RATE, "-l", "1000", "-R"])?;
        let sent = number(&self.served("iperf3", "udp", "sent")?["octets"])?;
        if sent == 0 || number(&printed["end"]["sum"]["bytes"])? == 0 {
            bail!("-u -R: nothing was sent");
        }
        Ok(())
    }

    pub(super) fn curl(&mut self) -> Result<()> {
        let octets = self.octets;
        let file = self.namespace.file("from-agent");
        let path = file.display().to_string();
        let at = |name: &str| format!("http://{}/{name}", self.address);
        let (from, to) = (at(&octets.to_string()), at("crc32"));
        let quiet = ["--silent", "--show-error", "--fail"];
        self.read("curl", &[&quiet[..], &["--output", &path, &from]].concat())?;
        check_downloaded(&file, octets)?;
        expect_equal(&self.served("http", "tcp", "sent")?["octets"], octets)?;
        let upload = ["--upload-file", &path, &to];
        let printed = self.read("curl", &[&quiet[..], &upload].concat())?;
        expect_equal(&self.served("http", "tcp", "received")?["octets"], octets)?;
        let expected = pattern::crc32(octets);
        if printed.trim() != expected.to_string() {
            bail!(
                "the firmware computed the checksum {}, not {expected}",
                printed.trim()
            );
        }
        // Before it is written to the disk: a gigabyte of a run would hold up whatever else writes.
        fs::remove_file(&file)?;
        Ok(())
    }

    fn echo(&self) -> Result<()> {
        let times = ECHOES.to_string();
        let good = self.read("python3", &["-c", ECHO, self.address, &times])?;
        if good.trim() != times {
            bail!("{} of {times} datagrams were echoed", good.trim());
        }
        Ok(())
    }
}

/// A column of each line of a CSV table.
fn csv_column(table: &str, column: usize) -> Result<Vec<u64>> {
    table.lines().map(|line| csv(line, column)).collect()
}

/// A column of the output of `iperf -y C`.
fn csv(line: &str, column: usize) -> Result<u64> {
    let value = line.trim().split(',').nth(column);
    let value = value.and_then(|value| value.parse().ok());
    value.with_context(|| format!("no number in column {column} of {line:?}"))
}

fn number(value: &Value) -> Result<u64> {
    value
        .as_u64()
        .with_context(|| format!("{value} is not a number"))
}

fn expect_equal(counted: &Value, expected: u64) -> Result<()> {
    if number(counted)? != expected {
        bail!("the firmware counted {counted}, the other end {expected}");
    }
    Ok(())
}

/// The octets of a test with datagrams of `size` octets that the firmware received or knows to be lost.
///
/// On a busy machine the simulated board falls behind real time, and then receives what it missed in bursts at line
/// rate, more than it can.
fn accounted(served: &Value, size: u64) -> Result<u64> {
    Ok(number(&served["octets"])? + number(&served["lost"])? * size)
}

/// Compares a test of iperf3 with datagrams of `size` octets with the `sent` octets that it printed.
///
/// Octets that the board has not received when iperf3 ends the test are in no count, nor those lost after the last
/// datagram that arrived. So the counts add up to no more than was sent, and most of it arrived.
fn expect_datagrams(served: &Value, size: u64, sent: u64) -> Result<()> {
    let known = accounted(served, size)?;
    // The last datagram may be shorter.
    let is_whole = known.div_ceil(size) == number(&served["datagrams"])?;
    let is_most = number(&served["octets"])? > sent / 2;
    if !is_whole || known > sent || !is_most {
        bail!("the firmware counted {served}, the other end sent {sent} octets");
    }
    Ok(())
}
