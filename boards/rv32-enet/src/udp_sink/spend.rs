//! Cycles that stand for the work of a kernel.

use core::arch::asm;
use core::sync::atomic::{AtomicU32, Ordering};

use crate::machine::cycles;

/// Rounds of the calibration.
const ROUNDS: u32 = 4096;

/// Cycles that [`ROUNDS`] rounds of the loop take.
static TAKEN: AtomicU32 = AtomicU32::new(2 * ROUNDS);

#[inline(never)]
fn count_down(rounds: u32) {
    // SAFETY: registers only.
    unsafe {
        asm!(
            ".option push", ".option norvc", ".balign 32",
            "2: addi {0}, {0}, -1", "bnez {0}, 2b",
            ".option pop",
            inout(reg) rounds => _,
            options(nomem, nostack),
        );
    }
}

/// Measures the loop. Call it once, before interrupts are taken.
pub fn calibrate() {
    count_down(ROUNDS);
    let before = cycles();
    count_down(ROUNDS);
    TAKEN.store((cycles() - before) as u32, Ordering::Relaxed);
}

/// Spends `count` cycles, without those of interrupts meanwhile.
pub fn spend(count: u32) {
    let rounds = u64::from(count) * u64::from(ROUNDS) / u64::from(TAKEN.load(Ordering::Relaxed));
    if rounds > 0 {
        count_down(rounds as u32);
    }
}
