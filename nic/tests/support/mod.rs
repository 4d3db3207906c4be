//! Receptions and transmissions of a PHY.
#![allow(dead_code, reason = "each test binary uses its part")]

pub mod shared;

use linerate_ether::fcs;
use linerate_ether::preamble::PREAMBLE_AND_SFD;

pub const DEVICE: [u8; 6] = [2, 0, 0, 0, 0, 2];
pub const PEER: [u8; 6] = [2, 0, 0, 0, 0, 1];

/// A frame to the device, without FCS: `len` octets that depend on `seed`.
pub fn frame(len: usize, seed: u8) -> Vec<u8> {
    let mut frame = [&DEVICE[..], &PEER, &[0x88, 0xB5]].concat();
    frame.extend((frame.len()..len).map(|at| (at as u8).wrapping_mul(31) ^ seed));
    frame
}

/// The frame with its FCS.
pub fn with_fcs(frame: &[u8]) -> Vec<u8> {
    [frame, &fcs::crc32(frame).to_le_bytes()].concat()
}

/// Differences of a reception from the octets that were sent.
#[derive(Debug, Clone, Copy, Default)]
pub struct Hearing {
    /// Bits of the preamble missed by the receiver.
    pub missed_bits: usize,
    /// Bits of the idle signal (ones) received as data.
    pub idle_bits: usize,
    /// Padding bit of the last byte.
    pub padding: bool,
}

/// Raw reception of `octets`, which are everything after the SFD.
pub fn reception(octets: &[u8], hearing: Hearing) -> Vec<u8> {
    let sent = PREAMBLE_AND_SFD.iter().chain(octets);
    let bits = sent.flat_map(|octet| (0..8).map(move |bit| octet >> bit & 1 == 1));
    let mut received: Vec<bool> = bits.skip(hearing.missed_bits).collect();
    received.extend(std::iter::repeat_n(true, hearing.idle_bits));
    while !received.len().is_multiple_of(8) {
        received.push(hearing.padding);
    }
    let byte = |bits: &[bool]| {
        bits.iter()
            .rev()
            .fold(0, |byte, &bit| byte << 1 | u8::from(bit))
    };
    received.chunks(8).map(byte).collect()
}
