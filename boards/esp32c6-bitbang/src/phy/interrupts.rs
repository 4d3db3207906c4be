//! Interrupts off and on (`mstatus.MIE`).

use core::arch::asm;

/// Runs `f` with interrupts off.
#[inline(always)]
pub(super) fn without_interrupts<T>(f: impl FnOnce() -> T) -> T {
    let status: u32;
    // SAFETY: turns interrupts off (mstatus.MIE).
    unsafe { asm!("csrrci {}, mstatus, 8", out(reg) status) }
    let result = f();
    // SAFETY: restores the previous state.
    unsafe { asm!("csrs mstatus, {}", in(reg) status & 8) }
    result
}
