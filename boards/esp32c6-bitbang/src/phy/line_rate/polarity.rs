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

use core::{
    cell::UnsafeCell,
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
};

use linerate_ether::ledger::Counter;
use linerate_nic::link::{Polarity, Sense};

use super::{super::pins, link, receive::Heard};
use crate::LINERATE_LEDGER;

/// Pairs of preamble bits, of some 20, that have to come before two 0. So many look like a preamble by
/// chance once in 4^8 times, in the middle of a frame.
const PREAMBLE_PAIRS: u32 = 8;

struct Slot(UnsafeCell<Polarity>);

// SAFETY: only the receive interrupt, which does not nest, touches the content.
unsafe impl Sync for Slot {}

static POLARITY: Slot = Slot(UnsafeCell::new(Polarity::new()));
static SWAPPED: AtomicBool = AtomicBool::new(false);
/// Frames that were aligned when something looked inverted last.
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
#[inline(always)]
pub(super) fn pulse() -> bool {
    let swapped = is_swapped();
    let sense = if swapped {
        Sense::Inverted
    } else {
        Sense::Normal
    };
    if polarity().pulse(sense) {
        turn();
    }
    !swapped
}

/// A preamble was heard, so many pairs of its bits, and then two 0. To be called by the receive
/// interrupt.
#[inline(always)]
pub(super) fn without_sfd(pairs: u32) {
    if pairs >= PREAMBLE_PAIRS && polarity().frame(Sense::Inverted) {
        turn();
    }
}

/// What was counted since the last frame that could be aligned.
#[inline(always)]
fn polarity() -> &'static mut Polarity {
    // SAFETY: see `Slot`; no two of these references live at a time.
    let polarity = unsafe { &mut *POLARITY.0.get() };
    // The interrupt has no time to tell of each frame.
    let count = |counter| LINERATE_LEDGER.get(counter);
    let aligned = count(Counter::RxFrames).wrapping_sub(count(Counter::RxBadSfd));
    if ALIGNED.swap(aligned, Ordering::Relaxed) != aligned {
        *polarity = Polarity::new();
    }
    polarity
}

#[cold]
#[esp_hal::ram]
fn turn() {
    let swapped = !is_swapped();
    SWAPPED.store(swapped, Ordering::Relaxed);
    pins::swap(swapped);
    if swapped {
        LINERATE_LEDGER.count(Counter::PolarityCorrections);
    }
    link::swapped(swapped);
}
