//! The firmware's `bench_agent` and stock iperf, iperf3 and curl: what both ends say must be the same.

use super::board::{Device, Namespace};
use crate::sh;
use anyhow::{Context, Result, bail};
use linerate_ether::pattern;
use serde_json::Value;
use std::fs;
use std::process::Command;
use std::time::Duration;

/// The rate of UDP, in bit/s of this machine's time: what a simulation several times too slow keeps up
/// with.
const RATE: &str = "1M";
/// How long a program may take, and the console to say so.
const LIMIT: &str = "120";
const SAID: Duration = Duration::from_secs(30);
/// Datagrams sent to the echo, and octets of each.
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

/// Runs them all against `device`, which listens at `address`; each moves so many octets.
///
/// # Errors
/// Names the program whose count is another than the firmware's.
pub(super) fn all(
    namespace: &Namespace,
    device: &mut Device,
    address: &'static str,
    octets: u64,
) -> Result<()> {
    let mut bench = Bench {
        namespace,
        told: device.events("served").len(),
        device,
        address,
        octets,
    };
    bench.iperf2().context("iperf")?;
    bench.iperf3().context("iperf3")?;
    bench.curl().context("curl")?;
    bench.echo().context("echo")
}

/// A file of so many octets from the firmware, and the same file back, with its checksum.
///
/// # Errors
/// Says what was different.
pub(super) fn curl(
    namespace: &Namespace,
    device: &mut Device,
    address: &'static str,
    octets: u64,
) -> Result<()> {
    let mut bench = Bench {
        namespace,
        told: device.events("served").len(),
        device,
        address,
        octets,
    };
    bench.curl()
}

struct Bench<'a> {
    namespace: &'a Namespace,
    device: &'a mut Device,
    /// Where it listens.
    address: &'static str,
    /// How much each test moves.
    octets: u64,
    /// Tests that the console told of and that were looked at.
    told: usize,
}

impl Bench<'_> {
    fn program(&self, name: &str, args: &[&str]) -> Command {
        let mut command = self.namespace.exec("timeout");
        command.args([LIMIT, name]).args(args);
        command
    }

    fn read(&self, name: &str, args: &[&str]) -> Result<String> {
        let read = sh::read(&mut self.program(name, args));
        read.with_context(|| format!("{name} {}\n{}", args.join(" "), self.device.last_words()))
    }

    /// What the firmware says of the next test.
    fn served(&mut self, protocol: &str, transport: &str, direction: &str) -> Result<Value> {
        let served = self.served_any(protocol, transport)?;
        if served["direction"] != direction {
            bail!("the firmware says {served}, not {direction}");
        }
        Ok(served)
    }

    /// The same, whichever way.
    fn served_any(&mut self, protocol: &str, transport: &str) -> Result<Value> {
        if self.device.events("served").len() <= self.told {
            let next = |line: &str| line.contains("\"event\":\"served\"");
            self.device.wait_for(SAID, next)?;
        }
        let served = self.device.events("served").swap_remove(self.told);
        self.told += 1;
        let expected = [("protocol", protocol), ("transport", transport)];
        if expected.iter().any(|(name, value)| served[*name] != *value) {
            bail!("the firmware says {served}, not {expected:?}");
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
        same(&self.served("iperf2", "tcp", "received")?["octets"], all)?;
        let said = run(self, &["-R"])?;
        let received = csv(&said, 7)?;
        same(&self.served("iperf2", "tcp", "sent")?["octets"], received)?;
        // Requests and data in odd pieces, and in small ones.
        for further in [["-M", "101"], ["-l", "64"]] {
            run(self, &further)?;
            same(&self.served("iperf2", "tcp", "received")?["octets"], all)?;
        }
        // One way after the other, and both at once: two connections.
        for both in ["-r", "-d"] {
            let said = run(self, &[both])?;
            let counted = said.lines().map(|line| csv(line, 7));
            let counted = counted.collect::<Result<Vec<_>>>()?;
            let mut served = [0; 2];
            for octets in &mut served {
                *octets = number(&self.served_any("iperf2", "tcp")?["octets"])?;
            }
            if served != [all; 2] || counted != served {
                bail!("{both}: the firmware counted {served:?}, the other end {counted:?}");
            }
        }
        for size in ["64", "1000", "1470"] {
            let said = run(self, &["-u", "-b", RATE, "-l", size])?;
            let served = self.served("iperf2", "udp", "received")?;
            same(&served["octets"], csv(&said, 7)?)?;
            same(&served["lost"], 0)?;
        }
        Ok(())
    }

    fn iperf3(&mut self) -> Result<()> {
        let all = self.octets;
        let octets = all.to_string();
        let run = |bench: &Self, further: &[&str]| -> Result<Value> {
            let args = ["-c", bench.address, "-n", &octets, "-J"];
            let said = bench.read("iperf3", &[&args, further].concat())?;
            Ok(serde_json::from_str(&said)?)
        };
        let said = run(self, &[])?;
        let served = self.served("iperf3", "tcp", "received")?;
        same(
            &served["octets"],
            number(&said["end"]["sum_sent"]["bytes"])?,
        )?;
        // What is under way when the client ends the test is read by nobody.
        let said = run(self, &["-R"])?;
        let (sent, received) = (
            number(&self.served("iperf3", "tcp", "sent")?["octets"])?,
            number(&said["end"]["sum_received"]["bytes"])?,
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
        for size in ["64", "1000", "1470"] {
            let said = run(self, &["-u", "-b", RATE, "-l", size])?;
            let served = self.served("iperf3", "udp", "received")?;
            same(
                &served["lost"],
                number(&said["end"]["sum"]["lost_packets"])?,
            )?;
            same(&served["octets"], number(&said["end"]["sum"]["bytes"])?)?;
        }
        run(self, &["-u", "-b", RATE, "-l", "1000", "--bidir"])?;
        for direction in ["received", "sent"] {
            let octets = number(&self.served("iperf3", "udp", direction)?["octets"])?;
            if octets == 0 {
                bail!("-u --bidir: nothing was {direction}");
            }
        }
        let said = run(self, &["-u", "-b", RATE, "-l", "1000", "-R"])?;
        let sent = number(&self.served("iperf3", "udp", "sent")?["octets"])?;
        if sent == 0 || number(&said["end"]["sum"]["bytes"])? == 0 {
            bail!("-u -R: nothing was sent");
        }
        Ok(())
    }

    fn curl(&mut self) -> Result<()> {
        let octets = self.octets;
        let file = sh::out("tap").join("from-agent");
        let path = file.display().to_string();
        let at = |name: &str| format!("http://{}/{name}", self.address);
        let (from, to) = (at(&octets.to_string()), at("crc32"));
        let quiet = ["--silent", "--show-error", "--fail"];
        self.read("curl", &[&quiet[..], &["--output", &path, &from]].concat())?;
        let got = fs::read(&file)?;
        if got.len() as u64 != octets || pattern::first_difference(0, &got).is_some() {
            bail!("curl got {} bytes, not the {octets} expected", got.len());
        }
        same(&self.served("http", "tcp", "sent")?["octets"], octets)?;
        let upload = ["--upload-file", &path, &to];
        let said = self.read("curl", &[&quiet[..], &upload].concat())?;
        same(&self.served("http", "tcp", "received")?["octets"], octets)?;
        let expected = pattern::crc32(octets);
        if said.trim() != expected.to_string() {
            bail!(
                "the firmware has the checksum {}, not {expected}",
                said.trim()
            );
        }
        Ok(())
    }

    fn echo(&self) -> Result<()> {
        let times = ECHOES.to_string();
        let good = self.read("python3", &["-c", ECHO, self.address, &times])?;
        if good.trim() != times {
            bail!("{} of {times} came back", good.trim());
        }
        Ok(())
    }
}

/// A column of what iperf prints with `-y C`.
fn csv(line: &str, column: usize) -> Result<u64> {
    let value = line.trim().split(',').nth(column);
    let value = value.and_then(|value| value.parse().ok());
    value.with_context(|| format!("no number in column {column} of {line:?}"))
}

fn number(value: &Value) -> Result<u64> {
    value
        .as_u64()
        .with_context(|| format!("{value} is no number"))
}

fn same(said: &Value, expected: u64) -> Result<()> {
    if number(said)? != expected {
        bail!("the firmware counted {said}, the other end {expected}");
    }
    Ok(())
}
