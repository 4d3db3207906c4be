//! `memcpy` and similar functions, in assembly so that their cost is known and a compiler cannot turn them
//! into recursive calls.
//!
//! The linker script binds the C names to these functions (by default esp-hal's scripts bind them to the
//! chip's ROM). Their location and the version of `memcpy` depend on the stage: the plain word loop of the
//! article's first stages, or an unrolled one.

use core::arch::global_asm;

/// The section that contains these functions in this stage.
macro_rules! section {
    () => {
        cfg_select! {
            all(feature = "isr-all", not(feature = "isr-ram")) => {
                ".section .text.linerate_memory, \"ax\""
            }
            _ => { ".section .rwtext.linerate_memory, \"ax\"" }
        }
    };
}

/// Copies whole words from a1 to t0, which is aligned, and leaves the number of remaining bytes in a2.
///
/// An unaligned source is read with unaligned loads, which the core does in hardware.
macro_rules! copy_words {
    () => {
        cfg_select! {
            feature = "article-mac" => {
                // The loop of the article: 6 cycles a word, one of them lost because the word is
                // stored as soon as it is loaded.
                "
                    andi    t3, a2, -4
                    add     t3, t3, t0
                2:  lw      t4, 0(a1)
                    sw      t4, 0(t0)
                    addi    t0, t0, 4
                    addi    a1, a1, 4
                    bne     t0, t3, 2b
                "
            }
            _ => {
                // 19 cycles for 32 bytes, then 5 a word.
                "
                    andi    t3, a2, -32
                    beqz    t3, 3f
                    add     t3, t3, t0
                2:  lw      t4, 0(a1)
                    lw      t5, 4(a1)
                    lw      t6, 8(a1)
                    lw      a3, 12(a1)
                    lw      a4, 16(a1)
                    lw      a5, 20(a1)
                    lw      a6, 24(a1)
                    lw      a7, 28(a1)
                    addi    a1, a1, 32
                    addi    t0, t0, 32
                    sw      t4, -32(t0)
                    sw      t5, -28(t0)
                    sw      t6, -24(t0)
                    sw      a3, -20(t0)
                    sw      a4, -16(t0)
                    sw      a5, -12(t0)
                    sw      a6, -8(t0)
                    sw      a7, -4(t0)
                    bne     t0, t3, 2b
                3:  andi    t3, a2, 28
                    beqz    t3, 5f
                    add     t3, t3, t0
                4:  lw      t4, 0(a1)
                    addi    t0, t0, 4
                    addi    a1, a1, 4
                    sw      t4, -4(t0)
                    bne     t0, t3, 4b
                5:
                "
            }
        }
    };
}

// In all of them: a0 = destination (returned untouched), a1 = source or value, a2 = length,
// t0 = running destination.
global_asm!(
    section!(),
    "
    .global linerate_memcpy
    .type   linerate_memcpy, @function
    .balign 4
linerate_memcpy:
    mv      t0, a0
    li      t1, 16
    bltu    a2, t1, 7f
    neg     t3, t0
    andi    t3, t3, 3
    beqz    t3, 8f
    sub     a2, a2, t3
    add     t3, t3, t0
1:  lbu     t4, 0(a1)
    addi    t0, t0, 1
    addi    a1, a1, 1
    sb      t4, -1(t0)
    bne     t0, t3, 1b
    .balign 4
8:
    ",
    copy_words!(),
    "
    andi    a2, a2, 3
7:  beqz    a2, 9f
    add     t3, t0, a2
1:  lbu     t4, 0(a1)
    addi    t0, t0, 1
    addi    a1, a1, 1
    sb      t4, -1(t0)
    bne     t0, t3, 1b
9:  ret
    .size   linerate_memcpy, . - linerate_memcpy

    .global linerate_memmove
    .type   linerate_memmove, @function
    .balign 4
linerate_memmove:
    sub     t1, a0, a1
    bgeu    t1, a2, linerate_memcpy
    /* The destination begins inside the source: copy from the end, words first where both ends
       are aligned alike. */
    add     t0, a0, a2
    add     a1, a1, a2
    li      t2, 4
    andi    t1, t1, 3
    bnez    t1, 3f
1:  andi    t1, t0, 3
    beqz    t1, 2f
    beqz    a2, 9f
    lbu     t4, -1(a1)
    addi    a1, a1, -1
    addi    t0, t0, -1
    addi    a2, a2, -1
    sb      t4, 0(t0)
    j       1b
2:  bltu    a2, t2, 3f
    lw      t4, -4(a1)
    addi    a1, a1, -4
    addi    t0, t0, -4
    addi    a2, a2, -4
    sw      t4, 0(t0)
    j       2b
3:  beqz    a2, 9f
    lbu     t4, -1(a1)
    addi    a1, a1, -1
    addi    t0, t0, -1
    sb      t4, 0(t0)
    bne     t0, a0, 3b
9:  ret
    .size   linerate_memmove, . - linerate_memmove

    .global linerate_memset
    .type   linerate_memset, @function
    .balign 4
linerate_memset:
    mv      t0, a0
    li      t1, 16
    bltu    a2, t1, 7f
    andi    a1, a1, 0xff
    slli    t1, a1, 8
    or      a1, a1, t1
    slli    t1, a1, 16
    or      a1, a1, t1
1:  andi    t1, t0, 3
    beqz    t1, 2f
    sb      a1, 0(t0)
    addi    t0, t0, 1
    addi    a2, a2, -1
    j       1b
2:  andi    t3, a2, -4
    add     t3, t3, t0
    andi    a2, a2, 3
3:  sw      a1, 0(t0)
    addi    t0, t0, 4
    bne     t0, t3, 3b
7:  beqz    a2, 9f
    add     t3, t0, a2
8:  sb      a1, 0(t0)
    addi    t0, t0, 1
    bne     t0, t3, 8b
9:  ret
    .size   linerate_memset, . - linerate_memset

    .global linerate_memcmp
    .type   linerate_memcmp, @function
    .balign 4
linerate_memcmp:
    li      t1, 4
1:  bltu    a2, t1, 2f
    lw      t2, 0(a0)
    lw      t3, 0(a1)
    bne     t2, t3, 2f
    addi    a0, a0, 4
    addi    a1, a1, 4
    addi    a2, a2, -4
    j       1b
2:  beqz    a2, 4f
    lbu     t2, 0(a0)
    lbu     t3, 0(a1)
    bne     t2, t3, 3f
    addi    a0, a0, 1
    addi    a1, a1, 1
    addi    a2, a2, -1
    j       2b
3:  sub     a0, t2, t3
    ret
4:  li      a0, 0
    ret
    .size   linerate_memcmp, . - linerate_memcmp
    ",
);
