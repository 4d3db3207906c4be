//! From a raw reception to a frame: find the SFD, align what follows, check length and FCS.
//!
//! A raw reception is as [`crate::bitbang`] describes it. Its bits are at any alignment and its
//! last byte may hold idle instead of data, so the frame has one of two lengths: all whole octets
//! after the SFD, or one less. The FCS decides, at no cost: the calculation passes by both.

use crate::frame_format::{FCS_LEN, MAX_BASIC_FRAME_LEN, MAX_FRAME_LEN, MIN_FRAME_LEN};
use core::ops::Range;
use linerate_ether::fcs::{self, Crc32, SLICING_4};
use linerate_ether::ledger::Counter;

/// Why a reception is no frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Invalid {
    /// No start frame delimiter that begins within the first 64 bits.
    NoSfd,
    /// Less than 64 octets from SFD to end.
    Runt,
    /// More than 1518 octets from SFD to end, or 1522 with an 802.1Q tag.
    Oversize,
    /// A wrong FCS at a right length.
    BadFcs,
}

impl Invalid {
    /// The counter that counts it.
    #[inline]
    pub const fn counter(self) -> Counter {
        match self {
            Self::NoSfd => Counter::RxBadSfd,
            Self::Runt => Counter::RxRunts,
            Self::Oversize => Counter::RxOversize,
            Self::BadFcs => Counter::RxBadFcs,
        }
    }
}

/// A way to align and check a raw reception in place.
pub trait Method {
    /// Aligns the reception in `words`, of which the first `len` bytes were heard, and returns the
    /// bytes of the frame without its FCS.
    ///
    /// # Errors
    /// Why it is no frame. `words` may have changed.
    fn validate(words: &mut [u32], len: usize) -> Result<Range<usize>, Invalid>;
}

/// By words: one pass that shifts, stores and sums 32 bits at a time.
#[derive(Debug, Clone, Copy)]
pub struct Wordwise;

/// Bit by bit, as a first implementation does it: to show what that costs. Same results.
#[derive(Debug, Clone, Copy)]
pub struct Bitwise;

/// The SFD, first bit in the least significant place.
const SFD: u8 = 0xD5;

/// The index of the bit after the SFD. The SFD may begin at each of the first 64 bits, that is
/// after a whole preamble and an octet of noise.
#[inline]
fn find_sfd(words: &[u32]) -> Option<usize> {
    let word = |at: usize| u64::from(words.get(at).copied().unwrap_or(0).to_le());
    let (bits, beyond) = (word(1) << 32 | word(0), word(2));
    let mut found = bits;
    // Bit i of `found` stays set while the bits from i equal those of the SFD so far.
    for place in 1..8 {
        let ahead = bits >> place | beyond << (64 - place);
        found &= if SFD >> place & 1 == 1 { ahead } else { !ahead };
    }
    (found != 0).then(|| found.trailing_zeros() as usize + 8)
}

/// A reception with its SFD found: where the frame starts, and how many whole octets follow.
struct Found {
    first_bit: usize,
    octets: usize,
}

#[inline]
fn find(words: &[u32], len: usize) -> Result<Found, Invalid> {
    let heard_bits = len.min(size_of_val(words)) * 8;
    let first_bit = find_sfd(words).ok_or(Invalid::NoSfd)?;
    let octets = heard_bits.checked_sub(first_bit).ok_or(Invalid::NoSfd)? / 8;
    if octets <= FCS_LEN {
        return Err(Invalid::Runt);
    }
    Ok(Found { first_bit, octets })
}

/// The verdict on a frame of `octets` octets that starts with `words`.
#[inline]
fn verdict(words: &[u32], octets: usize, fcs_is_good: bool) -> Result<(), Invalid> {
    /// An 802.1Q or 802.1ad tag protocol identifier at octets 12 and 13, as a word in memory.
    const TPIDS: [[u8; 2]; 2] = [[0x81, 0x00], [0x88, 0xA8]];
    if octets < MIN_FRAME_LEN {
        return Err(Invalid::Runt);
    }
    if octets > MAX_BASIC_FRAME_LEN {
        let tagged = words.get(3).is_some_and(|word| {
            let [first, second, ..] = word.to_ne_bytes();
            TPIDS.contains(&[first, second])
        });
        if !tagged || octets > MAX_FRAME_LEN {
            return Err(Invalid::Oversize);
        }
    }
    if fcs_is_good {
        Ok(())
    } else {
        Err(Invalid::BadFcs)
    }
}

impl Method for Wordwise {
    #[inline]
    fn validate(words: &mut [u32], len: usize) -> Result<Range<usize>, Invalid> {
        let Found { first_bit, octets } = find(words, len)?;
        // The frame stays in the word in which it starts and is shifted down to that word's start.
        let (start, shift) = (first_bit / 32, first_bit as u32 % 32);
        // The shorter candidate, in whole words and octets.
        let (whole, rest) = ((octets - 1) / 4, (octets - 1) % 4);
        // Word `whole` exists, for it holds at least the last octet that was heard.
        let Some(frame) = words.get_mut(start..) else {
            return Err(Invalid::NoSfd);
        };
        let Some((head, beyond)) = frame.split_at_mut_checked(whole + 1) else {
            return Err(Invalid::NoSfd);
        };
        let beyond = beyond.first().copied().unwrap_or(0).to_le();
        let mut register = !0;
        if shift == 0 {
            for word in &head[..whole] {
                register = SLICING_4.step_word(register, word.to_le());
            }
        } else {
            let mut current = head[0].to_le();
            for at in 0..whole {
                let next = head[at + 1].to_le();
                let word = current >> shift | next << (32 - shift);
                head[at] = word.to_le();
                register = SLICING_4.step_word(register, word);
                current = next;
            }
            head[whole] = (current >> shift | beyond << (32 - shift)).to_le();
        }
        let mut crc = Crc32::resume(&SLICING_4, register);
        let last = head[whole].to_ne_bytes();
        crc.update(&last[..rest]);
        let shorter_is_good = crc.residue_is_good();
        let good = shorter_is_good || crc.update(&last[rest..=rest]).residue_is_good();
        let octets = if shorter_is_good { octets - 1 } else { octets };
        verdict(head, octets, good)?;
        Ok(start * 4..start * 4 + octets - FCS_LEN)
    }
}

impl Method for Bitwise {
    #[inline]
    fn validate(words: &mut [u32], len: usize) -> Result<Range<usize>, Invalid> {
        let Found { first_bit, octets } = find(words, len)?;
        for to in 0..octets * 8 {
            let from = first_bit + to;
            let bit = words[from / 32].to_le() >> (from % 32) & 1;
            let word = words[to / 32].to_le() & !(1 << (to % 32)) | bit << (to % 32);
            words[to / 32] = word.to_le();
        }
        let octet = |at: usize| words[at / 4].to_ne_bytes()[at % 4];
        let mut crc = Crc32::with(&fcs::Bitwise);
        for at in 0..octets - 1 {
            crc.update(&[octet(at)]);
        }
        let shorter_is_good = crc.residue_is_good();
        let good = shorter_is_good || crc.update(&[octet(octets - 1)]).residue_is_good();
        let octets = if shorter_is_good { octets - 1 } else { octets };
        verdict(words, octets, good)?;
        Ok(0..octets - FCS_LEN)
    }
}
