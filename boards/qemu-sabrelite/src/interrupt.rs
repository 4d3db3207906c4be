//! The variant `interrupt_per_frame`: ENET's interrupt is taken, and its handler receives the frames.

use crate::Network;
use crate::machine::{claim, complete};
use core::arch::{asm, global_asm};
use linerate_agent_firmware::per_frame::{PerFrame, Shared};

static NETWORK: Shared<Network> = Shared::new();

/// Passes the device to the handler, once. From then on interrupts are taken.
pub fn share(device: Network) -> Option<PerFrame<Network>> {
    let device = NETWORK.share(device)?;
    // SAFETY: the handler below saves all registers, and shares data with the program through
    // `critical_section` only.
    unsafe {
        asm!(
            "movw {at}, #:lower16:interrupted_vectors",
            "movt {at}, #:upper16:interrupted_vectors",
            "mcr p15, 0, {at}, c12, c0, 0",
            "cpsie i",
            at = out(reg) _,
        );
    }
    Some(device)
}

// The handler runs in supervisor mode, on its stack, which is aligned to 8 octets; it saves the caller-saved
// registers.
global_asm!(
    ".section .text.interrupted, \"ax\"",
    ".arm",
    ".balign 32",
    "interrupted_vectors:",
    "b exception",
    "b exception",
    "b exception",
    "b exception",
    "b exception",
    "b exception",
    "sub lr, lr, #4",
    "srsdb sp!, #0x13",
    "cps #0x13",
    "push {{r0-r3, r12, lr}}",
    "and r0, sp, #4",
    "sub sp, sp, r0",
    "push {{r0, r1}}",
    "bl {handle}",
    "pop {{r0, r1}}",
    "add sp, sp, r0",
    "pop {{r0-r3, r12, lr}}",
    "rfeia sp!",
    handle = sym handle,
);

extern "C" fn handle() {
    let interrupt = claim();
    NETWORK.receive_all();
    complete(interrupt);
}

struct OneCore;
critical_section::set_impl!(OneCore);

/// CPSR: interrupts are masked.
const MASKED: u32 = 1 << 7;

// SAFETY: on one core, nothing else runs while CPSR.I is set.
unsafe impl critical_section::Impl for OneCore {
    unsafe fn acquire() -> bool {
        let before: u32;
        // SAFETY: masks interrupts.
        unsafe { asm!("mrs {}, cpsr", "cpsid i", out(reg) before) };
        before & MASKED == 0
    }

    unsafe fn release(were_on: bool) {
        if were_on {
            // SAFETY: restores the previous state.
            unsafe { asm!("cpsie i") };
        }
    }
}
