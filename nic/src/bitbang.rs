//! What a bit-banged PHY and the MAC agree upon, whatever the chip: the shape of a reception.
//!
//! # Raw
//! A bit-banged receiver starts to listen somewhere in the preamble, so its bytes are at an
//! arbitrary bit alignment to the frame's octets. It writes what it hears, least significant bit
//! first, from the first bit that it got to the last one before the line went idle:
//!
//! ```text
//! byte 0                                                                     byte n-1
//! |01010101|..preamble..|0101 1101|frame...                        ...FCS|I I 0 0 0|
//!                             ^ SFD ends at any bit        TP_IDL read as bits ^  ^ padding
//! ```
//!
//! Every byte but the last is full. The last may hold up to [`MAX_IDLE_BITS`] bits that are really
//! the start of idle (`TP_IDL`, IEEE 802.3 clause 14.2.1.1: the receiver has to sample it to
//! notice it), and then padding of any value. [`crate::mac`] finds out where the frame ends.
//!
//! # Summed
//! A receiver with cycles to spare finds the SFD, aligns and sums while it receives. It writes the
//! frame's octets from [`FRAME_OFFSET`] on and says in a [`Summed`] what it found:
//!
//! ```text
//! byte 0     4    6                 20                            6 + octets
//! | MAC's own| -- |header, 14 octets|data ...                 |FCS|
//! ```

use linerate_ether::frame::MAX_TAGGED_LEN;
use linerate_ether::preamble::PREAMBLE_AND_SFD;

/// The longest packet in octets: preamble, SFD, and a frame of the greatest length with its FCS.
pub const MAX_PACKET_LEN: usize = PREAMBLE_AND_SFD.len() + MAX_TAGGED_LEN;

/// Bits of the end-of-packet signal that a receiver may have taken for data.
pub const MAX_IDLE_BITS: usize = 2;

/// The most bytes that a receiver writes for the longest packet: a whole preamble, a frame that
/// starts at any bit, and the start of idle.
const MAX_RAW_BYTES: usize = (MAX_PACKET_LEN * 8 + MAX_IDLE_BITS + 7).div_ceil(8);

/// The room that a reception is given: that many bytes in whole words.
pub const MAX_RAW_LEN: usize = MAX_RAW_BYTES.next_multiple_of(4);

/// Bytes that a summing receiver leaves free before the frame: a word for the MAC, and 2 so that
/// what follows the 14 octets of header begins on a word.
pub const FRAME_OFFSET: usize = 6;

/// What a receiver found that aligned and summed a frame while it received it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summed {
    /// Whole octets from destination address to FCS.
    pub octets: u16,
    /// Whether the FCS over these octets is right.
    pub fcs_good: bool,
    /// Whether some bits more came, which are no whole octet (dribble).
    pub dribble: bool,
    /// Sum of all `octets` taken as little-endian pairs, an odd last one padded with zero. Folded
    /// and with its octets swapped it is the one's complement sum of RFC 1071; the interrupt leaves
    /// that to the main thread.
    pub sum: u32,
}

// A summing receiver has room to notice that a frame is longer than the longest.
const _: () = assert!(FRAME_OFFSET + MAX_TAGGED_LEN < MAX_RAW_LEN);
