//! Noticing that the receive pair's wires are swapped, and turning the inputs round (IEEE 802.3 clause
//! 14.3.1.3 leaves it to the receiver).
//!
//! The comparator shows a negative line as it shows an idle one. On a swapped pair the pulses of a
//! partner are therefore not seen at all, and of its frames the complement is: a preamble that ends
//! with two 0 where the SFD has two 1. When the inputs have been turned the line idles high. A frame
//! ends high then as with `TP_IDL`, and what depends on edges alone (carrier, collisions, the end of
//! what is skipped) is as before. A fragment that ends in its preamble leaves no silence that the hunt
//! for the SFD would notice: it goes on for up to 40 pairs of bits, 8 us, and then looks for a carrier.
//!
//! Pulses that are seen while the inputs are turned are positive: the wires are not swapped any more.
//! So are frames that look inverted, and both turn the inputs back.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use linerate_ether::ledger::Counter;
use linerate_nic::link::{Polarity, Sense};

use super::{
    super::{pins, trap::Slot},
    link,
    receive::Heard,
};
use crate::LINERATE_LEDGER;

/// Pairs of preamble bits, of some 20, that have to come before two 0. So many look like a preamble by
/// chance once in 4^8 times, in the middle of a frame.
const PREAMBLE_PAIRS: u32 = 8;

/// The receive interrupt's.
static POLARITY: Slot<Polarity> = Slot::holding(Polarity::new());
static SWAPPED: AtomicBool = AtomicBool::new(false);
/// Frames that had been aligned, good or bad, when a pulse or an inverted preamble came last.
static ALIGNED: AtomicU32 = AtomicU32::new(0);

/// Whether the inputs are turned.
#[inline(always)]
pub(super) fn is_swapped() -> bool {
    SWAPPED.load(Ordering::Relaxed)
}

/// What was heard, on a line that idles low or one that idles high.
#[inline(always)]
pub(super) fn seen(heard: Heard) -> Heard {
    match heard {
        Heard::Idle if is_swapped() => Heard::Tail,
        Heard::Tail if is_swapped() => Heard::Idle,
        heard => heard,
    }
}

/// A pulse was heard, which is positive on the wires. Says whether it is one for the link.
///
/// # Safety
/// Only the receive interrupt calls this.
#[inline(always)]
pub(super) unsafe fn pulse() -> bool {
    let swapped = is_swapped();
    let sense = if swapped {
        Sense::Inverted
    } else {
        Sense::Normal
    };
    // SAFETY: the caller's promise.
    unsafe { count(|polarity| polarity.on_pulse(sense)) }
    !swapped
}

/// A preamble was heard, so many pairs of its bits, and then two 0.
///
/// # Safety
/// Only the receive interrupt calls this.
#[inline(always)]
pub(super) unsafe fn without_sfd(pairs: u32) {
    if pairs >= PREAMBLE_PAIRS {
        // SAFETY: the caller's promise.
        unsafe { count(|polarity| polarity.on_frame(Sense::Inverted)) }
    }
}

/// Lets `f` count in what was counted since the last frame that could be aligned, and turns the inputs
/// if it says so.
///
/// # Safety
/// Only the receive interrupt calls this.
#[inline(always)]
unsafe fn count(f: impl FnOnce(&mut Polarity) -> bool) {
    // SAFETY: the slot is the receive interrupt's, and this its only reference.
    let Some(polarity) = (unsafe { POLARITY.get() }) else {
        return;
    };
    // The interrupt has no time to tell of each frame.
    let counted = |counter| LINERATE_LEDGER.get(counter);
    let aligned = counted(Counter::RxFrames).wrapping_sub(counted(Counter::RxBadSfd));
    if ALIGNED.swap(aligned, Ordering::Relaxed) != aligned {
        *polarity = Polarity::new();
    }
    if f(polarity) {
        // SAFETY: interrupts are off in an interrupt.
        unsafe { turn() }
    }
}

/// Turns the inputs.
///
/// # Safety
/// Interrupts are off.
#[cold]
#[esp_hal::ram]
unsafe fn turn() {
    let swapped = !is_swapped();
    SWAPPED.store(swapped, Ordering::Relaxed);
    pins::swap(swapped);
    if swapped {
        LINERATE_LEDGER.count(Counter::PolarityCorrections);
    }
    // SAFETY: the caller's promise.
    unsafe { link::set_swapped(swapped) }
}
