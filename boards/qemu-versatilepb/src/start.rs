//! From reset to `main`, and the handling of exceptions and panics.

use core::arch::{asm, global_asm};
use linerate_agent_firmware::console::{event, info};

use crate::machine::Console;

// Reset and the exceptions behind it (ARMv7-A, B1.8.1). Interrupts wake the processor and are not taken.
// Each exception mode has its own stack pointer, which is not set up.
global_asm!(
    ".section .vectors, \"ax\"",
    ".global _start",
    "_start:",
    "b 1f",
    ".rept 7",
    "b 2f",
    ".endr",
    "1: ldr sp, =_stack_top",
    "bl {main}",
    "2: mrs r0, cpsr",
    "mov r1, lr",
    "ldr sp, =_stack_top",
    "bl {exception}",
    exception = sym exception,
    main = sym crate::main,
);

/// No exception is expected. `state` holds the processor mode, `at` the return address.
extern "C" fn exception(state: usize, at: usize) -> ! {
    let mode = state & 0x1f;
    let mut console = Console;
    event(
        &mut console,
        "error",
        format_args!("\"what\":\"exception\",\"mode\":{mode},\"at\":{at}"),
    );
    info(
        &mut console,
        format_args!("Exception of mode {mode:#x} at {at:#x}"),
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

/// Ends the machine with an error: semihosting's `SYS_EXIT` with a reason other than normal program exit.
pub fn stop() -> ! {
    const SYS_EXIT: usize = 0x18;
    const RUN_TIME_ERROR: usize = 0x2_0023;
    loop {
        // SAFETY: QEMU ends here; otherwise the resulting exception returns to the same place.
        unsafe { asm!("svc 0x123456", inout("r0") SYS_EXIT => _, in("r1") RUN_TIME_ERROR) };
    }
}
