/* LAN91C111: the processor copies each frame, 32 bits at a time, over the chip's data register. */
#include "board.h"
#include "device.h"
#include "lwip/pbuf.h"
#include "packet.h"

#define BASE 0x08008000u
#define BANK 0x0e
/* Bank 0 */
#define TCR 0x00
#define RCR 0x04
#define RPCR 0x0a
/* Bank 1 */
#define CONFIG 0x00
#define ADDRESS 0x04
#define CTR 0x0c
/* Bank 2 */
#define MMUCR 0x00
#define PNR 0x02
#define ARR 0x03
#define RXFIFO 0x05
#define PTR 0x06
#define DATA 0x08
#define INTERRUPT 0x0c
#define MASK 0x0d

#define TCR_TXENA 0x0001
#define TCR_PAD_EN 0x0080
#define TCR_SWFDUP 0x8000
#define RCR_RXEN 0x0100
#define RCR_STRIP_CRC 0x0200
#define RPCR_SPEED_DPLX 0x3000
#define CONFIG_EPH_POWER_EN 0x8000
#define CONFIG_NO_WAIT 0x1000
#define CTR_AUTO_RELEASE 0x0800
#define MMU_ALLOCATE 0x20
#define MMU_REMOVE_RELEASE 0x80
#define MMU_RELEASE 0xa0
#define MMU_ENQUEUE 0xc0
#define MMU_BUSY 0x01
#define ARR_FAILED 0x80
#define RXFIFO_EMPTY 0x80
#define PTR_RECEIVE 0x8000
#define PTR_AUTO_INCREMENT 0x4000
#define PTR_READ 0x2000
#define RECEIVED 0x01
#define ALLOCATED 0x08
/* The last word of a frame in the chip's memory has one octet. */
#define CONTROL_ODD 0x20
#define HEADER_AND_CONTROL 6

#define LINE 6

/* Data lines of the chip that the board connects: 32, or 16. */
#ifndef DATA_BITS
#define DATA_BITS 32
#endif

static inline void write16(uint32_t offset, uint16_t value)
{
    *(volatile uint16_t *)(uintptr_t)(BASE + offset) = value;
}

static inline uint16_t read16(uint32_t offset)
{
    return *(volatile uint16_t *)(uintptr_t)(BASE + offset);
}

static inline void write8(uint32_t offset, uint8_t value)
{
    *(volatile uint8_t *)(uintptr_t)(BASE + offset) = value;
}

static inline uint8_t read8(uint32_t offset)
{
    return *(volatile uint8_t *)(uintptr_t)(BASE + offset);
}

/* Four octets of the data register. */
static inline void put(volatile uint32_t *data, uint32_t word)
{
#if DATA_BITS == 16
    *(volatile uint16_t *)data = (uint16_t)word;
    *(volatile uint16_t *)data = (uint16_t)(word >> 16);
#else
    *data = word;
#endif
}

static inline uint32_t get(volatile uint32_t *data)
{
#if DATA_BITS == 16
    uint32_t low = *(volatile uint16_t *)data;
    return low | (uint32_t) * (volatile uint16_t *)data << 16;
#else
    return *data;
#endif
}

static void command(uint16_t command)
{
    write16(MMUCR, command);
    while (read16(MMUCR) & MMU_BUSY)
        ;
}

static void lan_start(const uint8_t mac[6])
{
    write16(BANK, 1);
    write16(CONFIG, CONFIG_EPH_POWER_EN | CONFIG_NO_WAIT);
    for (int i = 0; i < 6; i += 2)
        write16(ADDRESS + (uint32_t)i, (uint16_t)(mac[i] | mac[i + 1] << 8));
    write16(CTR, CTR_AUTO_RELEASE);
    write16(BANK, 0);
    write16(RPCR, RPCR_SPEED_DPLX);
    write16(RCR, RCR_RXEN | RCR_STRIP_CRC);
    write16(TCR, TCR_TXENA | TCR_PAD_EN | TCR_SWFDUP);
    write16(BANK, 2);
    write8(MASK, RECEIVED);
}

static bool lan_send(const uint8_t *frame, uint32_t len)
{
    write8(MASK, 0);
    write16(MMUCR, MMU_ALLOCATE);
    while ((read8(INTERRUPT) & ALLOCATED) == 0)
        ;
    write8(PNR, (uint8_t)(read8(ARR) & ~ARR_FAILED));
    write16(PTR, PTR_AUTO_INCREMENT);
    volatile uint32_t *data = (volatile uint32_t *)(uintptr_t)(BASE + DATA);
    /* Status, byte count. */
    put(data, ((len & ~1u) + HEADER_AND_CONTROL) << 16);
    /* A frame begins two bytes after a word boundary: half a word, then whole ones. */
    *(volatile uint16_t *)(uintptr_t)(BASE + DATA) = *(const uint16_t *)frame;
    const uint32_t *words = (const uint32_t *)(frame + 2);
    uint32_t left = len - 2;
    for (; left >= 16; left -= 16, words += 4) {
        uint32_t a = words[0], b = words[1], c = words[2], d = words[3];
        put(data, a);
        put(data, b);
        put(data, c);
        put(data, d);
    }
    for (; left >= 4; left -= 4)
        put(data, *words++);
    const uint8_t *rest = (const uint8_t *)words;
    if (left >= 2) {
        write16(DATA, *(const uint16_t *)rest);
        rest += 2;
    }
    /* Control: the odd octet and its flag. */
    write16(DATA, (uint16_t)((len & 1) != 0 ? CONTROL_ODD << 8 | *rest : 0));
    command(MMU_ENQUEUE);
    write8(MASK, RECEIVED);
    return true;
}

static void lan_interrupt(void)
{
    while ((read8(RXFIFO) & RXFIFO_EMPTY) == 0) {
        write16(PTR, PTR_RECEIVE | PTR_AUTO_INCREMENT | PTR_READ);
        volatile uint32_t *data = (volatile uint32_t *)(uintptr_t)(BASE + DATA);
        uint32_t header = get(data);
        uint32_t len = (header >> 16 & 0x7ff) - HEADER_AND_CONTROL;
        /* Status bit 12: an odd number of octets. */
        len += header >> 12 & 1;
        struct pbuf *packet = packet_take(1518);
        if (packet != NULL && len <= 1518) {
            uint8_t *frame = (uint8_t *)packet->payload + 2;
            *(uint16_t *)frame = read16(DATA);
            uint32_t *words = (uint32_t *)(frame + 2);
            uint32_t left = len - 2;
            for (; left >= 16; left -= 16, words += 4) {
                uint32_t a = get(data), b = get(data), c = get(data), d = get(data);
                words[0] = a;
                words[1] = b;
                words[2] = c;
                words[3] = d;
            }
            for (; left > 0; left -= left < 4 ? left : 4)
                *words++ = get(data);
            packet->len = packet->tot_len = (uint16_t)(len + 2);
            device_received(packet);
        } else if (packet != NULL) {
            pbuf_free(packet);
        }
        command(MMU_REMOVE_RELEASE);
    }
}

const struct device lan91c111 = {
    .name = "lan91c111",
    .has_dma = false,
    .interrupt_line = LINE,
    .start = lan_start,
    .send = lan_send,
    .on_interrupt = lan_interrupt,
};
