//! The published curves, and the settings of their simulation (`curves.toml`).

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use linerate_sim::chip::soft_soc::{Config, file};
use linerate_sim::lan::SwitchConfig;
use linerate_sim::time::Span;
use serde::Deserialize;

use crate::point::{PAYLOAD, Setup};

const SETTINGS: &str = include_str!("../curves.toml");
const BOARD: &str = include_str!("../../../boards/rv32-enet/system.toml");
/// The published sweeps, in the folder that `LINERATE_DATA` names.
const SWEEPS: &str = "published/imx6_udp_sweeps.csv";

/// A number and where it comes from.
#[derive(Clone, Debug, Deserialize)]
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
    /// The fitted value.
    pub fitted: Option<f64>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    settles_ms: u64,
    measures_ms: u64,
    long_measures_ms: u64,
    seed: u64,
    floor_mbit_per_s: f64,
    sends_for_s: f64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Switch {
    queue_bytes: Sourced,
    pauses_station: bool,
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
    /// Its role.
    pub role: Role,
    /// Words of the boot line.
    pub boot: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    run: Run,
    switch: Switch,
    parameter: Vec<Parameter>,
    kernel: BTreeMap<String, Sourced>,
    common: Common,
    curve: Vec<Curve>,
}

/// A published point: the board receives.
#[derive(Clone, Copy, Debug)]
pub struct Published {
    /// The rate that iperf was to send.
    pub target: u64,
    /// What it sent, in bit/s of payload.
    pub offered: u64,
    /// What it received, as printed, in Mbit/s.
    pub received: f64,
}

/// Everything that a simulation needs besides the firmware.
pub struct Curves {
    file: File,
    board: Config,
    published: BTreeMap<String, Vec<Published>>,
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
        let sweeps = data.join(SWEEPS);
        let text = std::fs::read_to_string(&sweeps).with_context(|| {
            format!(
                "{}; LINERATE_DATA names the folder of published data",
                sweeps.display()
            )
        })?;
        let published = read_sweeps(&text, file.run.sends_for_s)?;
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

    /// The fitted parameters.
    pub fn parameters(&self) -> &[Parameter] {
        &self.file.parameter
    }

    /// Cycles of the kernel, with their sources.
    pub fn kernel(&self) -> &BTreeMap<String, Sourced> {
        &self.file.kernel
    }

    /// The least rate that is compared, in Mbit/s.
    pub fn floor(&self) -> f64 {
        self.file.run.floor_mbit_per_s
    }

    /// The published points of a curve; those of a curve in words have no received rate.
    pub fn published(&self, curve: &Curve) -> Result<Vec<Published>> {
        let sweep = |name: &String| {
            self.published
                .get(name)
                .with_context(|| format!("no sweep {name}"))
        };
        let offered = curve.offered_as.as_ref().or(curve.published.as_ref());
        let offered = sweep(offered.context("a curve without a sweep")?)?;
        let Some(name) = &curve.published else {
            let nothing = |it: &Published| Published {
                received: f64::NAN,
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
                "{} {} {boot} {}",
                self.file.common.boot,
                kernel.join(" "),
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

/// The sweeps in which the board receives, by kernel.
fn read_sweeps(text: &str, sends_for_s: f64) -> Result<BTreeMap<String, Vec<Published>>> {
    let mut sweeps: BTreeMap<String, Vec<Published>> = BTreeMap::new();
    let rows = text.lines().filter(|it| !it.starts_with('#')).skip(1);
    for row in rows {
        let fields: Vec<&str> = row.split(',').collect();
        let [kernel, target, direction, _, received, _, _, total] = fields[..] else {
            bail!("{SWEEPS}: {row}");
        };
        if direction != "rx" {
            continue;
        }
        let total: f64 = total.parse()?;
        sweeps
            .entry(kernel.to_owned())
            .or_default()
            .push(Published {
                target: target.parse()?,
                offered: (total * 8.0 * PAYLOAD as f64 / sends_for_s) as u64,
                received: received.parse()?,
            });
    }
    Ok(sweeps)
}
