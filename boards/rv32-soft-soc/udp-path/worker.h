/* A thread that does queued work, one item after the other. */
#ifndef WORKER_H
#define WORKER_H

#include <stdbool.h>
#include <stdint.h>

struct work {
    struct work *next;
    void (*function)(void *argument);
    void *argument;
    bool is_queued;
};

void worker_start(uint32_t priority);
/* Queues it; nothing happens if it is queued already. */
void worker_queue(struct work *work);
/* The same in an interrupt handler. */
void worker_queue_from_interrupt(struct work *work);

#endif
