//! Deterministic virtual-time simulator that runs the real firmware.
//!
//! Pure: no host clock, no file, no environment, no iteration over a `HashMap`. ELF, board and seed
//! are inputs; the same inputs give the same trace on any machine.
#![forbid(unsafe_code)]

pub mod board;
pub mod chip;
pub mod device;
pub mod elf;
pub mod lan;
pub mod mem;
pub mod memsys;
pub mod pads;
pub mod peer;
pub mod profile;
pub use linerate_ether::random;
pub mod rv32;
pub mod time;
pub mod trace;
pub mod wire;
