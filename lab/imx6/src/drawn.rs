//! `--explain`: boards with settings drawn at random (`explain.toml`), each measured without knowledge of them, and the first
//! cause that `linerate explain --with` names from these results.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use linerate_explain::cause::with_results;
use linerate_results::record::{
    CountedAt, Datagrams, DeviceCounters, Direction, Distribution, Flow, Latency, LatencyLimits,
    LatencyMetrics, LatencyParams, Ledger, Measurement, Provenance, Run, SCHEMA, UdpSweep,
    UdpSweepMetrics, UdpSweepParams,
};
use linerate_sim::elf::Elf;
use linerate_sim::random::Random;
use linerate_sim::time::Span;
use serde::{Deserialize, Serialize};

use crate::curves::{Curves, Values};
use crate::point::{PAYLOAD, Point, in_parallel};
use crate::transfer::pings;

const RANGES: &str = include_str!("../explain.toml");
/// Echo requests of a run, and datagrams' time of a point.
const PINGS: u16 = 30;
const MEASURES: Span = Span::from_ms(40);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ranges {
    seed: u64,
    runs_per_case: usize,
    case: Vec<Case>,
}

#[derive(Clone, Debug, Deserialize)]
struct Case {
    name: String,
    expected: String,
    program: String,
    boot: Vec<String>,
    #[serde(default)]
    rates_mbit_per_s: Vec<u64>,
    /// Ranges of the parameters.
    #[serde(flatten)]
    ranges: BTreeMap<String, [f64; 2]>,
}

/// A drawn run and what was named.
#[derive(Clone, Debug, Serialize)]
pub struct Drawn {
    /// The case.
    pub case: String,
    /// The cause that should come first; empty: none.
    pub expected: String,
    /// All that were named, the first one first.
    pub named: Vec<String>,
    /// What was drawn.
    pub settings: BTreeMap<String, f64>,
    /// The boot line, without the cycles.
    pub boot: String,
}

impl Drawn {
    fn first(&self) -> &str {
        self.named.first().map_or("", String::as_str)
    }
}

/// Draws, simulates and explains all; writes each run to a file in `out`.
///
/// # Errors
/// A simulation fails, or a file cannot be written.
pub fn run(curves: &Curves, base: &Values, elfs: [&Elf; 2], out: &Path) -> Result<Vec<Drawn>> {
    let ranges: Ranges = toml::from_str(RANGES)?;
    let mut random = Random::new(ranges.seed);
    let mut drawn = Vec::new();
    for case in &ranges.case {
        for _ in 0..ranges.runs_per_case {
            let boot = random.below(case.boot.len() as u64) as usize;
            let mut settings = BTreeMap::new();
            for (name, [least, most]) in &case.ranges {
                let part = random.below(1 << 20) as f64 / f64::from(1 << 20);
                settings.insert(name.clone(), least + part * (most - least));
            }
            drawn.push((case.clone(), case.boot[boot].clone(), settings));
        }
    }
    let folder = out.join("drawn");
    std::fs::create_dir_all(&folder)?;
    let numbered: Vec<_> = drawn.into_iter().enumerate().collect();
    in_parallel(&numbered, |(number, (case, boot, settings))| {
        let results = measure(curves, base, elfs, case, boot, settings)?;
        let run = Run {
            schema: SCHEMA,
            scenario: format!("drawn-{number}"),
            title: String::new(),
            matrix: None,
            provenance: Provenance::default(),
            results,
            findings: Vec::new(),
            not_measured: Vec::new(),
            failures: Vec::new(),
            profiles: BTreeMap::new(),
            frame_counts: BTreeMap::new(),
        };
        let file = folder.join(format!("{number:02}.json"));
        std::fs::write(&file, serde_json::to_string_pretty(&run)?)?;
        let found = with_results(Vec::new(), &run);
        let name = |cause| {
            Ok(serde_json::to_value(cause)?
                .as_str()
                .unwrap_or("")
                .to_owned())
        };
        let named: Result<Vec<String>> = found.iter().map(|it| name(it.finding.cause)).collect();
        Ok(Drawn {
            case: case.name.clone(),
            expected: case.expected.clone(),
            named: named?,
            settings: settings.clone(),
            boot: boot.clone(),
        })
    })
}

/// The measurements of a board: a load sweep with its counters, or idle round trips.
fn measure(
    curves: &Curves,
    base: &Values,
    [sink, agent]: [&Elf; 2],
    case: &Case,
    boot: &str,
    settings: &BTreeMap<String, f64>,
) -> Result<Vec<Measurement>> {
    let mut values = base.clone();
    for (name, value) in settings {
        if name != "ping_interval_us" {
            values.insert(name.clone(), *value);
        }
    }
    if case.program == "kernel_agent" {
        let setup = curves.setup(boot, 1, &values)?;
        let micros = settings.get("ping_interval_us").context("no interval")?;
        let interval = Span::from_us(*micros as u64);
        let times = pings(&setup, agent, PINGS, interval)?;
        return Ok(vec![Measurement::Latency(latency(&times, interval))]);
    }
    let points = case.rates_mbit_per_s.iter().map(|rate| {
        let mut setup = curves.setup(boot, rate * 1_000_000, &values)?;
        setup.measures = MEASURES;
        let point = crate::point::run(&setup, sink)?;
        Ok(Measurement::UdpSweep(sweep_point(&point)))
    });
    points.collect()
}

fn sweep_point(point: &Point) -> UdpSweep {
    let span_ns = (point.seconds * 1e9) as u64;
    let params = UdpSweepParams {
        direction: Direction::ToDevice,
        payload_bytes: PAYLOAD as u64,
        offered_bytes_per_s: point.to_send_mbit_per_s * 125_000.0,
        span_ns,
        ..UdpSweepParams::default()
    };
    let received = point.datagrams - point.lost;
    let datagrams = Datagrams {
        sent: point.datagrams,
        received,
        lost: point.lost,
        ..Datagrams::default()
    };
    let octets = received * PAYLOAD as u64;
    let flow = Flow::datagrams(octets, span_ns, CountedAt::Device, datagrams);
    let mut metrics = UdpSweepMetrics::of(&params, flow);
    metrics.device_counters = DeviceCounters {
        rx_fifo_overruns: Some(point.overruns),
        tx_pause_frames: Some(point.pause_frames),
        ..DeviceCounters::default()
    };
    UdpSweep {
        params,
        metrics,
        ledger: Ledger::default(),
    }
}

fn latency(times_ms: &[f64], interval: Span) -> Latency {
    let mut sorted: Vec<u64> = times_ms.iter().map(|it| (it * 1e6) as u64).collect();
    sorted.sort_unstable();
    let at = |part: f64| {
        let last = sorted.len().saturating_sub(1) as f64;
        sorted
            .get((part * last).round() as usize)
            .copied()
            .unwrap_or(0)
    };
    let rtt = Distribution {
        count: sorted.len() as u64,
        min_ns: at(0.0),
        p50_ns: at(0.5),
        p90_ns: at(0.9),
        p99_ns: at(0.99),
        p999_ns: at(1.0),
        max_ns: at(1.0),
        histogram: Vec::new(),
    };
    Latency {
        params: LatencyParams {
            count: PINGS.into(),
            interval_ns: interval.as_ns(),
            payload_bytes: 56,
            ..LatencyParams::default()
        },
        metrics: LatencyMetrics {
            sent: PINGS.into(),
            answered: sorted.len() as u64,
            pdv_ns: rtt.max_ns - rtt.min_ns,
            rtt: Some(rtt),
            ..LatencyMetrics::default()
        },
        limits: LatencyLimits::default(),
        ledger: Ledger::default(),
    }
}

/// Prints the matrix, and each run whose first cause is another one.
pub fn print(drawn: &[Drawn]) {
    let mut matrix: BTreeMap<(&str, &str), BTreeMap<&str, usize>> = BTreeMap::new();
    for it in drawn {
        let row = matrix.entry((&it.case, &it.expected)).or_default();
        *row.entry(it.first()).or_default() += 1;
    }
    let named = |name: &str| if name.is_empty() { "none" } else { name }.to_owned();
    println!("\nFirst cause named, by case");
    for ((case, expected), row) in &matrix {
        let cells: Vec<String> = row
            .iter()
            .map(|(name, count)| format!("{} {count}", named(name)))
            .collect();
        println!(
            "{case:10} expected {:18} {}",
            named(expected),
            cells.join(", ")
        );
    }
    let right = drawn.iter().filter(|it| it.first() == it.expected).count();
    println!("{right} of {} as expected", drawn.len());
    for (number, it) in drawn.iter().enumerate() {
        if it.first() != it.expected {
            println!("{number:02} {}: {:?} {:?}", it.case, it.named, it.settings);
        }
    }
}
