/* lwIP's network interface on a driver of linerate. lwIP 2.2, raw API or tcpip thread. */
#ifndef LINERATE_NETIF_H
#define LINERATE_NETIF_H

#include "linerate_nic.h"
#include "lwip/netif.h"

/* For netif_add; its state is the driver:
 *     netif_add(&netif, &address, &mask, &gateway, nic, linerate_netif_init, ethernet_input); */
err_t linerate_netif_init(struct netif *netif);
/* Passes at most `budget` received frames to the stack; returns their number. In the stack's thread. */
int linerate_netif_poll(struct netif *netif, int budget);
/* Follows the link. In the stack's thread, a few times per second. */
void linerate_netif_poll_link(struct netif *netif);

#endif
