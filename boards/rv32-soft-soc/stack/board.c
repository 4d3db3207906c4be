#include "board.h"

#include <stdbool.h>
#include <stddef.h>

#include "FreeRTOS.h"
#include "task.h"

#define TIMER_LINE 1
#define LINES 32
/* mie.MEIE */
#define EXTERNAL (1u << 11)

static void (*handlers[LINES])(void);
static uint32_t enabled;
static bool must_yield;

void board_on_interrupt(int line, void (*handle)(void))
{
    handlers[line] = handle;
    enabled |= 1u << line;
    write_register(INTC + 4, enabled);
}

void board_yield_from_interrupt(void)
{
    must_yield = true;
}

static void tick(void)
{
    write_register(TIMER, 0);
    if (xTaskIncrementTick())
        must_yield = true;
}

/* Called by the kernel's port, with its tick. */
void vPortSetupTimerInterrupt(void)
{
    extern uint32_t board_hertz;
    uint32_t period = board_hertz / configTICK_RATE_HZ - 1;
    board_on_interrupt(TIMER_LINE, tick);
    write_register(TIMER + 0x08, period & 0xffff);
    write_register(TIMER + 0x0c, period >> 16);
    /* Interrupt, continuous, start. */
    write_register(TIMER + 0x04, 1 | 2 | 4);
    __asm__ volatile("csrs mie, %0" : : "r"(EXTERNAL));
}

/* Called by the kernel's port for interrupts other than its own. */
void freertos_risc_v_application_interrupt_handler(void)
{
    uint32_t pending = read_register(INTC);
    must_yield = false;
    for (int line = 0; pending != 0; line++, pending >>= 1)
        if (pending & 1)
            handlers[line]();
    if (must_yield)
        vTaskSwitchContext();
}

void freertos_risc_v_application_exception_handler(uint32_t cause)
{
    uint32_t at;
    __asm__ volatile("csrr %0, mepc" : "=r"(at));
    board_print("@ {\"event\":\"error\",\"cause\":");
    board_print_number(cause);
    board_print(",\"at\":");
    board_print_number(at);
    board_print("}\n");
    for (;;)
        ;
}

/* With nothing to do, wait for an interrupt. */
void vApplicationIdleHook(void)
{
    __asm__ volatile("wfi");
}

void board_flush(const void *data, uint32_t len)
{
    uintptr_t line = (uintptr_t)data & ~31u;
    for (; line < (uintptr_t)data + len; line += 32)
        __asm__ volatile("csrw 0x7c0, %0" : : "r"(line) : "memory");
}

void board_flush_all(uint32_t cache_bytes)
{
    for (uint32_t at = 0; at < cache_bytes; at += 32)
        __asm__ volatile("csrw 0x7c1, %0" : : "r"(at) : "memory");
}

#define CHECKSUM 0x08005080u
#define CHECKSUM_CONTROL 0x00
#define CHECKSUM_STATUS 0x04
#define CHECKSUM_ADDRESS 0x08
#define CHECKSUM_LENGTH 0x0c
#define CHECKSUM_SUM 0x10
#define CHECKSUM_BUSY 1u

uint16_t board_checksum(uint32_t address, uint32_t len)
{
    write_register(CHECKSUM + CHECKSUM_ADDRESS, address);
    write_register(CHECKSUM + CHECKSUM_LENGTH, len);
    write_register(CHECKSUM + CHECKSUM_SUM, 0);
    write_register(CHECKSUM + CHECKSUM_CONTROL, 1);
    while (read_register(CHECKSUM + CHECKSUM_STATUS) & CHECKSUM_BUSY)
        ;
    return (uint16_t)read_register(CHECKSUM + CHECKSUM_SUM);
}
