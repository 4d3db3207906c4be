/* linerate's network drivers for firmware in C: virtio-net, ENET (i.MX 6), LAN9118, LAN91C111.
 *
 * A driver allocates nothing, reads no clock, has no thread and never blocks. Its main loop:
 *
 *     static uint64_t state[LINERATE_NIC_VIRTIO_STATE / 8];
 *     static uint8_t memory[LINERATE_NIC_VIRTIO_MEMORY] __attribute__((aligned(64)));
 *     linerate_nic_setup setup = { state, sizeof state, memory, sizeof memory, {2, 0, 0, 0, 0, 1}, NULL, NULL };
 *     linerate_nic *nic;
 *     if (linerate_nic_virtio(&nic, &setup, 0x10001000) != LINERATE_NIC_STARTED) ...
 *
 *     for (;;) {
 *         while ((frame = linerate_nic_lend(nic, &octets)) != NULL) ...   or linerate_nic_receive
 *         ...                                                             timers; linerate_nic_poll_link now and then
 *         if (linerate_nic_unmask(nic))
 *             sleep until an interrupt or the next timer
 *         linerate_nic_mask(nic);
 *     }
 *
 * ../lwip/linerate_netif.c is this for lwIP.
 *
 * Interrupts: frames are received by polling with the interrupt masked in the device, so a flood causes none.
 * unmask enables it, mask disables it and clears what is pending. In a super loop interrupts need not even be
 * taken: a pending one wakes the processor. With an RTOS, the handler only disables the interrupt in the interrupt
 * controller and wakes the thread that owns the driver; that thread calls mask and enables it again. No function may
 * be called while another one of the same driver runs, nor from an interrupt handler that can interrupt one; with an
 * RTOS use the lock of the stack (lwIP: the core lock). The counters are the exception: they can be read at any time.
 *
 * Copies: a lent frame is in the buffer that the device wrote, and none is made. receive passes the driver's buffer,
 * from which the stack copies once. A sent frame is gathered from its parts into the driver's buffer: one copy.
 * Drivers without DMA (LAN9118, LAN91C111) move words between the device and their own buffer, and do not lend.
 */
#ifndef LINERATE_NIC_H
#define LINERATE_NIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Octets of a driver's state, aligned to 8: ordinary memory. */
#define LINERATE_NIC_VIRTIO_STATE 8192
#define LINERATE_NIC_ENET_STATE 8192
#define LINERATE_NIC_LAN9118_STATE 1024
#define LINERATE_NIC_LAN91C111_STATE 1024
/* Octets of a driver's rings and buffers, aligned to 64. With DMA (32 frames in each direction): where the device can
 * access it, at the same address; uncached, or with cache operations below. Without DMA: two frames. */
#define LINERATE_NIC_VIRTIO_MEMORY 106496
#define LINERATE_NIC_ENET_MEMORY 106496
#define LINERATE_NIC_LAN9118_MEMORY 4096
#define LINERATE_NIC_LAN91C111_MEMORY 4096
/* Receive buffers of a driver with DMA: as many frames can be lent. */
#define LINERATE_NIC_FRAMES 32

typedef struct linerate_nic linerate_nic;

/* Memory of a driver, for good: it must not be moved or modified. */
typedef struct {
    void *state;
    size_t state_octets;
    void *memory;
    size_t memory_octets;
    uint8_t mac[6];  /* used if the device has no address of its own */
    /* Cache operations; NULL: no data cache, or a coherent one. clean writes lines back to memory, invalidate
     * discards them. */
    void (*clean)(uintptr_t address, size_t octets);
    void (*invalidate)(uintptr_t address, size_t octets);
} linerate_nic_setup;

/* ---- Starting: writes the driver to *nic; with another result than STARTED, NULL. ---- */

#define LINERATE_NIC_STARTED 0
#define LINERATE_NIC_TOO_SMALL 1  /* a memory is too small, or not aligned */
#define LINERATE_NIC_FAILED 2     /* no such device at this address, or it does not work */

/* virtio-net over MMIO (virtio 1.2, not the legacy interface). */
uint8_t linerate_nic_virtio(linerate_nic **nic, const linerate_nic_setup *setup, uintptr_t base);

/* LAN9118 family on a 32-bit bus; its interrupt pin is push-pull and active high, or open drain and active low. */
uint8_t linerate_nic_lan9118(linerate_nic **nic, const linerate_nic_setup *setup, uintptr_t base,
                             bool irq_active_high);

/* LAN91C111 on a bus with byte enables. */
uint8_t linerate_nic_lan91c111(linerate_nic **nic, const linerate_nic_setup *setup, uintptr_t base);

typedef struct {
    uint32_t bus_hz;          /* ipg_clk, from which the MDIO clock is derived */
    uint8_t phy;              /* its MDIO address */
    bool is_rgmii;            /* else RMII */
    bool verifies_checksums;  /* the receiver does; an emulated one may not */
    bool promiscuous;
} linerate_nic_enet;

/* ENET with enhanced descriptors. Pins and clocks are set up; the PHY negotiates from here on. */
uint8_t linerate_nic_enet_start(linerate_nic **nic, const linerate_nic_setup *setup, uintptr_t base,
                                const linerate_nic_enet *enet);

/* ---- Driving. With a NULL driver nothing happens: false, NULL or NO_ROOM. ---- */

/* Bits of checksums. */
#define LINERATE_NIC_IPV4 1
#define LINERATE_NIC_TCP 2
#define LINERATE_NIC_UDP 4
#define LINERATE_NIC_ICMP 8

typedef struct {
    uint8_t mac[6];
    uint16_t mtu;                /* longest IP packet: 1500 */
    uint16_t burst_frames;       /* maximum-length frames that the device buffers; 0: unlimited */
    uint8_t checksums_verified;  /* frames with a wrong one are dropped */
    uint8_t checksums_inserted;  /* the stack must leave these zero */
    bool lends;                  /* linerate_nic_lend works */
} linerate_nic_capabilities;

bool linerate_nic_describe(linerate_nic *nic, linerate_nic_capabilities *found);

/* Passes the next received frame, without FCS, to take, which copies it and returns true, or rejects it. It must not
 * call any function of the driver, and the frame is valid only until it returns. False: there is no frame. */
typedef bool (*linerate_nic_take)(void *context, uint8_t *frame, size_t octets);
bool linerate_nic_receive(linerate_nic *nic, linerate_nic_take take, void *context);

/* The next received frame in its buffer, which is the caller's, as are the two octets before it, until it gives it
 * back. An IP header in it (14 octets behind the start) is at a word boundary. NULL: there is no frame, or the driver
 * does not lend. */
uint8_t *linerate_nic_lend(linerate_nic *nic, size_t *octets);
/* Gives back a lent frame, by any address in it; false: it was not lent. */
bool linerate_nic_give_back(linerate_nic *nic, const uint8_t *frame);

/* Part of a frame to send. */
typedef struct {
    const void *octets;
    size_t length;
} linerate_nic_part;

#define LINERATE_NIC_SENT 0
#define LINERATE_NIC_NO_ROOM 1   /* now; try again later */
#define LINERATE_NIC_TOO_LONG 2  /* more than the MTU and 14 octets */

/* Sends a frame, from its destination address to the end of its data; padding and FCS are added. The parts are the
 * caller's again when it returns. */
uint8_t linerate_nic_transmit(linerate_nic *nic, const linerate_nic_part *parts, size_t count);

/* Follows the link, and returns true if it is up. Call it a few times per second. */
bool linerate_nic_poll_link(linerate_nic *nic);

/* Enables the interrupt of received frames. False: do not sleep, there is something to do. */
bool linerate_nic_unmask(linerate_nic *nic);
/* Disables it, and clears a pending one. */
void linerate_nic_mask(linerate_nic *nic);

/* Stops the device: it accesses no memory any more. resume starts it again; false: it failed, try again. */
void linerate_nic_halt(linerate_nic *nic);
bool linerate_nic_resume(linerate_nic *nic);

/* ---- The ledger: counters of the fate of each frame. They wrap at 2^32. ---- */

/* The counter of this name, such as "RxFrames"; false: there is none. */
bool linerate_nic_counter(const linerate_nic *nic, const char *name, uint32_t *count);
/* The counter of this number and its name, truncated to room; false behind the last. */
bool linerate_nic_counter_at(const linerate_nic *nic, size_t index, char *name, size_t room, uint32_t *count);

#ifdef __cplusplus
}
#endif

#endif
