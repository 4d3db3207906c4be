//! Encoding of frames into half-bits as they arrive: with the sender's and the line's bit impairments.

use linerate_ether::phy10::{HalfBitWriter, HalfBits, TP_IDL_HALF_BITS, encode, encoded_len};

use super::config::{Flap, Impairments};
use super::timing::half_bits;
use crate::peer::TxOptions;
use crate::random::Random;
use crate::time::Instant;

/// Half-bits of an octet.
const OCTET: usize = 16;
/// Half-bits of preamble and SFD.
const PREAMBLE: usize = 8 * OCTET;
/// Maximum number of dribble bits: one more would be an octet.
const MAX_DRIBBLE_BITS: u8 = 7;

/// A frame as half-bits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShapedFrame {
    /// The half-bits, the first in the least significant bit.
    pub words: Vec<u64>,
    /// Number of half-bits.
    pub len: usize,
    /// Number of half-bits up to the end of the last bit.
    pub bits: usize,
    /// Bits after the preamble were inverted.
    pub corrupted: bool,
}

/// Encodes `octets`, from the destination address on including the FCS, with all impairments.
#[must_use]
pub fn shape(
    octets: &[u8],
    options: &TxOptions,
    impairments: &Impairments,
    random: &mut Random,
) -> ShapedFrame {
    let whole = encoded_len(octets.len());
    let dribble = (options.dribble_bits + impairments.dribble_bits.min(MAX_DRIBBLE_BITS))
        .min(MAX_DRIBBLE_BITS) as usize;
    let mut words = vec![0; (whole + 2 * dribble).div_ceil(64)];
    // The words have exactly the required size.
    let _ = encode(octets, &mut HalfBitWriter::new(&mut words));
    let mut shaped = ShapedFrame {
        words,
        len: whole + 2 * dribble,
        bits: whole - TP_IDL_HALF_BITS + 2 * dribble,
        corrupted: false,
    };
    if dribble > 0 {
        let random = random.next_u64();
        shaped.dribble(whole - TP_IDL_HALF_BITS, dribble, random);
    }
    if impairments.bit_error_rate > 0.0 {
        shaped.flip_bits(impairments.bit_error_rate, random);
    }
    if options.swapped_polarity != impairments.swapped_polarity {
        shaped.swap_polarity();
    }
    let lost = usize::from(
        options
            .lost_preamble_bits
            .max(impairments.lost_preamble_bits),
    );
    shaped.silence(0, (2 * lost).min(PREAMBLE));
    shaped
}

impl ShapedFrame {
    /// Clears the half-bits that arrive while the cable is unplugged; true if any do.
    pub fn apply_flap(&mut self, flap: Flap, start: Instant, period: u64) -> bool {
        let end = start + half_bits(period, self.len as u64);
        if !flap.is_enabled() {
            return false;
        }
        let down = |index: usize| flap.is_down(start + half_bits(period, index as u64));
        // An interruption lasts at least a millisecond; a babbling station can send longer than that.
        let step = 4096;
        let none = (0..self.len).step_by(step).all(|index| !down(index)) && !flap.is_down(end);
        if none {
            return false;
        }
        for index in 0..self.len {
            if down(index) {
                self.words[index / 64] &= !(1 << (index % 64));
            }
        }
        true
    }

    /// Inserts `count` bits of `random` at half-bit `at`, before `TP_IDL`.
    fn dribble(&mut self, at: usize, count: usize, random: u64) {
        let levels = (0..count).flat_map(|bit| {
            let bit = random >> bit & 1 != 0;
            [!bit, bit]
        });
        let idle = core::iter::repeat_n(true, TP_IDL_HALF_BITS);
        for (index, level) in (at..).zip(levels.chain(idle)) {
            let (word, bit) = (index / 64, index % 64);
            self.words[word] = self.words[word] & !(1 << bit) | u64::from(level) << bit;
        }
    }

    /// Inverts each bit with probability `rate`.
    fn flip_bits(&mut self, rate: f64, random: &mut Random) {
        // In parts of 2^32: errors must not depend on a machine's logarithm.
        let limit = (rate.min(1.0) * 4_294_967_296.0) as u64;
        for bit in 0..self.bits / 2 {
            if random.next_u64() >> 32 < limit {
                self.words[bit / 32] ^= 3 << (bit % 32 * 2);
                self.corrupted |= bit * 2 >= PREAMBLE;
            }
        }
    }

    /// Swaps the wires: positive levels become negative, which the receiver outputs like an idle
    /// line. `TP_IDL` disappears.
    fn swap_polarity(&mut self) {
        for word in &mut self.words {
            *word = !*word;
        }
        self.len = self.bits;
        self.silence(self.bits, self.words.len() * 64);
    }

    fn silence(&mut self, from: usize, to: usize) {
        for index in from..to {
            self.words[index / 64] &= !(1 << (index % 64));
        }
    }

    /// The half-bits.
    #[must_use]
    pub fn view(&self) -> HalfBits<'_> {
        HalfBits::new(&self.words).slice(0, self.len)
    }
}

/// A jam of `len` half-bits, alternating ones and zeros, and `TP_IDL`.
#[must_use]
pub fn jam(len: usize) -> ShapedFrame {
    // Alternating zeros and ones as half-bits: high low, low high.
    const PATTERN: u64 = 0x9999_9999_9999_9999;
    let whole = len + TP_IDL_HALF_BITS;
    let mut shaped = ShapedFrame {
        words: vec![PATTERN; whole.div_ceil(64)],
        len: whole,
        bits: len,
        corrupted: false,
    };
    for index in len..whole {
        shaped.words[index / 64] |= 1 << (index % 64);
    }
    shaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_ether::fcs;
    use linerate_ether::phy10::{Decoded, decode};

    /// The first half-bit of every pair.
    const FIRST_HALVES: u64 = 0x5555_5555_5555_5555;

    fn received(shaped: &ShapedFrame) -> (Decoded, Vec<u8>) {
        let mut octets = [0; 256];
        let decoded = decode(shaped.view(), &mut octets).expect("a frame");
        (decoded, octets[..decoded.len].to_vec())
    }

    fn frame() -> Vec<u8> {
        let mut octets: Vec<_> = (0..104).collect();
        fcs::append(&mut octets, 100).unwrap();
        octets
    }

    fn shaped(options: TxOptions, impairments: Impairments) -> ShapedFrame {
        shape(&frame(), &options, &impairments, &mut Random::new(3))
    }

    #[test]
    fn without_impairments_the_result_is_the_plain_encoding() {
        let plain = shaped(TxOptions::STANDARD, Impairments::default());
        let mut words = [0; 32];
        let mut writer = HalfBitWriter::new(&mut words);
        encode(&frame(), &mut writer).unwrap();
        assert_eq!(plain.view(), writer.finish());
        assert_eq!(plain.len - plain.bits, TP_IDL_HALF_BITS);
    }

    #[test]
    fn dribble_bits_follow_the_fcs() {
        for bits in 1..=9 {
            let impairments = Impairments {
                dribble_bits: bits,
                ..Impairments::default()
            };
            let (decoded, octets) = received(&shaped(TxOptions::STANDARD, impairments));
            assert_eq!((decoded.dribble_bits, octets), (bits.min(7), frame()));
        }
    }

    #[test]
    fn lost_preamble_bits_are_silent_and_the_frame_keeps_its_position() {
        for lost in 0..=5_u8 {
            let options = TxOptions {
                lost_preamble_bits: lost,
                ..TxOptions::STANDARD
            };
            let shaped = shaped(options, Impairments::default());
            // The first half of a one is low.
            let first = shaped.view().find(0, true);
            assert_eq!(
                first,
                Some(usize::from(2 * lost) + usize::from(lost % 2 == 0))
            );
            assert_eq!(received(&shaped).0.start, PREAMBLE);
        }
    }

    #[test]
    fn swapped_wires_leave_the_complement_without_its_end() {
        let swapped = Impairments {
            swapped_polarity: true,
            ..Impairments::default()
        };
        let inverted = shaped(TxOptions::STANDARD, swapped);
        let plain = shaped(TxOptions::STANDARD, Impairments::default());
        let same = inverted
            .view()
            .iter()
            .zip(plain.view())
            .filter(|(a, b)| a == b);
        assert_eq!(same.count(), 0);
        assert_eq!(inverted.view().find(inverted.bits, true), None);
        assert_eq!(inverted.len, plain.bits);
        let back = TxOptions {
            swapped_polarity: true,
            ..TxOptions::STANDARD
        };
        assert_eq!(shaped(back, swapped), plain);
    }

    #[test]
    fn bit_errors_occur_at_their_rate_and_leave_manchester_intact() {
        let octets = vec![0x5A; 100_000];
        let impairments = Impairments {
            bit_error_rate: 1e-3,
            ..Impairments::default()
        };
        let mut random = Random::new(9);
        let clean = Impairments::default();
        let plain = shape(&octets, &TxOptions::STANDARD, &clean, &mut random);
        let wrong = shape(&octets, &TxOptions::STANDARD, &impairments, &mut random);
        assert!(wrong.corrupted && !plain.corrupted);
        let turned: u32 = core::iter::zip(&plain.words, &wrong.words)
            .map(|(a, b)| (a ^ b).count_ones())
            .sum();
        // 800,064 bits, two halves each.
        assert!((700..900).contains(&(turned / 2)), "{turned}");
        let violations = wrong.words[..plain.bits / 64]
            .iter()
            .filter(|&word| (word ^ word >> 1) & FIRST_HALVES != FIRST_HALVES)
            .count();
        assert_eq!(violations, 0);
    }

    #[test]
    fn half_bits_that_arrive_while_the_cable_is_unplugged_are_missing() {
        let flap = Flap {
            every_ms: 100,
            down_ms: 10,
        };
        let period = 600 << 20;
        let mut cut = shaped(TxOptions::STANDARD, Impairments::default());
        let plain = cut.clone();
        assert!(!cut.apply_flap(flap, Instant::from_ns(99_000_000), period));
        assert_eq!(cut, plain);
        assert!(cut.apply_flap(flap, Instant::from_ns(99_990_000), period));
        let last = (0..cut.len)
            .rfind(|&at| cut.view().get(at) == Some(true))
            .unwrap();
        assert!((197..200).contains(&last), "{last}");
        let mut whole = plain;
        assert!(whole.apply_flap(flap, Instant::from_ns(105_000_000), period));
        assert_eq!(whole.view().find(0, true), None);
    }

    #[test]
    fn a_jam_alternates_and_ends_like_a_frame() {
        let jam = jam(64);
        let text: String = format!("{:?}", jam.view());
        assert!(text.starts_with("-__--__--__-"), "{text}");
        assert!(text.ends_with("_--__-------"), "{text}");
        assert_eq!(jam.len, 70);
    }
}
