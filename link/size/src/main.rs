//! A link with two channels on a bare microcontroller: its size in the ELF is the footprint of the link layer with its
//! memory. It is built to be measured (`cargo xtask bench --footprint`), not to be run.
//!
//! The octets of the wire and the messages are opaque to the compiler, so that no code is removed.

#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(all(target_os = "none", feature = "link"))]
mod one_link;

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
    #[cfg(feature = "link")]
    one_link::run();
    loop {
        core::hint::spin_loop();
    }
}

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is built for a microcontroller, to be measured: cargo xtask bench --footprint");
}
