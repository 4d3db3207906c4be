# Two blocks of instructions that are executed again and again: each time they walk over eight lines of 32 bytes of data.
# The data are 3 KiB, more than a data cache of 2 KiB and less than one of 8 KiB. The block for a segment sent has 32
# instructions, that for one received 64.
    .section .bss.work, "aw", @nobits
    .balign 32
work_data:
    .zero 12 * 256

# a0: first block, below 12; a1: count, at least 1. Returns the next block in a0.
    .macro walk name, fill
    .section .text.\name, "ax"
    .balign 32
    .global \name
\name:
    la a3, work_data
    li a4, 12
    .balign 32
0:  slli t0, a0, 8
    add a2, a3, t0
    .set part, 0
    .rept 4
    lw t0, (part * 64)(a2)
    lw t1, (part * 64 + 32)(a2)
    xor t3, t3, t4
    add t4, t0, t1
    sw t4, (part * 64 + 36)(a2)
    add t5, t5, t4
    .rept \fill
    xor t6, t6, t5
    addi t5, t5, 3
    .endr
    .set part, part + 1
    .endr
    addi a0, a0, 1
    bltu a0, a4, 1f
    li a0, 0
1:  addi a1, a1, -1
    xor t6, t6, t5
    bnez a1, 0b
    ret
    .endm

    walk work_execute_sent, 0
    walk work_execute_received, 4
