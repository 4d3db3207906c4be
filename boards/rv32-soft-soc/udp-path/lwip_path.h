/* The same datagrams through lwIP's sockets. */
#ifndef LWIP_PATH_H
#define LWIP_PATH_H

#include <stdint.h>

/* Starts the stack on the ring; calls `started` in its thread. */
void lwip_path_start(void (*started)(void));
/* A socket for the peer. */
int lwip_path_open(void);
void lwip_path_send(int socket, const uint8_t *data, uint32_t len);

#endif
