//! The receive loop, in assembly: [`super::receive`] documents its function and the reasons.
//!
//! All cycles count from the *place* of a bit: cycle 0 is where the line should change in its middle, 16
//! cycles are a bit. Unused slots hold a `nop`. The loop relies on these costs, all measured on the chip: 1
//! cycle an instruction, a load whose result waits for one instruction, a forward branch 1 when it is not
//! taken and 3 when it is. Any other cost of an instruction is measured at run time: twice an octet the loop
//! reads the cycle counter and shortens or stretches a gap to return to its schedule.
//!
//! | register | content |
//! |---|---|
//! | a0, a1 | address for the current pair of octets; address at which to stop and check |
//! | a2, a3 | first and second octet of the pair |
//! | a4, a5 | samples at the middle of each bit; of the octet before, exclusive-ored with it |
//! | a6, a7 | CRC-32 register; sum of the pairs |
//! | t0, t1 | samples |
//! | t2, t3 | scratch |
//! | t4, t5 | tables: CRC, votes |
//! | t6 | scheduled time of the next read of the counter, in 2^-16 cycles |
//! | s2 | length of an octet in 2^-16 cycles |
//! | s3, s4 | constants: from the octet's first counter read to its second; one cycle |
//! | s5, s11 | samples of the first half of bits 1 and 7 |
//! | s6 | pair to be stored |
//! | s7 | return address |
//! | s8 | end of the buffer for octets |
//! | s9, s10 | filter; not 0: the destination is rejected |
//! | s10, s11 | during the hunt for the SFD: samples before the edges of a 1 and of a 0 |
//! | ra | scheduled time of the octet's second counter read |
//!
//! It is called with a0 = buffer, a1 = filter, a2 = tables and returns in a0 and a1. It preserves s0, s1, sp,
//! gp and tp only.

use core::arch::global_asm;

use super::super::pins::DEBUG;
use super::receive::{
    ADDRESS_CHECK_OCTETS, CRC_BEFORE, MAX_OCTETS, OUTCOME_SHIFT, OVERSIZE, PREAMBLE_PAIRS, REFUSED,
    RESIDUE, TAIL,
};
use super::receive::{FRAME, IDLE, LOST, NO_SFD};
use super::tables::VOTES_AT;

global_asm!(
    r#"
    .section .rwtext.linerate_line_rate_receive, "ax"
    .option push
    .option norvc
    .option norelax

    /* One cycle: the instruction, or none. */
    .macro linerate_rx_slot instruction
    .ifb \instruction
    nop
    .else
    \instruction
    .endif
    .endm

    /* A bit: sample at cycle 0 and 4, and what else to do at the cycles named. */
    .macro linerate_rx_bit bit, data, s3, s7, s8, s9, s10, s11, s12, s13, s14, s15
    csrr    t0, 0x804
    andi    t0, t0, 1 << \bit
    or      a4, a4, t0
    linerate_rx_slot "\s3"
    csrr    t1, 0x804
    andi    t1, t1, 1 << \bit
    or      \data, \data, t1
    linerate_rx_slot "\s7"
    linerate_rx_slot "\s8"
    linerate_rx_slot "\s9"
    linerate_rx_slot "\s10"
    linerate_rx_slot "\s11"
    linerate_rx_slot "\s12"
    linerate_rx_slot "\s13"
    linerate_rx_slot "\s14"
    linerate_rx_slot "\s15"
    .endm

    /* Bit 0. The votes of the octet before move the place (t6) and the length (s2). */
    .macro linerate_rx_bit_0 data, before, s2, s3
    csrr    t0, 0x804
    andi    a4, t0, 1
    linerate_rx_slot "\s2"
    linerate_rx_slot "\s3"
    csrr    t1, 0x804
    andi    \data, t1, 1
    xor     s11, s11, \before
    add     t3, a5, t5
    lb      t3, 0(t3)
    nop
    slli    t2, t3, 8
    add     t6, t6, t2
    csrr    s5, 0x804
    add     s2, s2, t3
    add     t6, t6, s2
    add     ra, t6, s3
    .endm

    /* Bit 1. Two equal halves are the end; else the octet before belongs to the frame. `unless` is
       the branch that leaves then. */
    .macro linerate_rx_bit_1 data, before, end, unless
    csrr    t0, 0x804
    andi    t0, t0, 2
    or      a4, a4, t0
    nop
    csrr    t1, 0x804
    xor     s5, s5, t1
    andi    t1, t1, 2
    or      \data, \data, t1
    nop
    \unless s5, \end
    xor     t3, a6, \before
    andi    t3, t3, 0xff
    slli    t3, t3, 2
    add     t3, t3, t4
    lw      t3, 0(t3)
    srli    a6, a6, 8
    .endm

    /* One cycle longer if t2 is not negative: 3 or 4. */
    .macro linerate_rx_stretch
    bltz    t2, . + 16
    nop
    nop
    nop
    .endm

    /* Bit 3, with the octet's first look at the counter: one cycle less, none or one more. Leaves
       the second sample in t1, to be put in its place in the next bit. */
    .macro linerate_rx_bit_3
    csrr    t0, 0x804
    csrr    t2, 0x7e2
    slli    t2, t2, 16
    sub     t2, t6, t2
    csrr    t1, 0x804
    andi    t0, t0, 8
    or      a4, a4, t0
    andi    t1, t1, 8
    linerate_rx_stretch
    sub     t2, t2, s4
    linerate_rx_stretch
    .endm

    /* Bit 7 up to its second sample, the cycle after that being for a branch. */
    .macro linerate_rx_bit_7
    csrr    t0, 0x804
    andi    t0, t0, 0x80
    or      a4, a4, t0
    nop
    csrr    t1, 0x804
    .endm

    /* From cycle 6 of bit 7: the second look. One cycle less if it is late. */
    .macro linerate_rx_look_again
    csrr    t2, 0x7e2
    slli    t2, t2, 16
    sub     t2, ra, t2
    linerate_rx_stretch
    .endm

    /* Cycles 13 to 15 of bit 7. */
    .macro linerate_rx_octet_done data
    andi    t1, t1, 0x80
    or      \data, \data, t1
    xor     a5, a4, \data
    .endm

    /* The two octets, from bit 0 of the first to the second sample of bit 7 of the second.
       `check`: look at the destination on the way. */
    .macro linerate_rx_pair check, first, second, unless=beqz
    linerate_rx_bit_0 a2, a3, "slli s6, a3, 8", "or s6, s6, a2"
    linerate_rx_bit_1 a2, a3, \first, \unless
    linerate_rx_bit 2, a2, "xor a6, a6, t3", "sh s6, -2(a0)", "add a7, a7, s6"
    linerate_rx_bit_3
    .if \check
    linerate_rx_bit 4, a2, "or a2, a2, t1", "lhu t2, -{max_octets}(s8)", "lhu t3, 0(s9)", "andi s6, t2, 1", "xor s10, t2, t3", "lhu t2, 2-{max_octets}(s8)", "lhu t3, 2(s9)", "", "xor t2, t2, t3", "or s10, s10, t2"
    linerate_rx_bit 5, a2, "", "lhu t2, 4-{max_octets}(s8)", "lhu t3, 4(s9)", "", "xor t2, t2, t3", "or s10, s10, t2", "snez s10, s10", "", "", ""
    linerate_rx_bit 6, a2, "", "lw t2, 8(s9)", "lw t3, 12(s9)", "", "or t2, t2, t3", "snez t2, t2", "csrr s11, 0x804", "and s6, s6, t2"
    .else
    linerate_rx_bit 4, a2, "or a2, a2, t1"
    linerate_rx_bit 5, a2
    linerate_rx_bit 6, a2, "", "", "", "", "", "", "csrr s11, 0x804"
    .endif
    linerate_rx_bit_7
    nop
    linerate_rx_look_again
    linerate_rx_octet_done a2

    linerate_rx_bit_0 a3, a2
    linerate_rx_bit_1 a3, a2, \second, \unless
    linerate_rx_bit 2, a3, "xor a6, a6, t3", "addi a0, a0, 2"
    linerate_rx_bit_3
    .if \check
    linerate_rx_bit 4, a3, "or a3, a3, t1", "lhu t3, 6(s9)", "", "or t3, t3, s6", "seqz t3, t3", "and s10, s10, t3"
    .else
    linerate_rx_bit 4, a3, "or a3, a3, t1"
    .endif
    linerate_rx_bit 5, a3
    .if \check
    linerate_rx_bit 6, a3, "", "", "", "", "", "", "csrr s11, 0x804", "bnez s10, linerate_line_rate_refused"
    .else
    linerate_rx_bit 6, a3, "", "", "", "", "", "", "csrr s11, 0x804"
    .endif
    linerate_rx_bit_7
    .endm

    .macro linerate_rx_watch level_branch, to, times
    .rept \times
    csrr    t0, 0x804
    \level_branch t0, \to
    .endr
    .endm

    .global linerate_line_rate_receive
    .type   linerate_line_rate_receive, @function
    .balign 16
linerate_line_rate_receive:
    mv      s7, ra
    li      t3, {idle} << {outcome_shift}
    /* High within 150 ns? In a preamble the line is low for 100. */
    linerate_rx_watch bnez, 1f, 12
    j       linerate_line_rate_return
1:  li      t3, {tail} << {outcome_shift}
    /* Low within 200 ns? */
    linerate_rx_watch beqz, 2f, 16
    j       linerate_line_rate_return

    /* A falling edge, the middle of a 0, was up to 2 cycles before the sample; 4 have passed since
       that. In 22 more the next but one may come in 5. */
    .balign 4
2:  mv      s9, a1
    mv      t4, a2
    addi    t5, a2, {votes_at}
    addi    a0, a0, {offset}
    addi    a1, a0, {address_check_octets}
    addi    s8, a0, {max_octets}
    lui     s3, 69 << 4
    lui     s4, 1 << 4
    lui     s2, 128 << 4
    lui     s6, 64 << 4
    nop
    /* As if octets 0x00 and 0xd5 had been received, without leaving a trace in any sum. */
    li      a2, 0
    li      a3, 0x55
    li      a4, 0xd5 ^ 0x0f
    lui     a7, 0xffff3
    addi    a7, a7, -0x500
    lui     a6, %hi({crc_before})
    addi    a6, a6, %lo({crc_before})
    li      t3, 0
    li      ra, 4
    li      s11, 255
    nop
    /* 8 edges, looked at every 2 cycles from 5 before to 5 after; the rising ones with one cycle's
       offset. */
3:  .rept   6
    csrr    t0, 0x804
    add     t3, t3, t0
    .endr
    .rept   5
    nop
    .endr
    .rept   6
    csrr    t0, 0x804
    sub     t3, t3, t0
    .endr
    addi    ra, ra, -1
    nop
    bnez    ra, 3b
    /* Where a falling edge is due in 3 cycles. Each sample in t3 counts 255, and an edge that is
       late by one cycle changes 4 of them: 1 / 1020 is nearly 2^6 / 2^16. */
    csrr    t2, 0x7e2
    slli    t2, t2, 16
    slli    t3, t3, 6
    add     t6, t2, t3
    lui     t0, 9 << 4
    add     t3, t3, t0
    /* 16 cycles and the number in t3, whole cycles being from bit 16 on. */
    .irp    weight, 8, 4, 2, 1
    .if     \weight == 8
    slli    t2, t3, 12
    .elseif \weight == 4
    slli    t2, t3, 13
    .elseif \weight == 2
    slli    t2, t3, 14
    .else
    slli    t2, t3, 15
    .endif
    bgez    t2, . + 4 * (3 + \weight)
    .rept   2 + \weight
    nop
    .endr
    .endr
    lui     t0, 37 << 4
    add     t6, t6, t0
    lui     a5, 32 << 4
    li      ra, 40
    li      t3, 40 - {preamble_pairs}
    /* Two bits of the preamble: in place of this 0 there will be the 1 that ends the SFD. Each bit is
       looked at before its edge and after: two equal levels are an edge that came too early or too
       late for the look, and count as preamble. */
4:  csrr    t0, 0x804
    csrr    t2, 0x7e2
    slli    t2, t2, 16
    sub     t2, t6, t2
    csrr    t1, 0x804
    bltu    s11, t1, 5f
    linerate_rx_stretch
    sub     t2, t2, s4
    add     t6, t6, a5
    csrr    s10, 0x804
    linerate_rx_stretch
    csrr    s5, 0x804
    sub     t0, t0, s5
    slli    t0, t0, 5
    add     t6, t6, t0
    csrr    t1, 0x804
    bltu    t1, s10, 9f
    addi    ra, ra, -1
    .rept   5
    nop
    .endr
    csrr    s11, 0x804
    or      t0, t1, s11
    beqz    t0, 7f
    bnez    ra, 4b
linerate_line_rate_no_sfd:
    li      t3, {no_sfd} << {outcome_shift}
    j       linerate_line_rate_return
    /* Silence. */
7:  addi    ra, ra, 1
    /* Something else than preamble: a 0 in place of the 1. */
9:  li      t3, {lost} << {outcome_shift} | 40
    sub     t3, t3, ra
    j       linerate_line_rate_return

    /* Cycle 8 of the last bit. */
5:  sub     t6, t6, s6
    bltu    t3, ra, 10f
    beqz    zero, 6f
    /* So soon it is not the SFD, but data of a frame that began long ago. */
10: j       linerate_line_rate_no_sfd
linerate_line_rate_loop:
    linerate_rx_look_again
6:  linerate_rx_octet_done a3
    linerate_rx_pair 0, linerate_line_rate_end_first, linerate_line_rate_end_second
    bne     a0, a1, linerate_line_rate_loop
    /* Cycle 8. */
    beq     a1, s8, linerate_line_rate_oversize
    mv      a1, s8
    .rept   3
    nop
    .endr
    linerate_rx_octet_done a3
    linerate_rx_pair 1, linerate_line_rate_end_first, linerate_line_rate_end_second
    j       linerate_line_rate_loop

linerate_line_rate_oversize:
    li      t3, {oversize} << {outcome_shift}
    j       linerate_line_rate_return
linerate_line_rate_refused:
    li      t3, {refused} << {outcome_shift}
    j       linerate_line_rate_return

    /* The end, seen in the pair's second octet. */
linerate_line_rate_end_second:
    csrci   0x805, {debug}
    csrsi   0x805, {debug}
    sb      a2, 0(a0)
    add     a1, a7, a2
    xor     t3, a6, a2
    addi    a0, a0, 1
    j       8f
    /* The end, seen in the first: the pair before is complete. */
linerate_line_rate_end_first:
    csrci   0x805, {debug}
    csrsi   0x805, {debug}
    sh      s6, -2(a0)
    add     a1, a7, s6
    xor     t3, a6, a3
8:  sub     a0, a0, s8
    addi    a0, a0, {max_octets}
    /* Was there an edge in the middle of the last octet's last bit? */
    andi    s11, s11, 0x80
    beqz    s11, 9f
    andi    t3, t3, 0xff
    slli    t3, t3, 2
    add     t3, t3, t4
    lw      t3, 0(t3)
    srli    a6, a6, 8
    li      t1, {residue}
    xor     a6, a6, t3
    xor     a6, a6, t1
    seqz    a6, a6
    slli    a6, a6, 16
    or      a0, a0, a6
    jr      s7
    /* Then it is no octet. */
9:  addi    t3, a0, -1
    li      t1, {residue}
    xor     a6, a6, t1
    seqz    a6, a6
    slli    a6, a6, 16
    or      t3, t3, a6
    lui     a6, 1 << 5
    or      t3, t3, a6
linerate_line_rate_return:
    mv      a0, t3
    jr      s7
    .size   linerate_line_rate_receive, . - linerate_line_rate_receive

    /* The loop without a line, to be counted: a0 and a1 = where to store and where to stop, a2 =
       tables, a3 = how far ahead of time to believe it is. Returns the cycles that it took. It is
       kept in flash and can run anywhere: see `count.rs`. */
    .section .literal.linerate_count, "ax"
    .global linerate_line_rate_count
    .global linerate_line_rate_count_end
    .balign 16
linerate_line_rate_count:
    mv      s7, ra
    mv      t4, a2
    addi    t5, a2, {votes_at}
    lui     s3, 69 << 4
    lui     s4, 1 << 4
    lui     s2, 128 << 4
    csrr    t6, 0x7e2
    slli    t6, t6, 16
    add     t6, t6, a3
    li      a2, 0
    li      a3, 0
    li      a5, 0x0f
    csrr    s8, 0x7e2
1:  linerate_rx_look_again
    linerate_rx_octet_done a3
    linerate_rx_pair 0, 2f, 2f, bnez
    bne     a0, a1, 1b
2:  csrr    a0, 0x7e2
    sub     a0, a0, s8
    jr      s7
linerate_line_rate_count_end:

    .option pop
    "#,
    offset = const linerate_nic::bitbang::FRAME_OFFSET,
    address_check_octets = const ADDRESS_CHECK_OCTETS,
    max_octets = const MAX_OCTETS,
    votes_at = const VOTES_AT,
    crc_before = const CRC_BEFORE,
    residue = const RESIDUE,
    outcome_shift = const OUTCOME_SHIFT,
    idle = const IDLE,
    tail = const TAIL,
    lost = const LOST,
    no_sfd = const NO_SFD,
    oversize = const OVERSIZE,
    refused = const REFUSED,
    debug = const DEBUG,
    preamble_pairs = const PREAMBLE_PAIRS,
);

// A result without any other bit above OUTCOME_SHIFT is a complete frame.
const _: () = assert!(FRAME == 0);
