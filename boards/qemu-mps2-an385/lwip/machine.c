/* QEMU's machine mps2-an385, as in ../src/machine.rs. */
#include "machine.h"

const char machine_board[] = "qemu-mps2-an385", machine_driver[] = "lan9118";
/* Processor and timers have 25 MHz. */
#define NS_PER_TICK 40
const uint64_t machine_clock_error_ns = NS_PER_TICK;

/* Two timers that count down (DDI 0479, 4.2), and their registers. */
#define CLOCK 0x40000000
#define ALARM 0x40001000
#define CONTROL 0
#define VALUE 4
#define RELOAD 8
#define CLEAR 12
#define TIMER_ENABLE 1
#define TIMER_INTERRUPT 8
/* The first serial port (DDI 0479, 4.3). */
#define UART 0x40004000
#define DATA 0
#define STATE 4
#define UART_CONTROL 8
#define DIVIDER 16
#define TX_FULL 1
#define RX_FULL 2
#define UART_ENABLE 3
#define MIN_DIVIDER 16
/* The LAN9118 (application note 385, 3.7). */
#define NETWORK 0x40200000
/* The processor's interrupt controller (ARMv7-M, B3.4); interrupts of alarm and network device. */
#define NVIC_ENABLE 0xe000e100
#define NVIC_CLEAR_PENDING 0xe000e280
#define WAKE_INTERRUPTS (1 << 9 | 1 << 13)

static uint64_t ticks(void)
{
    /* The timer wraps in 171 s. */
    static uint64_t before;
    uint32_t now = UINT32_MAX - *reg32(CLOCK + VALUE);
    before += now - (uint32_t)before;
    return before;
}

void machine_start(void)
{
    *reg32(UART + DIVIDER) = MIN_DIVIDER;
    *reg32(UART + UART_CONTROL) = UART_ENABLE;
    *reg32(CLOCK + RELOAD) = UINT32_MAX;
    *reg32(CLOCK + VALUE) = UINT32_MAX;
    *reg32(CLOCK + CONTROL) = TIMER_ENABLE;
    *reg32(NVIC_ENABLE) = WAKE_INTERRUPTS;
}

bool machine_start_nic(linerate_nic **nic)
{
    static uint64_t state[LINERATE_NIC_LAN9118_STATE / 8];
    static uint8_t memory[LINERATE_NIC_LAN9118_MEMORY] __attribute__((aligned(64)));
    linerate_nic_setup setup = {
        .state = state,
        .state_octets = sizeof state,
        .memory = memory,
        .memory_octets = sizeof memory,
        .mac = {2, 0, 0, 0, 0, 2},
    };
    return linerate_nic_lan9118(nic, &setup, NETWORK, true) == LINERATE_NIC_STARTED;
}

uint64_t machine_now_ns(void)
{
    return ticks() * NS_PER_TICK;
}

int machine_read(void)
{
    return (*reg32(UART + STATE) & RX_FULL) != 0 ? (int)(*reg32(UART + DATA) & 0xff) : -1;
}

void machine_write(char octet)
{
    while ((*reg32(UART + STATE) & TX_FULL) != 0) {
    }
    *reg32(UART + DATA) = (uint8_t)octet;
}

void machine_sleep(uint64_t until_ns)
{
    uint64_t until = until_ns / NS_PER_TICK, now = ticks();
    /* The clock must be read before it wraps. */
    uint64_t left = until <= now ? 1 : until - now;
    left = left > UINT32_MAX / 2 ? UINT32_MAX / 2 : left;
    *reg32(ALARM + CONTROL) = 0;
    *reg32(ALARM + CLEAR) = 1;
    /* It stops at zero. */
    *reg32(ALARM + RELOAD) = 0;
    *reg32(ALARM + VALUE) = (uint32_t)left;
    *reg32(NVIC_CLEAR_PENDING) = WAKE_INTERRUPTS;
    *reg32(ALARM + CONTROL) = TIMER_ENABLE | TIMER_INTERRUPT;
    /* An interrupt line that is still active becomes pending again. PRIMASK is set: interrupts are not taken. */
    __asm__ volatile("dsb\n\twfi" : : : "memory");
}

uint32_t machine_seed(void)
{
    /* QEMU's clock is the host's, so no two starts take the same time. */
    return (uint32_t)ticks();
}

/* Semihosting's SYS_EXIT with ADP_Stopped_RunTimeErrorUnknown. */
_Noreturn void machine_stop(void)
{
    register uint32_t operation __asm__("r0") = 0x18, reason __asm__("r1") = 0x20023;
    for (;;)
        __asm__ volatile("bkpt 0xab" : "+r"(operation) : "r"(reason) : "memory");
}
