/* Frames that wait in the device, each until its time. */
#ifndef QUEUE_H
#define QUEUE_H

#include <stdint.h>

typedef int64_t ns_t;
enum { RING = 4096, FRAME = 1600 };

struct held {
    ns_t at;
    unsigned octets;
    uint8_t data[FRAME];
};

struct queue {
    struct held *frames;   /* RING of them */
    unsigned first, used;
};

static inline struct held *push(struct queue *queue)
{
    return &queue->frames[(queue->first + queue->used++) % RING];
}

static inline struct held *head(struct queue *queue)
{
    return &queue->frames[queue->first];
}

static inline void drop(struct queue *queue)
{
    queue->first = (queue->first + 1) % RING;
    queue->used--;
}

#endif
