//! Firmware of a device under test, for any board: with a network device and a [`Machine`], [`run`] serves
//! iperf 2, iperf 3, HTTP, STAMP and echo, counts, reflects and sends raw frames, loads the CPU on command,
//! and reports on its console.
//!
//! - [`machine`]: board features beside the network device.
//! - [`console`]: lines for a person and for a program; commands.
//! - [`memory`]: sockets and services.
//! - [`frames`]: raw frames, handled before the stack.
//! - [`blast_command`]: the arguments of the command `blast`.
//! - [`blaster`]: raw frames, sent without the stack.
//! - [`load`]: the CPU load.
//! - [`null`]: for comparison, a null device.
//! - [`per_frame`]: for comparison, a device whose interrupt handler receives the frames.
//! - [`rounds`]: progress of the main loop.
//! - [`report`]: console reports of completed tests.
//!
//! It allocates nothing and sleeps while idle.

#![no_std]
#![forbid(unsafe_code)]

pub mod blast_command;
pub mod blaster;
pub mod console;
pub mod frames;
pub mod load;
pub mod machine;
pub mod memory;
pub mod null;
pub mod per_frame;
pub mod report;
pub mod rounds;
mod run;

pub use machine::Machine;
pub use memory::Memory;
pub use run::{Setup, run};
