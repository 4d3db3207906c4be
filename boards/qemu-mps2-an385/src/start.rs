//! From reset to `main`, and the handling of faults and panics.

use core::arch::{asm, global_asm};
use linerate_agent_firmware::console::{event, info};

use crate::machine::Console;

// The stack, the reset vector, and the fourteen exceptions behind it (ARMv7-M, B1.5.2 and B1.5.3). Interrupts
// wake the processor and are not taken, so there are no more.
global_asm!(
    ".section .vectors, \"a\"",
    ".word _stack_top",
    ".word _start",
    ".rept 14",
    ".word {fault}",
    ".endr",
    ".section .text.start, \"ax\"",
    ".global _start",
    ".type _start, %function",
    ".thumb_func",
    "_start:",
    "cpsid i",
    "bl {main}",
    fault = sym fault,
    main = sym crate::main,
);

/// No fault is expected.
extern "C" fn fault() -> ! {
    let exception: usize;
    // SAFETY: reads a register.
    unsafe { asm!("mrs {}, ipsr", out(reg) exception) };
    let mut console = Console;
    event(
        &mut console,
        "error",
        format_args!("\"what\":\"fault\",\"exception\":{exception}"),
    );
    info(&mut console, format_args!("Exception {exception}"));
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
        // SAFETY: QEMU ends here.
        unsafe { asm!("bkpt 0xab", inout("r0") SYS_EXIT => _, in("r1") RUN_TIME_ERROR) };
    }
}
