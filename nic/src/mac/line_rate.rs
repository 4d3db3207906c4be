//! The stage for a PHY whose receive loop aligns and sums: nothing is left to do for a frame but
//! to look at what the loop found. The main thread checks the packet's checksums for the stack
//! ([`super::checksum`]) from the sum over the frame.
//!
//! An entry of the queue is the buffer that the loop filled (see [`crate::bitbang`]): the frame at
//! [`FRAME_OFFSET`], and in the word before it the loop's sum for the main thread.

use super::checksum::{self, Verdict};
use super::receive::Reception;
use super::stage::{Stage, heard};
use super::validate::Invalid;
use crate::bitbang::{FRAME_OFFSET, Summed};
use crate::device::Checksums;
use crate::ledger::Ledger;
use crate::queue::{Frame, Grant};
use core::ops::Range;
use linerate_ether::fcs;
use linerate_ether::frame::{
    ADDRESSES_LEN, EtherType, HEADER_LEN, MAX_LEN, MAX_TAGGED_LEN, MIN_LEN, TAG_LEN, TypeOrLength,
};
use linerate_ether::ledger::Counter;

/// The receive loop aligns and sums; only good frames reach the queue.
pub struct LineRate(());

/// The verdict on a frame that was summed: `entry` is the queue's entry.
#[inline(always)]
fn judge(entry: &[u8], summed: Summed) -> Result<(), Counter> {
    let octets = usize::from(summed.octets);
    if octets < MIN_LEN {
        return Err(if summed.fcs_good {
            Counter::RxRunts
        } else {
            Counter::RxFragments
        });
    }
    let field = |at: usize| {
        entry
            .get(FRAME_OFFSET + at..)
            .and_then(|bytes| bytes.first_chunk())
            .map_or(0, |bytes| u16::from_be_bytes(*bytes))
    };
    let kind = field(ADDRESSES_LEN);
    let tagged = EtherType(kind).is_tag();
    if octets > if tagged { MAX_TAGGED_LEN } else { MAX_LEN } {
        return Err(Counter::RxOversize);
    }
    if !summed.fcs_good {
        return Err(if summed.dribble {
            Counter::RxAlignmentErrors
        } else {
            Counter::RxBadFcs
        });
    }
    let (kind, header) = if tagged {
        (field(ADDRESSES_LEN + TAG_LEN), HEADER_LEN + TAG_LEN)
    } else {
        (kind, HEADER_LEN)
    };
    match TypeOrLength::from_bits(kind) {
        TypeOrLength::Length(len) if usize::from(len) > octets - fcs::LEN - header => {
            Err(Counter::RxLengthErrors)
        }
        _ => Ok(()),
    }
}

impl Stage for LineRate {
    const NAME: &'static str = "line-rate";
    const LIMITS_BURST: bool = true;
    const CHECKSUMS: Checksums = Checksums::VERIFIED;
    const OBEYS_PAUSE: bool = true;
    const SHEDS_GROUPS: bool = true;
    const KEEPS_FCS: bool = true;
    type Scratch = ();
    const SCRATCH: () = ();

    #[inline(always)]
    fn interrupt<const WORDS: usize>(
        mut grant: Grant<'_, '_, WORDS>,
        (): &mut (),
        ledger: &Ledger,
        phy: impl FnOnce(&mut [u8]) -> Reception,
    ) -> usize {
        let summed = match phy(&mut grant) {
            Reception::Frame(summed) => summed,
            other => {
                // What was not summed cannot be judged.
                if heard(other, ledger).is_some() {
                    ledger.count(Counter::RxBadSfd);
                }
                return 0;
            }
        };
        ledger.count(Counter::RxFrames);
        if let Err(refused) = judge(&grant, summed) {
            ledger.count(refused);
            return 0;
        }
        if let Some(own) = grant.first_chunk_mut() {
            *own = u32::from(summed.sum).to_ne_bytes();
        }
        let len = FRAME_OFFSET + usize::from(summed.octets);
        grant.commit(len);
        len
    }

    #[inline(always)]
    fn main<const WORDS: usize>(frame: &mut Frame<'_, '_, WORDS>) -> Result<Range<usize>, Invalid> {
        let octets = frame.len().saturating_sub(FRAME_OFFSET);
        let bytes = FRAME_OFFSET..FRAME_OFFSET + octets.saturating_sub(fcs::LEN);
        let words = frame.words_mut();
        let sum = words.first().map_or(0, |own| *own as u16);
        let verdict = match checksum::of_sum(words, octets, sum) {
            Verdict::Unknown => checksum::of_bytes(frame.get(bytes.clone()).unwrap_or_default()),
            verdict => verdict,
        };
        match verdict {
            Verdict::Bad => Err(Invalid::BadChecksum),
            Verdict::Good | Verdict::Unknown => Ok(bytes),
        }
    }
}
