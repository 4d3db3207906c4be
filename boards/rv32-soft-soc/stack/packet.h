/* Pools of packet buffers, as NicheStack's big and little buffers, and the Internet checksum of packets. */
#ifndef PACKET_H
#define PACKET_H

#include <stdbool.h>
#include <stdint.h>

struct pbuf;

/* Places the buffers: in the packet RAM or in the program's memory; `uncached` for a device with DMA.
 * `unit`: the checksum unit computes checksums. If the data cache may hold packets, it is flushed before: all of it
 * if its size `cache_bytes` is not 0, else the lines to be added. */
void packet_init(bool in_packet_ram, bool uncached, bool unit, uint32_t cache_bytes);
/* An empty buffer for a received frame of up to `len` bytes, with a pad before it; NULL if there is none.
 * With interrupts off only. */
struct pbuf *packet_take(uint16_t len);
/* LWIP_CHKSUM: the Internet checksum of `len` bytes, not inverted. */
uint16_t packet_checksum(const void *data, int len);
/* The address at which a bus master finds `data`. */
uint32_t packet_bus_address(const void *data);

#endif
