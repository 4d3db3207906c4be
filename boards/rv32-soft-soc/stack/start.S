# From reset to main: stack, global pointer, traps of the kernel's port, cleared .bss.
    .section .text.start, "ax"
    .global _start
_start:
    .option push
    .option norelax
    la gp, __global_pointer$
    .option pop
    la sp, _stack_top
    la t0, freertos_risc_v_trap_handler
    csrw mtvec, t0
    la t0, _bss_start
    la t1, _bss_end
1:  bgeu t0, t1, 2f
    sw zero, 0(t0)
    addi t0, t0, 4
    j 1b
2:  call main
3:  j 3b
#ifdef PADDING
    # Moves all other code: what a figure owes to the addresses of the program.
    .skip PADDING
#endif
