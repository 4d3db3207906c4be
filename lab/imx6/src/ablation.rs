//! What each of the article's changes brings: one after the other in its order, and each alone.

use anyhow::Result;
use linerate_sim::elf::Elf;
use serde::Serialize;

use crate::curves::{Curves, Values};
use crate::point::{Point, run_all};

/// A change: its name, what the article prints of it, and the words of the boot line that make it.
struct Change {
    name: &'static str,
    published: &'static str,
    boot: &'static str,
}

/// Before all changes.
const EARLIER: Change = Change {
    name: "earlier kernel: WAIT mode on, interrupt per frame",
    published: "TCP received: 8 to 14 Mbit/s; UDP at 1000: 3 Mbit/s",
    boot: "wait=on receive=interrupt pause=off errors=forward rsfl=0 rsem=0 raem=4 rafl=4 ftrl=0x7ff",
};
/// The thresholds of the article's patch.
pub const THRESHOLDS: &str = "rsfl=16 rsem=0x84 raem=8 rafl=8 opd=0xfff0";
/// Truncation length that a receive buffer holds.
pub const TRUNCATION: &str = "ftrl=1524";
/// Frames with overruns end in the driver.
pub const DROP: &str = "errors=drop";

/// In the article's order.
const CHANGES: [Change; 6] = [
    Change {
        name: "WAIT mode off",
        published: "TCP received: 210 Mbit/s",
        boot: "wait=off",
    },
    Change {
        name: "NAPI",
        published: "at 1000: 278 instead of 3 Mbit/s",
        boot: "receive=poll",
    },
    Change {
        name: "pause frames advertised, default threshold",
        published: "much the same",
        boot: "pause=on",
    },
    Change {
        name: "thresholds set",
        published: "at 1000: 583 Mbit/s, no overruns",
        boot: THRESHOLDS,
    },
    Change {
        name: "truncation length set",
        published: "no extra long frames, no messages in the log",
        boot: TRUNCATION,
    },
    Change {
        name: "frames with overruns dropped",
        published: "faster when there are overruns",
        boot: DROP,
    },
];

/// A row of a table.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The change.
    pub name: &'static str,
    /// What the article prints.
    pub published: &'static str,
    /// At each of the rates.
    pub points: Vec<Point>,
}

/// The changes in the article's order, each with those before it, and each alone.
#[derive(Clone, Debug, Serialize)]
pub struct Tables {
    /// In the article's order.
    pub in_order: Vec<Row>,
    /// Each alone on the earlier kernel.
    pub alone: Vec<Row>,
}

/// Boot line of the state before `number` changes have been made in order, or of one change alone.
fn boot_lines(is_alone: bool) -> Vec<String> {
    let mut line = EARLIER.boot.to_owned();
    let mut lines = vec![line.clone()];
    for change in &CHANGES {
        if is_alone {
            EARLIER.boot.clone_into(&mut line);
        }
        // A later word replaces an earlier one.
        line = format!("{line} {}", change.boot);
        lines.push(line.clone());
    }
    lines
}

/// Simulates every change at these rates in bit/s.
///
/// # Errors
/// A simulation fails.
pub fn run(curves: &Curves, rates: &[u64], values: &Values, elf: &Elf) -> Result<Tables> {
    let table = |is_alone| {
        let mut setups = Vec::new();
        for line in boot_lines(is_alone) {
            for rate in rates {
                setups.push(curves.setup(&line, *rate, values)?);
            }
        }
        let points = run_all(&setups, elf)?;
        let changes = std::iter::once(&EARLIER).chain(&CHANGES);
        let rows = changes.zip(points.chunks(rates.len()));
        let rows = rows.map(|(change, points)| Row {
            name: change.name,
            published: change.published,
            points: points.to_vec(),
        });
        Ok::<_, anyhow::Error>(rows.collect())
    };
    Ok(Tables {
        in_order: table(false)?,
        alone: table(true)?,
    })
}

/// Prints both tables.
pub fn print(tables: &Tables) {
    let print = |title: &str, rows: &[Row]| {
        println!("\n{title}: received Mbit/s, overruns/s, pause frames/s at each rate");
        for row in rows {
            print!("{:50}", row.name);
            for p in &row.points {
                let rate = |count: u64| count as f64 / p.seconds;
                print!(
                    " {:6.1} {:6.0} {:7.0} |",
                    p.received_mbit_per_s,
                    rate(p.overruns),
                    rate(p.pause_frames)
                );
            }
            println!(" {}", row.published);
        }
    };
    print(
        "Changes in the article's order, each with those before it",
        &tables.in_order,
    );
    print("Each change alone on the earlier kernel", &tables.alone);
}

#[cfg(test)]
mod tests {
    use super::{CHANGES, boot_lines};

    #[test]
    fn changes_add_up_in_the_articles_order_or_stand_alone() {
        let [in_order, alone] = [false, true].map(boot_lines);
        assert_eq!(in_order[0], alone[0]);
        assert_eq!(in_order[1], alone[1]);
        let last = &in_order[CHANGES.len()];
        assert!(CHANGES.iter().all(|it| last.contains(it.boot)), "{last}");
        let words = |line: &str| line.split(' ').count();
        for (line, change) in alone[1..].iter().zip(&CHANGES) {
            assert_eq!(words(line), words(&alone[0]) + words(change.boot));
        }
    }
}
