//! Receiving at line rate, from the preamble to the verdict, in counted cycles.
//!
//! The receive interrupt enters 0.3 us or more after a transmission's first edge. What is left of
//! the preamble is used in turn:
//!
//! 1. *Find an edge.* The line is watched every 2 cycles until it is high and then until it is low:
//!    in a preamble that is the middle of a 0.
//! 2. *Measure.* 8 edges are looked at closely and averaged: each may lie 13.5 ns (2.2 cycles) off
//!    its place, a half-bit being 8 cycles. Then the loop moves to where it should be.
//! 3. *Hunt.* Two bits at a time, until there is a 1 where the preamble has its 0: the end of the
//!    SFD, unless it comes at once, as it does to who begins in the middle of a frame. Each edge is a
//!    vote on the place, early or late, and moves it by an eighth of a cycle. A bit is what two
//!    samples say, one before its edge and one after: as long as few edges have voted, the place may
//!    be so far off that one of them misses the edge.
//! 4. *Receive.* Two octets a round, 256 cycles. Each bit is sampled in the middle of its second
//!    half, and where it should change, which gives 8 votes an octet: the first tells how far the
//!    sender's clock is off (1 / 16 cycle if all agree, and 2^-12 of it for its frequency). In
//!    between go CRC-32, the Internet checksum's sum of octet pairs, and storing them.
//!
//! The bits 0x55 are never seen by anyone: octets are aligned from the start.
//!
//! The end is a bit without an edge in its middle, looked for in bit 1 of every octet: TP_IDL is
//! high there, a line that fell silent low.

use core::arch::asm;

use linerate_ether::fcs;
use linerate_ether::frame::{MAX_TAGGED_LEN, MIN_LEN};
use linerate_ether::preamble::SFD;
use linerate_nic::bitbang::{FRAME_OFFSET, MAX_RAW_LEN, SummedFrame};
use linerate_nic::filter::FilterWords;

use super::tables::{TABLES, register_before};

/// The bit from which on the first result says how the reception ended.
pub(super) const HOW: u32 = 24;
pub(super) const FRAME: u32 = 0;
pub(super) const IDLE: u32 = 1;
pub(super) const TAIL: u32 = 2;
pub(super) const LOST: u32 = 3;
pub(super) const NO_SFD: u32 = 4;
pub(super) const OVERSIZE: u32 = 5;
pub(super) const REFUSED: u32 = 6;
/// The bits of a frame's result: its FCS is right; bits followed that are no octet.
const FCS_GOOD: u32 = 1 << 16;
const DRIBBLE: u32 = 1 << 17;

/// Pairs of preamble bits that have to come before the SFD while it is hunted for. An interrupt in
/// time sees about 20; in the middle of a frame's data so many look like a preamble once in 64 times, if at random.
pub(super) const PREAMBLE_PAIRS: u32 = 3;

/// Octets after which the destination is looked at: then no collision is to be expected any more
/// (512 bits, IEEE 802.3 clause 4.4.2), and a frame that is given up will last as long as it says.
pub(super) const LOOK_AFTER: usize = MIN_LEN;
/// Octets that are there when that has been done.
pub(super) const LOOKED_AT: u32 = LOOK_AFTER as u32 + 2;
/// Octets after which a frame is too long: pairs, and one octet of dribble more than the longest.
pub(super) const ROOM: usize = MAX_TAGGED_LEN + 2;
const _: () = assert!(FRAME_OFFSET + ROOM <= MAX_RAW_LEN && ROOM.is_multiple_of(2));

pub(super) const RESIDUE: u32 = fcs::RESIDUE;

/// The CRC register before the SFD.
pub(super) const CRC_BEFORE: u32 = register_before(&[SFD]);

/// What was heard that is no frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard {
    /// Nothing: whatever caused the interrupt, most likely a link pulse, was over.
    Idle,
    /// The line stayed high for longer than a preamble may.
    Tail,
    /// The line stopped to look like a preamble, after so many pairs of its bits.
    Lost(u32),
    /// A preamble without end, or data that were taken for one.
    NoSfd,
    /// A frame that is not over when it should be.
    Oversize,
    /// A frame to another destination, given up after [`LOOK_AFTER`] octets or two more.
    Refused,
}

/// Receives the transmission that is under way into `buffer`, from [`FRAME_OFFSET`] on. The debug
/// pin goes low and high again when the end is seen.
///
/// # Errors
/// What was heard instead of a frame or what is left of one.
///
/// # Safety
/// The receive pad is routed to all dedicated inputs, dedicated output 1 belongs to the PHY, the
/// cycle counter counts, and interrupts are off.
#[inline(always)]
pub(super) unsafe fn transmission(
    buffer: &mut [u8],
    filter: &FilterWords,
) -> Result<SummedFrame, Heard> {
    if buffer.len() < FRAME_OFFSET + ROOM {
        return Err(Heard::Tail);
    }
    let (result, sum): (u32, u32);
    // SAFETY: the buffer is long enough; its alignment and the rest are the caller's promise. What
    // the function changes is listed.
    unsafe {
        asm!(
            "call linerate_line_rate_receive",
            inlateout("a0") buffer.as_mut_ptr() => result,
            inlateout("a1") filter => sum,
            inlateout("a2") &raw const TABLES => _,
            out("ra") _, out("a3") _, out("a4") _, out("a5") _, out("a6") _, out("a7") _,
            out("t0") _, out("t1") _, out("t2") _, out("t3") _, out("t4") _, out("t5") _,
            out("t6") _, out("s2") _, out("s3") _, out("s4") _, out("s5") _, out("s6") _,
            out("s7") _, out("s8") _, out("s9") _, out("s10") _, out("s11") _,
        );
    }
    if result >> HOW == FRAME {
        Ok(summed(buffer, result, sum))
    } else {
        Err(other(result))
    }
}

/// What was heard that is no frame.
#[inline(always)]
fn other(result: u32) -> Heard {
    match result >> HOW {
        IDLE => Heard::Idle,
        TAIL => Heard::Tail,
        LOST => Heard::Lost(result & 0xff),
        NO_SFD => Heard::NoSfd,
        OVERSIZE => Heard::Oversize,
        _ => Heard::Refused,
    }
}

/// What the loop found, the sum being over whole octets only.
#[inline(always)]
fn summed(buffer: &[u8], result: u32, mut sum: u32) -> SummedFrame {
    let octets = result as u16;
    let dribble = result & DRIBBLE != 0;
    if dribble {
        sum -= extra(buffer, octets);
    }
    SummedFrame {
        octets,
        fcs_good: result & FCS_GOOD != 0,
        dribble,
        sum,
    }
}

/// What the bits behind the last whole octet have added to the sum.
#[cold]
#[esp_hal::ram]
fn extra(buffer: &[u8], octets: u16) -> u32 {
    let extra = buffer.get(FRAME_OFFSET + usize::from(octets)).copied();
    u32::from(extra.unwrap_or_default()) << (octets % 2 * 8)
}

/// Whether the group that a frame is to, in its first octets, is wanted: by the bin that the CRC
/// register falls into.
#[cold]
#[esp_hal::ram]
pub(super) fn is_wanted_group(to: &[u8], filter: &FilterWords) -> bool {
    let mut register = u32::MAX;
    for &octet in to {
        let index = (register as u8 ^ octet) as usize;
        register = TABLES.crc[index] ^ register >> 8;
    }
    let bin = register & 63;
    filter.hash[(bin / 32) as usize] >> (bin % 32) & 1 != 0
}
