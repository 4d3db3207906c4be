//! What each of the article's changes brings, one after the other.

use anyhow::Result;
use linerate_sim::elf::Elf;
use serde::Serialize;

use crate::curves::{Curves, Values};
use crate::point::{Point, run_all};

/// A step: its name, what the article prints of it, and the words of the boot line from here on.
struct Step {
    name: &'static str,
    published: &'static str,
    boot: &'static str,
}

const RESET: &str = "rsfl=0 raem=4 rafl=4";
const SET: &str = "rsfl=16 rsem=0x84 raem=8 rafl=8 opd=0xfff0";

/// In the article's order; the last two also without pause frames, where there are overruns.
const STEPS: [Step; 9] = [
    Step {
        name: "WAIT mode on, interrupt per frame",
        published: "TCP received: 8 to 14 Mbit/s",
        boot: "wait=on receive=interrupt pause=off ftrl=0x7ff",
    },
    Step {
        name: "WAIT mode off",
        published: "TCP received: 210 Mbit/s",
        boot: "wait=off receive=interrupt pause=off ftrl=0x7ff",
    },
    Step {
        name: "NAPI",
        published: "at 1000: 278 instead of 3 Mbit/s",
        boot: "wait=off receive=poll pause=off ftrl=0x7ff",
    },
    Step {
        name: "pause frames advertised, default threshold",
        published: "much the same",
        boot: "wait=off receive=poll pause=on rsem=0 ftrl=0x7ff",
    },
    Step {
        name: "thresholds set",
        published: "at 1000: 583 Mbit/s, no overruns",
        boot: "wait=off receive=poll pause=on ftrl=0x7ff SET",
    },
    Step {
        name: "truncation length set",
        published: "no long frames",
        boot: "wait=off receive=poll pause=on ftrl=1524 SET",
    },
    Step {
        name: "frames with overruns dropped",
        published: "faster when there are overruns",
        boot: "wait=off receive=poll pause=on ftrl=1524 errors=drop SET",
    },
    Step {
        name: "without pause frames: truncation length",
        published: "",
        boot: "wait=off receive=poll pause=off ftrl=1524",
    },
    Step {
        name: "without pause frames: also frames with overruns dropped",
        published: "faster when there are overruns",
        boot: "wait=off receive=poll pause=off ftrl=1524 errors=drop",
    },
];

/// A row of the table.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The step.
    pub name: &'static str,
    /// What the article prints.
    pub published: &'static str,
    /// At each of the rates.
    pub points: Vec<Point>,
}

/// Simulates every step at these rates in bit/s.
///
/// # Errors
/// A simulation fails.
pub fn run(curves: &Curves, rates: &[u64], values: &Values, elf: &Elf) -> Result<Vec<Row>> {
    let mut setups = Vec::new();
    for step in &STEPS {
        let boot = step.boot.strip_suffix("SET");
        let boot = boot.map_or_else(
            || format!("{} {RESET}", step.boot),
            |it| format!("{it} {SET}"),
        );
        for rate in rates {
            setups.push(curves.setup(&boot, *rate, values)?);
        }
    }
    let points = run_all(&setups, elf)?;
    let rows = STEPS.iter().zip(points.chunks(rates.len()));
    let rows = rows.map(|(step, points)| Row {
        name: step.name,
        published: step.published,
        points: points.to_vec(),
    });
    Ok(rows.collect())
}
