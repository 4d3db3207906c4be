//! Reproducible payload: a byte sequence that both ends of a measurement can compute.
//!
//! Byte `n` is byte `n % 4` of a little-endian word that depends on `n / 4` only. A sender can
//! produce any part of a file of any size without storing it, and a receiver can check a part
//! without the preceding ones. A word costs an addition (or, at a random position, a
//! multiplication), a shift and an exclusive or. The sequence repeats after 16 GiB. Neighbouring
//! words differ, so lost, duplicated or moved bytes change the CRC-32.
#![allow(
    clippy::inline_always,
    reason = "code that firmware runs from RAM must not call into flash"
)]

use crate::fcs::{Crc32, CrcMethod, SLICING_4, Tables};

/// 2^32 divided by the golden ratio, odd: consecutive multiples spread over all words.
const STRIDE: u32 = 0x9E37_79B1;

/// The four bytes at offset `4 * index`, little-endian.
#[inline(always)]
#[must_use]
pub const fn word(index: u32) -> u32 {
    mix(index.wrapping_add(1).wrapping_mul(STRIDE))
}

#[inline(always)]
const fn mix(multiple: u32) -> u32 {
    multiple ^ (multiple >> 15)
}

/// The byte at `offset`.
#[must_use]
pub const fn byte(offset: u64) -> u8 {
    (word((offset >> 2) as u32) >> ((offset & 3) * 8)) as u8
}

/// Fills `buffer` with the bytes from `offset` on, by words where possible.
pub fn fill(offset: u64, buffer: &mut [u8]) {
    let until_word = (offset.wrapping_neg() & 3) as usize;
    let (head, rest) = buffer.split_at_mut(until_word.min(buffer.len()));
    for (offset, slot) in (offset..).zip(head.iter_mut()) {
        *slot = byte(offset);
    }
    let first = (offset.wrapping_add(3) >> 2) as u32;
    let mut multiple = first.wrapping_add(1).wrapping_mul(STRIDE);
    let (words, tail) = rest.as_chunks_mut::<4>();
    for slot in words {
        *slot = mix(multiple).to_le_bytes();
        multiple = multiple.wrapping_add(STRIDE);
    }
    // Not by slices: small firmware links no panic for this.
    for (slot, byte) in tail.iter_mut().zip(mix(multiple).to_le_bytes()) {
        *slot = byte;
    }
}

/// Index of the first byte in `received` that differs from the sequence, where `received[0]` is at
/// `offset`; `None` if all match.
#[must_use]
pub fn first_difference(offset: u64, received: &[u8]) -> Option<usize> {
    let mut expected = [0; 64];
    for (number, part) in received.chunks(expected.len()).enumerate() {
        let start = number * expected.len();
        let expected = &mut expected[..part.len()];
        fill(offset.wrapping_add(start as u64), expected);
        if part != expected {
            return part
                .iter()
                .zip(expected)
                .position(|(a, b)| a != b)
                .map(|at| start + at);
        }
    }
    None
}

/// CRC-32 of a prefix of the sequence, extended incrementally to longer prefixes.
///
/// ```
/// use linerate_ether::pattern::{PrefixCrc, crc32};
/// let mut crc = PrefixCrc::new();
/// assert_eq!(crc.advance_to(10_000), crc32(10_000));
/// assert_eq!(crc.advance_to(100_000), crc32(100_000));
/// ```
#[derive(Debug, Clone)]
pub struct PrefixCrc<'t, M = Tables<4>> {
    crc: Crc32<'t, M>,
    len: u64,
}

impl PrefixCrc<'static> {
    /// Starts at length zero with the default CRC tables.
    #[must_use]
    pub fn new() -> Self {
        Self::with(&SLICING_4)
    }
}

impl Default for PrefixCrc<'static> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'t, M: CrcMethod> PrefixCrc<'t, M> {
    /// Starts at length zero with a CRC method.
    #[must_use]
    pub fn with(method: &'t M) -> Self {
        Self {
            crc: Crc32::with(method),
            len: 0,
        }
    }

    /// The number of bytes covered.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// True if no byte is covered yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Extends the prefix to `len` bytes (never shortens it) and returns its CRC-32.
    pub fn advance_to(&mut self, len: u64) -> u32 {
        let mut bytes = [0; 256];
        while self.len < len {
            let part = (len - self.len).min(bytes.len() as u64) as usize;
            fill(self.len, &mut bytes[..part]);
            self.crc.update(&bytes[..part]);
            self.len += part as u64;
        }
        self.crc.finish()
    }
}

/// The CRC-32 of the first `len` bytes.
#[must_use]
pub fn crc32(len: u64) -> u32 {
    PrefixCrc::new().advance_to(len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Firmware and peers are built against these bytes: they must never change.
    #[test]
    fn first_bytes_and_crcs_are_fixed() {
        let mut start = [0; 16];
        fill(0, &mut start);
        assert_eq!(
            start,
            [
                0xDF, 0x45, 0x36, 0x9E, 0xBF, 0x8B, 0x6E, 0x3C, 0x5F, 0xD8, 0xA7, 0xDA, 0x7F, 0x17,
                0xDD, 0x78
            ]
        );
        assert_eq!(crc32(0), 0);
        assert_eq!(crc32(10_000), 0x96C1_8939);
        assert_eq!(crc32(1_000_000), 0xD297_452C);
    }

    proptest! {
        #[test]
        fn fill_equals_byte_by_byte(
            offset in prop_oneof![0..64_u64, any::<u64>().prop_map(|offset| offset >> 8)],
            len in 0..200_usize,
        ) {
            let mut buffer = [0; 200];
            fill(offset, &mut buffer[..len]);
            for (index, &filled) in buffer[..len].iter().enumerate() {
                prop_assert_eq!(filled, byte(offset + index as u64));
            }
            prop_assert_eq!(first_difference(offset, &buffer[..len]), None);
        }

        #[test]
        fn a_changed_byte_is_found(
            offset in 0..1_000_000_u64,
            at in 0..200_usize,
            flip in 1..=255_u8,
        ) {
            let mut buffer = [0; 200];
            fill(offset, &mut buffer);
            buffer[at] ^= flip;
            prop_assert_eq!(first_difference(offset, &buffer), Some(at));
        }

        #[test]
        fn prefix_crc_is_the_crc_of_the_bytes(first in 0..3000_u64, more in 0..3000_u64) {
            let mut bytes = [0; 6000];
            fill(0, &mut bytes);
            let mut crc = PrefixCrc::new();
            prop_assert_eq!(crc.advance_to(first), crate::fcs::crc32(&bytes[..first as usize]));
            let both = first + more;
            prop_assert_eq!(crc.advance_to(both), crate::fcs::crc32(&bytes[..both as usize]));
            prop_assert_eq!(crc.len(), both);
        }
    }
}
