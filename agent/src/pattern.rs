//! Reproducible payload: the sequence of `linerate_ether::pattern`, octet for octet, so that either end
//! can check what the other made.
//!
//! Octet `n` is octet `n % 4` of a little-endian word that depends on `n / 4` only: any part can be made
//! and checked without the ones before. It repeats after 16 GiB.

/// 2^32 divided by the golden ratio, odd: consecutive multiples spread over all words.
const STRIDE: u32 = 0x9E37_79B1;

const fn word(index: u32) -> u32 {
    let multiple = index.wrapping_add(1).wrapping_mul(STRIDE);
    multiple ^ (multiple >> 15)
}

/// The octet at `offset`.
const fn octet(offset: u64) -> u8 {
    (word((offset >> 2) as u32) >> ((offset & 3) * 8)) as u8
}

/// Writes the octets from `offset` on into `octets`.
pub fn fill(offset: u64, octets: &mut [u8]) {
    let until_word = (offset.wrapping_neg() & 3) as usize;
    let (head, rest) = octets.split_at_mut(until_word.min(octets.len()));
    for (offset, slot) in (offset..).zip(head) {
        *slot = octet(offset);
    }
    let mut index = (offset.wrapping_add(3) >> 2) as u32;
    let (words, tail) = rest.as_chunks_mut::<4>();
    for slot in words {
        *slot = word(index).to_le_bytes();
        index = index.wrapping_add(1);
    }
    let last = word(index).to_le_bytes();
    tail.copy_from_slice(&last[..tail.len()]);
}

/// The index of the first octet in `received` that is not the one expected, when `received[0]` was at
/// `offset`. `None`: all as expected.
#[must_use]
pub fn first_difference(offset: u64, received: &[u8]) -> Option<usize> {
    let mut expected = [0; 64];
    for (number, part) in received.chunks(expected.len()).enumerate() {
        let start = number * expected.len();
        let expected = &mut expected[..part.len()];
        fill(offset.wrapping_add(start as u64), expected);
        if part != expected {
            let at = part.iter().zip(expected).position(|(a, b)| a != b);
            return at.map(|at| start + at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{fill, first_difference, octet};
    use proptest::prelude::*;

    /// As `linerate-ether` has them.
    #[test]
    fn first_octets_are_fixed() {
        let mut start = [0; 16];
        fill(0, &mut start);
        let expected = [
            0xDF, 0x45, 0x36, 0x9E, 0xBF, 0x8B, 0x6E, 0x3C, 0x5F, 0xD8, 0xA7, 0xDA, 0x7F, 0x17,
            0xDD, 0x78,
        ];
        assert_eq!(start, expected);
    }

    proptest! {
        #[test]
        fn any_part_is_that_of_the_whole(offset in 0..1_u64 << 40, len in 0..200_usize) {
            let mut part = [0; 200];
            fill(offset, &mut part[..len]);
            for (index, filled) in part[..len].iter().enumerate() {
                prop_assert_eq!(*filled, octet(offset + index as u64));
            }
            prop_assert_eq!(first_difference(offset, &part[..len]), None);
        }

        #[test]
        fn a_changed_octet_is_found(offset: u32, at in 0..200_usize, flip in 1..=255_u8) {
            let mut part = [0; 200];
            fill(offset.into(), &mut part);
            part[at] ^= flip;
            prop_assert_eq!(first_difference(offset.into(), &part), Some(at));
        }
    }
}
