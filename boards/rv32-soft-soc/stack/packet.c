#include "packet.h"

#include "FreeRTOS.h"
#include "board.h"
#include "lwip/pbuf.h"
#include "lwip/sys.h"
#include "task.h"

#define BIG_COUNT 30
#define BIG_BYTES 1536
#define LITTLE_COUNT 30
#define LITTLE_BYTES 256

struct packet {
    struct pbuf_custom custom;
    struct packet *next;
    uint8_t *memory;
    uint16_t size;
};

struct pool {
    struct packet *free;
};

/* lwIP compares the address of a header with that of its pbuf: descriptions first, then buffers. */
static struct packet packets[BIG_COUNT + LITTLE_COUNT];
static uint8_t heap_buffers[BIG_COUNT * BIG_BYTES + LITTLE_COUNT * LITTLE_BYTES]
    __attribute__((section(".bss.z_buffers"), aligned(32)));
static uint8_t ram_buffers[sizeof(heap_buffers)] __attribute__((section(".packet"), aligned(32)));
static struct pool big, little;
static bool has_unit;
static bool is_cached;
static uint32_t flushed_bytes;

u16_t lwip_standard_chksum(const void *data, int len);
struct pbuf *__real_pbuf_alloc(pbuf_layer layer, u16_t length, pbuf_type type);

static void give_back(struct pbuf *p)
{
    struct packet *packet = (struct packet *)p;
    struct pool *pool = packet->size == BIG_BYTES ? &big : &little;
    SYS_ARCH_DECL_PROTECT(level);
    SYS_ARCH_PROTECT(level);
    packet->next = pool->free;
    pool->free = packet;
    SYS_ARCH_UNPROTECT(level);
}

void packet_init(bool in_packet_ram, bool uncached, bool unit, uint32_t cache_bytes)
{
    uintptr_t memory = (uintptr_t)(in_packet_ram ? ram_buffers : heap_buffers);
    if (uncached)
        memory |= UNCACHED;
    has_unit = unit;
    is_cached = !uncached && !in_packet_ram;
    flushed_bytes = cache_bytes;
    for (int i = 0; i < BIG_COUNT + LITTLE_COUNT; i++) {
        struct packet *packet = &packets[i];
        packet->size = i < BIG_COUNT ? BIG_BYTES : LITTLE_BYTES;
        packet->memory = (uint8_t *)memory;
        packet->custom.custom_free_function = give_back;
        memory += packet->size;
        give_back(&packet->custom.pbuf);
    }
}

static struct packet *take(struct pool *pool)
{
    struct packet *packet = pool->free;
    if (packet != NULL)
        pool->free = packet->next;
    return packet;
}

static struct pool *pool_for(uint32_t bytes)
{
    return bytes <= LITTLE_BYTES ? &little : &big;
}

static struct pbuf *describe(struct packet *packet, pbuf_layer layer, u16_t length)
{
    if (packet == NULL)
        return NULL;
    return pbuf_alloced_custom(layer, length, PBUF_RAM, &packet->custom, packet->memory, packet->size);
}

struct pbuf *packet_take(uint16_t len)
{
    uint16_t padded = (uint16_t)(len + ETH_PAD_SIZE);
    return describe(take(&big), PBUF_RAW, padded);
}

/* The linker leads calls of pbuf_alloc here: buffers in RAM come from the pools. */
struct pbuf *__wrap_pbuf_alloc(pbuf_layer layer, u16_t length, pbuf_type type)
{
    if (type != PBUF_RAM)
        return __real_pbuf_alloc(layer, length, type);
    SYS_ARCH_DECL_PROTECT(level);
    SYS_ARCH_PROTECT(level);
    struct packet *packet = take(pool_for(LWIP_MEM_ALIGN_SIZE((uint32_t)layer) + length));
    SYS_ARCH_UNPROTECT(level);
    return describe(packet, layer, length);
}

uint32_t packet_bus_address(const void *data)
{
    return (uint32_t)(uintptr_t)data & ~UNCACHED;
}

uint16_t packet_checksum(const void *data, int len)
{
    if (!has_unit)
        return lwip_standard_chksum(data, len);
    if (is_cached && flushed_bytes > 0)
        board_flush_all(flushed_bytes);
    else if (is_cached)
        board_flush(data, (uint32_t)len);
    /* One caller at a time: lwIP's core lock. */
    return board_checksum(packet_bus_address(data), (uint32_t)len);
}
