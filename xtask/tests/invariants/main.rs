//! The invariants of ARCHITECTURE.md that a machine can check.
#![forbid(unsafe_code)]

mod additions;
mod architecture;
mod circles;
mod code;
mod dependencies;
mod documents;
mod imports;
mod purity;
mod tree;
mod unsafe_code;
