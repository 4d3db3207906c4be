//! Axes that the paper names and does not measure: one change at a time, the fit unchanged. Predictions only.

use super::cells::{Cell, Direction, Memory, Optimisation, System};
use super::changes::{self, Change};
use super::datagrams;
use super::score::Throughputs;
use super::system::Parameters;
use super::{Bench, Build};
use anyhow::Result;
use xtask::concurrent;

/// Prints the gain of each change over each system, with packets and program in DDR and without optimisation. `wanted`:
/// only changes whose name contains this.
///
/// # Errors
/// A program does not compile. A change with which a cell fails has the error in place of its gains.
pub fn run(
    bench: &Bench,
    build: &Build,
    fitted: &Throughputs,
    parameters: &Parameters,
    wanted: &str,
) -> Result<()> {
    println!("\nGain by one change, DDR without optimisation, TX and RX; nothing is published:\n");
    let names = System::ALL.map(System::name).join(" | ");
    println!("| change | {names} |\n|---|---:|---:|---:|---:|");
    let changes = changes::all(parameters);
    for change in changes.iter().filter(|it| it.name.contains(wanted)) {
        let own;
        let changed = if change.flags.is_empty() {
            bench
        } else {
            let Some(built) = build.with(&change.flags, bench.bytes)? else {
                continue;
            };
            own = built;
            &own
        };
        print!("| {} |", change.name);
        for system in System::ALL {
            print!(
                " {} |",
                gains(bench, changed, change, system, fitted, parameters)
            );
        }
        println!();
    }
    Ok(())
}

/// The gains of TX and RX, or the reason why there are none.
fn gains(
    bench: &Bench,
    changed: &Bench,
    change: &Change,
    system: System,
    fitted: &Throughputs,
    parameters: &Parameters,
) -> String {
    if !(change.systems)(system) {
        return String::new();
    }
    let cell = |direction| Cell::new(system, direction, Memory::Ddr, Optimisation::None);
    let directions: Vec<Direction> = (change.directions.iter().copied())
        .filter(|direction| fitted.contains_key(&cell(*direction)))
        .collect();
    let gain = |direction: &Direction| {
        let cell = cell(*direction);
        let gain = || {
            let tcp = fitted[&cell];
            let (before, after) = if change.is_udp {
                let measure = |bench, parameters| datagrams::measure(bench, cell, tcp, parameters);
                (
                    measure(bench, parameters)?,
                    measure(changed, &change.changed)?,
                )
            } else {
                (tcp, changed.throughputs(&[cell], &change.changed)?[&cell])
            };
            anyhow::Ok(after / before - 1.0)
        };
        match gain() {
            Ok(gain) => format!("{:+.1}%", 100.0 * gain),
            // A change may be too much for the benchmark, such as FIFOs in which no burst of frames fits.
            Err(error) => format!("{error:#}"),
        }
    };
    concurrent::map(&directions, concurrent::cores(), gain).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIFOs of 1 KiB truncate what follows another frame: the controller stops at each error. Needs the cross compiler.
    #[test]
    fn a_truncated_frame_does_not_end_the_benchmark() {
        let changes = changes::all(&Parameters::default());
        let change = (changes.iter())
            .find(|it| it.name.contains("FIFOs of 1024"))
            .unwrap();
        let build = Build { flags: Vec::new() };
        let Some(bench) = build.with(&change.flags, 20_000).unwrap() else {
            return;
        };
        let (system, direction) = (System::TseStandard, Direction::Rx);
        let cell = Cell::new(system, direction, Memory::Ddr, Optimisation::None);
        // Slow, since most of the bursts are lost; a receiver that stops is an error.
        let measured = bench.throughputs(&[cell], &change.changed).unwrap();
        assert!(measured[&cell] > 0.0, "{measured:?}");
    }

    #[test]
    fn each_change_describes_a_system() {
        for change in changes::all(&Parameters::default()) {
            for system in System::ALL.into_iter().filter(|it| (change.systems)(*it)) {
                let cell = Cell::new(system, Direction::Rx, Memory::Ddr, Optimisation::None);
                let config = crate::an440::system::config(cell, &change.changed);
                assert!(config.is_ok(), "{}: {config:?}", change.name);
            }
        }
    }
}
