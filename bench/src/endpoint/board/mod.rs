//! A board with the program `bench_agent` that runs on this machine, and the clients of its services on
//! the host at the other end of its cable. Each trial switches the board on anew.
//!
//! - [`sim`]: `sim://BOARD`, simulated, in virtual time.
//! - `qemu`: `qemu://BOARD`, emulated by QEMU, on Linux.
//! - [`session`]: a board that is switched on, whatever runs it.
//! - [`transfers`], [`round_trips`], [`frames`]: the trials.

mod console;
mod frames;
#[cfg(target_os = "linux")]
pub(super) mod qemu;
mod round_trips;
mod runner;
pub(in crate::endpoint) mod session;
pub(super) mod sim;
#[cfg(test)]
mod tests;
mod transfers;
