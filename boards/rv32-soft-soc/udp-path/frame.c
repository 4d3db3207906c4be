#include "frame.h"

#include <stddef.h>
#include <string.h>

#include "FreeRTOS.h"
#include "task.h"

#define NEIGHBOURS 16
/* Entries are asked for again after this long. */
#define NEIGHBOUR_TICKS (120 * configTICK_RATE_HZ)

struct neighbour {
    uint32_t address;
    uint8_t mac[6];
    TickType_t since;
};

const uint8_t own_mac[6] = {2, 0, 0, 0, 0, 2};
const uint8_t peer_mac[6] = {2, 0, 0, 0, 0, 1};
static struct neighbour neighbours[NEIGHBOURS];
static uint16_t next_identification;

void neighbour_start(void)
{
    neighbours[0].address = PEER_ADDRESS;
    memcpy(neighbours[0].mac, peer_mac, sizeof(peer_mac));
    neighbours[0].since = xTaskGetTickCount();
}

const uint8_t *neighbour_find(uint32_t address)
{
    TickType_t now = xTaskGetTickCount();
    for (int i = 0; i < NEIGHBOURS; i++)
        if (neighbours[i].address == address && now - neighbours[i].since <= NEIGHBOUR_TICKS)
            return neighbours[i].mac;
    return NULL;
}

uint16_t frame_checksum(uint16_t sum, const uint8_t *data, uint32_t len)
{
    for (uint32_t at = 0; at < len; at += 2) {
        uint16_t low = at + 1 < len ? data[at + 1] : 0;
        uint16_t word = (uint16_t)(data[at] << 8 | low);
        sum = (uint16_t)(sum + word);
        if (sum < word)
            sum++;
    }
    return sum;
}

static void put16(uint8_t *at, uint16_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static void put32(uint8_t *at, uint32_t value)
{
    put16(at, (uint16_t)(value >> 16));
    put16(at + 2, (uint16_t)value);
}

void frame_build_ip(uint8_t *frame, uint16_t source_port, uint32_t destination, uint16_t port, uint32_t len)
{
    uint8_t *ip = frame + 14;
    uint8_t *udp = ip + 20;
    put16(udp, source_port);
    put16(udp + 2, port);
    put16(udp + 4, (uint16_t)(8 + len));
    put16(udp + 6, 0);
    put16(ip, 0x4500);
    put16(ip + 2, (uint16_t)(28 + len));
    put16(ip + 4, next_identification++);
    put16(ip + 6, 0);
    /* Time to live 64, UDP. */
    put16(ip + 8, 0x4011);
    put16(ip + 10, 0);
    put32(ip + 12, OWN_ADDRESS);
    put32(ip + 16, destination);
    put16(ip + 10, (uint16_t)~frame_checksum(0, ip, 20));
    /* Of the pseudo header: protocol, length, both addresses. */
    uint16_t sum = frame_checksum((uint16_t)(17 + 8 + len), ip + 12, 8);
    uint16_t checksum = (uint16_t)~frame_checksum(sum, udp, 8 + len);
    put16(udp + 6, checksum == 0 ? 0xffff : checksum);
}

bool frame_build_ethernet(uint8_t *frame, uint32_t destination)
{
    const uint8_t *mac = neighbour_find(destination);
    if (mac == NULL)
        return false;
    memcpy(frame, mac, 6);
    memcpy(frame + 6, own_mac, 6);
    put16(frame + 12, 0x0800);
    return true;
}
