//! The cells with UDP in place of TCP. The paper's program measures UDP, its table does not: predictions only.

use super::Bench;
use super::cells::{Cell, Direction, Memory, Optimisation, System};
use super::score::Throughputs;
use super::system::{self, Offered, Parameters};
use anyhow::Result;
use xtask::concurrent;

/// Bytes of a run.
const BYTES: u32 = 200_000;
/// Datagrams offered to a receiver, over its throughput of TCP.
const OFFERED: [f64; 8] = [1.0, 1.15, 1.3, 1.5, 1.75, 2.0, 2.5, 3.0];

/// Throughput of UDP: of a sender as fast as it sends, of a receiver the largest under all offered loads, which are
/// multiples of its throughput of `tcp`.
///
/// # Errors
/// The cell fails.
pub fn measure(bench: &Bench, cell: Cell, tcp: f64, parameters: &Parameters) -> Result<f64> {
    let config = system::config(cell, parameters)?;
    let mut best = 0.0_f64;
    for factor in OFFERED {
        let with = Parameters {
            datagrams: Some(Offered {
                mbit_per_s: tcp * factor,
            }),
            ..parameters.clone()
        };
        let measured = super::run::run(cell, &config, &bench.elf, BYTES, &with, None)?;
        best = best.max(measured.mbit_per_s);
        if cell.direction == Direction::Tx {
            break;
        }
    }
    Ok(best)
}

/// Prints UDP beside TCP of `fitted`.
///
/// # Errors
/// A cell fails.
pub fn run(bench: &Bench, fitted: &Throughputs, parameters: &Parameters) -> Result<()> {
    let tcp: Vec<(Cell, f64)> = fitted.iter().map(|(cell, it)| (*cell, *it)).collect();
    let udp = concurrent::map(&tcp, concurrent::cores(), |(cell, tcp)| {
        Ok((*cell, measure(bench, *cell, *tcp, parameters)?))
    });
    let udp: Throughputs = udp.into_iter().collect::<Result<_>>()?;
    println!("\nUDP, Mbit/s, predicted (over TCP); nothing is published:\n");
    println!(
        "| | DDR none | fm | hw | fm+hw | SSRAM none | fm | hw | fm+hw |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---:|"
    );
    for system in System::ALL {
        for direction in Direction::ALL {
            print!("| {} {} |", system.name(), direction.name());
            for memory in Memory::ALL {
                for optimisation in Optimisation::ALL {
                    let cell = Cell::new(system, direction, memory, optimisation);
                    match (udp.get(&cell), fitted.get(&cell)) {
                        (Some(udp), Some(tcp)) => print!(" {udp:.1} ({:.2}) |", udp / tcp),
                        _ => print!(" - |"),
                    }
                }
            }
            println!();
        }
    }
    let faster = udp.iter().filter(|(cell, it)| **it > fitted[cell]).count();
    println!("UDP is faster than TCP in {faster} of {} cells", udp.len());
    Ok(())
}
