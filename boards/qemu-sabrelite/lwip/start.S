/* Everything runs in supervisor mode with interrupts masked, as after reset: MMU, caches and VFP stay off. QEMU has cleared
 * the memory behind the program. */
    .section .text.start, "ax"
    .arm
    .global _start
_start:
    cpsid aif, #0x13
    ldr sp, =_stack_top
    ldr r0, =vectors
    mcr p15, 0, r0, c12, c0, 0
    b main
    .ltorg
    .balign 32
vectors:
    .rept 8
    b 1f
    .endr
1:  ldr sp, =_stack_top
    mrs r0, cpsr
    and r0, r0, #0x1f
    mov r1, lr
    b machine_trapped
    .ltorg
