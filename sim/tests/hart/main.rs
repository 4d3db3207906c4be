//! The hart against independent witnesses: another decoder, QEMU, measurements of a chip, and its
//! own promises about time.

mod asm;
mod bench;
mod cycle_counting;
mod decoder;
mod firmware;
mod kernels;
mod properties;
mod qemu;
mod random_programs;
