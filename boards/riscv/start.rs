//! From reset to `main`, and the handling of traps and panics, on RISC-V with one hart. The board has `machine::Console`
//! and `machine::stop`.

use core::arch::{asm, global_asm};
use linerate_agent_firmware::console::{event, info};

use crate::machine::{Console, stop};

global_asm!(
    ".section .text.start, \"ax\"",
    ".global _start",
    "_start:",
    "la sp, _stack_top",
    "la t0, 1f",
    "csrw mtvec, t0",
    "j {main}",
    ".balign 4",
    "1: j {trap}",
    trap = sym trap,
    main = sym crate::main,
);

/// No trap is expected.
pub extern "C" fn trap() -> ! {
    let (cause, at): (usize, usize);
    // SAFETY: reads two registers.
    unsafe { asm!("csrr {}, mcause", "csrr {}, mepc", out(reg) cause, out(reg) at) };
    let mut console = Console;
    event(
        &mut console,
        "error",
        format_args!("\"what\":\"trap\",\"cause\":{cause},\"at\":{at}"),
    );
    info(&mut console, format_args!("Trap {cause} at {at:#x}"));
    stop()
}

#[panic_handler]
fn panicked(what: &core::panic::PanicInfo<'_>) -> ! {
    let mut console = Console;
    event(&mut console, "error", format_args!("\"what\":\"panic\""));
    info(&mut console, format_args!("{what}"));
    stop()
}
