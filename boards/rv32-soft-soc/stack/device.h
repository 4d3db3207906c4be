/* What lwIP's netif needs of a network device: drivers as those of the paper's kit, which hand the stack's own
 * packet buffers to the device. */
#ifndef DEVICE_H
#define DEVICE_H

#include <stdbool.h>
#include <stdint.h>

struct pbuf;

struct device {
    const char *name;
    /* A bus master: packets must not be in the data cache. */
    bool has_dma;
    int interrupt_line;
    void (*start)(const uint8_t mac[6]);
    /* Sends a frame in one buffer, which stays the caller's; true if the device took it. */
    bool (*send)(const uint8_t *frame, uint32_t len);
    void (*on_interrupt)(void);
};

extern const struct device tse;
extern const struct device lan91c111;

/* Called by a driver in its interrupt handler: a received frame, which is the stack's from now on. */
void device_received(struct pbuf *frame);

#endif
