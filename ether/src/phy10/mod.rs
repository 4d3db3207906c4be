//! The 10BASE-T line code in software (IEEE 802.3 clauses 7, 14 and 28).
//!
//! The unit is the *half-bit*: the level of the line for 50 ns, `true` where the differential
//! signal is positive. An idle line reads as `false`. A bit is two half-bits with a transition
//! between them, a one low to high, a zero high to low; a frame ends with the positive pulse
//! TP_IDL.
//!
//! - [`HalfBits`] and [`HalfBitWriter`]: packed streams over the caller's words.
//! - [`encode`] and [`decode`]: frames to and from half-bits, at any alignment and phase.
//! - [`link`]: link pulses, and fast link pulse bursts for auto-negotiation.

pub mod link;
mod manchester;
mod stream;

pub use manchester::{
    DecodeError, DecodeErrorKind, Decoded, decode, encode, encode_octet, encoded_len,
};
pub use stream::{BufferFull, HalfBitWriter, HalfBits, Iter};

/// Duration of a half-bit, ns.
pub const HALF_BIT_NS: u64 = 50;
/// Duration of a bit, ns (clause 14.3.1.2: 10 Mbit/s, within 100 ppm by clause 7.3.2).
pub const BIT_NS: u64 = 2 * HALF_BIT_NS;
/// Gap between frames, ns (clause 4.4.2, interPacketGap: 96 bit times).
pub const INTER_PACKET_GAP_NS: u64 = 96 * BIT_NS;
/// Slot time, ns (clause 4.4.2, slotTime: 512 bit times).
pub const SLOT_TIME_NS: u64 = 512 * BIT_NS;
/// Bits of jam after a collision (clause 4.4.2, jamSize).
pub const JAM_BITS: usize = 32;
/// Attempts to send a frame (clause 4.4.2, attemptLimit).
pub const ATTEMPT_LIMIT: u32 = 16;
/// Doublings of the back-off range (clause 4.4.2, backOffLimit).
pub const BACK_OFF_LIMIT: u32 = 10;
/// Half-bits of TP_IDL as sent by this encoder: 300 ns (clause 14.3.1.2.1; its template keeps the
/// pulse high for at least 250 ns).
pub const TP_IDL_HALF_BITS: usize = 6;
/// Jabber: range of the transmission time after which a transmitter is cut off, ns (clause
/// 14.2.1.6).
pub const JABBER_NS: core::ops::RangeInclusive<u64> = 20_000_000..=150_000_000;

/// Duration of a frame of `len` octets (FCS included) on the wire with preamble, SFD and the gap
/// after it, ns.
///
/// ```
/// assert_eq!(linerate_ether::phy10::frame_time_ns(1518), 1_230_400);
/// ```
#[must_use]
pub const fn frame_time_ns(len: usize) -> u64 {
    (len as u64 + 8) * 8 * BIT_NS + INTER_PACKET_GAP_NS
}
