//! The published curves, and the settings of their simulation (`curves.toml`).

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use linerate_sim::chip::soft_soc::{Config, file};
use linerate_sim::lan::SwitchConfig;
use linerate_sim::time::{Span, TICKS_PER_SECOND};
use serde::{Deserialize, Serialize};

use crate::counting::Run;
use crate::point::{Point, Setup};
use crate::published::{Data, Published};

pub(crate) const SETTINGS: &str = include_str!("../curves.toml");
const BOARD: &str = include_str!("../../../boards/rv32-enet/system.toml");
const REVISIONS: &str = include_str!("../../../boards/rv32-enet/revisions.toml");

/// A number and where it comes from.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Sourced {
    /// The number.
    pub value: f64,
    /// Its source.
    pub source: String,
}

/// A fitted parameter, with its prior.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its prior.
    pub value: f64,
    /// Where that comes from.
    pub source: String,
    /// Standard deviation of the logarithm of the prior.
    pub deviation: f64,
    /// The fitted value.
    pub fitted: Option<f64>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Switch {
    queue_bytes: Sourced,
    pauses_station: bool,
}

/// The line that the driver logs for a buffer in which no frame ended.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Log {
    characters: Sourced,
    baud: Sourced,
}

/// The FIFO that loses ends of frames, of no scored curve.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Joins {
    rare: Sourced,
    frequent: Sourced,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Common {
    boot: String,
}

/// A curve's role in the scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Parameters are fitted on it.
    Fitted,
    /// It is compared only.
    HeldOut,
    /// It is published in words.
    #[serde(rename = "in words")]
    InWords,
}

/// A curve.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// Its name.
    pub name: String,
    /// Its name in the published sweeps.
    pub published: Option<String>,
    /// The sweep that has the host's own rates, if not the same.
    pub offered_as: Option<String>,
    /// The test that it is in the published counters.
    pub registers: Option<String>,
    /// Its role.
    pub role: Role,
    /// Words of the boot line.
    pub boot: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    /// Times and lengths.
    pub run: Run,
    switch: Switch,
    parameter: Vec<Parameter>,
    kernel: BTreeMap<String, Sourced>,
    log: Log,
    joins: Joins,
    common: Common,
    curve: Vec<Curve>,
}

/// Everything that a simulation needs besides the firmware.
pub struct Curves {
    file: File,
    board: Config,
    published: Data,
    is_long: bool,
    /// Further words of every boot line.
    boot: String,
}

/// Values of the parameters that differ from the settings, by name.
pub type Values = BTreeMap<String, f64>;

impl Curves {
    /// Reads settings, board and the published sweeps below `data`.
    ///
    /// # Errors
    /// One of the files is missing or wrong.
    pub fn read(data: &Path, is_long: bool, boot: &str) -> Result<Self> {
        let file: File = toml::from_str(SETTINGS)?;
        let published = Data::read(data, file.run)?;
        Ok(Self {
            file,
            board: file::parse(BOARD, "boards/rv32-enet/system.toml")?.config,
            published,
            is_long,
            boot: boot.to_owned(),
        })
    }

    /// The curves.
    pub fn all(&self) -> &[Curve] {
        &self.file.curve
    }

    /// Published rates of TCP in Mbit/s of a kernel with the WAIT mode on or off: the board sends, it receives.
    pub fn tcp(&self, kernel: Option<&str>, wait_mode: Option<&str>) -> [Vec<f64>; 2] {
        let rows = self
            .published
            .tcp
            .iter()
            .filter(|it| Some(it.0.as_str()) == kernel && Some(it.1.as_str()) == wait_mode);
        let (sent, received) = rows.map(|it| (it.2, it.3)).unzip();
        [sent, received]
    }

    /// The fitted parameters.
    pub fn parameters(&self) -> &[Parameter] {
        &self.file.parameter
    }

    /// Cycles of the kernel, with their sources.
    pub fn kernel(&self) -> &BTreeMap<String, Sourced> {
        &self.file.kernel
    }

    /// Free octets that the end of a frame needs in a FIFO that can lose it: rarely, frequently.
    pub fn joins(&self) -> [f64; 2] {
        let Joins { rare, frequent } = &self.file.joins;
        [rare, frequent].map(|it| it.value)
    }

    /// Share of the processor's time that `point` spent for the cycles of [`kernel`](Self::kernel), and for lines of the log
    /// if it `logs`, by what its program counted; the program's own instructions come on top.
    pub fn kernel_share(&self, point: &Point, values: &Values, logs: bool) -> f64 {
        let hertz = (TICKS_PER_SECOND / self.board.ports.period) as f64;
        let scale = values.get("kernel_scale").copied().unwrap_or(1.0);
        let cycles = |name: &str| {
            let settings = self.file.kernel.get(name).map_or(0.0, |it| it.value);
            values.get(name).copied().unwrap_or(settings) * scale
        };
        let passed = point.received + point.socket_drops;
        let copied = passed + point.backlog_drops + point.bad_frames;
        let spent = [
            (point.interrupts, "interrupt_cycles"),
            (point.turns, "turn_cycles"),
            (copied, "frame_cycles"),
            (passed, "stack_cycles"),
            (point.bad_frames, "bad_cycles"),
            (point.received, "process_cycles"),
        ];
        let spent: f64 = spent
            .map(|(count, name)| count as f64 * cycles(name))
            .iter()
            .sum();
        let Log { characters, baud } = &self.file.log;
        let line = if logs {
            characters.value * 10.0 / baud.value
        } else {
            0.0
        };
        let logged = point.parts as f64 * line;
        (spent / hertz + logged) / point.seconds
    }

    /// The rate that iperf reports if its process gets no time during the test, in Mbit/s: the least that is
    /// compared.
    pub fn floor(&self) -> f64 {
        self.file.run.floor()
    }

    /// The rate that iperf reports for `point`, without the wait for the last datagram, in Mbit/s.
    pub fn rate(&self, point: &Point) -> f64 {
        self.file.run.rate_of(point)
    }

    /// The least rate of the comparison with what is printed, in Mbit/s.
    pub fn printed_floor(&self) -> f64 {
        self.file.run.floor_mbit_per_s
    }

    /// Standard deviation of a rate's logarithm, for the fit.
    pub fn fit_deviation(&self) -> f64 {
        self.file.run.fit_deviation
    }

    /// The published points of a curve; those of a curve in words have no received rate.
    pub fn published(&self, curve: &Curve) -> Result<Vec<Published>> {
        let sweep = |name: &String| {
            self.published
                .sweeps
                .get(name)
                .with_context(|| format!("no sweep {name}"))
        };
        let offered = curve.offered_as.as_ref().or(curve.published.as_ref());
        let offered = sweep(offered.context("a curve without a sweep")?)?;
        let Some(name) = &curve.published else {
            let nothing = |it: &Published| Published {
                received: f64::NAN,
                printed: f64::NAN,
                ..*it
            };
            return Ok(offered.iter().map(nothing).collect());
        };
        let points = sweep(name)?.iter().map(|point| {
            let same = offered.iter().find(|it| it.target == point.target);
            let same =
                same.with_context(|| format!("{name}: no rate of the host at {}", point.target))?;
            Ok(Published {
                offered: same.offered,
                ..*point
            })
        });
        points.collect()
    }

    /// A published counter at the point `target` of a curve.
    pub fn register(&self, curve: &Curve, target: u64, register: &str) -> Option<u32> {
        let test = format!("{}; sweep at {target}", curve.registers.as_ref()?);
        self.published
            .registers
            .get(&(test, register.to_owned()))
            .copied()
    }

    /// The prior values, or the fitted ones where there are.
    pub fn values(&self, is_fitted: bool) -> Values {
        let value = |it: &Parameter| it.fitted.filter(|_| is_fitted).unwrap_or(it.value);
        self.file
            .parameter
            .iter()
            .map(|it| (it.name.clone(), value(it)))
            .collect()
    }

    /// The simulation of one point, with these further words of the boot line.
    ///
    /// # Errors
    /// There is no such parameter.
    pub fn setup(&self, boot: &str, offered: u64, values: &Values) -> Result<Setup> {
        let run = self.file.run;
        let scale = values.get("kernel_scale").copied().unwrap_or(1.0);
        let kernel = self.file.kernel.iter();
        let kernel = kernel.map(|(name, it)| {
            let cycles = values.get(name).copied().unwrap_or(it.value);
            format!("{name}={:.0}", cycles * scale)
        });
        let kernel: Vec<_> = kernel.collect();
        let mut setup = Setup {
            board: self.board.clone(),
            boot: format!(
                "{} {} log_characters={} baud={} {boot} {}",
                self.file.common.boot,
                kernel.join(" "),
                self.file.log.characters.value,
                self.file.log.baud.value,
                self.boot
            ),
            switch: SwitchConfig {
                queue_bytes: self.file.switch.queue_bytes.value as usize,
                pauses_station: self.file.switch.pauses_station,
                ..SwitchConfig::default()
            },
            bits_per_s: offered,
            burst_millis: 1000,
            seed: run.seed,
            settles: Span::from_ms(run.settles_ms),
            measures: Span::from_ms(if self.is_long {
                run.long_measures_ms
            } else {
                run.measures_ms
            }),
        };
        for (name, value) in values {
            if name != "kernel_scale" && !self.file.kernel.contains_key(name) {
                setup.set(name, *value)?;
            }
        }
        Ok(setup)
    }
}

/// The entries of a silicon revision, such as `to1.2`.
///
/// # Errors
/// There is no such revision.
pub fn revision(name: &str) -> Result<Values> {
    type Entries = BTreeMap<String, BTreeMap<String, Sourced>>;
    let families: BTreeMap<String, Entries> = toml::from_str(REVISIONS)?;
    let (family, minor) = name.split_once('.').context("a revision such as to1.2")?;
    let family = families
        .get(family)
        .with_context(|| format!("no revision {name}"))?;
    let entries = family.iter().map(|(entry, values)| {
        let value = values.get(minor);
        let value = value.with_context(|| format!("no revision {name}"))?;
        Ok((entry.clone(), value.value))
    });
    entries.collect()
}

#[cfg(test)]
mod tests {
    use super::revision;

    #[test]
    fn revisions_differ_in_named_entries_only() {
        let [first, second, third] = ["to1.0", "to1.1", "to1.2"].map(|it| revision(it).unwrap());
        assert_eq!(first, second);
        assert!(third["receive_bits_per_s"] > first["receive_bits_per_s"]);
        assert!(third["wfi_exit_ns"] < first["wfi_exit_ns"]);
        assert_eq!(third.len(), 3);
        assert!(revision("to1.3").is_err());
    }
}
