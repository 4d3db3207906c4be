/* The devices of the RV32 soft SoC: console, timer, interrupt controller, checksum unit; addresses of
 * ../system.toml. */
#ifndef BOARD_H
#define BOARD_H

#include <stdint.h>

/* Added to an address, it bypasses the data cache. */
#define UNCACHED 0x80000000u

#define CONSOLE 0x08001000u
#define TIMER 0x08002000u
#define INTC 0x08003000u

static inline void write_register(uint32_t address, uint32_t value)
{
    *(volatile uint32_t *)(uintptr_t)address = value;
}

static inline uint32_t read_register(uint32_t address)
{
    return *(volatile uint32_t *)(uintptr_t)address;
}

static inline uint32_t board_cycles(void)
{
    uint32_t cycles;
    __asm__ volatile("csrr %0, mcycle" : "=r"(cycles));
    return cycles;
}

/* Calls `handle` in the interrupt handler while line `line` is active. */
void board_on_interrupt(int line, void (*handle)(void));
void board_interrupts(void);
/* Writes modified lines of the data cache to memory and empties them. */
void board_flush(const void *data, uint32_t len);
/* The same with all lines of a data cache of `cache_bytes`. */
void board_flush_all(uint32_t cache_bytes);
/* The Internet checksum by the checksum unit, of memory at a bus address. */
uint16_t board_checksum(uint32_t address, uint32_t len);
/* Asks for a change of tasks at the end of the interrupt handler. */
void board_yield_from_interrupt(void);
void board_print(const char *text);
void board_print_number(uint32_t value);
/* Reads a line into `line`, without its end. */
void board_read_line(char *line, int size);
void board_fail(const char *file, int line);

#endif
