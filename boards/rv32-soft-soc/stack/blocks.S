# 32 blocks of 64 instructions, 8 KiB of straight-line code as a protocol stack's: 10 loads, 6 stores and
# 4 not-taken branches a block. The data are 256 bytes.
    .section .bss.work, "aw", @nobits
    .balign 32
work_data:
    .zero 256

    .section .text.work, "ax"
    .balign 32
# a0: first block, a1: count, at least 1. Returns the next block in a0.
    .global work_execute
work_execute:
    la a2, work_data
    andi a0, a0, 31
    la a3, work_blocks
    slli a4, a0, 8
    add a3, a3, a4
    add a0, a0, a1
    jr a3
    .balign 32
work_blocks:
    .set block, 0
    .rept 32
    .set part, 0
    .rept 2
    lw t0, (block * 8 + part * 4) & 252(a2)
    lw t1, (block * 8 + part * 4 + 64) & 252(a2)
    addi t2, t0, 3
    xor t3, t1, t2
    beq t3, a2, work_done
    slli t4, t3, 2
    add t2, t2, t4
    srli t5, t2, 5
    lw t0, (block * 8 + part * 4 + 128) & 252(a2)
    andi t6, t5, 255
    or t3, t3, t6
    sw t3, (block * 8 + part * 4) & 252(a2)
    add t1, t1, t0
    sub t2, t1, t3
    beq t2, a2, work_done
    slli t4, t2, 1
    lw t0, (block * 8 + part * 4 + 192) & 252(a2)
    add t4, t4, t3
    srli t5, t4, 3
    xor t6, t5, t0
    sw t6, (block * 8 + part * 4 + 64) & 252(a2)
    addi t1, t1, 1
    add t2, t2, t1
    andi t3, t2, 127
    or t4, t4, t3
    lw t0, (block * 8 + part * 4 + 32) & 252(a2)
    xor t5, t5, t0
    sw t5, (block * 8 + part * 4 + 128) & 252(a2)
    .set part, part + 1
    .endr
    addi t1, t1, 1
    xor t2, t2, t1
    add t3, t3, t2
    srli t4, t3, 1
    or t5, t5, t4
    add t6, t6, t5
    addi a1, a1, -1
    beqz a1, work_done
    .set block, block + 1
    .endr
    j work_blocks
work_done:
    ret
