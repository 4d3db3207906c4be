//! `linerate-agent` for firmware in C: a static library, and `include/linerate_agent.h`, which says how
//! to use it. Each function here does what its declaration there says.
//!
//! Memory is the caller's: an agent is made in place, and everything else is passed in by pointer.

#![no_std]

#[cfg(not(target_os = "none"))]
extern crate std;

mod drive;
mod make;
mod place;
mod results;
mod types;

/// There is nothing to unwind to and nobody to tell: a watchdog ends it.
#[cfg(target_os = "none")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
