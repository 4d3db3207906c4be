//! Time in bit times, from the core's cycle counter.

use core::{
    arch::asm,
    sync::atomic::{AtomicU32, Ordering},
};

use linerate_nic::mac::BitTimes;

/// Cycles in a bit time: 100 ns at 160 MHz.
const CYCLES_PER_BIT: u32 = 16;

/// The 32-bit cycle counter wraps long before 2^32 bit times: [`tick`] adds the carry.
static BASE_BITS: AtomicU32 = AtomicU32::new(0);
static BASE_CYCLES: AtomicU32 = AtomicU32::new(0);

/// Makes the performance counter count cycles.
pub(super) fn start() {
    // SAFETY: MPCER (0x7e0) = cycles, MPCMR (0x7e1) = on; no other effect.
    unsafe { asm!("csrwi 0x7e0, 1", "csrwi 0x7e1, 1") }
}

/// The cycle counter.
#[inline(always)]
pub(super) fn cycles() -> u32 {
    let cycles;
    // SAFETY: reads MPCCR.
    unsafe { asm!("csrr {}, 0x7e2", out(reg) cycles, options(nomem, nostack)) }
    cycles
}

/// The current time.
#[inline]
pub(super) fn now() -> BitTimes {
    loop {
        let base = BASE_CYCLES.load(Ordering::Acquire);
        let bits = BASE_BITS.load(Ordering::Acquire);
        let elapsed = cycles().wrapping_sub(base);
        if BASE_CYCLES.load(Ordering::Acquire) == base {
            return BitTimes(bits.wrapping_add(elapsed / CYCLES_PER_BIT));
        }
    }
}

/// Time at which the cycle counter was `cycles`, at most 13 seconds ago. For callers that have no time to
/// convert it at once.
#[cfg(feature = "line-rate")]
#[inline]
pub(super) fn at(cycles: u32) -> BitTimes {
    loop {
        let base = BASE_CYCLES.load(Ordering::Acquire);
        let bits = BASE_BITS.load(Ordering::Acquire);
        let elapsed = cycles.wrapping_sub(base) as i32 / CYCLES_PER_BIT as i32;
        if BASE_CYCLES.load(Ordering::Acquire) == base {
            return BitTimes(bits.wrapping_add_signed(elapsed));
        }
    }
}

/// Called by one interrupt, at least once in 26 seconds.
#[inline]
pub(super) fn tick() {
    let base = BASE_CYCLES.load(Ordering::Relaxed);
    let bits = cycles().wrapping_sub(base) / CYCLES_PER_BIT;
    BASE_BITS.fetch_add(bits, Ordering::Relaxed);
    BASE_CYCLES.store(base.wrapping_add(bits * CYCLES_PER_BIT), Ordering::Release);
}
