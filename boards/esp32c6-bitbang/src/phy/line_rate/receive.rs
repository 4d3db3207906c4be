//! Reception at line rate, from the preamble to the verdict, in counted cycles.
//!
//! The receive interrupt enters 0.3 us or more after a transmission's first edge. The rest of the preamble is
//! used as follows:
//!
//! 1. *Find an edge.* The line is sampled every 2 cycles until it is high and then until it is low: in a
//!    preamble that is the middle of a 0.
//! 2. *Measure.* 8 edges are sampled closely and averaged: each may be 13.5 ns (2.2 cycles) off its place, a
//!    half-bit being 8 cycles. Then the loop moves to the right phase.
//! 3. *Hunt.* Two bits at a time, until there is a 1 where the preamble has its 0: the end of the SFD, unless
//!    it appears at once, as in the middle of a frame. Each edge is a vote on the phase, early or late, and
//!    moves it by an eighth of a cycle. A bit is determined by two samples, one before its edge and one after:
//!    while few edges have voted, the phase may be so far off that one of them misses the edge.
//! 4. *Receive.* Two octets a round, 256 cycles. Each bit is sampled in the middle of its second half, and
//!    where it should change, which gives 8 votes an octet: the first tracks the phase of the sender's clock
//!    (1 / 16 cycle if all agree, and 2^-12 of it for its frequency). In between, the CRC-32 and the Internet
//!    checksum's sum of octet pairs are computed, and the octets stored.
//!
//! The bits 0x55 are never visible to the rest: octets are aligned from the start.
//!
//! The end is a bit without an edge in its middle, checked in bit 1 of every octet: TP_IDL is high there, a
//! line that fell silent is low.

use core::arch::asm;

use linerate_ether::fcs;
use linerate_ether::frame::{MAX_TAGGED_LEN, MIN_LEN};
use linerate_ether::preamble::SFD;
use linerate_nic::bitbang::{FRAME_OFFSET, MAX_RAW_LEN, SummedFrame};
use linerate_nic::filter::FilterWords;

use super::tables::{TABLES, register_before};

/// Lowest bit of the field in the first result that gives the end of the reception.
pub(super) const OUTCOME_SHIFT: u32 = 24;
pub(super) const FRAME: u32 = 0;
pub(super) const IDLE: u32 = 1;
pub(super) const TAIL: u32 = 2;
pub(super) const LOST: u32 = 3;
pub(super) const NO_SFD: u32 = 4;
pub(super) const OVERSIZE: u32 = 5;
pub(super) const REFUSED: u32 = 6;
/// Bits of a frame's result: its FCS is right; a dribble of bits followed.
const FCS_GOOD: u32 = 1 << 16;
const DRIBBLE: u32 = 1 << 17;

/// Pairs of preamble bits required before the SFD. An interrupt in time receives about 20; in the middle of a
/// frame's data as many look like a preamble once in 64 times, if the data are random.
pub(super) const PREAMBLE_PAIRS: u32 = 3;

/// Octets after which the destination is checked: no collision is expected any more (512 bits, IEEE 802.3
/// clause 4.4.2), and an aborted frame lasts as long as its header states.
pub(super) const ADDRESS_CHECK_OCTETS: usize = MIN_LEN;
/// Octets received when that check is done.
pub(super) const ADDRESS_CHECKED_OCTETS: u32 = ADDRESS_CHECK_OCTETS as u32 + 2;
/// Octets after which a frame is too long: pairs, and one octet of dribble beyond the maximum.
pub(super) const MAX_OCTETS: usize = MAX_TAGGED_LEN + 2;
const _: () = assert!(FRAME_OFFSET + MAX_OCTETS <= MAX_RAW_LEN && MAX_OCTETS.is_multiple_of(2));

pub(super) const RESIDUE: u32 = fcs::RESIDUE;

/// The CRC register before the SFD.
pub(super) const CRC_BEFORE: u32 = register_before(&[SFD]);

/// A reception without a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoFrame {
    /// Nothing: the cause of the interrupt, most likely a link pulse, was over.
    Idle,
    /// The line stayed high for longer than a preamble allows.
    Tail,
    /// The signal ceased to look like a preamble, after this number of pairs of bits.
    Lost(u32),
    /// An endless preamble, or data that look like one.
    NoSfd,
    /// A frame beyond the maximum length.
    Oversize,
    /// A frame to another destination, aborted after [`ADDRESS_CHECK_OCTETS`] octets or two more.
    Refused,
}

/// Receives the current transmission into `buffer`, from [`FRAME_OFFSET`] on. The debug pin goes low and high
/// again when the end is detected.
///
/// # Errors
/// The type of a reception without a frame.
///
/// # Safety
/// The receive pad is routed to all dedicated inputs, dedicated output 1 belongs to the PHY, the
/// cycle counter counts, and interrupts are off.
#[inline(always)]
pub(super) unsafe fn transmission(
    buffer: &mut [u8],
    filter: &FilterWords,
) -> Result<SummedFrame, NoFrame> {
    if buffer.len() < FRAME_OFFSET + MAX_OCTETS {
        return Err(NoFrame::Tail);
    }
    let (result, sum): (u32, u32);
    // SAFETY: the buffer is long enough; its alignment and the rest are guaranteed by the caller. Changed
    // registers are listed.
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
    if result >> OUTCOME_SHIFT == FRAME {
        Ok(summed_frame(buffer, result, sum))
    } else {
        Err(no_frame(result))
    }
}

/// Decodes the result of a reception without a frame.
#[inline(always)]
fn no_frame(result: u32) -> NoFrame {
    match result >> OUTCOME_SHIFT {
        IDLE => NoFrame::Idle,
        TAIL => NoFrame::Tail,
        LOST => NoFrame::Lost(result & 0xff),
        NO_SFD => NoFrame::NoSfd,
        OVERSIZE => NoFrame::Oversize,
        _ => NoFrame::Refused,
    }
}

/// Decodes the loop's result; its sum covers whole octets only.
#[inline(always)]
fn summed_frame(buffer: &[u8], result: u32, mut sum: u32) -> SummedFrame {
    let octets = result as u16;
    let dribble = result & DRIBBLE != 0;
    if dribble {
        sum -= dribble_sum(buffer, octets);
    }
    SummedFrame {
        octets,
        fcs_good: result & FCS_GOOD != 0,
        dribble,
        sum,
    }
}

/// Contribution to the sum of the bits behind the last whole octet.
#[cold]
#[esp_hal::ram]
fn dribble_sum(buffer: &[u8], octets: u16) -> u32 {
    let extra = buffer.get(FRAME_OFFSET + usize::from(octets)).copied();
    u32::from(extra.unwrap_or_default()) << (octets % 2 * 8)
}

/// True if a frame's group address, in its first octets, is wanted: by the bin of the CRC register.
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
