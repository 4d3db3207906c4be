/* Reset and the exceptions behind it (ARMv7-A, B1.8.1). Interrupts wake the processor and are not taken. QEMU has cleared
 * the memory behind the program. */
    .section .vectors, "ax"
    .arm
    .global _start
_start:
    b 1f
    .rept 7
    b 2f
    .endr
1:  ldr sp, =_stack_top
    bl main
2:  mrs r0, cpsr
    and r0, r0, #0x1f
    mov r1, lr
    ldr sp, =_stack_top
    bl machine_trapped
    .ltorg
