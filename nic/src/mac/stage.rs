//! Who does what when: the stages of the receive path, from the naive one to the fast one.
//!
//! | stage          | in the interrupt                          | on the main thread  |
//! |----------------|-------------------------------------------|---------------------|
//! | [`IsrAll`]     | receive, align, check, copy to the queue  | nothing             |
//! | [`MainThread`] | receive, copy to the queue                | align, check        |
//! | [`ZeroCopy`]   | receive into the queue                    | align, check        |
//! | [`Windowed`]   | receive into the queue                    | align, check        |
//! | [`LineRate`](super::LineRate) | receive, align and sum into the queue | nothing |
//!
//! `Windowed` differs from `ZeroCopy` in what it tells the stack: how many frames fit, from which
//! the TCP window follows ([`crate::window`]).

use super::receive::Reception;
use super::validate::{Invalid, Method, Wordwise};
use crate::bitbang::MAX_RAW_LEN;
use crate::device::Checksums;
use crate::ledger::Ledger;
use crate::queue::{Buffer, Frame, Grant};
use core::marker::PhantomData;
use core::ops::Range;
use linerate_ether::ledger::Counter;

/// Room for one raw reception outside of the queue.
pub type Scratch = Buffer<{ MAX_RAW_LEN / 4 }>;

/// A division of the work between interrupt and main thread.
pub trait Stage {
    /// The stage's name in results.
    const NAME: &'static str;
    /// Whether the stack learns how many frames fit the queue.
    const LIMITS_BURST: bool;
    /// The checksums that [`main`](Self::main) relieves the stack of.
    const CHECKSUMS: Checksums = Checksums::NONE;
    /// Whether MAC control frames (IEEE 802.3 clause 31) are the MAC's, and not the stack's.
    const OBEYS_PAUSE: bool = false;
    /// Whether the FCS lies behind what [`main`](Self::main) returns.
    const KEEPS_FCS: bool = false;
    /// Whether frames to groups may take only a share of the queue.
    const SHEDS_GROUPS: bool = false;
    /// What the interrupt receives into, if not the queue.
    type Scratch: Send;
    /// A fresh scratch buffer.
    const SCRATCH: Self::Scratch;

    /// The interrupt's part: receives by `phy` and fills the `grant`, or not. Returns how many
    /// bytes it committed.
    fn interrupt<const WORDS: usize>(
        grant: Grant<'_, '_, WORDS>,
        scratch: &mut Self::Scratch,
        ledger: &Ledger,
        phy: impl FnOnce(&mut [u8]) -> Reception,
    ) -> usize;

    /// The main thread's part: what of `frame` is the frame, without FCS.
    ///
    /// # Errors
    /// Why it is none, not yet counted.
    fn main<const WORDS: usize>(frame: &mut Frame<'_, '_, WORDS>) -> Result<Range<usize>, Invalid>;
}

/// Everything in the interrupt; only good frames reach the queue.
pub struct IsrAll<M = Wordwise>(PhantomData<M>);
/// The interrupt copies what it received into the queue.
pub struct MainThread<M = Wordwise>(PhantomData<M>);
/// The interrupt receives into the queue.
pub struct ZeroCopy<M = Wordwise>(PhantomData<M>);
/// As [`ZeroCopy`], and the stack is told how many frames fit.
pub struct Windowed<M = Wordwise>(PhantomData<M>);

/// Counts a reception and returns its length if it goes on to the MAC.
#[inline(always)]
pub(super) fn heard(reception: Reception, ledger: &Ledger) -> Option<usize> {
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
        // A summed frame is for the stage that takes it; the others have other receivers.
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

impl<M: Method> Stage for IsrAll<M> {
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
        let Some(len) = heard(phy(scratch.bytes_mut()), ledger) else {
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
    fn main<const WORDS: usize>(frame: &mut Frame<'_, '_, WORDS>) -> Result<Range<usize>, Invalid> {
        Ok(0..frame.len())
    }
}

impl<M: Method> Stage for MainThread<M> {
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
        let Some(len) = heard(phy(scratch.bytes_mut()), ledger) else {
            return 0;
        };
        push(grant, scratch.bytes().get(..len.min(MAX_RAW_LEN)))
    }

    #[inline(always)]
    fn main<const WORDS: usize>(frame: &mut Frame<'_, '_, WORDS>) -> Result<Range<usize>, Invalid> {
        let len = frame.len();
        M::validate(frame.words_mut(), len)
    }
}

impl<M: Method> Stage for ZeroCopy<M> {
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
        let Some(len) = heard(phy(&mut grant), ledger) else {
            return 0;
        };
        grant.commit(len);
        len
    }

    #[inline(always)]
    fn main<const WORDS: usize>(frame: &mut Frame<'_, '_, WORDS>) -> Result<Range<usize>, Invalid> {
        let len = frame.len();
        M::validate(frame.words_mut(), len)
    }
}

impl<M: Method> Stage for Windowed<M> {
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
    fn main<const WORDS: usize>(frame: &mut Frame<'_, '_, WORDS>) -> Result<Range<usize>, Invalid> {
        ZeroCopy::<M>::main(frame)
    }
}
