//! Lengths on the wire: padding, FCS, and the length checks of a MAC on reception.

use core::fmt;

use super::{ADDRESSES_LEN, EtherType, Frame, FrameError, TAG_LEN};
use crate::fcs;
use crate::ledger::DropCause;

/// The shortest frame, FCS included, octets (802.3 clause 4.4.2, minFrameSize).
pub const MIN_LEN: usize = 64;
/// The longest untagged frame, FCS included, octets (802.3 clause 3.2.7).
pub const MAX_LEN: usize = 1518;
/// The longest frame with one tag, FCS included, octets (802.3 clause 3.2.7, Q-tagged).
pub const MAX_TAGGED_LEN: usize = MAX_LEN + TAG_LEN;

/// Reason why a MAC discards a received frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckError {
    /// Shorter than 64 octets.
    Runt {
        /// Octets received, FCS included.
        len: usize,
    },
    /// Longer than 1518 octets, or 1522 with a tag.
    Oversize {
        /// Octets received, FCS included.
        len: usize,
    },
    /// The frame check sequence does not match.
    BadFcs,
    /// The 802.3 length field states more than the frame holds.
    LengthMismatch,
}

impl CheckError {
    /// The cause of loss in the [ledger](crate::ledger).
    #[must_use]
    pub const fn cause(self) -> DropCause {
        match self {
            Self::Runt { .. } => DropCause::Runt,
            Self::Oversize { .. } => DropCause::Oversize,
            Self::BadFcs => DropCause::BadFcs,
            Self::LengthMismatch => DropCause::LengthMismatch,
        }
    }
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Runt { len } => write!(f, "runt frame of {len} octets"),
            Self::Oversize { len } => write!(f, "oversize frame of {len} octets"),
            Self::BadFcs => f.write_str("wrong frame check sequence"),
            Self::LengthMismatch => fmt::Display::fmt(&FrameError::LengthMismatch, f),
        }
    }
}

impl core::error::Error for CheckError {}

/// Checks the length of `frame`, which includes its FCS. A tag raises the upper limit.
///
/// # Errors
/// [`CheckError::Runt`], [`CheckError::Oversize`].
pub fn check_length(frame: &[u8]) -> Result<(), CheckError> {
    let len = frame.len();
    if len < MIN_LEN {
        return Err(CheckError::Runt { len });
    }
    let tagged = EtherType(u16::from_be_bytes([
        frame[ADDRESSES_LEN],
        frame[ADDRESSES_LEN + 1],
    ]));
    let limit = if tagged.is_tag() {
        MAX_TAGGED_LEN
    } else {
        MAX_LEN
    };
    if len > limit {
        Err(CheckError::Oversize { len })
    } else {
        Ok(())
    }
}

/// A received frame that passed every check of the MAC.
pub type Received<'a> = Frame<&'a [u8]>;

/// Checks a received frame, FCS included, and returns the view without FCS.
///
/// The length is checked first, because that is cheap and the FCS of a fragment is meaningless;
/// then the FCS, then the length field.
///
/// # Errors
/// The first check that fails, see [`CheckError`].
pub fn check_received(frame: &[u8]) -> Result<Received<'_>, CheckError> {
    check_length(frame)?;
    if !fcs::is_good(frame) {
        return Err(CheckError::BadFcs);
    }
    let body = &frame[..frame.len() - fcs::LEN];
    // A frame of 60 octets or more has a complete header: only the length field can be wrong.
    Frame::new_checked(body).map_err(|_| CheckError::LengthMismatch)
}

/// Pads the frame `buffer[..len]` (without FCS) with zeros to 60 octets and returns its new length.
///
/// # Errors
/// [`FrameError::BufferTooSmall`] when the buffer is shorter than the result; nothing is written
/// then.
pub fn pad(buffer: &mut [u8], len: usize) -> Result<usize, FrameError> {
    let end = len.max(MIN_LEN - fcs::LEN);
    buffer.get_mut(..end).ok_or(FrameError::BufferTooSmall)?[len..].fill(0);
    Ok(end)
}

/// Completes the frame `buffer[..len]` for transmission: [`pad`], then FCS. Returns the length with
/// both.
///
/// # Errors
/// [`FrameError::BufferTooSmall`] when the buffer is shorter than the result; nothing is written
/// then.
pub fn finish(buffer: &mut [u8], len: usize) -> Result<usize, FrameError> {
    let padded = len.max(MIN_LEN - fcs::LEN);
    if buffer.len() < padded || buffer.len() - padded < fcs::LEN {
        return Err(FrameError::BufferTooSmall);
    }
    pad(buffer, len)?;
    fcs::append(buffer, padded).map_err(|fcs::BufferTooSmall| FrameError::BufferTooSmall)
}
