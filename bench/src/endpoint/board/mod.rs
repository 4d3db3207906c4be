//! A board with the program `bench_agent` that runs on this host, and the clients of its services on
//! the simulated host at the other end of its cable. Each trial restarts the board.
//!
//! - [`sim`]: `sim://BOARD`, simulated, in virtual time.
//! - `qemu`: `qemu://BOARD`, emulated by QEMU, on Linux.
//! - `profile`, `counted`: either of them, with its instructions counted, on Linux.
//! - [`session`]: a board that is switched on, simulated or emulated.
//! - [`transfers`], [`round_trips`], [`frames`]: the trials.

mod console;
#[cfg(target_os = "linux")]
mod counted;
mod frames;
#[cfg(target_os = "linux")]
pub(super) mod profile;
#[cfg(target_os = "linux")]
pub(super) mod qemu;
mod round_trips;
mod runner;
pub(in crate::endpoint) mod session;
pub(super) mod sim;
#[cfg(test)]
mod tests;
mod transfers;
