/* The i.MX 6 and its Cortex-A9, as in ../src/machine.rs. */
#include "machine.h"

const char machine_board[] = "qemu-sabrelite", machine_driver[] = "enet";
/* The A9's timers: 100 MHz in QEMU, half the processor's clock in a chip. */
#define NS_PER_TICK 10
const uint64_t machine_clock_error_ns = NS_PER_TICK;

/* ENET, the clock of its bus, the MDIO address of the PHY. */
#define ENET 0x02188000
#define ENET_BUS_HZ 66000000
#define PHY 6
/* UART1 (chapter 64). UCR2: not in reset, receiver and transmitter on, 8 bits, no RTS. */
#define UART 0x02020000
#define URXD 0
#define UTXD 0x40
#define UCR1 0x80
#define UCR2 0x84
#define USR2 0x98
#define UART_ENABLE 1
#define UART_SETUP (1 << 14 | 1 << 5 | 1 << 2 | 1 << 1 | 1)
#define TRANSMIT_COMPLETE (1 << 3)
#define RECEIVE_READY 1
/* The A9's own devices. */
#define GIC_CPU 0x00a00100
#define GLOBAL_TIMER 0x00a00200
#define PRIVATE_TIMER 0x00a00600
#define GIC 0x00a01000
/* Interface: control, lowest priority that interrupts, acknowledge, end. */
#define ICCICR 0
#define ICCPMR 4
#define ICCIAR 0xc
#define ICCEOIR 0x10
/* Distributor: control; for each interrupt a bit that enables it, an octet for its processors. */
#define ICDDCR 0
#define ICDISER 0x100
#define ICDIPTR 0x800
#define TIMER_INTERRUPT 29
#define ENET_INTERRUPT 150
#define NO_INTERRUPT 1023
/* Timers; private timer enabled, with interrupt, once. */
#define LOAD 0
#define CONTROL 8
#define STATUS 0xc
#define ONE_SHOT (1 << 2 | 1)

static void enable(unsigned interrupt)
{
    *reg32(GIC + ICDISER + interrupt / 32 * 4) = 1u << interrupt % 32;
}

void machine_start(void)
{
    *reg32(UART + UCR1) = UART_ENABLE;
    *reg32(UART + UCR2) = UART_SETUP;
    *reg32(GLOBAL_TIMER + CONTROL) = 1;
    /* Interrupts wake the processor and are not taken: CPSR.I is set. */
    enable(TIMER_INTERRUPT);
    enable(ENET_INTERRUPT);
    *(volatile uint8_t *)(GIC + ICDIPTR + ENET_INTERRUPT) = 1;
    *reg32(GIC + ICDDCR) = 1;
    *reg32(GIC_CPU + ICCPMR) = 0xff;
    *reg32(GIC_CPU + ICCICR) = 1;
}

bool machine_start_nic(linerate_nic **nic)
{
    static uint64_t state[LINERATE_NIC_ENET_STATE / 8];
    static uint8_t memory[LINERATE_NIC_ENET_MEMORY] __attribute__((aligned(64)));
    /* The caches are off. */
    linerate_nic_setup setup = {
        .state = state,
        .state_octets = sizeof state,
        .memory = memory,
        .memory_octets = sizeof memory,
        .mac = {2, 0, 0, 0, 0, 2},
    };
    /* QEMU's receiver does not verify checksums. */
    linerate_nic_enet enet = {.bus_hz = ENET_BUS_HZ, .phy = PHY, .is_rgmii = true};
    return linerate_nic_enet_start(nic, &setup, ENET, &enet) == LINERATE_NIC_STARTED;
}

static uint64_t ticks(void)
{
    uint32_t high, low;
    do {
        high = *reg32(GLOBAL_TIMER + 4);
        low = *reg32(GLOBAL_TIMER);
    } while (high != *reg32(GLOBAL_TIMER + 4));
    return (uint64_t)high << 32 | low;
}

uint64_t machine_now_ns(void)
{
    return ticks() * NS_PER_TICK;
}

int machine_read(void)
{
    return (*reg32(UART + USR2) & RECEIVE_READY) != 0 ? (int)(*reg32(UART + URXD) & 0xff) : -1;
}

void machine_write(char octet)
{
    while ((*reg32(UART + USR2) & TRANSMIT_COMPLETE) == 0) {
    }
    *reg32(UART + UTXD) = (uint8_t)octet;
}

void machine_sleep(uint64_t until_ns)
{
    uint64_t until = until_ns / NS_PER_TICK, now = ticks();
    if (until <= now)
        return;
    *reg32(PRIVATE_TIMER + LOAD) = until - now > UINT32_MAX ? UINT32_MAX : (uint32_t)(until - now);
    *reg32(PRIVATE_TIMER + CONTROL) = ONE_SHOT;
    __asm__ volatile("dsb\n\twfi" : : : "memory");
    *reg32(PRIVATE_TIMER + CONTROL) = 0;
    *reg32(PRIVATE_TIMER + STATUS) = 1;
    uint32_t interrupt = *reg32(GIC_CPU + ICCIAR);
    if (interrupt != NO_INTERRUPT)
        *reg32(GIC_CPU + ICCEOIR) = interrupt;
}

uint32_t machine_seed(void)
{
    /* QEMU's clock keeps running between two starts. */
    return (uint32_t)ticks();
}

/* Semihosting's SYS_EXIT with ADP_Stopped_RunTimeErrorUnknown; without semihosting, that is a trap. */
_Noreturn void machine_stop(void)
{
    static bool is_stopping;
    if (!is_stopping) {
        is_stopping = true;
        register uint32_t operation __asm__("r0") = 0x18, reason __asm__("r1") = 0x20023;
        __asm__ volatile("svc #0x123456" : "+r"(operation) : "r"(reason) : "memory", "lr");
    }
    for (;;) {
    }
}
