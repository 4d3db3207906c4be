#include "work.h"

/* A frame longer than an acknowledgment. */
#define DATA_BYTES 128

uint32_t work_blocks_sent, work_blocks_received;
bool work_copies_received;

/* Execute `count` blocks from block `from` on; return the next block. blocks.S */
uint32_t work_execute_sent(uint32_t from, uint32_t count);
uint32_t work_execute_received(uint32_t from, uint32_t count);

static uint32_t next;

void work_sent(uint32_t len)
{
    if (len >= DATA_BYTES && work_blocks_sent > 0)
        next = work_execute_sent(next, work_blocks_sent);
}

void work_received(uint32_t len)
{
    if (len >= DATA_BYTES && work_blocks_received > 0)
        next = work_execute_received(next, work_blocks_received);
}

#ifdef CALL_BLOCKS
void work_of_call(uint32_t blocks)
{
    static uint32_t at;
    at = work_execute_sent(at, blocks);
}
#endif
