//! `linerate-agent` for firmware in C: a static library. `include/linerate_agent.h` documents its use and
//! each function.
//!
//! The caller owns the memory: an agent is created in place, and everything else is passed in by pointer.

#![no_std]

#[cfg(not(target_os = "none"))]
extern crate std;

mod drive;
mod make;
mod place;
mod results;
mod types;

/// Nothing to unwind to: a watchdog ends it.
#[cfg(target_os = "none")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
