/* The stack, the reset vector, and the fourteen exceptions behind it (ARMv7-M, B1.5). Both memories are RAM that QEMU has
 * loaded and cleared. */
    .syntax unified
    .section .vectors, "a"
    .word _stack_top
    .word _start
    .rept 14
    .word fault
    .endr

    .section .text.start, "ax"
    .thumb
    .global _start
    .type _start, %function
    .thumb_func
_start:
    cpsid i
    bl main
    .type fault, %function
    .thumb_func
fault:
    mrs r0, ipsr
    ldr r1, [sp, #24]
    bl machine_trapped
