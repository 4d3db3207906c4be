/* TSE MAC with an SGDMA engine that looks again and again at the next descriptor of a ring, so that a frame costs the
 * processor no register of the device but the interrupt's. */
#ifndef RING_DWMAC
#include <stddef.h>

#include "board.h"
#include "ring.h"

#define MAC 0x08005400u
#define MAC_COMMAND_CONFIG 0x08
#define MAC_ADDRESS_0 0x0c
#define MAC_ADDRESS_1 0x10
#define MAC_FRAME_LENGTH 0x14
#define MAC_TX_CMD_STAT 0xe8
#define COMMAND_TX_ENABLE (1u << 0)
#define COMMAND_RX_ENABLE (1u << 1)
/* A frame begins two bytes after a word boundary. */
#define SHIFT16_TX (1u << 18)
#define PAD 2

#define SGDMA 0x08005040u
#define SGDMA_CONTROL 0x10
#define SGDMA_NEXT 0x20
#define CONTROL_IE_DESCRIPTOR_COMPLETED (1u << 2)
#define CONTROL_IE_GLOBAL (1u << 4)
#define CONTROL_RUN (1u << 5)
#define CONTROL_POLL (1u << 18)
/* In units of four cycles of 12.5 ns: a look each microsecond. */
#define CONTROL_POLL_FREQUENCY (20u << 19)
#define CONTROL_CLEAR_INTERRUPT (1u << 31)

struct descriptor {
    uint32_t read, read_high, write, write_high, next, next_high;
    uint16_t bytes;
    uint8_t read_burst, write_burst;
    uint16_t transferred;
    uint8_t status, control;
};
#define OWNED_BY_HARDWARE 0x80
#define GENERATE_EOP 0x01

static volatile struct descriptor descriptors[RING_FRAMES] __attribute__((aligned(32)));
static uint8_t frames[RING_FRAMES][RING_FRAME_BYTES] __attribute__((aligned(32)));
static uint32_t head;
static uint32_t control;

uint8_t *ring_frame(int index)
{
    return frames[index] + PAD;
}

void ring_start(const uint8_t mac[6], bool interrupts)
{
    for (uint32_t i = 0; i < RING_FRAMES; i++) {
        descriptors[i].read = (uint32_t)(uintptr_t)frames[i];
        descriptors[i].next = (uint32_t)(uintptr_t)&descriptors[(i + 1) % RING_FRAMES];
    }
    write_register(MAC + MAC_ADDRESS_0, mac[0] | (uint32_t)mac[1] << 8 | (uint32_t)mac[2] << 16 | (uint32_t)mac[3] << 24);
    write_register(MAC + MAC_ADDRESS_1, mac[4] | (uint32_t)mac[5] << 8);
    write_register(MAC + MAC_FRAME_LENGTH, 1518);
    write_register(MAC + MAC_TX_CMD_STAT, SHIFT16_TX);
    write_register(MAC + MAC_COMMAND_CONFIG, COMMAND_TX_ENABLE | COMMAND_RX_ENABLE);
    control = CONTROL_RUN | CONTROL_POLL | CONTROL_POLL_FREQUENCY;
    if (interrupts)
        control |= CONTROL_IE_DESCRIPTOR_COMPLETED | CONTROL_IE_GLOBAL;
    write_register(SGDMA + SGDMA_NEXT, (uint32_t)(uintptr_t)descriptors);
    write_register(SGDMA + SGDMA_CONTROL, control);
}

uint8_t *ring_buffer(void)
{
    if (descriptors[head].control & OWNED_BY_HARDWARE)
        return NULL;
    return frames[head] + PAD;
}

void ring_submit(uint32_t len)
{
    volatile struct descriptor *descriptor = &descriptors[head];
    descriptor->bytes = (uint16_t)(len + PAD);
    descriptor->transferred = 0;
    descriptor->status = 0;
    /* The engine may read it from here on. */
    descriptor->control = OWNED_BY_HARDWARE | GENERATE_EOP;
    head = (head + 1) % RING_FRAMES;
}

void ring_acknowledge(void)
{
    write_register(SGDMA + SGDMA_CONTROL, control | CONTROL_CLEAR_INTERRUPT);
}

#endif
