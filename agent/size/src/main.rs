//! The agent's services on a bare microcontroller, without a network stack: what of them is in the ELF is
//! what they take. It is built to be measured (`cargo xtask bench --footprint`), not to be run.
//!
//! All services share one driver, by `dyn Service`, as a firmware that has to be small does it. What comes
//! in and goes out is memory that the compiler knows nothing of, so that nothing is left out.

#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
mod services;

/// There is nobody to tell.
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
    services::run()
}

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is built for a microcontroller, to be measured: cargo xtask bench --footprint");
}
