//! The `xtask command line.
#![forbid(unsafe_code)]
fn main() {}
