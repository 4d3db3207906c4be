//! Ethernet framing, checksums and the 10BASE-T line code.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

pub mod fcs;
pub mod ledger;
pub mod pattern;
