//! Where the article's last two changes act: frames with overruns that the driver drops, and the truncation length.

use anyhow::Result;
use linerate_sim::elf::Elf;
use linerate_sim::time::Span;
use serde::Serialize;

use crate::ablation::{DROP, THRESHOLDS, TRUNCATION};
use crate::curves::{Curves, Values};
use crate::point::{Point, Setup, run_all};

/// Rates at which both are tried, in bit/s: without overruns next to none, with many, and what the published host reached.
const RATES: [u64; 3] = [400_000_000, 600_000_000, 831_000_000];
/// Factors of the kernel's cycles besides the fitted one.
const FACTORS: [f64; 2] = [1.0, 1.3];
/// What all have in common: overruns, because nothing pauses the host.
const COMMON: &str = "wait=off pause=off rsfl=0 raem=4 rafl=4 ftrl=0x7ff";
/// Receiving in the interrupt handler, and in turns.
const RECEIVE: [(&str, &str); 2] = [
    ("interrupt per frame", "receive=interrupt"),
    ("NAPI", "receive=poll"),
];
/// States and rates of the table of joined frames. At the highest rate, nothing is received with an interrupt per frame.
const STATES: [(&str, &str, u64); 4] = [
    ("interrupt per frame", "receive=interrupt", RATES[1]),
    (
        "interrupt per frame, thresholds set",
        "receive=interrupt SET",
        RATES[1],
    ),
    ("NAPI", "receive=poll", RATES[2]),
    ("NAPI, thresholds set", "receive=poll SET", RATES[2]),
];
/// Time of a point in it: lines of the log are rare.
const LONGER: Span = Span::from_ms(300);

/// A state with a change and without it.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// What was measured.
    #[serde(flatten)]
    pub point: Point,
    /// Share of the processor's time for the cycles of the kernel and for the log.
    pub kernel_share: f64,
}

/// A state in which frames with overruns are passed to the stack, and dropped by the driver.
#[derive(Clone, Debug, Serialize)]
pub struct Dropped {
    /// How it receives.
    pub receive: &'static str,
    /// Factor of the kernel's cycles.
    pub kernel_scale: f64,
    /// Forwarded, dropped.
    pub outcomes: [Outcome; 2],
}

/// A state in which the FIFO can lose the end of a frame.
#[derive(Clone, Debug, Serialize)]
pub struct Joined {
    /// How it receives, and the thresholds.
    pub state: &'static str,
    /// Octets of the FIFO that the end of a frame needs.
    pub overrun_end_bytes: f64,
    /// The log goes to a serial console.
    pub logs: bool,
    /// As it is, and with the truncation length.
    pub outcomes: [Outcome; 2],
}

/// Both tables.
#[derive(Clone, Debug, Serialize)]
pub struct Tables {
    /// Frames with overruns dropped.
    pub dropped: Vec<Dropped>,
    /// Truncation.
    pub joined: Vec<Joined>,
}

/// Simulates both tables.
///
/// # Errors
/// A simulation fails.
pub fn run(curves: &Curves, values: &Values, elf: &Elf) -> Result<Tables> {
    Ok(Tables {
        dropped: dropped(curves, values, elf)?,
        joined: joined(curves, values, elf)?,
    })
}

/// A simulation.
struct Case {
    setup: Setup,
    values: Values,
    logs: bool,
}

/// Simulates groups of two cases.
fn pairs(curves: &Curves, cases: &[Case], elf: &Elf) -> Result<Vec<[Outcome; 2]>> {
    let setups: Vec<Setup> = cases.iter().map(|it| it.setup.clone()).collect();
    let points = run_all(&setups, elf)?;
    let outcomes = points.into_iter().zip(cases);
    let outcomes = outcomes.map(|(point, case)| Outcome {
        kernel_share: curves.kernel_share(&point, &case.values, case.logs),
        point,
    });
    let outcomes: Vec<Outcome> = outcomes.collect();
    let (pairs, _) = outcomes.as_chunks();
    Ok(pairs.to_vec())
}

fn dropped(curves: &Curves, values: &Values, elf: &Elf) -> Result<Vec<Dropped>> {
    let fitted = values.get("kernel_scale").copied().unwrap_or(1.0);
    let mut states = Vec::new();
    let mut cases = Vec::new();
    for (name, receive) in RECEIVE {
        for factor in [fitted].into_iter().chain(FACTORS) {
            let mut values = values.clone();
            values.insert("kernel_scale".to_owned(), factor);
            for rate in RATES {
                states.push((name, factor));
                for errors in ["errors=forward", DROP] {
                    let boot = format!("{COMMON} {receive} {errors}");
                    cases.push(Case {
                        setup: curves.setup(&boot, rate, &values)?,
                        values: values.clone(),
                        logs: true,
                    });
                }
            }
        }
    }
    let outcomes = pairs(curves, &cases, elf)?;
    let rows = states.into_iter().zip(outcomes);
    let rows = rows.map(|((receive, kernel_scale), outcomes)| Dropped {
        receive,
        kernel_scale,
        outcomes,
    });
    Ok(rows.collect())
}

fn joined(curves: &Curves, values: &Values, elf: &Elf) -> Result<Vec<Joined>> {
    let [rare, frequent] = curves.joins();
    let mut states = Vec::new();
    let mut cases = Vec::new();
    for (needed, logs) in [(rare, true), (frequent, true), (frequent, false)] {
        let mut values = values.clone();
        values.insert("overrun_end_bytes".to_owned(), needed);
        for (state, words, rate) in STATES {
            states.push((state, needed, logs));
            let words = words.replace("SET", THRESHOLDS);
            let log = if logs { "" } else { "log_characters=0" };
            for change in ["", TRUNCATION] {
                let boot = format!("{COMMON} {words} {log} {change}");
                let setup = curves.setup(&boot, rate, &values)?;
                cases.push(Case {
                    setup: Setup {
                        measures: setup.measures.max(LONGER),
                        ..setup
                    },
                    values: values.clone(),
                    logs,
                });
            }
        }
    }
    let outcomes = pairs(curves, &cases, elf)?;
    let rows = states.into_iter().zip(outcomes);
    let rows = rows.map(|((state, overrun_end_bytes, logs), outcomes)| Joined {
        state,
        overrun_end_bytes,
        logs,
        outcomes,
    });
    Ok(rows.collect())
}

/// Prints both tables.
pub fn print(tables: &Tables) {
    println!(
        "\nFrames with overruns, no pause frames: offered; received Mbit/s, overruns/s, kernel's share of the processor; the \
         first figures passed to the stack, the others dropped by the driver"
    );
    for row in &tables.dropped {
        let [forwarded, _] = &row.outcomes;
        print!(
            "{:20} {:.2} {:4.0}",
            row.receive, row.kernel_scale, forwarded.point.to_send_mbit_per_s
        );
        for it in &row.outcomes {
            print!(
                " | {:6.1} {:6.0} {:4.0}%",
                it.point.received_mbit_per_s,
                it.point.overruns as f64 / it.point.seconds,
                100.0 * it.kernel_share
            );
        }
        println!();
    }
    println!(
        "\nFrames joined because an overrun lost an end, no pause frames: free octets that an end needs, offered; received \
         Mbit/s, ends lost/s, lines in the log/s, share of the processor for kernel and log; the first figures as it is, the \
         others with the truncation length"
    );
    for row in &tables.joined {
        let [plain, _] = &row.outcomes;
        print!(
            "{:36} {:3.0} {:14} {:4.0}",
            row.state,
            row.overrun_end_bytes,
            if row.logs {
                "serial console"
            } else {
                "no console"
            },
            plain.point.to_send_mbit_per_s
        );
        for it in &row.outcomes {
            let rate = |count: u64| count as f64 / it.point.seconds;
            print!(
                " | {:6.1} {:5.0} {:5.0} {:4.0}%",
                it.point.received_mbit_per_s,
                rate(it.point.lost_ends),
                rate(it.point.parts),
                100.0 * it.kernel_share
            );
        }
        println!();
    }
}
