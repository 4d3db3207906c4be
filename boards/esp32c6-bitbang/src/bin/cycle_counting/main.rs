//! Measures the cost of instructions with the core's performance counters.
//!
//! Each experiment is a short loop, run 1, 2, 3, 4 and 1000 times, which separates the cost of the first and
//! the last round from that of the others. The loops are those of Niccle's program of the same name, so that
//! its measurements on a chip can be compared; further ones follow. The printed figures are the counter's
//! difference over the loop, without the read of the counter itself.
//!
//! Finally it prints the timing table that follows from these and further measurements, in the simulator's
//! format: `linerate sim --timing` with the console's log.

#![no_std]
#![no_main]

mod branches;
mod counter;
mod flash;
mod loops;
mod memory;
mod rom;
mod singles;
mod snippets;
mod table;
mod traps;

use counter::{Event, Experiment, ROUNDS};
use esp_hal::{clock::CpuClock, gpio::OutputSignal};
use esp32c6_bitbang::{console, event, info, stage};

#[esp_hal::main]
fn main() -> ! {
    let peripherals = esp_hal::init(esp_hal::Config::default().with_cpu_clock(CpuClock::_160MHz));
    event!(
        "boot",
        "\"program\":\"cycle_counting\",\"variant\":\"{}\"",
        stage::NAME
    );

    // Some loops toggle dedicated output 0: route it to a pin (GPIO7) for an oscilloscope.
    let pin = esp_hal::gpio::Output::new(
        peripherals.GPIO7,
        esp_hal::gpio::Level::Low,
        esp_hal::gpio::OutputConfig::default(),
    );
    // SAFETY: CSR 0x803 enables the output, which nobody else uses.
    unsafe { core::arch::asm!("csrsi 0x803, 1") }
    OutputSignal::CPU_GPIO_0.connect_to(&pin);

    info!(
        "{:38} {:>6} {:>6} {:>6} {:>6} {:>6}",
        "cycles of N rounds, N =", 1, 2, 3, 4, 1000
    );
    for experiment in branches::ALL.iter().chain(memory::ALL).chain(singles::ALL) {
        report(experiment);
    }
    loops::report();
    table::report();
    console::done()
}

/// Runs one experiment and prints its row.
fn report(experiment: &Experiment) {
    let mut cycles = [0; ROUNDS.len()];
    let mut instructions = [0; ROUNDS.len()];
    for (index, &rounds) in ROUNDS.iter().enumerate() {
        // No interrupt is enabled in this program, so nothing else runs.
        cycles[index] = experiment.run(Event::Cycles, rounds);
        instructions[index] = experiment.run(Event::Instructions, rounds);
    }
    let what = experiment.what;
    let [one, two, three, four, many] = cycles;
    info!("{what:38} {one:6} {two:6} {three:6} {four:6} {many:6}");
    event!(
        "cycles",
        "\"what\":\"{what}\",\"rounds\":{ROUNDS:?},\"cycles\":{cycles:?},\
         \"instructions\":{instructions:?}"
    );
}
