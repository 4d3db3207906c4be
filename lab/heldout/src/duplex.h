/* A link with full duplex at one end and half duplex at the other (IEEE 802.3 clauses 4.1.2 and 4.2.3). */
#ifndef DUPLEX_H
#define DUPLEX_H

#include "path.h"

/* Sets the link up: its bit rate, the end with half duplex, the two directions by the end that they lead to. */
void duplex_start(double rate, int half_duplex_end, struct direction *to_a, struct direction *to_b);
/* Queues a frame for the link. Returns 0 if there is no such link. */
int duplex_link(struct direction *dir, ns_t at, const uint8_t *data, unsigned octets);
/* Advances the link to this time. Returns when it has to be advanced next, 0 if nothing waits. */
ns_t duplex_advance(ns_t to);

#endif
