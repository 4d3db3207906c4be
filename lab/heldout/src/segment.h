/* Frames that the device builds and reads: ARP, ICMP echo, TCP over IPv4. */
#ifndef SEGMENT_H
#define SEGMENT_H

#include <stdint.h>

enum { FIN = 1, SYN = 2, RST = 4, PSH = 8, ACK = 16 };

struct station {
    uint8_t mac[6], ip[4];
};

struct segment {
    struct station peer;
    uint16_t source, destination;
    uint32_t sequence, acknowledgment;
    uint16_t window;
    uint8_t flags;
    uint16_t mss;              /* of a SYN, 0 if it has none */
    const uint8_t *payload;
    unsigned octets;
};

/* Reads a TCP segment to `own`; false for anything else. */
int read_segment(const uint8_t *frame, unsigned octets, const struct station *own, struct segment *out);
/* Builds a segment from `own`; returns the octets of the frame. */
unsigned build_segment(uint8_t *frame, const struct station *own, const struct segment *it);
/* Turns an ARP or echo request for `own` into its answer in place; returns its octets, 0 if it was none. */
unsigned answer(uint8_t *frame, unsigned octets, const struct station *own);

#endif
