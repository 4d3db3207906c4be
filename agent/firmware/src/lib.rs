//! A device that can be measured, on any board: give [`run`] a network device and a [`Machine`], and it
//! serves iperf 2, iperf 3, HTTP, STAMP and echo, counts, reflects and sends raw frames, loads the CPU if told
//! so, and says on its console what was done.
//!
//! - [`machine`]: what a board has beside its network device.
//! - [`console`]: lines for a person and for a program; commands.
//! - [`memory`]: sockets and services.
//! - [`frames`]: raw frames, seen before the stack.
//! - [`blast_command`]: the arguments of the command `blast`.
//! - [`blaster`]: raw frames, sent past the stack.
//! - [`load`]: the load for the CPU.
//! - [`null`]: for comparison, a device that is none.
//! - [`per_frame`]: for comparison, a device whose interrupt's handler takes frames in.
//! - [`rounds`]: what the main loop gets done.
//! - [`tell`]: tests that are over, in words.
//!
//! It allocates nothing and waits by sleeping.

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
pub mod rounds;
mod run;
pub mod tell;

pub use machine::Machine;
pub use memory::Memory;
pub use run::{Setup, run};
