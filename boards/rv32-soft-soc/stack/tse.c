/* Triple-Speed Ethernet MAC with two SGDMA controllers, operated as the kit's driver of 2007 does: a frame to
 * send is one descriptor, and the caller waits until the controller has read it; a received frame is one
 * descriptor as well, and the interrupt handler takes it and starts the next transfer. */
#include "board.h"
#include "device.h"
#include "lwip/pbuf.h"
#include "packet.h"

#define MAC 0x08005400u
#define MAC_COMMAND_CONFIG 0x08
#define MAC_ADDRESS_0 0x0c
#define MAC_ADDRESS_1 0x10
#define MAC_FRAME_LENGTH 0x14
#define MAC_RX_SECTION_FULL 0x20
#define MAC_TX_SECTION_FULL 0x28
#define MAC_TX_CMD_STAT 0xe8
#define MAC_RX_CMD_STAT 0xec
#define COMMAND_TX_ENABLE (1u << 0)
#define COMMAND_RX_ENABLE (1u << 1)
#define COMMAND_GIGABIT (1u << 3)
/* A frame begins two bytes after a word boundary. */
#define SHIFT16_TX (1u << 18)
#define SHIFT16_RX (1u << 25)

#define SGDMA_TX 0x08005040u
#define SGDMA_RX 0x08005000u
#define SGDMA_STATUS 0x00
#define SGDMA_CONTROL 0x10
#define SGDMA_NEXT 0x20
#define STATUS_BUSY (1u << 4)
#define STATUS_ALL 0xffu
#define CONTROL_IE_ERROR (1u << 0)
#define CONTROL_IE_CHAIN_COMPLETED (1u << 3)
#define CONTROL_IE_GLOBAL (1u << 4)
#define CONTROL_RUN (1u << 5)
#define CONTROL_STOP_ON_ERROR (1u << 6)
#define CONTROL_CLEAR_INTERRUPT (1u << 31)

/* Depth of each FIFO of the MAC in words. */
#ifndef FIFO_WORDS
#define FIFO_WORDS 2048
#endif
/* A FIFO that has no room for the longest frame, and for the words that the MAC keeps free, never holds a whole one. Such a
 * part receives frames from this many words on, and sends them when the FIFO is nearly full (Altera, Triple-Speed Ethernet
 * User Guide, "FIFO Buffer Thresholds"). */
#define HOLDS_WHOLE_FRAMES (4 * FIFO_WORDS >= MAX_FRAME + 2 + 4 * 8)
#define RECEIVE_THRESHOLD 16
#define SEND_THRESHOLD (FIFO_WORDS - 16)
/* Mbit/s of the line. */
#ifndef LINE_MBIT
#define LINE_MBIT 1000
#endif

#define RX_LINE 3
#define MAX_FRAME 1518

/* As the controllers read it: the memory of descriptors is on the chip. */
struct descriptor {
    uint32_t read, read_high, write, write_high, next, next_high;
    uint16_t bytes;
    uint8_t read_burst, write_burst;
    uint16_t transferred;
    uint8_t status, control;
};
#define OWNED_BY_HARDWARE 0x80
/* Errors of a received frame: truncated, among others. */
#define STATUS_ERRORS 0x3f
#define GENERATE_EOP 0x01

#define DESCRIPTORS ((volatile struct descriptor *)(uintptr_t)(0x05000000u | UNCACHED))
#define TX_DESCRIPTOR (&DESCRIPTORS[0])
#define TX_END (&DESCRIPTORS[1])
#define RX_DESCRIPTOR (&DESCRIPTORS[2])
#define RX_END (&DESCRIPTORS[3])

static struct pbuf *receiving;

static void describe(volatile struct descriptor *descriptor, volatile struct descriptor *end, uint32_t read,
                     uint32_t write, uint16_t bytes, uint8_t control)
{
    /* The end of a chain is a descriptor that is the processor's. */
    end->control = 0;
    descriptor->read = read;
    descriptor->read_high = 0;
    descriptor->write = write;
    descriptor->write_high = 0;
    descriptor->next = packet_bus_address((const void *)end);
    descriptor->next_high = 0;
    descriptor->bytes = bytes;
    descriptor->read_burst = 0;
    descriptor->write_burst = 0;
    descriptor->transferred = 0;
    descriptor->status = 0;
    descriptor->control = (uint8_t)(control | OWNED_BY_HARDWARE);
}

static void start_dma(uint32_t controller, volatile struct descriptor *descriptor, uint32_t control)
{
    write_register(controller + SGDMA_CONTROL, 0);
    write_register(controller + SGDMA_STATUS, STATUS_ALL);
    write_register(controller + SGDMA_NEXT, packet_bus_address((const void *)descriptor));
    write_register(controller + SGDMA_CONTROL, control | CONTROL_RUN | CONTROL_STOP_ON_ERROR);
}

static void receive_next(void)
{
    uint8_t *buffer = (uint8_t *)receiving->payload;
    /* A length of 0 is up to the end of the packet. */
    describe(RX_DESCRIPTOR, RX_END, 0, packet_bus_address(buffer), 0, 0);
    /* A frame with an error, such as a truncated one, ends the transfer without completing the chain. */
    start_dma(SGDMA_RX, RX_DESCRIPTOR, CONTROL_IE_ERROR | CONTROL_IE_CHAIN_COMPLETED | CONTROL_IE_GLOBAL);
}

static void tse_start(const uint8_t mac[6])
{
    write_register(MAC + MAC_ADDRESS_0,
                   mac[0] | (uint32_t)mac[1] << 8 | (uint32_t)mac[2] << 16 | (uint32_t)mac[3] << 24);
    write_register(MAC + MAC_ADDRESS_1, mac[4] | (uint32_t)mac[5] << 8);
    write_register(MAC + MAC_FRAME_LENGTH, MAX_FRAME);
    if (!HOLDS_WHOLE_FRAMES) {
        write_register(MAC + MAC_RX_SECTION_FULL, RECEIVE_THRESHOLD);
        write_register(MAC + MAC_TX_SECTION_FULL, SEND_THRESHOLD);
    }
    write_register(MAC + MAC_TX_CMD_STAT, SHIFT16_TX);
    write_register(MAC + MAC_RX_CMD_STAT, SHIFT16_RX);
    write_register(MAC + MAC_COMMAND_CONFIG, COMMAND_TX_ENABLE | COMMAND_RX_ENABLE | (LINE_MBIT == 1000 ? COMMAND_GIGABIT : 0));
    receiving = packet_take(MAX_FRAME);
    receive_next();
}

static bool tse_send(const uint8_t *frame, uint32_t len)
{
    /* With the two bytes before it, which the MAC removes. */
    uint32_t address = packet_bus_address(frame) - 2;
    describe(TX_DESCRIPTOR, TX_END, address, 0, (uint16_t)(len + 2), GENERATE_EOP);
    start_dma(SGDMA_TX, TX_DESCRIPTOR, 0);
    while (read_register(SGDMA_TX + SGDMA_STATUS) & STATUS_BUSY)
        ;
    write_register(SGDMA_TX + SGDMA_CONTROL, 0);
    return true;
}

static void tse_interrupt(void)
{
    write_register(SGDMA_RX + SGDMA_CONTROL, CONTROL_CLEAR_INTERRUPT);
    if ((read_register(SGDMA_RX + SGDMA_STATUS) & STATUS_BUSY) != 0)
        return;
    uint16_t len = RX_DESCRIPTOR->transferred;
    /* A FIFO that holds whole frames truncates them only when the others before are not fetched: lwIP drops those, by the
     * length in their IP header. */
    bool is_complete = HOLDS_WHOLE_FRAMES || (RX_DESCRIPTOR->status & STATUS_ERRORS) == 0;
    struct pbuf *next = is_complete ? packet_take(MAX_FRAME) : NULL;
    /* Without a free buffer, too, the frame is lost, and its buffer used again. */
    if (next != NULL && len > 2) {
        receiving->len = receiving->tot_len = len;
        device_received(receiving);
        receiving = next;
    }
    receive_next();
}

const struct device tse = {
    .name = "tse",
    .has_dma = true,
    .interrupt_line = RX_LINE,
    .start = tse_start,
    .send = tse_send,
    .on_interrupt = tse_interrupt,
};
