//! Interface between a bit-banged PHY and the MAC, independent of the chip: the format of a
//! reception.
//!
//! # Raw
//! A bit-banged receiver starts somewhere in the preamble, so its bytes have an arbitrary bit
//! alignment to the octets of the frame. It writes the received bits, least significant bit first,
//! from the first sampled bit to the last one before the line became idle:
//!
//! ```text
//! byte 0                                                                     byte n-1
//! |01010101|..preamble..|0101 1101|frame...                        ...FCS|I I 0 0 0|
//!                             ^ SFD ends at any bit        TP_IDL read as bits ^  ^ padding
//! ```
//!
//! All bytes but the last are full. The last may contain up to [`MAX_IDLE_BITS`] bits that are the
//! start of idle (`TP_IDL`, IEEE 802.3 clause 14.2.1.1: the receiver must sample it to detect it),
//! followed by padding of any value. [`crate::mac`] determines where the frame ends.
//!
//! # Summed
//! A receiver with spare cycles finds the SFD, aligns and sums while it receives. It writes the
//! octets of the frame from [`FRAME_OFFSET`] on and returns a [`SummedFrame`]:
//!
//! ```text
//! byte 0     4    6                 20                            6 + octets
//! | MAC's own| -- |header, 14 octets|data ...                 |FCS|
//! ```

use linerate_ether::frame::MAX_TAGGED_LEN;
use linerate_ether::preamble::PREAMBLE_AND_SFD;

/// Longest packet in octets: preamble, SFD, and a frame of maximum length with its FCS.
pub const MAX_PACKET_LEN: usize = PREAMBLE_AND_SFD.len() + MAX_TAGGED_LEN;

/// Bits of the end-of-packet signal that a receiver may have sampled as data.
pub const MAX_IDLE_BITS: usize = 2;

/// Most bytes that a receiver writes for the longest packet: a complete preamble, a frame that
/// starts at any bit, and the start of idle.
const MAX_RAW_BYTES: usize = (MAX_PACKET_LEN * 8 + MAX_IDLE_BITS + 7).div_ceil(8);

/// Size of the buffer for a reception: that many bytes, rounded up to whole words.
pub const MAX_RAW_LEN: usize = MAX_RAW_BYTES.next_multiple_of(4);

/// Bytes that a summing receiver leaves free before the frame: a word for the MAC, and 2 so that
/// the data after the 14 octets of header begins at a word boundary.
pub const FRAME_OFFSET: usize = 6;

/// Result of a receiver that aligned and summed a frame while receiving it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SummedFrame {
    /// Number of whole octets from destination address to FCS.
    pub octets: u16,
    /// True if the FCS over these octets is correct.
    pub fcs_good: bool,
    /// True if some more bits followed that do not make up an octet (dribble bits).
    pub dribble: bool,
    /// Sum of all `octets` as little-endian pairs, an odd last one padded with zero. Folded and
    /// with its octets swapped it is the one's complement sum of RFC 1071; the interrupt leaves
    /// that to the main thread.
    pub sum: u32,
}

// A summing receiver has room to detect that a frame exceeds the maximum length.
const _: () = assert!(FRAME_OFFSET + MAX_TAGGED_LEN < MAX_RAW_LEN);
