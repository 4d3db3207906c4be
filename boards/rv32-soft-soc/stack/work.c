#include "work.h"

/* A frame longer than an acknowledgment. */
#define DATA_BYTES 128

uint32_t work_blocks_sent, work_blocks_received;

/* Executes `count` blocks from block `from` on; returns the next block. blocks.S */
uint32_t work_execute(uint32_t from, uint32_t count);

static void work(uint32_t len, uint32_t count)
{
    static uint32_t next;
    if (len >= DATA_BYTES && count > 0)
        next = work_execute(next, count);
}

void work_sent(uint32_t len)
{
    work(len, work_blocks_sent);
}

void work_received(uint32_t len)
{
    work(len, work_blocks_received);
}
