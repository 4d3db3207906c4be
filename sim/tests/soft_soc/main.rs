//! The RV32 soft SoC runs its firmware, and its figures are those that a person computes.

mod firmware;
mod observed;
mod programs;
mod wake;
