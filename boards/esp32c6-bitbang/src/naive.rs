//! A straightforward implementation of alignment and check: with bitvec's windows and shifts, and crc32fast.
//!
//! These are the libraries of the article's implementation, in the versions that it used, so their cost here
//! predicts the cost there.

use core::ops::Range;

use bitvec::prelude::*;
use linerate_ether::{
    fcs,
    frame::{MAX_LEN, MAX_TAGGED_LEN, MIN_LEN},
    preamble::{PREAMBLE_AND_SFD_BITS, SFD},
};
use linerate_nic::mac::{InvalidFrame, Validator};

/// Works bit by bit, with bitvec.
#[derive(Debug, Clone, Copy)]
pub struct Bitvec;

impl Validator for Bitvec {
    // Not part of the interrupt's code in RAM.
    #[inline(never)]
    fn validate(words: &mut [u32], len: usize) -> Result<Range<usize>, InvalidFrame> {
        let len = len.min(size_of_val(words));
        // SAFETY: the words' own bytes, for as long as `words` is borrowed; bytes need no alignment.
        let bytes =
            unsafe { core::slice::from_raw_parts_mut(words.as_mut_ptr().cast::<u8>(), len) };
        let bits = bytes.view_bits_mut::<Lsb0>();
        let sfd = SFD.view_bits::<Lsb0>();
        let searched = (PREAMBLE_AND_SFD_BITS + sfd.len()).min(bits.len());
        let start = bits[..searched]
            .windows(sfd.len())
            .position(|window| window == sfd)
            .ok_or(InvalidFrame::NoSfd)?
            + sfd.len();
        let octets = (bits.len() - start) / 8;
        if octets < MIN_LEN {
            return Err(InvalidFrame::Runt);
        }
        bits.shift_left(start);
        // A tagged frame is four octets longer: the FCS check handles it.
        if octets > MAX_TAGGED_LEN.max(MAX_LEN) {
            return Err(InvalidFrame::Oversize);
        }
        let (data, check) = bytes[..octets].split_at(octets - fcs::LEN);
        if crc32fast::hash(data).to_le_bytes() == *check {
            Ok(0..data.len())
        } else {
            Err(InvalidFrame::BadFcs)
        }
    }
}
