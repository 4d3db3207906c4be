//! The hart against independent references: another decoder, QEMU, measurements of a chip, and its
//! specified timing.

mod asm;
mod bench;
mod cycle_counting;
mod decoder;
mod firmware;
mod kernels;
mod properties;
mod qemu;
mod random_programs;
