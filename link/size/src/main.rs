//! A link on a bare microcontroller, or a part of it: its size in the ELF is the footprint of the link layer with its
//! memory. It is built to be measured (`cargo xtask bench --footprint`), not to be run.
//!
//! The octets of the wire and the messages are opaque to the compiler, so that no code is removed.

#![cfg_attr(target_os = "none", no_std, no_main)]
#![cfg_attr(
    feature = "framing",
    allow(dead_code, reason = "the files are those of the whole link")
)]

#[cfg(all(target_os = "none", feature = "framing"))]
#[path = "../../src/crc.rs"]
mod crc;
#[cfg(all(target_os = "none", feature = "framing"))]
#[path = "../../src/decoder.rs"]
mod decoder;
#[cfg(all(target_os = "none", feature = "framing"))]
#[path = "../../src/encoder.rs"]
mod encoder;
#[cfg(all(target_os = "none", feature = "framing"))]
mod framing;
#[cfg(all(target_os = "none", any(feature = "link", feature = "self-test")))]
mod one_link;
#[cfg(all(target_os = "none", feature = "framing"))]
#[path = "../../src/wire.rs"]
mod wire;

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
    #[cfg(feature = "framing")]
    framing::run();
    #[cfg(any(feature = "link", feature = "self-test"))]
    // SAFETY: the only call, as this is where the processor begins.
    unsafe {
        one_link::run();
    }
    loop {
        core::hint::spin_loop();
    }
}

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is built for a microcontroller, to be measured: cargo xtask bench --footprint");
}
