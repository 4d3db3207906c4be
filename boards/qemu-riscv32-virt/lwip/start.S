# From reset to main. QEMU has cleared the memory behind the program.
    .section .text.start, "ax"
    .global _start
_start:
    la sp, _stack_top
    la t0, 1f
    csrw mtvec, t0
    j main
    .balign 4
1:  csrr a0, mcause
    csrr a1, mepc
    j machine_trapped
