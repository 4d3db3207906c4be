//! The published data: sweeps, counters, rates of TCP.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use crate::counting::{Run, mbit};

/// The published sweeps and counters, in the folder that `LINERATE_DATA` names.
const SWEEPS: &str = "published/imx6_udp_sweeps.csv";
const REGISTERS: &str = "published/imx6_registers.csv";
/// Published rates of TCP.
const TCP: &str = "published/imx6_tcp.csv";

/// A published point: the board receives.
#[derive(Clone, Copy, Debug)]
pub struct Published {
    /// The rate that iperf was to send.
    pub target: u64,
    /// What it sent, in bit/s of payload.
    pub offered: u64,
    /// Datagrams that it sent.
    pub datagrams: u64,
    /// What it received while the host sent, in Mbit/s.
    pub received: f64,
    /// The same as printed: it includes the time in which iperf waited for its last datagram.
    pub printed: f64,
}

/// Everything that is published.
pub struct Data {
    /// Sweeps by kernel.
    pub sweeps: BTreeMap<String, Vec<Published>>,
    /// Counters by test and register.
    pub registers: BTreeMap<(String, String), u32>,
    /// Rates of TCP: kernel, WAIT mode, the board sends, it receives.
    pub tcp: Vec<(String, String, f64, f64)>,
}

impl Data {
    /// Reads the files below `folder`.
    ///
    /// # Errors
    /// One of them is missing or wrong.
    pub fn read(folder: &Path, run: Run) -> Result<Self> {
        let text = |name: &str| {
            let path = folder.join(name);
            std::fs::read_to_string(&path).with_context(|| {
                format!(
                    "{}; LINERATE_DATA names the folder of published data",
                    path.display()
                )
            })
        };
        Ok(Self {
            sweeps: read_sweeps(&text(SWEEPS)?, run)?,
            registers: read_registers(&text(REGISTERS)?)?,
            tcp: read_tcp(&text(TCP)?)?,
        })
    }
}

/// The sweeps in which the board receives, by kernel.
fn read_sweeps(text: &str, run: Run) -> Result<BTreeMap<String, Vec<Published>>> {
    let mut sweeps: BTreeMap<String, Vec<Published>> = BTreeMap::new();
    let rows = text.lines().filter(|it| !it.starts_with('#')).skip(1);
    for row in rows {
        let fields: Vec<&str> = row.split(',').collect();
        let [kernel, target, direction, _, printed, _, lost, total] = fields[..] else {
            bail!("{SWEEPS}: {row}");
        };
        if direction != "rx" {
            continue;
        }
        let (total, lost): (f64, f64) = (total.parse()?, lost.parse()?);
        let printed = printed.parse()?;
        sweeps
            .entry(kernel.to_owned())
            .or_default()
            .push(Published {
                target: target.parse()?,
                datagrams: total as u64,
                offered: (mbit(total) * 1e6 / run.sends_for_s) as u64,
                received: run.rate(printed, total - lost),
                printed,
            });
    }
    Ok(sweeps)
}

/// The rates of TCP.
fn read_tcp(text: &str) -> Result<Vec<(String, String, f64, f64)>> {
    let rows = text.lines().filter(|it| !it.starts_with('#')).skip(1);
    let rows = rows.map(|row| {
        let fields: Vec<&str> = row.split(',').collect();
        let [kernel, wait_mode, sent, received] = fields[..] else {
            bail!("{TCP}: {row}");
        };
        Ok((
            kernel.to_owned(),
            wait_mode.to_owned(),
            sent.parse()?,
            received.parse()?,
        ))
    });
    rows.collect()
}

/// The counters by test and register.
fn read_registers(text: &str) -> Result<BTreeMap<(String, String), u32>> {
    let rows = text.lines().filter(|it| !it.starts_with('#')).skip(1);
    let registers = rows.map(|row| {
        let fields: Vec<&str> = row.split(',').collect();
        let [test, register, _, value] = fields[..] else {
            bail!("{REGISTERS}: {row}");
        };
        let value = u32::from_str_radix(value.trim_start_matches("0x"), 16)?;
        Ok(((test.to_owned(), register.to_owned()), value))
    });
    registers.collect()
}
