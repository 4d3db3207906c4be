//! Drivers of `linerate-nic` for firmware in C: a static library. `include/linerate_nic.h` documents its use and each
//! function.
//!
//! - `start`: functions that start a driver in the caller's memory.
//! - `drive`: functions that receive, send, follow the link and count.
//! - `port`: a driver behind one interface, whatever its type.
//! - `place`: the layout of that memory.

#![no_std]

#[cfg(not(target_os = "none"))]
extern crate std;

// Its functions are part of this library.
#[cfg(feature = "agent")]
use linerate_agent_c as _;

mod board;
mod drive;
mod place;
mod port;
mod start;

/// Nothing to unwind to: a watchdog ends it. `agent/c` has the same.
#[cfg(all(target_os = "none", not(feature = "agent")))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
