//! Frames to half-bits and back (clause 7.3.1: Manchester encoding; clause 14.3.1.2.1: TP_IDL).

use core::fmt;

use super::{Full, HalfBitWriter, HalfBits, TP_IDL_HALF_BITS};
use crate::ledger::Drop;
use crate::preamble::{PREAMBLE_AND_SFD, SFD};

/// The lower half-bit of every pair.
const FIRST_HALVES: u64 = 0x5555_5555_5555_5555;
/// Half-bits that an octet takes.
const OCTET: usize = 16;
/// High half-bits after a frame's last bit that are taken for TP_IDL: 200 ns, one half-bit less
/// than the shortest, as the receiver may see the pulse's edge late.
const TP_IDL_SEEN: usize = 4;
/// The SFD as half-bits.
const SFD_HALF_BITS: u16 = encode_octet(SFD);

/// The 16 half-bits of an octet, the first in the least significant bit.
#[must_use]
pub const fn encode_octet(octet: u8) -> u16 {
    encode_word(octet as u32) as u16
}

/// The 64 half-bits of four octets.
const fn encode_word(word: u32) -> u64 {
    let ones = spread(word);
    // First half: the complement, second half: the bit.
    (ones ^ FIRST_HALVES) | ones << 1
}

/// Moves bit n to bit 2n.
const fn spread(word: u32) -> u64 {
    let mut bits = word as u64;
    bits = (bits | bits << 16) & 0x0000_FFFF_0000_FFFF;
    bits = (bits | bits << 8) & 0x00FF_00FF_00FF_00FF;
    bits = (bits | bits << 4) & 0x0F0F_0F0F_0F0F_0F0F;
    bits = (bits | bits << 2) & 0x3333_3333_3333_3333;
    (bits | bits << 1) & FIRST_HALVES
}

/// Moves bit 2n to bit n; the odd bits are ignored.
const fn gather(bits: u64) -> u32 {
    let mut bits = bits & FIRST_HALVES;
    bits = (bits | bits >> 1) & 0x3333_3333_3333_3333;
    bits = (bits | bits >> 2) & 0x0F0F_0F0F_0F0F_0F0F;
    bits = (bits | bits >> 4) & 0x00FF_00FF_00FF_00FF;
    bits = (bits | bits >> 8) & 0x0000_FFFF_0000_FFFF;
    (bits | bits >> 16) as u32
}

/// Half-bits that [`encode`] writes for a frame of `len` octets.
#[must_use]
pub const fn encoded_len(len: usize) -> usize {
    (PREAMBLE_AND_SFD.len() + len) * OCTET + TP_IDL_HALF_BITS
}

/// Appends preamble, SFD, `frame` (FCS included) and TP_IDL.
///
/// # Errors
/// [`Full`] when there is no room for all of it; nothing is written then.
///
/// ```
/// use linerate_ether::phy10::{HalfBitWriter, decode, encode};
/// let mut words = [0; 40];
/// let mut writer = HalfBitWriter::new(&mut words);
/// encode(b"any octets", &mut writer).unwrap();
/// let mut frame = [0; 64];
/// let decoded = decode(writer.finish(), &mut frame).unwrap();
/// assert_eq!(&frame[..decoded.len], b"any octets");
/// ```
pub fn encode(frame: &[u8], out: &mut HalfBitWriter<'_>) -> Result<(), Full> {
    if out.room() < encoded_len(frame.len()) {
        return Err(Full);
    }
    for part in [&PREAMBLE_AND_SFD[..], frame] {
        let (words, rest) = part.as_chunks::<4>();
        for word in words {
            out.push_bits(encode_word(u32::from_le_bytes(*word)), 64)?;
        }
        for octet in rest {
            out.push_bits(u64::from(encode_octet(*octet)), OCTET)?;
        }
    }
    out.push_level(true, TP_IDL_HALF_BITS)
}

/// A frame found in a stream of half-bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decoded {
    /// Whole octets written.
    pub len: usize,
    /// Bits received behind the last whole octet, 0 to 7. With a wrong FCS, more than none make it
    /// an alignment error.
    pub dribble_bits: u8,
    /// Index of the half-bit at which the frame begins, behind the SFD.
    pub start: usize,
    /// Index of the half-bit at which TP_IDL begins: where to go on searching.
    pub end: usize,
}

/// What is wrong with a stream of half-bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecodeErrorKind {
    /// There is no SFD.
    NoSfd,
    /// A pair of equal half-bits amid the frame.
    Violation,
    /// The line fell silent, or the stream ended, before TP_IDL.
    Truncated,
    /// The frame is longer than the buffer.
    NoRoom,
}

/// Why no frame was decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodeError {
    /// What is wrong.
    pub kind: DecodeErrorKind,
    /// Index of the half-bit where it shows: where to go on searching.
    pub at: usize,
    /// Whole octets of the frame that were written before.
    pub len: usize,
}

impl DecodeError {
    /// The ledger's name for it.
    #[must_use]
    pub const fn cause(&self) -> Drop {
        match self.kind {
            DecodeErrorKind::NoSfd => Drop::BadSfd,
            DecodeErrorKind::Violation => Drop::SymbolError,
            DecodeErrorKind::Truncated => Drop::Truncated,
            DecodeErrorKind::NoRoom => Drop::Oversize,
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, len, .. } = self;
        match self.kind {
            DecodeErrorKind::NoSfd => f.write_str("no start frame delimiter"),
            DecodeErrorKind::Violation => {
                write!(
                    f,
                    "Manchester violation at half-bit {at}, after {len} octets"
                )
            }
            DecodeErrorKind::Truncated => {
                write!(f, "signal lost at half-bit {at}, after {len} octets")
            }
            DecodeErrorKind::NoRoom => write!(f, "frame longer than the buffer of {len} octets"),
        }
    }
}

impl core::error::Error for DecodeError {}

/// Decodes the first frame of `stream` into `out`, FCS included.
///
/// The stream may begin at any point: idle, amid the preamble, between the halves of a bit. The SFD
/// gives bit and byte boundaries; eight bits of it have to be there, of the preamble none.
///
/// # Errors
/// See [`DecodeErrorKind`].
pub fn decode(stream: HalfBits<'_>, out: &mut [u8]) -> Result<Decoded, DecodeError> {
    let Some(start) = find_sfd(stream) else {
        return Err(DecodeError {
            kind: DecodeErrorKind::NoSfd,
            at: stream.len(),
            len: 0,
        });
    };
    let (mut at, mut len) = (start, 0);
    loop {
        let window = stream.window(at);
        // A pair that differs has a one here, in its lower place.
        let equal = !(window ^ window >> 1) & FIRST_HALVES;
        let bits = equal.trailing_zeros() as usize / 2;
        let octets = (bits / 8).min(out.len() - len);
        out[len..len + octets].copy_from_slice(&gather(window >> 1).to_le_bytes()[..octets]);
        len += octets;
        at += octets * OCTET;
        if octets < bits / 8 {
            return Err(DecodeError {
                kind: DecodeErrorKind::NoRoom,
                at,
                len,
            });
        }
        if octets == 4 {
            continue;
        }
        let dribble_bits = (bits % 8) as u8;
        // The missing half of a last bit reads as low: it must not count beyond the end.
        at = (at + usize::from(dribble_bits) * 2).min(stream.len());
        let error = |kind| DecodeError { kind, at, len };
        return match ending(stream, at) {
            Ending::Idle => Ok(Decoded {
                len,
                dribble_bits,
                start,
                end: at,
            }),
            Ending::Silence => Err(error(DecodeErrorKind::Truncated)),
            Ending::Violation => Err(error(DecodeErrorKind::Violation)),
        };
    }
}

enum Ending {
    Idle,
    Silence,
    Violation,
}

/// What a pair of equal half-bits at `at` means.
fn ending(stream: HalfBits<'_>, at: usize) -> Ending {
    let left = stream.len().saturating_sub(at);
    let window = stream.window(at);
    if window.trailing_ones() as usize >= TP_IDL_SEEN {
        Ending::Idle
    } else if left < TP_IDL_SEEN || window.trailing_zeros() as usize >= TP_IDL_SEEN {
        Ending::Silence
    } else {
        Ending::Violation
    }
}

/// The half-bit behind the first SFD.
fn find_sfd(stream: HalfBits<'_>) -> Option<usize> {
    let mut at = 0;
    while at + OCTET <= stream.len() {
        let window = stream.window(at);
        // Where all sixteen half-bits match, a one is left; 49 places fit into a window.
        let mut matches = u64::MAX >> (OCTET - 1);
        for half_bit in 0..OCTET {
            let shifted = window >> half_bit;
            matches &= if SFD_HALF_BITS >> half_bit & 1 != 0 {
                shifted
            } else {
                !shifted
            };
        }
        if matches != 0 {
            // SFD_HALF_BITS ends high, so no match can reach into the zeros behind the end.
            return Some(at + matches.trailing_zeros() as usize + OCTET);
        }
        at += 64 - (OCTET - 1);
    }
    None
}

#[cfg(test)]
mod tests;
