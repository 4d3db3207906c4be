//! Entry of machine interrupts on RISC-V with one hart, and critical sections. The program has `interrupt::handle`, which
//! `enable` lets be called.

use core::arch::{asm, global_asm};

/// Takes interrupts from now on.
///
/// # Safety
/// The caller's data that `interrupt::handle` uses are shared through `critical_section` only.
pub unsafe fn enable() {
    // SAFETY: the entry below saves all registers that a function may change.
    unsafe {
        asm!(
            "la {at}, interrupted",
            "csrw mtvec, {at}",
            "csrsi mstatus, 8",
            at = out(reg) _,
        );
    }
}

// Saves the caller-saved registers; mcause is negative for interrupts.
global_asm!(
    ".section .text.interrupted, \"ax\"",
    ".balign 4",
    "interrupted:",
    "addi sp, sp, -64",
    "sw ra, 0(sp)",
    "sw t0, 4(sp)",
    "sw t1, 8(sp)",
    "sw t2, 12(sp)",
    "sw t3, 16(sp)",
    "sw t4, 20(sp)",
    "sw t5, 24(sp)",
    "sw t6, 28(sp)",
    "sw a0, 32(sp)",
    "sw a1, 36(sp)",
    "sw a2, 40(sp)",
    "sw a3, 44(sp)",
    "sw a4, 48(sp)",
    "sw a5, 52(sp)",
    "sw a6, 56(sp)",
    "sw a7, 60(sp)",
    "csrr t0, mcause",
    "bgez t0, 1f",
    "call {handle}",
    "lw ra, 0(sp)",
    "lw t0, 4(sp)",
    "lw t1, 8(sp)",
    "lw t2, 12(sp)",
    "lw t3, 16(sp)",
    "lw t4, 20(sp)",
    "lw t5, 24(sp)",
    "lw t6, 28(sp)",
    "lw a0, 32(sp)",
    "lw a1, 36(sp)",
    "lw a2, 40(sp)",
    "lw a3, 44(sp)",
    "lw a4, 48(sp)",
    "lw a5, 52(sp)",
    "lw a6, 56(sp)",
    "lw a7, 60(sp)",
    "addi sp, sp, 64",
    "mret",
    "1: j {trap}",
    handle = sym crate::interrupt::handle,
    trap = sym crate::start::trap,
);

struct OneHart;
critical_section::set_impl!(OneHart);

// SAFETY: on one hart, nothing else runs while mstatus.MIE is 0.
unsafe impl critical_section::Impl for OneHart {
    unsafe fn acquire() -> bool {
        let before: usize;
        // SAFETY: masks interrupts.
        unsafe { asm!("csrrci {}, mstatus, 8", out(reg) before) };
        before & 8 != 0
    }

    unsafe fn release(were_on: bool) {
        if were_on {
            // SAFETY: restores the previous state.
            unsafe { asm!("csrsi mstatus, 8") };
        }
    }
}
