/* What the forwarder reads from a frame, and what it rewrites. */
#ifndef FRAME_H
#define FRAME_H

#include <stdint.h>

enum { SYN = 2 }; /* a flag of TCP */
enum { STRIP_SACK = 1, STRIP_SCALE = 2, STRIP_STAMPS = 4 };

/* Offsets into an Ethernet frame; `tcp` and `udp` are 0 if it has no such header. */
struct parsed {
    unsigned ip, tcp, udp;
    unsigned ip_octets;    /* total length of the IP packet */
    unsigned payload;      /* octets of TCP or UDP payload */
    uint8_t flags;         /* of TCP */
    uint16_t source, destination;
    uint64_t connection;   /* the same for both directions */
};

/* Reads IPv4 with TCP or UDP; other frames leave everything 0. */
void parse(const uint8_t *frame, unsigned octets, struct parsed *out);
/* Lowers the MSS option of a SYN to `mss` (0: leave it), and overwrites the options in `strip` with no-operations. */
void rewrite_syn(uint8_t *frame, const struct parsed *at, unsigned mss, unsigned strip);
/* Inverts one bit of the TCP or UDP payload (of the header if there is none) without mending the checksum. */
void flip_bit(uint8_t *frame, unsigned octets, const struct parsed *at, uint32_t random);

#endif
