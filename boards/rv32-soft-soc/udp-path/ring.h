/* The seam to the network device: frames in a ring of DMA descriptors. ring_dwmac.c implements it with
 * RING_DWMAC, else ring_tse.c. */
#ifndef RING_H
#define RING_H

#include <stdbool.h>
#include <stdint.h>

#define RING_FRAMES 8
#define RING_FRAME_BYTES 1536
#define RING_INTERRUPT_LINE 4

/* Starts the device; it interrupts at the end of each frame if `interrupts`. */
void ring_start(const uint8_t mac[6], bool interrupts);
/* The buffer of the next frame, whose IP header is on a word boundary; NULL while the ring is full. */
uint8_t *ring_buffer(void);
/* Sends `len` bytes from that buffer. */
void ring_submit(uint32_t len);
/* Buffer `index` of the ring, before it is used. */
uint8_t *ring_frame(int index);
/* In the interrupt handler: takes the interrupt back. */
void ring_acknowledge(void);

#endif
