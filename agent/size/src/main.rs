//! The agent's services on a bare microcontroller, without a network stack: their size in the ELF is their
//! footprint. It is built to be measured (`cargo xtask bench --agent`), not to be run.
//!
//! All services share one driver, by `dyn Service`, as in small firmware. Received and sent data are opaque
//! to the compiler, so that no code is removed.

#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
mod calls;
#[cfg(target_os = "none")]
mod place;
#[cfg(target_os = "none")]
mod services;

/// There is no console to report to.
#[cfg(target_os = "none")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {
        core::hint::spin_loop();
    }
}

#[cfg(target_os = "none")]
#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    match services::with_all(calls::drive) {}
}

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is built for a microcontroller, to be measured: cargo xtask bench --agent");
}
