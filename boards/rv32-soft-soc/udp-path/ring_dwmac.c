/* DesignWare MAC (universal 3.x) with descriptors of four words in a ring: a frame costs the processor a write of the
 * poll demand, beside the interrupt's. Registers in the order of an ESP32: those of the DMA come first. */
#ifdef RING_DWMAC
#include <stddef.h>

#include "board.h"
#include "ring.h"

#define DMA 0x08008000u
#define DMA_BUS_MODE 0x00
#define DMA_TRANSMIT_POLL_DEMAND 0x04
#define DMA_TRANSMIT_LIST 0x10
#define DMA_STATUS 0x14
#define DMA_OPERATION_MODE 0x18
#define DMA_INTERRUPT_ENABLE 0x1c
/* PBL: bursts of 32 words. */
#define BUS_MODE_BURST (32u << 8)
#define STATUS_SENT (1u << 0)
#define STATUS_NORMAL (1u << 16)
/* Store whole frames, read the next one meanwhile, start. */
#define OPERATION_STORE (1u << 21)
#define OPERATION_SECOND_FRAME (1u << 2)
#define OPERATION_START (1u << 13)

#define MAC 0x08009000u
#define MAC_CONFIGURATION 0x00
#define MAC_ADDRESS_HIGH 0x40
#define MAC_ADDRESS_LOW 0x44
#define CONFIGURATION_MII (1u << 15)
#define CONFIGURATION_100_MBIT (1u << 14)
#define CONFIGURATION_FULL_DUPLEX (1u << 11)
#define CONFIGURATION_TRANSMIT (1u << 3)

struct descriptor {
    uint32_t control, length, buffer, second;
};
#define OWNED_BY_HARDWARE (1u << 31)
#define INTERRUPT (1u << 30)
#define LAST (1u << 29)
#define FIRST (1u << 28)
#define END_OF_RING (1u << 21)

static volatile struct descriptor descriptors[RING_FRAMES] __attribute__((aligned(32)));
/* IP headers are on word boundaries: a frame begins two bytes behind one. */
static uint8_t frames[RING_FRAMES][RING_FRAME_BYTES] __attribute__((aligned(32)));
#define PAD 2
static uint32_t head;
static uint32_t own;

uint8_t *ring_frame(int index)
{
    return frames[index] + PAD;
}

void ring_start(const uint8_t mac[6], bool interrupts)
{
    own = OWNED_BY_HARDWARE | LAST | FIRST | (interrupts ? INTERRUPT : 0);
    for (uint32_t i = 0; i < RING_FRAMES; i++) {
        descriptors[i].control = 0;
        descriptors[i].buffer = (uint32_t)(uintptr_t)(frames[i] + PAD);
    }
    write_register(DMA + DMA_BUS_MODE, BUS_MODE_BURST);
    write_register(DMA + DMA_TRANSMIT_LIST, (uint32_t)(uintptr_t)descriptors);
    write_register(DMA + DMA_INTERRUPT_ENABLE, interrupts ? STATUS_NORMAL | STATUS_SENT : 0);
    write_register(MAC + MAC_ADDRESS_HIGH, mac[4] | (uint32_t)mac[5] << 8);
    write_register(MAC + MAC_ADDRESS_LOW, mac[0] | (uint32_t)mac[1] << 8 | (uint32_t)mac[2] << 16 | (uint32_t)mac[3] << 24);
    write_register(MAC + MAC_CONFIGURATION,
                   CONFIGURATION_MII | CONFIGURATION_100_MBIT | CONFIGURATION_FULL_DUPLEX | CONFIGURATION_TRANSMIT);
    write_register(DMA + DMA_OPERATION_MODE, OPERATION_STORE | OPERATION_SECOND_FRAME | OPERATION_START);
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
    descriptor->length = len;
    /* The DMA may read it from here on. */
    descriptor->control = own | (head == RING_FRAMES - 1 ? END_OF_RING : 0);
    head = (head + 1) % RING_FRAMES;
    write_register(DMA + DMA_TRANSMIT_POLL_DEMAND, 0);
}

void ring_acknowledge(void)
{
    write_register(DMA + DMA_STATUS, STATUS_NORMAL | STATUS_SENT);
}

#endif
