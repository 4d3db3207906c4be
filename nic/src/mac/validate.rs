//! From a raw reception to a frame: find the SFD, align what follows, check it.
//!
//! The format of a raw reception is described in [`crate::bitbang`]. Its bits are at any alignment
//! and its last byte may hold idle instead of data, so the frame has one of two lengths: all whole
//! octets after the SFD, or one less. The FCS decides, at no extra cost: the calculation passes
//! both.

use core::ops::Range;
use linerate_ether::fcs::{self, Crc32, SLICING_4};
use linerate_ether::frame::{
    ADDRESSES_LEN, EtherType, MAX_LEN, MAX_TAGGED_LEN, MIN_LEN, TAG_LEN, TypeOrLength,
};
use linerate_ether::ledger::Counter;
use linerate_ether::preamble::{
    PREAMBLE_AND_SFD_BITS, SFD, align_words_in_place_with_crc, find_frame_words,
};

/// Reason why a reception is not a valid frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidFrame {
    /// No start frame delimiter within the first 64 bits.
    NoSfd,
    /// Less than 64 octets from SFD to end.
    Runt,
    /// More than 1518 octets from SFD to end, or 1522 with a tag.
    Oversize,
    /// A wrong FCS at a valid length.
    BadFcs,
    /// An 802.3 length field that exceeds the payload.
    LengthMismatch,
    /// A wrong checksum in a packet that the MAC verifies for the stack.
    BadChecksum,
}

impl InvalidFrame {
    /// The counter for this error.
    #[inline]
    pub const fn counter(self) -> Counter {
        match self {
            Self::NoSfd => Counter::RxBadSfd,
            Self::Runt => Counter::RxRunts,
            Self::Oversize => Counter::RxOversize,
            Self::BadFcs => Counter::RxBadFcs,
            Self::LengthMismatch => Counter::RxLengthErrors,
            Self::BadChecksum => Counter::RxBadChecksum,
        }
    }
}

/// A method to align and check a raw reception in place.
pub trait Validator {
    /// Aligns the reception in `words`, of which the first `len` bytes were received, and returns
    /// the byte range of the frame without its FCS.
    ///
    /// # Errors
    /// The reason why it is not a frame. `words` may have been modified.
    fn validate(words: &mut [u32], len: usize) -> Result<Range<usize>, InvalidFrame>;
}

/// By words: one pass that shifts, stores and sums 32 bits at a time.
#[derive(Debug, Clone, Copy)]
pub struct Wordwise;

/// Search and alignment bit by bit, then the FCS octet by octet from a table, as in a first
/// implementation, to show its cost. Same results.
#[derive(Debug, Clone, Copy)]
pub struct Bitwise;

/// Number of whole octets after the SFD, which ends at bit `start`.
#[inline]
fn octets_from(start: usize, words: &[u32], len: usize) -> Result<usize, InvalidFrame> {
    let received_bits = len.min(size_of_val(words)) * 8;
    // An SFD found after the last received bit is left over from another frame.
    let octets = received_bits
        .checked_sub(start)
        .ok_or(InvalidFrame::NoSfd)?
        / 8;
    if octets <= fcs::LEN {
        Err(InvalidFrame::Runt)
    } else {
        Ok(octets)
    }
}

#[inline]
fn octet(words: &[u32], at: usize) -> u8 {
    words
        .get(at / 4)
        .map_or(0, |word| (word.to_le() >> (at % 4 * 8)) as u8)
}

/// Verdict on a frame of `octets` octets, FCS included: its length first, then its FCS, then an
/// 802.3 length field. `field` returns the big-endian halfword at an offset, which exists if the
/// frame is not too short. Returns the range without FCS.
#[inline(always)]
pub(super) fn verdict(
    octets: usize,
    fcs_is_good: bool,
    field: impl Fn(usize) -> u16,
) -> Result<Range<usize>, InvalidFrame> {
    if octets < MIN_LEN {
        return Err(InvalidFrame::Runt);
    }
    let tagged = EtherType(field(ADDRESSES_LEN)).is_tag();
    if octets > if tagged { MAX_TAGGED_LEN } else { MAX_LEN } {
        return Err(InvalidFrame::Oversize);
    }
    if !fcs_is_good {
        return Err(InvalidFrame::BadFcs);
    }
    let at = ADDRESSES_LEN + if tagged { TAG_LEN } else { 0 };
    let data = octets - fcs::LEN - at - size_of::<u16>();
    match TypeOrLength::from_bits(field(at)) {
        TypeOrLength::Length(len) if usize::from(len) > data => Err(InvalidFrame::LengthMismatch),
        _ => Ok(0..octets - fcs::LEN),
    }
}

/// Verdict on the frame of `octets` octets, FCS included, at the front of `words`.
#[inline]
fn judge(words: &[u32], octets: usize, fcs_is_good: bool) -> Result<Range<usize>, InvalidFrame> {
    verdict(octets, fcs_is_good, |at| {
        u16::from_be_bytes([octet(words, at), octet(words, at + 1)])
    })
}

impl Validator for Wordwise {
    #[inline]
    fn validate(words: &mut [u32], len: usize) -> Result<Range<usize>, InvalidFrame> {
        let start = find_frame_words(words).ok_or(InvalidFrame::NoSfd)?;
        let octets = octets_from(start, words, len)?;
        let shorter = align_words_in_place_with_crc(words, start, octets - 1, &SLICING_4);
        if shorter == fcs::RESIDUE {
            return judge(words, octets - 1, true);
        }
        let longer = SLICING_4.step(shorter, octet(words, octets - 1));
        judge(words, octets, longer == fcs::RESIDUE)
    }
}

impl Validator for Bitwise {
    #[inline]
    fn validate(words: &mut [u32], len: usize) -> Result<Range<usize>, InvalidFrame> {
        let start = find_bit_by_bit(words).ok_or(InvalidFrame::NoSfd)?;
        let octets = octets_from(start, words, len)?;
        for at in 0..octets {
            let mut aligned = 0;
            for place in 0..8 {
                aligned |= bit(words, start + at * 8 + place) << place;
            }
            set_octet(words, at, aligned);
        }
        let mut crc = Crc32::new();
        for at in 0..octets - 1 {
            crc.update(&[octet(words, at)]);
        }
        if crc.residue_is_good() {
            return judge(words, octets - 1, true);
        }
        let fcs_is_good = crc.update(&[octet(words, octets - 1)]).residue_is_good();
        judge(words, octets, fcs_is_good)
    }
}

#[inline]
fn set_octet(words: &mut [u32], at: usize, value: u32) {
    if let Some(word) = words.get_mut(at / 4) {
        let place = at % 4 * 8;
        *word = (word.to_le() & !(0xFF << place) | value << place).to_le();
    }
}

#[inline]
fn bit(words: &[u32], at: usize) -> u32 {
    words
        .get(at / 32)
        .map_or(0, |word| word.to_le() >> (at % 32) & 1)
}

/// Index of the bit after the SFD.
#[inline]
fn find_bit_by_bit(words: &[u32]) -> Option<usize> {
    let mut window = 0;
    (0..PREAMBLE_AND_SFD_BITS).find_map(|at| {
        window = window >> 1 | (bit(words, at) as u8) << 7;
        (at >= 7 && window == SFD).then_some(at + 1)
    })
}
