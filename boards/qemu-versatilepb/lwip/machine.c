/* QEMU's machine versatilepb, as in ../src/machine.rs. */
#include "machine.h"

const char machine_board[] = "qemu-versatilepb", machine_driver[] = "lan91c111";
/* The clock has 24 MHz: 125 / 3 ns. */
const uint64_t machine_clock_error_ns = 42;

/* The system registers (DUI 0225, 4.3), and in them the clock. */
#define CLOCK 0x1000005c
/* A timer (SP804): enabled, with interrupt, 32 bits, one-shot; 1 MHz. */
#define ALARM 0x101e2000
#define LOAD 0
#define CONTROL 8
#define CLEAR 12
#define ONE_SHOT (1 << 7 | 1 << 5 | 1 << 1 | 1)
#define NS_PER_ALARM_TICK 1000
/* The real-time clock (PL031): seconds. */
#define RTC 0x101e8000
/* The first serial port (PL011). */
#define UART 0x101f1000
#define DATA 0
#define FLAGS 0x18
#define UART_CONTROL 0x30
#define TX_FULL (1 << 5)
#define RX_EMPTY (1 << 4)
#define UART_ENABLE (1 << 9 | 1 << 8 | 1)
/* The interrupt controllers: the first, and the second, which is interrupt 31 of the first (DUI 0225, 4.10). */
#define FIRST_ENABLE 0x10140010
#define FIRST_INTERRUPTS (1u << 31 | 1 << 4)
#define SECOND_ENABLE 0x10003008
#define SECOND_INTERRUPTS (1 << 25)
/* The LAN91C111. */
#define NETWORK 0x10010000

static uint64_t ticks(void)
{
    /* The clock wraps in 179 s. */
    static uint64_t before;
    before += *reg32(CLOCK) - (uint32_t)before;
    return before;
}

void machine_start(void)
{
    *reg32(UART + UART_CONTROL) = UART_ENABLE;
    *reg32(SECOND_ENABLE) = SECOND_INTERRUPTS;
    *reg32(FIRST_ENABLE) = FIRST_INTERRUPTS;
}

bool machine_start_nic(linerate_nic **nic)
{
    static uint64_t state[LINERATE_NIC_LAN91C111_STATE / 8];
    static uint8_t memory[LINERATE_NIC_LAN91C111_MEMORY] __attribute__((aligned(64)));
    linerate_nic_setup setup = {
        .state = state,
        .state_octets = sizeof state,
        .memory = memory,
        .memory_octets = sizeof memory,
        .mac = {2, 0, 0, 0, 0, 2},
    };
    return linerate_nic_lan91c111(nic, &setup, NETWORK) == LINERATE_NIC_STARTED;
}

uint64_t machine_now_ns(void)
{
    return ticks() * 125 / 3;
}

int machine_read(void)
{
    return (*reg32(UART + FLAGS) & RX_EMPTY) == 0 ? (int)(*reg32(UART + DATA) & 0xff) : -1;
}

void machine_write(char octet)
{
    while ((*reg32(UART + FLAGS) & TX_FULL) != 0) {
    }
    *reg32(UART + DATA) = (uint8_t)octet;
}

void machine_sleep(uint64_t until_ns)
{
    uint64_t now = machine_now_ns();
    uint64_t left = until_ns <= now ? 0 : (until_ns - now) / NS_PER_ALARM_TICK;
    /* The clock must be read before it wraps. */
    left = left < 1 ? 1 : left > 100000000 ? 100000000 : left;
    *reg32(ALARM + CONTROL) = 0;
    *reg32(ALARM + CLEAR) = 0;
    *reg32(ALARM + LOAD) = (uint32_t)left;
    *reg32(ALARM + CONTROL) = ONE_SHOT;
    __asm__ volatile("dsb\n\twfi" : : : "memory");
}

uint32_t machine_seed(void)
{
    return *reg32(RTC) ^ (uint32_t)ticks();
}

/* Semihosting's SYS_EXIT with ADP_Stopped_RunTimeErrorUnknown. */
_Noreturn void machine_stop(void)
{
    register uint32_t operation __asm__("r0") = 0x18, reason __asm__("r1") = 0x20023;
    for (;;)
        __asm__ volatile("svc 0x123456" : "+r"(operation) : "r"(reason) : "memory", "lr");
}
