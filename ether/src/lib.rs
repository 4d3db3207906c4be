//! Ethernet framing, checksums and the 10BASE-T line code, without allocation.
//!
//! | module       | content                                             | source              |
//! |--------------|-----------------------------------------------------|---------------------|
//! | [`frame`]    | views, emitters, addresses, tags, length checks     | 802.3 clause 3      |
//! | [`fcs`]      | CRC-32, four implementations                        | 802.3 clause 3.2.9  |
//! | [`checksum`] | Internet checksum                                   | RFC 1071, 1624      |
//! | [`preamble`] | SFD search and alignment of raw bits                | 802.3 clause 3.2    |
//! | [`pause`]    | PAUSE frames                                        | 802.3 Annex 31B     |
//! | [`phy10`]    | Manchester, TP_IDL, link pulses, half-bit streams   | 802.3 clauses 14, 28 |
//! | [`ledger`]   | names of counters and of all causes of frame loss   | RFC 3635, 2819      |
//! | [`pattern`]  | payload that both ends can compute                  |                     |
//! | [`random`]   | seeded random numbers                               | Steele, Lea, Flood 2014 |
//! | [`exercise`] | entry points for fuzzers                            |                     |
//!
//! No module uses a clock, a socket or a chip: bytes and times are arguments. Bits are in wire
//! order, least significant bit of each octet first.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

pub mod checksum;
pub mod exercise;
pub mod fcs;
pub mod frame;
pub mod ledger;
pub mod pattern;
pub mod pause;
pub mod phy10;
pub mod preamble;
pub mod random;
