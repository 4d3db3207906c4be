//! The anomalies with each mechanism that may cause one switched off, the fit unchanged: an anomaly vanishes without its
//! mechanism.

use super::cells::Cell;
use super::score::{ANOMALIES, Throughputs};
use super::system::Parameters;
use super::{Bench, show};
use anyhow::{Result, bail};

/// A mechanism, and what switches it off.
type Mechanism = (&'static str, fn(&mut Parameters));

const MECHANISMS: [Mechanism; 5] = [
    ("as it is", |_| {}),
    (
        "only the packet is flushed from the cache, not all of it",
        |it| {
            it.flushes_cache = false;
        },
    ),
    ("no copy of a received frame", |it| {
        it.copies_received = false;
    }),
    ("the DDR controller posts no writes", |it| {
        it.changes.push(("memory.ddr.posts_writes".to_owned(), 0));
    }),
    ("the checksum unit with bursts of 32 bytes", |it| {
        it.changes
            .push(("device.checksum.burst_bytes".to_owned(), 32));
    }),
];

/// Prints the anomalies of `fitted`, those without each mechanism, and the mechanisms without which each vanishes.
///
/// # Errors
/// A cell fails; an anomaly with the published sign has it without any of the mechanisms, too.
pub fn run(bench: &Bench, fitted: &Throughputs, parameters: &Parameters) -> Result<()> {
    let cells: Vec<Cell> = fitted
        .keys()
        .copied()
        .filter(|cell| is_needed(*cell, fitted))
        .collect();
    println!("\nAnomalies with a mechanism switched off (fit unchanged):");
    let mut with = Throughputs::new();
    let mut vanishes: Vec<Vec<&str>> = ANOMALIES.iter().map(|_| Vec::new()).collect();
    for (number, (name, switch_off)) in MECHANISMS.into_iter().enumerate() {
        let mut without = parameters.clone();
        switch_off(&mut without);
        let results = bench.throughputs(&cells, &without)?;
        println!("  {name}");
        for ((anomaly, value), vanishes) in ANOMALIES.iter().zip(&mut vanishes) {
            println!("    {:>6}  {anomaly}", show(value(&results)));
            if number > 0 && value(&results).is_some_and(|it| it <= 0.0) {
                vanishes.push(name);
            }
        }
        if number == 0 {
            with = results;
        }
    }
    println!("Anomalies that vanish:");
    for ((anomaly, value), without) in ANOMALIES.iter().zip(vanishes) {
        match value(&with) {
            Some(it) if it > 0.0 && without.is_empty() => {
                bail!("{anomaly}: it does not vanish without any of the mechanisms");
            }
            Some(it) if it > 0.0 => println!("  {anomaly}: {}", without.join("; ")),
            _ => println!("  {anomaly}: not there"),
        }
    }
    Ok(())
}

/// True if an anomaly is about `cell`.
fn is_needed(cell: Cell, fitted: &Throughputs) -> bool {
    let mut others = fitted.clone();
    others.remove(&cell);
    ANOMALIES
        .iter()
        .any(|(_, value)| value(fitted).is_some() && value(&others).is_none())
}
