//! The link integrity test (IEEE 802.3 clause 14.2.1.7), in periods of this station's link pulses.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use linerate_ether::ledger::Counter;
use linerate_nic::device::LinkState;

use crate::LINERATE_LEDGER;

/// Periods with a reception until the link is up: 2 to 10 pulses (`lc_max`).
const PERIODS_UP: u32 = 3;
/// Periods of silence until the link is down: 112 ms; 50 to 150 ms are allowed (`link_loss`).
const PERIODS_DOWN: u32 = 7;

static RECEIVED: AtomicBool = AtomicBool::new(false);
static UP: AtomicBool = AtomicBool::new(false);
/// Periods that indicate the opposite state.
static CONTRARY_PERIODS: AtomicU32 = AtomicU32::new(0);

/// Records a reception.
#[inline(always)]
pub(super) fn on_reception() {
    RECEIVED.store(true, Ordering::Relaxed);
}

/// Ends a period. Called by one interrupt.
#[inline]
pub(super) fn end_period() {
    let up = UP.load(Ordering::Relaxed);
    if RECEIVED.swap(false, Ordering::Relaxed) == up {
        CONTRARY_PERIODS.store(0, Ordering::Relaxed);
        return;
    }
    let contrary_periods = CONTRARY_PERIODS.load(Ordering::Relaxed) + 1;
    let (limit, change) = if up {
        (PERIODS_DOWN, Counter::LinkDowns)
    } else {
        (PERIODS_UP, Counter::LinkUps)
    };
    if contrary_periods < limit {
        CONTRARY_PERIODS.store(contrary_periods, Ordering::Relaxed);
    } else {
        CONTRARY_PERIODS.store(0, Ordering::Relaxed);
        UP.store(!up, Ordering::Relaxed);
        LINERATE_LEDGER.count(change);
    }
}

/// Link state.
#[inline]
pub(super) fn state() -> LinkState {
    if UP.load(Ordering::Relaxed) {
        LinkState::Up
    } else {
        LinkState::Down
    }
}
