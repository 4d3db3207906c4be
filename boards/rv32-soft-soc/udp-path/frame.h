/* Frames with an IPv4 datagram of UDP, and the table of neighbours' addresses. */
#ifndef FRAME_H
#define FRAME_H

#include <stdbool.h>
#include <stdint.h>

#define OWN_ADDRESS 0x0a000002u
#define PEER_ADDRESS 0x0a000001u
#define PEER_PORT 5471
#define FRAME_HEADERS 42

/* The program's address, and that of its peer, which the table of neighbours holds. */
extern const uint8_t own_mac[6];
extern const uint8_t peer_mac[6];

/* Fills the table as after the answer to the first request. */
void neighbour_start(void);
/* The Ethernet address of `address`, which is not older than the table's limit; NULL if it must be asked for. */
const uint8_t *neighbour_find(uint32_t address);
/* Writes UDP's and IP's headers before `len` bytes of payload in `frame`, with checksums in software. */
void frame_build_ip(uint8_t *frame, uint16_t source_port, uint32_t destination, uint16_t port, uint32_t len);
/* Writes the Ethernet header; false if the neighbour is not known. */
bool frame_build_ethernet(uint8_t *frame, uint32_t destination);
/* The Internet checksum of `len` bytes, 16 bits at a time, added to `sum`; not inverted. */
uint16_t frame_checksum(uint16_t sum, const uint8_t *data, uint32_t len);

#endif
