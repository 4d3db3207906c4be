/* Additional software for each data packet: the volume by which another stack, or an application, exceeds this
 * one. It executes instructions; nothing else in the program depends on it. */
#ifndef WORK_H
#define WORK_H

#include <stdbool.h>
#include <stdint.h>

/* Blocks of instructions (blocks.S) for each data packet sent and received. */
extern uint32_t work_blocks_sent, work_blocks_received;
/* True: copy each frame that a DMA controller received. */
extern bool work_copies_received;

void work_sent(uint32_t len);
void work_received(uint32_t len);
/* The application's own work for each of its calls. */
void work_of_call(uint32_t blocks);

#endif
