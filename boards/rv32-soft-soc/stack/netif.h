/* lwIP's network interface: 10.0.0.2/24. */
#ifndef NETIF_H
#define NETIF_H

struct device;

/* Starts it on a device; in the stack's thread. */
void netif_start(const struct device *device);

#endif
