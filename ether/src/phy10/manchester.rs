//! Frames to half-bits and back (clause 7.3.1: Manchester encoding; clause 14.3.1.2.1: TP_IDL).

use core::fmt;

use super::{BufferFull, HalfBitWriter, HalfBits, TP_IDL_HALF_BITS};
use crate::ledger::DropCause;
use crate::preamble::{PREAMBLE_AND_SFD, SFD};

/// The lower half-bit of every pair.
const FIRST_HALVES: u64 = 0x5555_5555_5555_5555;
/// Half-bits per octet.
const OCTET: usize = 16;
/// High half-bits after the last bit of a frame that are accepted as TP_IDL: 200 ns, one half-bit
/// less than the shortest, because the receiver may see the edge of the pulse late.
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

/// Number of half-bits that [`encode`] writes for a frame of `len` octets.
#[must_use]
pub const fn encoded_len(len: usize) -> usize {
    (PREAMBLE_AND_SFD.len() + len) * OCTET + TP_IDL_HALF_BITS
}

/// Appends preamble, SFD, `frame` (FCS included) and TP_IDL.
///
/// # Errors
/// [`BufferFull`] when not all of it fits; nothing is written then.
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
pub fn encode(frame: &[u8], out: &mut HalfBitWriter<'_>) -> Result<(), BufferFull> {
    if out.remaining() < encoded_len(frame.len()) {
        return Err(BufferFull);
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
    /// Bits received after the last whole octet, 0 to 7. With a wrong FCS, a value above 0 makes it
    /// an alignment error.
    pub dribble_bits: u8,
    /// Index of the half-bit at which the frame begins, after the SFD.
    pub start: usize,
    /// Index of the half-bit at which TP_IDL begins: continue the search here.
    pub end: usize,
}

/// Kind of error in a stream of half-bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecodeErrorKind {
    /// There is no SFD.
    NoSfd,
    /// A pair of equal half-bits within the frame.
    Violation,
    /// The line became silent, or the stream ended, before TP_IDL.
    Truncated,
    /// The frame is longer than the buffer.
    BufferTooSmall,
}

/// Reason why no frame was decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodeError {
    /// Kind of error.
    pub kind: DecodeErrorKind,
    /// Index of the half-bit with the error: continue the search here.
    pub at: usize,
    /// Whole octets of the frame written before the error.
    pub len: usize,
}

impl DecodeError {
    /// The cause of loss in the [ledger](crate::ledger).
    #[must_use]
    pub const fn cause(&self) -> DropCause {
        match self.kind {
            DecodeErrorKind::NoSfd => DropCause::BadSfd,
            DecodeErrorKind::Violation => DropCause::SymbolError,
            DecodeErrorKind::Truncated => DropCause::Truncated,
            DecodeErrorKind::BufferTooSmall => DropCause::Oversize,
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
            DecodeErrorKind::BufferTooSmall => {
                write!(f, "frame longer than the buffer of {len} octets")
            }
        }
    }
}

impl core::error::Error for DecodeError {}

/// Decodes the first frame of `stream` into `out`, FCS included.
///
/// The stream may begin at any point: idle, within the preamble, between the halves of a bit. The
/// SFD gives bit and octet boundaries; all eight bits of it must be present, of the preamble none.
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
        // A pair that differs has a one in its lower bit.
        let equal = !(window ^ window >> 1) & FIRST_HALVES;
        let bits = equal.trailing_zeros() as usize / 2;
        let octets = (bits / 8).min(out.len() - len);
        out[len..len + octets].copy_from_slice(&gather(window >> 1).to_le_bytes()[..octets]);
        len += octets;
        at += octets * OCTET;
        if octets < bits / 8 {
            return Err(DecodeError {
                kind: DecodeErrorKind::BufferTooSmall,
                at,
                len,
            });
        }
        if octets == 4 {
            continue;
        }
        let dribble_bits = (bits % 8) as u8;
        // The missing half of the last bit reads as low: do not count beyond the end.
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

/// Meaning of a pair of equal half-bits at `at`.
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

/// Index of the half-bit after the first SFD.
fn find_sfd(stream: HalfBits<'_>) -> Option<usize> {
    let mut at = 0;
    while at + OCTET <= stream.len() {
        let window = stream.window(at);
        // A one remains where all sixteen half-bits match; 49 positions fit into a window.
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
            // SFD_HALF_BITS ends high, so no match can extend into the zeros after the end.
            return Some(at + matches.trailing_zeros() as usize + OCTET);
        }
        at += 64 - (OCTET - 1);
    }
    None
}

#[cfg(test)]
mod tests;
