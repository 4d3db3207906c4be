//! `memcpy` and `memset` of the boards in Rust as an object file, so that programs in C copy as fast.

#![no_std]

#[cfg(target_arch = "arm")]
#[path = "../memory/arm.rs"]
mod memory;
#[cfg(target_arch = "riscv32")]
#[path = "../memory/riscv.rs"]
mod memory;
