//! The transmit loop, in assembly: [`super::transmit`] documents its function and the reasons.
//!
//! An octet is 16 half-bits of 8 cycles, each of which ends with the write that moves the pin. The rest of
//! the 8 is available for other work: each half-bit begins with a sample of the receive pin (so that in a bit
//! of another station one of two samples is high), and the work below is distributed over the remaining
//! slots, one instruction a cycle. None of it branches, so its results never move an edge.
//!
//! The loop relies on these costs: 1 cycle an instruction, a load whose result waits for one instruction, a
//! forward branch 1 when it is not taken and 3 when it is. Variable costs, such as that of the branch back,
//! are compensated: once an octet the loop compares the cycle counter with its schedule, and makes one or two
//! half-bits a cycle shorter or longer.
//!
//! | register | content |
//! |---|---|
//! | a0 | the current octet |
//! | a1 | octets after it, FCS included |
//! | a2 | levels of the other outputs |
//! | a3, a4 | CRC table and register |
//! | a5 | samples of the receive pin, each 0 or 255, of 16 half-bits |
//! | a7 | -1 while octets come from memory, 0 while they come from the CRC register |
//! | s0 | the current octet, from half-way on the next |
//! | s1, s2 | another station is sending; number of times that one began to |
//! | s3 | 1 while that would be a collision |
//! | s4 | octets after the one in which a collision was detected |
//! | s5 | octets after the SFD and before the last one |
//! | s6 | scheduled time of the counter read |
//! | t0, t1, t2 | bits to come; levels of the second and the first half of a bit |
//! | t5 | sample |
//! | t3, t4, t6 | scratch |

use core::arch::global_asm;

use super::super::pins::TX;
use super::transmit::{ACTIVE_MIN, ACTIVE_SPAN, JAM_OCTETS, TP_IDL_CYCLES};

global_asm!(
    r#"
    .section .rwtext.linerate_line_rate_transmit, "ax"
    .option push
    .option norvc
    .option norelax

    .macro linerate_tx_slot instruction
    .ifb \instruction
    nop
    .else
    \instruction
    .endif
    .endm

    /* First half of bits 1 to 7. `from` has the bit in place 1. */
    .macro linerate_tx_first from, work
    csrr    t5, 0x804
    srli    t0, \from, 1
    andi    t1, t0, 1
    or      t1, t1, a2
    xori    t2, t1, {tx}
    add     a5, a5, t5
    linerate_tx_slot "\work"
    csrw    0x805, t2
    .endm

    .macro linerate_tx_second w0, w1, w2, w3, w4
    csrr    t5, 0x804
    add     a5, a5, t5
    linerate_tx_slot "\w0"
    linerate_tx_slot "\w1"
    linerate_tx_slot "\w2"
    linerate_tx_slot "\w3"
    linerate_tx_slot "\w4"
    csrw    0x805, t1
    .endm

    /* 3 cycles if t3 is negative, else 4. */
    .macro linerate_tx_stretch
    bltz    t3, . + 16
    nop
    nop
    nop
    .endm

    .global linerate_line_rate_transmit
    .type   linerate_line_rate_transmit, @function
    .balign 16
linerate_line_rate_transmit:
    addi    sp, sp, -32
    sw      s0, 0(sp)
    sw      s1, 4(sp)
    sw      s2, 8(sp)
    sw      s3, 12(sp)
    sw      s4, 16(sp)
    sw      s5, 20(sp)
    sw      s6, 24(sp)
    mv      s3, a2
    lbu     s0, 0(a0)
    csrr    a2, 0x805
    andi    a2, a2, ~{tx}
    mv      t1, a2
    li      a5, 0
    li      a7, -1
    li      s1, 0
    li      s2, 0
    li      s4, 0
    addi    s5, a1, -7
    csrr    s6, 0x7e2
    addi    s6, s6, 108
    /* Begin at the branch, the line staying idle: so it is known before its timing matters. */
    j       2f

    .balign 16
1:  /* Bit 0; the branch was the first cycle. */
    csrr    t5, 0x804
    andi    t1, s0, 1
    or      t1, t1, a2
    xori    t2, t1, {tx}
    add     a5, a5, t5
    xor     t3, a4, s0
    csrw    0x805, t2
    /* The CRC register takes in the octet, or is shifted out. */
    linerate_tx_second "andi t3, t3, 0xff", "and t3, t3, a7", "slli t3, t3, 2", "add t3, t3, a3", "lw t3, 0(t3)"
    linerate_tx_first s0, "srli a4, a4, 8"
    /* Is somebody else sending, since when? */
    linerate_tx_second "xor a4, a4, t3", "addi t3, a5, -{active_least}", "sltiu t3, t3, {active_span}", "xori t4, s1, 1", "and t4, t4, t3"
    csrr    a5, 0x804
    srli    t0, t0, 1
    andi    t1, t0, 1
    or      t1, t1, a2
    xori    t2, t1, {tx}
    add     s2, s2, t4
    mv      s1, t3
    csrw    0x805, t2
    /* t4: all ones if this is when the collision is noticed. Then the CRC register is made wrong,
       and what is left of the preamble and the jam are all that follows. */
    linerate_tx_second "and t4, t3, s3", "xor s3, s3, t4", "neg t4, t4", "and t6, a1, t4", "add s4, s4, t6"
    linerate_tx_first t0, "xor a4, a4, t4"
    linerate_tx_second "sub t3, a1, s5", "srai t6, t3, 31", "not t6, t6", "and t3, t3, t6", "addi t3, t3, {jam_octets}"
    linerate_tx_first t0, "sub t3, t3, a1"
    /* The next octet: from memory, or of the last four from the CRC register. */
    linerate_tx_second "and t3, t3, t4", "add a1, a1, t3", "sltiu t3, a1, {jam_octets} + 1", "addi a7, t3, -1", "sub a0, a0, a7"
    linerate_tx_first t0, "lbu s0, 0(a0)"
    linerate_tx_second "not t3, a4", "xor s0, s0, t3", "and s0, s0, a7", "xor s0, s0, t3", "addi a1, a1, -1"
    linerate_tx_first t0, "csrr t3, 0x7e2"
    /* One cycle less if the loop is late, one more if it is early. */
    csrr    t5, 0x804
    add     a5, a5, t5
    sub     t3, s6, t3
    linerate_tx_stretch
    csrw    0x805, t1
    linerate_tx_first t0, "addi t3, t3, -1"
    csrr    t5, 0x804
    add     a5, a5, t5
    addi    s6, s6, 128
    nop
    linerate_tx_stretch
2:  csrw    0x805, t1
    bgez    a1, 1b
    /* The branch took 3 cycles. */
    .rept 4
    nop
    .endr
    csrsi   0x805, {tx}
    mv      a0, s4
    slli    s3, s3, 16
    slli    s1, s1, 17
    or      a1, s2, s3
    or      a1, a1, s1
    lw      s0, 0(sp)
    lw      s1, 4(sp)
    lw      s2, 8(sp)
    lw      s3, 12(sp)
    lw      s4, 16(sp)
    lw      s5, 20(sp)
    lw      s6, 24(sp)
    addi    sp, sp, 32
    .rept {tp_idl} - 14
    nop
    .endr
    csrci   0x805, {tx}
    ret
    .size   linerate_line_rate_transmit, . - linerate_line_rate_transmit

    .option pop
    "#,
    tx = const TX,
    tp_idl = const TP_IDL_CYCLES,
    active_least = const ACTIVE_MIN,
    active_span = const ACTIVE_SPAN,
    jam_octets = const JAM_OCTETS,
);
