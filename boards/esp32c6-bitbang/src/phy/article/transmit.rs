//! Sends half-bits by counted cycles.
//!
//! At 160 MHz a half-bit of 50 ns is 8 cycles, and a CSR write moves the pin in one. The rest is available
//! for other work: each slot below has 8 cycles, the last of them the write. Instructions that take more than
//! one cycle on this core (see the simulator's timing table and `cycle_counting`):
//!
//! - a load whose result is used next: 2;
//! - the branch back, taken: 2 the first time, when the branch target buffer does not know it yet,
//!   then 1; not taken: 3.

use core::arch::global_asm;

use super::super::{LoopCount, clock, pins::TX, without_interrupts};

/// Cycles of TP_IDL, the high level that ends a packet: 300 ns, at least 250 ns are required (IEEE 802.3
/// clause 14.3.1.2.1).
const TP_IDL_CYCLES: u32 = 48;

/// Cycles of a link pulse: 100 ns (IEEE 802.3 clause 14.3.1.2.1, figure 14-12).
const LINK_PULSE_CYCLES: u32 = 16;

unsafe extern "C" {
    /// Sends the bytes from `begin` to `end`, Manchester-coded, least significant bit first, then
    /// TP_IDL. 128 cycles a byte.
    ///
    /// # Safety
    /// There is at least one byte, dedicated output 0 belongs to the caller, and nothing may
    /// interrupt it.
    fn linerate_phy_transmit(begin: *const u8, end: *const u8);

    /// Sends a link pulse.
    ///
    /// # Safety
    /// Dedicated output 0 belongs to the caller, and nothing may interrupt it.
    fn linerate_phy_link_pulse();
}

// a0: next byte, a1: end, a2: the other outputs' levels, t0: the byte being sent, bit by bit in
// place 0, t1: output for the second half (the bit), t2: for the first half (its complement).
global_asm!(
    "
    .section .rwtext.linerate_phy_transmit, \"ax\"
    .option push
    .option norvc
    .option norelax

    .macro linerate_first_half
    srli    t0, t0, 1
    andi    t1, t0, 1
    or      t1, t1, a2
    xori    t2, t1, {tx}
    .rept 3
    nop
    .endr
    csrw    0x805, t2
    .endm

    .macro linerate_second_half
    .rept 7
    nop
    .endr
    csrw    0x805, t1
    .endm

    .global linerate_phy_transmit
    .type   linerate_phy_transmit, @function
    .balign 16
linerate_phy_transmit:
    csrr    a2, 0x805
    andi    a2, a2, ~{tx}
    mv      t1, a2
    /* Begin at the branch, the line staying idle: so it is known before its timing matters. */
    j       2f

    .balign 16
1:  /* Bit 0, first half; the branch was its first cycle. */
    lbu     t0, 0(a0)
    andi    t1, t0, 1
    or      t1, t1, a2
    xori    t2, t1, {tx}
    addi    a0, a0, 1
    csrw    0x805, t2
    linerate_second_half
    .rept 6
    linerate_first_half
    linerate_second_half
    .endr
    linerate_first_half
    .rept 7
    nop
    .endr
2:  csrw    0x805, t1
    bne     a0, a1, 1b
    /* The branch took 3 cycles. */
    .rept 4
    nop
    .endr
    csrsi   0x805, {tx}
    .rept {tp_idl} - 1
    nop
    .endr
    csrci   0x805, {tx}
    ret
    .size   linerate_phy_transmit, . - linerate_phy_transmit

    .global linerate_phy_link_pulse
    .type   linerate_phy_link_pulse, @function
    .balign 16
linerate_phy_link_pulse:
    csrsi   0x805, {tx}
    .rept {link_pulse} - 1
    nop
    .endr
    csrci   0x805, {tx}
    ret
    .size   linerate_phy_link_pulse, . - linerate_phy_link_pulse

    .option pop
    ",
    tx = const TX,
    tp_idl = const TP_IDL_CYCLES,
    link_pulse = const LINK_PULSE_CYCLES,
);

/// Sends a packet, preamble to FCS, and TP_IDL. Nothing is sent for an empty one.
///
/// # Safety
/// Dedicated output 0 belongs to the PHY, and interrupts are off.
#[inline]
pub(super) unsafe fn packet(packet: &[u8]) {
    let range = packet.as_ptr_range();
    if !packet.is_empty() {
        // SAFETY: at least one byte; the rest is guaranteed by the caller.
        unsafe { linerate_phy_transmit(range.start, range.end) }
    }
}

/// Counts the transmit loop over this number of octets, at most 100. The output toggles.
pub fn count_loops(rounds: usize) -> [LoopCount; 1] {
    const MOST: usize = 100;
    let rounds = rounds.clamp(1, MOST);
    clock::start();
    let octets = [0x55; MOST + 1];
    // The first run trains the branch prediction.
    let [_, one, many] = [1, 1, 1 + rounds].map(|n| {
        without_interrupts(|| {
            let begin = clock::cycles();
            // SAFETY: the octets are present, and the PHY owns the output.
            unsafe { packet(&octets[..n]) }
            clock::cycles().wrapping_sub(begin)
        })
    });
    [LoopCount {
        what: "transmit, octet",
        cycles: many - one,
        rounds: rounds as u32,
        written: 16 * 8,
    }]
}

/// Sends a link pulse.
///
/// # Safety
/// Dedicated output 0 belongs to the PHY, and interrupts are off.
#[inline]
pub(super) unsafe fn link_pulse() {
    // SAFETY: guaranteed by the caller.
    unsafe { linerate_phy_link_pulse() }
}
