//! The stage for a PHY whose receive loop aligns and sums: the interrupt only checks the result of
//! the loop. The main thread verifies the checksums of the packet for the stack
//! ([`super::checksum`]) from the sum over the frame.
//!
//! An entry of the queue is the buffer that the loop filled (see [`crate::bitbang`]): the frame at
//! [`FRAME_OFFSET`], and in the word before it the sum of the loop for the main thread.

use super::checksum::{self, Verdict};
use super::receive::Reception;
use super::stage::{Stage, count_reception};
use super::validate::{self, InvalidFrame};
use crate::bitbang::{FRAME_OFFSET, SummedFrame};
use crate::device::Checksums;
use crate::ledger::Ledger;
use crate::queue::{Frame, Grant};
use core::ops::Range;
use linerate_ether::fcs;
use linerate_ether::frame::{ADDRESSES_LEN, MAX_LEN, MIN_LEN};
use linerate_ether::ledger::Counter;

/// The receive loop aligns and sums; only good frames reach the queue.
pub struct LineRate(());

/// True if a summed frame is certainly good, as most are: this keeps the interrupt short.
#[inline(always)]
fn is_plain(entry: &[u8], summed: SummedFrame) -> bool {
    /// First octets of `EtherType`s that are neither a length nor a tag, including IPv4 and ARP.
    const TYPES: core::ops::Range<u8> = 6..0x80;
    let octets = usize::from(summed.octets);
    octets.wrapping_sub(MIN_LEN) <= MAX_LEN - MIN_LEN
        && summed.fcs_good
        && entry
            .get(FRAME_OFFSET + ADDRESSES_LEN)
            .is_some_and(|octet| TYPES.contains(octet))
}

/// The one's complement sum of big-endian pairs (RFC 1071) from that of little-endian ones.
#[inline(always)]
fn fold(sum: u32) -> u16 {
    let once = (sum & 0xFFFF) + (sum >> 16);
    ((once + (once >> 16)) as u16).swap_bytes()
}

/// Verdict on a summed frame: its octets without FCS, or the counter of the error. `entry` is the
/// queue entry.
#[cold]
#[inline(never)]
fn judge(entry: &[u8], summed: SummedFrame) -> Result<Range<usize>, Counter> {
    let octets = usize::from(summed.octets);
    let field = |at: usize| {
        entry
            .get(FRAME_OFFSET + at..)
            .and_then(|bytes| bytes.first_chunk())
            .map_or(0, |bytes| u16::from_be_bytes(*bytes))
    };
    validate::verdict(octets, summed.fcs_good, field).map_err(|invalid| match invalid {
        InvalidFrame::Runt if !summed.fcs_good => Counter::RxFragments,
        InvalidFrame::BadFcs if summed.dribble => Counter::RxAlignmentErrors,
        invalid => invalid.counter(),
    })
}

/// Counts a reception without a frame; a cold function, to keep the common path short.
#[cold]
#[inline(never)]
fn without_frame(reception: Reception, ledger: &Ledger) -> usize {
    // A reception that was not summed cannot be checked.
    if count_reception(reception, ledger).is_some() {
        ledger.count(Counter::RxBadSfd);
    }
    0
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
            other => return without_frame(other, ledger),
        };
        ledger.count(Counter::RxFrames);
        if !is_plain(&grant, summed)
            && let Err(refused) = judge(&grant, summed)
        {
            ledger.count(refused);
            return 0;
        }
        if let Some(own) = grant.words_mut().first_mut() {
            *own = summed.sum;
        }
        let len = FRAME_OFFSET + usize::from(summed.octets);
        grant.commit(len);
        len
    }

    #[inline(always)]
    fn main<const WORDS: usize>(
        frame: &mut Frame<'_, '_, WORDS>,
    ) -> Result<Range<usize>, InvalidFrame> {
        let octets = frame.len().saturating_sub(FRAME_OFFSET);
        let bytes = FRAME_OFFSET..FRAME_OFFSET + octets.saturating_sub(fcs::LEN);
        let words = frame.words_mut();
        let sum = words.first().map_or(0, |own| fold(*own));
        let verdict = match checksum::of_sum(words, octets, sum) {
            Verdict::Unknown => checksum::of_bytes(frame.get(bytes.clone()).unwrap_or_default()),
            verdict => verdict,
        };
        match verdict {
            Verdict::Bad => Err(InvalidFrame::BadChecksum),
            Verdict::Good | Verdict::Unknown => Ok(bytes),
        }
    }
}
