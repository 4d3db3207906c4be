//! Stages of the receive path, from naive to fast: the division of work between interrupt and main
//! thread.
//!
//! | stage          | in the interrupt                          | on the main thread  |
//! |----------------|-------------------------------------------|---------------------|
//! | [`IsrAll`]     | receive, align, check, copy to the queue  | nothing             |
//! | [`MainThread`] | receive, copy to the queue                | align, check        |
//! | [`ZeroCopy`]   | receive into the queue                    | align, check        |
//! | [`Windowed`]   | receive into the queue                    | align, check        |
//! | [`LineRate`](super::LineRate) | receive, align and sum into the queue | nothing |
//!
//! `Windowed` differs from `ZeroCopy` only in reporting to the stack how many frames fit, from
//! which the TCP window follows ([`crate::window`]).

use super::receive::Reception;
use super::validate::{InvalidFrame, Validator, Wordwise};
use crate::bitbang::MAX_RAW_LEN;
use crate::device::Checksums;
use crate::ledger::Ledger;
use crate::queue::{Buffer, Frame, Grant};
use core::marker::PhantomData;
use core::ops::Range;
use linerate_ether::ledger::Counter;

/// Buffer for one raw reception outside of the queue.
pub type Scratch = Buffer<{ MAX_RAW_LEN / 4 }>;

/// A division of the work between interrupt and main thread.
pub trait Stage {
    /// The stage's name in results.
    const NAME: &'static str;
    /// True if the stack gets the number of frames that fit the queue.
    const LIMITS_BURST: bool;
    /// Checksum offload by [`main`](Self::main).
    const CHECKSUMS: Checksums = Checksums::NONE;
    /// True if the MAC, not the stack, handles MAC control frames (IEEE 802.3 clause 31).
    const OBEYS_PAUSE: bool = false;
    /// True if the FCS follows the range that [`main`](Self::main) returns.
    const KEEPS_FCS: bool = false;
    /// True if frames to groups may take only a share of the queue.
    const SHEDS_GROUPS: bool = false;
    /// Buffer that the interrupt receives into, if not the queue.
    type Scratch: Send;
    /// A fresh scratch buffer.
    const SCRATCH: Self::Scratch;

    /// Work of the interrupt: receives with `phy` and fills the `grant`, if there is a frame.
    /// Returns the number of bytes committed.
    fn interrupt<const WORDS: usize>(
        grant: Grant<'_, '_, WORDS>,
        scratch: &mut Self::Scratch,
        ledger: &Ledger,
        phy: impl FnOnce(&mut [u8]) -> Reception,
    ) -> usize;

    /// Work of the main thread: returns the range of `frame` that is the Ethernet frame without
    /// FCS.
    ///
    /// # Errors
    /// The error, not yet counted.
    fn main<const WORDS: usize>(
        frame: &mut Frame<'_, '_, WORDS>,
    ) -> Result<Range<usize>, InvalidFrame>;
}

/// All work in the interrupt; only good frames reach the queue.
pub struct IsrAll<M = Wordwise>(PhantomData<M>);
/// The interrupt copies what it received into the queue.
pub struct MainThread<M = Wordwise>(PhantomData<M>);
/// The interrupt receives into the queue.
pub struct ZeroCopy<M = Wordwise>(PhantomData<M>);
/// Like [`ZeroCopy`], and the stack gets the number of frames that fit.
pub struct Windowed<M = Wordwise>(PhantomData<M>);

/// Counts a reception and returns its length if the MAC continues with it.
#[inline(always)]
pub(super) fn count_reception(reception: Reception, ledger: &Ledger) -> Option<usize> {
    match reception {
        Reception::Packet(len) => {
            ledger.count(Counter::RxFrames);
            return Some(len);
        }
        Reception::LinkPulse => ledger.count(Counter::RxLinkPulses),
        Reception::LinkBurst => ledger.count(Counter::RxLinkBursts),
        Reception::Truncated => ledger.count(Counter::RxTruncated),
        Reception::SymbolError => ledger.count(Counter::RxSymbolErrors),
        Reception::Oversize => {
            ledger.count(Counter::RxFrames);
            ledger.count(Counter::RxOversize);
        }
        Reception::NoSfd => {
            ledger.count(Counter::RxFrames);
            ledger.count(Counter::RxBadSfd);
        }
        Reception::Filtered => {
            ledger.count(Counter::RxFrames);
            ledger.count(Counter::RxFiltered);
        }
        Reception::Shed => ledger.count(Counter::RxQueueFull),
        Reception::WhileSending => ledger.count(Counter::RxWhileSending),
        // Only the stage `LineRate` takes summed frames; the others use other receivers.
        Reception::Frame(_) | Reception::Nothing => {}
    }
    None
}

/// Copies `bytes` into the queue and commits them.
#[inline(always)]
fn push<const WORDS: usize>(mut grant: Grant<'_, '_, WORDS>, bytes: Option<&[u8]>) -> usize {
    let Some(bytes) = bytes else { return 0 };
    let Some(room) = grant.get_mut(..bytes.len()) else {
        return 0;
    };
    room.copy_from_slice(bytes);
    grant.commit(bytes.len());
    bytes.len()
}

impl<M: Validator> Stage for IsrAll<M> {
    const NAME: &'static str = "isr-all";
    const LIMITS_BURST: bool = false;
    type Scratch = Scratch;
    const SCRATCH: Scratch = Scratch::new();

    #[inline(always)]
    fn interrupt<const WORDS: usize>(
        grant: Grant<'_, '_, WORDS>,
        scratch: &mut Scratch,
        ledger: &Ledger,
        phy: impl FnOnce(&mut [u8]) -> Reception,
    ) -> usize {
        let Some(len) = count_reception(phy(scratch.bytes_mut()), ledger) else {
            return 0;
        };
        match M::validate(scratch.words_mut(), len) {
            Ok(frame) => push(grant, scratch.bytes().get(frame)),
            Err(invalid) => {
                ledger.count(invalid.counter());
                0
            }
        }
    }

    #[inline(always)]
    fn main<const WORDS: usize>(
        frame: &mut Frame<'_, '_, WORDS>,
    ) -> Result<Range<usize>, InvalidFrame> {
        Ok(0..frame.len())
    }
}

impl<M: Validator> Stage for MainThread<M> {
    const NAME: &'static str = "main-thread";
    const LIMITS_BURST: bool = false;
    type Scratch = Scratch;
    const SCRATCH: Scratch = Scratch::new();

    #[inline(always)]
    fn interrupt<const WORDS: usize>(
        grant: Grant<'_, '_, WORDS>,
        scratch: &mut Scratch,
        ledger: &Ledger,
        phy: impl FnOnce(&mut [u8]) -> Reception,
    ) -> usize {
        let Some(len) = count_reception(phy(scratch.bytes_mut()), ledger) else {
            return 0;
        };
        push(grant, scratch.bytes().get(..len.min(MAX_RAW_LEN)))
    }

    #[inline(always)]
    fn main<const WORDS: usize>(
        frame: &mut Frame<'_, '_, WORDS>,
    ) -> Result<Range<usize>, InvalidFrame> {
        let len = frame.len();
        M::validate(frame.words_mut(), len)
    }
}

impl<M: Validator> Stage for ZeroCopy<M> {
    const NAME: &'static str = "zero-copy";
    const LIMITS_BURST: bool = false;
    type Scratch = ();
    const SCRATCH: () = ();

    #[inline(always)]
    fn interrupt<const WORDS: usize>(
        mut grant: Grant<'_, '_, WORDS>,
        (): &mut (),
        ledger: &Ledger,
        phy: impl FnOnce(&mut [u8]) -> Reception,
    ) -> usize {
        let Some(len) = count_reception(phy(&mut grant), ledger) else {
            return 0;
        };
        grant.commit(len);
        len
    }

    #[inline(always)]
    fn main<const WORDS: usize>(
        frame: &mut Frame<'_, '_, WORDS>,
    ) -> Result<Range<usize>, InvalidFrame> {
        let len = frame.len();
        M::validate(frame.words_mut(), len)
    }
}

impl<M: Validator> Stage for Windowed<M> {
    const NAME: &'static str = "windowed";
    const LIMITS_BURST: bool = true;
    type Scratch = ();
    const SCRATCH: () = ();

    #[inline(always)]
    fn interrupt<const WORDS: usize>(
        grant: Grant<'_, '_, WORDS>,
        scratch: &mut (),
        ledger: &Ledger,
        phy: impl FnOnce(&mut [u8]) -> Reception,
    ) -> usize {
        ZeroCopy::<M>::interrupt(grant, scratch, ledger, phy)
    }

    #[inline(always)]
    fn main<const WORDS: usize>(
        frame: &mut Frame<'_, '_, WORDS>,
    ) -> Result<Range<usize>, InvalidFrame> {
        ZeroCopy::<M>::main(frame)
    }
}
