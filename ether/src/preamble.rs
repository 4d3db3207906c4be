//! Preamble and start frame delimiter, and the alignment of raw received bits to them
//! (IEEE 802.3 clauses 3.2.1, 3.2.2).
//!
//! A receiver without byte clock packs the sampled bits in order of arrival, least significant bit
//! first, so the frame begins at any bit of the raw stream. [`find_frame`] returns that bit, and
//! the `align` functions shift the frame to an octet boundary.
//!
//! ```
//! use linerate_ether::preamble::{align_in_place, find_frame};
//! // Three bits of preamble were missed; 0x02 is the frame's first byte.
//! let mut raw = (0x02_D555_5555_5555_5555_u128 >> 3).to_le_bytes();
//! let start = find_frame(&raw).unwrap();
//! assert_eq!(start, 61);
//! let len = align_in_place(&mut raw, start);
//! assert_eq!((raw[0], len), (0x02, 8));
//! ```
//!
//! The word versions are for a 32-bit core that traps unaligned access: one load and one store per
//! word, unrolled by eight, take 1.34 instructions per octet on RV32IMAC; the byte versions take
//! 5.4. With the CRC in the same pass it is 6.6, against 1.3 and 6.3 in two passes. The words are
//! in memory order, as if a byte slice had been cast: the lowest address of a word is its first
//! byte on the wire.
#![allow(
    clippy::inline_always,
    reason = "code that firmware runs from RAM must not call into flash"
)]

use core::cell::Cell;

use crate::fcs::Tables;

/// The start frame delimiter: the bits 1 0 1 0 1 0 1 1 in wire order.
pub const SFD: u8 = 0xD5;
/// Preamble and SFD, as sent before every frame.
pub const PREAMBLE_AND_SFD: [u8; 8] = [0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, SFD];
/// Bits of [`PREAMBLE_AND_SFD`]: the most that a raw reception has before the frame.
pub const PREAMBLE_AND_SFD_BITS: usize = 64;

/// Index of the bit of `raw` at which the frame begins: the first bit after the SFD. `None` if the
/// SFD is not within the first 64 bits.
///
/// Works on words: the SFD ends in the only pair of ones in a preamble.
#[must_use]
pub fn find_frame(raw: &[u8]) -> Option<usize> {
    let mut first = [0; 8];
    let len = raw.len().min(first.len());
    first[..len].copy_from_slice(&raw[..len]);
    find_in(u64::from_le_bytes(first))
}

/// [`find_frame`] for a stream of words in memory order.
#[must_use]
pub fn find_frame_words(raw: &[u32]) -> Option<usize> {
    let word = |at: usize| u64::from(raw.get(at).map_or(0, |word| word.to_le()));
    find_in(word(1) << 32 | word(0))
}

/// Finds the SFD in 64 bits, the first on the wire being the least significant.
#[inline(always)]
fn find_in(bits: u64) -> Option<usize> {
    let mut pairs = bits & (bits >> 1);
    while pairs != 0 {
        let first_of_pair = pairs.trailing_zeros();
        if first_of_pair >= 6 && (bits >> (first_of_pair - 6)) as u8 == SFD {
            return Some(first_of_pair as usize + 2);
        }
        pairs &= pairs - 1;
    }
    None
}

/// Reference implementation of [`find_frame`]: one bit at a time, within the first `limit` bits of
/// `raw`.
#[must_use]
pub fn find_frame_bitwise(raw: &[u8], limit: usize) -> Option<usize> {
    let mut window = 0_u8;
    for bit in 0..limit.min(raw.len().saturating_mul(8)) {
        window = window >> 1 | (raw[bit / 8] >> (bit % 8) & 1) << 7;
        if bit >= 7 && window == SFD {
            return Some(bit + 1);
        }
    }
    None
}

/// Number of whole octets in `raw_len` octets from bit `start` on.
#[must_use]
pub const fn aligned_len(raw_len: usize, start: usize) -> usize {
    let (skip, shift) = (start / 8, (start % 8) as u32);
    raw_len.saturating_sub(skip + (shift != 0) as usize)
}

/// Moves the bits of `raw` from bit `start` on to its front and returns how many whole octets they
/// fill. The content after those is unspecified.
pub fn align_in_place(raw: &mut [u8], start: usize) -> usize {
    let len = aligned_len(raw.len(), start);
    if start.is_multiple_of(8) {
        raw.copy_within(raw.len() - len.., 0);
        return len;
    }
    let cells = Cell::from_mut(raw).as_slice_of_cells();
    align_cells::<_, _, 8>(cells, start, &cells[..len], |_| {});
    len
}

/// Copies the bits of `raw` from bit `start` on to `out`, as many whole octets as fit, and returns
/// their number.
pub fn align_into(raw: &[u8], start: usize, out: &mut [u8]) -> usize {
    let len = aligned_len(raw.len(), start).min(out.len());
    let out = Cell::from_mut(&mut out[..len]).as_slice_of_cells();
    align_cells::<_, _, 8>(raw, start, out, |_| {});
    len
}

/// [`align_in_place`] for words in memory order: the first bit of the frame moves to the front of
/// `words`. Zeros are shifted in after the last bit. [`aligned_len`] gives the number of octets of
/// the frame.
#[inline]
pub fn align_words_in_place(words: &mut [u32], start: usize) {
    let cells = Cell::from_mut(words).as_slice_of_cells();
    align_cells::<_, _, 8>(cells, start, cells, |_| {});
}

/// [`align_into`] for words in memory order. Fills `out` as far as `raw` has bits, with zeros after
/// the last one in its word; returns the number of words written.
#[inline]
pub fn align_words_into(raw: &[u32], start: usize, out: &mut [u32]) -> usize {
    align_cells::<_, _, 8>(raw, start, Cell::from_mut(out).as_slice_of_cells(), |_| {})
}

/// Like [`align_words_in_place`], and computes the CRC of the frame in the same pass, while each
/// word is in a register.
///
/// `len` is the number of octets of the frame with FCS: [`aligned_len`] of the raw octets, at most
/// that of `words`. Returns the raw CRC register, which is [`crate::fcs::RESIDUE`] for a good
/// frame.
#[inline]
#[must_use]
pub fn align_words_in_place_with_crc(
    words: &mut [u32],
    start: usize,
    len: usize,
    tables: &Tables<4>,
) -> u32 {
    let len = len.min(aligned_len(words.len() * 4, start));
    let cells = Cell::from_mut(words).as_slice_of_cells();
    let whole = len / 4;
    let (summed, rest) = cells.split_at(whole);
    let mut register = !0;
    align_cells::<_, _, 2>(cells, start, summed, |word| {
        register = tables.step_word(register, word);
    });
    align_cells::<_, _, 1>(cells, start + whole * 32, rest, |_| {});
    let last = rest.first().map_or(0, Cell::get).to_ne_bytes();
    last[..len % 4]
        .iter()
        .fold(register, |register, &byte| tables.step(register, byte))
}

/// An octet or a word: the unit of loads and stores.
trait Unit: Copy {
    const BITS: usize;
    /// The bits as a number, the first on the wire least significant.
    fn to_bits(self) -> u32;
    /// The lowest [`Self::BITS`] of `bits`.
    fn from_bits(bits: u32) -> Self;
}

impl Unit for u8 {
    const BITS: usize = 8;

    #[inline(always)]
    fn to_bits(self) -> u32 {
        self.into()
    }

    #[inline(always)]
    fn from_bits(bits: u32) -> Self {
        bits as Self
    }
}

impl Unit for u32 {
    const BITS: usize = 32;

    #[inline(always)]
    fn to_bits(self) -> u32 {
        self.to_le()
    }

    #[inline(always)]
    fn from_bits(bits: u32) -> Self {
        Self::from_le(bits)
    }
}

/// A source of units.
trait Source<U> {
    fn load(&self) -> U;
}

impl<U: Unit> Source<U> for U {
    #[inline(always)]
    fn load(&self) -> U {
        *self
    }
}

impl<U: Unit> Source<U> for Cell<U> {
    #[inline(always)]
    fn load(&self) -> U {
        self.get()
    }
}

/// Shifts `source` from bit `start` on into `out` and passes each unit to `seen`, the first bit on
/// the wire least significant. `out` may be the front of the source's own cells: a unit is read
/// before it is overwritten. Processes `UNROLL` units per iteration. Returns the number of units
/// written.
#[inline(always)]
fn align_cells<U: Unit, S: Source<U>, const UNROLL: usize>(
    source: &[S],
    start: usize,
    out: &[Cell<U>],
    mut seen: impl FnMut(u32),
) -> usize {
    let source = source.get(start / U::BITS..).unwrap_or_default();
    let shift = start % U::BITS;
    let Some((first, rest)) = source.split_first() else {
        return 0;
    };
    let count = source.len().min(out.len());
    let out = &out[..count];
    if shift == 0 {
        for (out, next) in out.iter().zip(source) {
            let unit = next.load();
            seen(unit.to_bits());
            out.set(unit);
        }
        return count;
    }
    let up = U::BITS - shift;
    let mut current = first.load().to_bits();
    let mut step = |next: u32, out: &Cell<U>| {
        let bits = current >> shift | next << up;
        out.set(U::from_bits(bits));
        seen(bits);
        current = next;
    };
    let rest = &rest[..count.min(rest.len())];
    let (source_chunks, source_tail) = rest.as_chunks::<UNROLL>();
    let (out_chunks, out_tail) = out[..rest.len()].as_chunks::<UNROLL>();
    for (next, out) in source_chunks.iter().zip(out_chunks) {
        for (next, out) in next.iter().zip(out) {
            step(next.load().to_bits(), out);
        }
    }
    for (next, out) in source_tail.iter().zip(out_tail) {
        step(next.load().to_bits(), out);
    }
    if let Some(last) = out.get(rest.len()) {
        step(0, last);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fcs::{self, SLICING_4};
    use proptest::prelude::*;
    use std::vec;
    use std::vec::Vec;

    /// `frame` after `preamble_bits` of preamble and SFD, at most 64, as a receiver packs it.
    fn raw_stream(preamble_bits: usize, frame: &[u8]) -> Vec<u8> {
        let whole: Vec<u8> = PREAMBLE_AND_SFD.iter().chain(frame).copied().collect();
        let skip = 64 - preamble_bits;
        let bits = whole.len() * 8 - skip;
        let mut raw = vec![0; bits.div_ceil(8)];
        for bit in 0..bits {
            let at = bit + skip;
            raw[bit / 8] |= (whole[at / 8] >> (at % 8) & 1) << (bit % 8);
        }
        raw
    }

    fn to_words(bytes: &[u8]) -> Vec<u32> {
        bytes
            .chunks(4)
            .map(|chunk| {
                let mut word = [0; 4];
                word[..chunk.len()].copy_from_slice(chunk);
                u32::from_ne_bytes(word)
            })
            .collect()
    }

    fn to_bytes(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn sfd_at_every_place() {
        for preamble_bits in 8..=64 {
            let raw = raw_stream(preamble_bits, &[0xFF; 8]);
            assert_eq!(find_frame(&raw), Some(preamble_bits), "{preamble_bits}");
            assert_eq!(find_frame_words(&to_words(&raw)), Some(preamble_bits));
        }
        // With seven bits the first bit of the SFD is lost and its position is ambiguous.
        assert_eq!(find_frame(&raw_stream(7, &[0; 8])), None);
        assert_eq!(find_frame(&[0x55; 64]), None);
        assert_eq!(find_frame(&[]), None);
    }

    #[test]
    fn nothing_to_align() {
        assert_eq!(align_in_place(&mut [], 0), 0);
        assert_eq!(align_in_place(&mut [1, 2], 16), 0);
        assert_eq!(align_in_place(&mut [1, 2], 9), 0);
        assert_eq!(align_in_place(&mut [1, 2], usize::MAX), 0);
        assert_eq!(align_into(&[1, 2], 17, &mut [0; 4]), 0);
        align_words_in_place(&mut [], 3);
        align_words_in_place(&mut [1], usize::MAX);
        assert_eq!(align_words_into(&[1], 32, &mut [0]), 0);
        assert_eq!(
            align_words_in_place_with_crc(&mut [1], 64, 9, &SLICING_4),
            !0
        );
    }

    #[test]
    fn zeros_follow_the_last_bit() {
        let mut words = [u32::MAX; 2];
        align_words_in_place(&mut words, 4);
        assert_eq!(words.map(u32::to_le), [u32::MAX, u32::MAX >> 4]);
    }

    proptest! {
        #[test]
        fn fast_search_equals_the_reference(
            raw in prop::collection::vec(prop_oneof![Just(0x55), Just(0xD5), any::<u8>()], 0..12),
        ) {
            let expected = find_frame_bitwise(&raw, PREAMBLE_AND_SFD_BITS);
            prop_assert_eq!(find_frame(&raw), expected);
            prop_assert_eq!(find_frame_words(&to_words(&raw)), expected);
        }

        #[test]
        fn all_align_functions_find_the_frame(
            preamble_bits in 8..=64_usize,
            frame in prop::collection::vec(any::<u8>(), 1..200),
            room in 0..60_usize,
        ) {
            let raw = raw_stream(preamble_bits, &frame);
            let start = find_frame(&raw).unwrap();
            prop_assert_eq!(aligned_len(raw.len(), start), frame.len());

            let mut bytes = raw.clone();
            prop_assert_eq!(align_in_place(&mut bytes, start), frame.len());
            prop_assert_eq!(&bytes[..frame.len()], &frame[..]);

            let mut out = vec![0; room];
            let len = align_into(&raw, start, &mut out);
            prop_assert_eq!(len, room.min(frame.len()));
            prop_assert_eq!(&out[..len], &frame[..len]);

            let mut words = to_words(&raw);
            align_words_in_place(&mut words, start);
            prop_assert_eq!(&to_bytes(&words)[..frame.len()], &frame[..]);

            let mut out = vec![0; room];
            let len = align_words_into(&to_words(&raw), start, &mut out);
            prop_assert!(len == room || len * 4 >= frame.len());
            let len = frame.len().min(len * 4);
            prop_assert_eq!(&to_bytes(&out)[..len], &frame[..len]);

            let mut words = to_words(&raw);
            let register =
                align_words_in_place_with_crc(&mut words, start, frame.len(), &SLICING_4);
            prop_assert_eq!(&to_bytes(&words)[..frame.len()], &frame[..]);
            prop_assert_eq!(!register, fcs::crc32(&frame));
        }

        #[test]
        fn any_start_shifts_alike(
            words in prop::collection::vec(any::<u32>(), 0..40),
            start in 0..1400_usize,
        ) {
            let mut expected = to_bytes(&words);
            let len = align_in_place(&mut expected, start);
            let mut aligned = words.clone();
            align_words_in_place(&mut aligned, start);
            prop_assert_eq!(&to_bytes(&aligned)[..len], &expected[..len]);
            let mut aligned = words.clone();
            let register = align_words_in_place_with_crc(&mut aligned, start, len, &SLICING_4);
            prop_assert_eq!(!register, fcs::crc32(&expected[..len]));
        }
    }
}
