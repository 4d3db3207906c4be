/* QEMU's RV32 machine virt, as in ../src/machine.rs. */
#include "machine.h"

const char machine_board[] = "qemu-riscv32-virt", machine_driver[] = "virtio-net";
/* The CLINT counts 10^7 ticks per second. */
#define NS_PER_TICK 100
const uint64_t machine_clock_error_ns = NS_PER_TICK;

/* NS16550A: data, line status. */
#define UART 0x10000000
#define LINE_STATUS 5
#define DATA_READY 1
#define TRANSMITTER_EMPTY 0x20
/* CLINT: compare register of hart 0, counter. */
#define TIMER_COMPARE 0x02004000
#define TIMER 0x0200bff8
/* PLIC: priorities; enable bits of hart 0; claim and complete. */
#define PLIC 0x0c000000
#define ENABLE 0x2000
#define CLAIM 0x200004
/* Slots of virtio devices with interrupts 1 to 8; their register DeviceID, and its value for a network device. */
#define SLOTS 0x10001000
#define SLOT 0x1000
#define SLOT_COUNT 8
#define DEVICE_ID 8
#define NETWORK 1
/* mie: the timer's and the PLIC's interrupt. */
#define WAKE_INTERRUPTS (1 << 7 | 1 << 11)
/* SiFive's test device: ends the machine with a failure. */
#define TEST 0x100000
#define FAILURE 0x13333

static volatile uint8_t *uart(unsigned offset)
{
    return (volatile uint8_t *)(UART + offset);
}

static void no_alarm(void)
{
    *reg32(TIMER_COMPARE + 4) = UINT32_MAX;
}

void machine_start(void)
{
    for (unsigned interrupt = 1; interrupt <= SLOT_COUNT; interrupt++) {
        *reg32(PLIC + 4 * interrupt) = 1;
        *reg32(PLIC + ENABLE) |= 1u << interrupt;
    }
    no_alarm();
    /* Interrupts wake the hart and are not taken: mstatus.MIE is 0. */
    __asm__ volatile("csrw mie, %0" : : "r"(WAKE_INTERRUPTS));
}

bool machine_start_nic(linerate_nic **nic)
{
    static uint64_t state[LINERATE_NIC_VIRTIO_STATE / 8];
    static uint8_t memory[LINERATE_NIC_VIRTIO_MEMORY] __attribute__((aligned(64)));
    linerate_nic_setup setup = {
        .state = state,
        .state_octets = sizeof state,
        .memory = memory,
        .memory_octets = sizeof memory,
        .mac = {2, 0, 0, 0, 0, 2},
    };
    for (unsigned slot = 0; slot < SLOT_COUNT; slot++) {
        uintptr_t base = SLOTS + slot * SLOT;
        if (*reg32(base + DEVICE_ID) == NETWORK)
            return linerate_nic_virtio(nic, &setup, base) == LINERATE_NIC_STARTED;
    }
    return false;
}

static uint64_t ticks(void)
{
    uint32_t high, low;
    do {
        high = *reg32(TIMER + 4);
        low = *reg32(TIMER);
    } while (high != *reg32(TIMER + 4));
    return (uint64_t)high << 32 | low;
}

uint64_t machine_now_ns(void)
{
    return ticks() * NS_PER_TICK;
}

int machine_read(void)
{
    return (*uart(LINE_STATUS) & DATA_READY) != 0 ? *uart(0) : -1;
}

void machine_write(char octet)
{
    while ((*uart(LINE_STATUS) & TRANSMITTER_EMPTY) == 0) {
    }
    *uart(0) = (uint8_t)octet;
}

void machine_sleep(uint64_t until_ns)
{
    uint64_t until = until_ns / NS_PER_TICK;
    /* No intermediate value may be an earlier time. */
    no_alarm();
    *reg32(TIMER_COMPARE) = (uint32_t)until;
    *reg32(TIMER_COMPARE + 4) = (uint32_t)(until >> 32);
    __asm__ volatile("wfi" : : : "memory");
    no_alarm();
    uint32_t interrupt = *reg32(PLIC + CLAIM);
    if (interrupt != 0)
        *reg32(PLIC + CLAIM) = interrupt;
}

uint32_t machine_seed(void)
{
    /* QEMU's clock keeps running between two starts. */
    return (uint32_t)ticks();
}

_Noreturn void machine_stop(void)
{
    *reg32(TEST) = FAILURE;
    for (;;) {
    }
}
