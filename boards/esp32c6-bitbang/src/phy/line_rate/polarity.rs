//! Detects a receive pair with swapped wires, and inverts the inputs (IEEE 802.3 clause 14.3.1.3 leaves this
//! to the receiver).
//!
//! The comparator's output is the same for a negative line and an idle one. On a swapped pair the partner's
//! pulses are therefore invisible, and its frames arrive inverted: a preamble that ends with two 0 where the
//! SFD has two 1. With inverted inputs the line idles high. A frame then ends high as with `TP_IDL`, and
//! everything that depends on edges alone (carrier, collisions, the end of skipping) is unchanged. A fragment
//! that ends in its preamble leaves no silence that the hunt for the SFD would detect: the hunt continues for
//! up to 40 pairs of bits, 8 us, and then checks the carrier.
//!
//! Pulses visible with inverted inputs are positive on the wires: the pair is no longer swapped. The same
//! holds for frames that look inverted; both restore the inputs.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use linerate_ether::ledger::Counter;
use linerate_nic::link::{Polarity, Sense};

use super::{
    super::{pins, trap::Slot},
    link,
    receive::NoFrame,
};
use crate::LINERATE_LEDGER;

/// Pairs of preamble bits, of about 20, required before two 0. In the middle of a frame, as many look like a
/// preamble by chance once in 4^8 times.
const PREAMBLE_PAIRS: u32 = 8;

/// Owned by the receive interrupt.
static POLARITY: Slot<Polarity> = Slot::holding(Polarity::new());
static SWAPPED: AtomicBool = AtomicBool::new(false);
/// Number of aligned frames, good or bad, at the last pulse or inverted preamble.
static ALIGNED: AtomicU32 = AtomicU32::new(0);

/// True if the inputs are inverted.
#[inline(always)]
pub(super) fn is_swapped() -> bool {
    SWAPPED.load(Ordering::Relaxed)
}

/// Corrects a reception's type on a line that idles high.
#[inline(always)]
pub(super) fn corrected(reason: NoFrame) -> NoFrame {
    match reason {
        NoFrame::Idle if is_swapped() => NoFrame::Tail,
        NoFrame::Tail if is_swapped() => NoFrame::Idle,
        reason => reason,
    }
}

/// Handles a pulse, which is positive on the wires. Returns true if it is one for the link.
///
/// # Safety
/// Only the receive interrupt calls this.
#[inline(always)]
pub(super) unsafe fn on_pulse() -> bool {
    let swapped = is_swapped();
    let sense = if swapped {
        Sense::Inverted
    } else {
        Sense::Normal
    };
    // SAFETY: guaranteed by the caller.
    unsafe { update(|polarity| polarity.on_pulse(sense)) }
    !swapped
}

/// Handles a preamble of `pairs` pairs of bits, followed by two 0.
///
/// # Safety
/// Only the receive interrupt calls this.
#[inline(always)]
pub(super) unsafe fn on_inverted_preamble(pairs: u32) {
    if pairs >= PREAMBLE_PAIRS {
        // SAFETY: guaranteed by the caller.
        unsafe { update(|polarity| polarity.on_frame(Sense::Inverted)) }
    }
}

/// Passes the frames aligned since the last event to `f`'s counter, and inverts the inputs if it returns
/// true.
///
/// # Safety
/// Only the receive interrupt calls this.
#[inline(always)]
unsafe fn update(f: impl FnOnce(&mut Polarity) -> bool) {
    // SAFETY: the slot is the receive interrupt's, and this its only reference.
    let Some(polarity) = (unsafe { POLARITY.get() }) else {
        return;
    };
    // The interrupt has no time to report each frame.
    let counted = |counter| LINERATE_LEDGER.get(counter);
    let aligned = counted(Counter::RxFrames).wrapping_sub(counted(Counter::RxBadSfd));
    if ALIGNED.swap(aligned, Ordering::Relaxed) != aligned {
        *polarity = Polarity::new();
    }
    if f(polarity) {
        // SAFETY: interrupts are off in an interrupt.
        unsafe { toggle_inputs() }
    }
}

/// Inverts the inputs, or restores them.
///
/// # Safety
/// Interrupts are off.
#[cold]
#[esp_hal::ram]
unsafe fn toggle_inputs() {
    let swapped = !is_swapped();
    SWAPPED.store(swapped, Ordering::Relaxed);
    pins::invert_inputs(swapped);
    if swapped {
        LINERATE_LEDGER.count(Counter::PolarityCorrections);
    }
    // SAFETY: guaranteed by the caller.
    unsafe { link::set_swapped(swapped) }
}
