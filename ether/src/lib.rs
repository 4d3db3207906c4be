//! Ethernet framing, checksums and the 10BASE-T line code.
#![no_std]
#![forbid(unsafe_code)]
