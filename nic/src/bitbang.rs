//! What a bit-banged PHY and the MAC agree upon, whatever the chip: the shape of a raw reception.
//!
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
