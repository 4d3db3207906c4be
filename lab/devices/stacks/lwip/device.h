/* What the parts of the lwIP device share. */
#ifndef DEVICE_H
#define DEVICE_H

#include "lwip/ip_addr.h"

struct settings {
    const char *role;
    ip_addr_t ip, mask, gate, peer;
    int port, request, answer, chunk, pause, think, count, nodelay, split, works, stops, frame_us, wakes, after, seconds, stack;
    long octets, flash;
};

extern struct settings set;

int is(const char *role);
/* The device does nothing for a time, as with interrupts off or code in a flash chip that is erased. */
void stand_still(int ms);
/* After so many octets, a sector of flash is erased: ms of it, or 0. */
int erase_due(long octets);
void begin_applications(void);
void begin_servers(void);

#endif
