//! From reset to `main`, and the handling of exceptions and panics.

use core::arch::{asm, global_asm};
use core::sync::atomic::{AtomicBool, Ordering};
use linerate_agent_firmware::console::{event, info};

use crate::machine::Console;

// Everything runs in supervisor mode with interrupts masked, as after reset: MMU, caches and VFP stay off.
global_asm!(
    ".section .text.start, \"ax\"",
    ".arm",
    ".global _start, exception",
    "_start:",
    "cpsid aif, #0x13",
    "ldr sp, =_stack_top",
    "ldr r0, =1f",
    "mcr p15, 0, r0, c12, c0, 0",
    "b {main}",
    ".ltorg",
    // Vectors: each exception has a stack pointer of its own, and the address behind where it was.
    ".balign 32",
    "1: b exception",
    "b exception",
    "b exception",
    "b exception",
    "b exception",
    "b exception",
    "b exception",
    "exception: ldr sp, =_stack_top",
    "mov r0, lr",
    "mrs r1, cpsr",
    "b {trap}",
    ".ltorg",
    trap = sym trap,
    main = sym crate::main,
);

/// No exception is expected.
extern "C" fn trap(behind: usize, state: usize) -> ! {
    let status: usize;
    // SAFETY: reads a register, DFSR.
    unsafe { asm!("mrc p15, 0, {}, c5, c0, 0", out(reg) status, options(nomem, nostack)) };
    let mode = state & 0x1f;
    let mut console = Console;
    event(
        &mut console,
        "error",
        format_args!("\"what\":\"trap\",\"mode\":{mode},\"fault\":{status},\"before\":{behind}"),
    );
    info(
        &mut console,
        format_args!("Trap into mode {mode:#x} before {behind:#x}, data fault {status:#x}"),
    );
    stop()
}

#[panic_handler]
fn panicked(what: &core::panic::PanicInfo<'_>) -> ! {
    let mut console = Console;
    event(&mut console, "error", format_args!("\"what\":\"panic\""));
    info(&mut console, format_args!("{what}"));
    stop()
}

/// Ends the machine with an error, by semihosting (`SYS_EXIT`, `ADP_Stopped_RunTimeErrorUnknown`): without
/// semihosting, that is a trap.
pub fn stop() -> ! {
    static IS_STOPPING: AtomicBool = AtomicBool::new(false);
    if !IS_STOPPING.swap(true, Ordering::Relaxed) {
        // SAFETY: does not return, or traps.
        unsafe { asm!("svc #0x123456", in("r0") 0x18, in("r1") 0x2_0023) };
    }
    loop {
        core::hint::spin_loop();
    }
}
