#include "segment.h"
#include <string.h>

static unsigned be16(const uint8_t *at)
{
    return at[0] << 8 | at[1];
}

static uint32_t be32(const uint8_t *at)
{
    return (uint32_t)be16(at) << 16 | be16(at + 2);
}

static void put16(uint8_t *at, unsigned value)
{
    at[0] = value >> 8;
    at[1] = value;
}

static void put32(uint8_t *at, uint32_t value)
{
    put16(at, value >> 16);
    put16(at + 2, value & 0xffff);
}

static uint32_t sum(uint32_t sum, const uint8_t *at, unsigned octets)
{
    for (; octets > 1; octets -= 2, at += 2)
        sum += be16(at);
    return octets ? sum + (*at << 8) : sum;
}

static unsigned folded(uint32_t sum)
{
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return ~sum & 0xffff;
}

int read_segment(const uint8_t *frame, unsigned octets, const struct station *own, struct segment *out)
{
    if (octets < 54 || be16(frame + 12) != 0x0800 || frame[23] != 6 || memcmp(frame + 30, own->ip, 4))
        return 0;
    unsigned header = (frame[14] & 15) * 4, total = be16(frame + 16);
    const uint8_t *tcp = frame + 14 + header;
    unsigned words = (tcp[12] >> 4) * 4;
    if (total + 14 > octets || header + words > total)
        return 0;
    *out = (struct segment){.source = be16(tcp), .destination = be16(tcp + 2), .sequence = be32(tcp + 4),
                            .acknowledgment = be32(tcp + 8), .window = be16(tcp + 14), .flags = tcp[13],
                            .payload = tcp + words, .octets = total - header - words};
    memcpy(out->peer.mac, frame + 6, 6);
    memcpy(out->peer.ip, frame + 26, 4);
    for (unsigned at = 20; at + 3 < words && tcp[at];) {
        if (tcp[at] == 2)
            out->mss = be16(tcp + at + 2);
        if (tcp[at] != 1 && !tcp[at + 1])
            break;
        at += tcp[at] == 1 ? 1 : tcp[at + 1];
    }
    return 1;
}

unsigned build_segment(uint8_t *frame, const struct station *own, const struct segment *it)
{
    static uint16_t identification = 4711;
    unsigned options = it->mss ? 4 : 0, length = 20 + options + it->octets;
    uint8_t *ip = frame + 14, *tcp = frame + 34;
    memset(frame, 0, 60);
    memcpy(frame, it->peer.mac, 6);
    memcpy(frame + 6, own->mac, 6);
    put16(frame + 12, 0x0800);
    ip[0] = 0x45;
    put16(ip + 2, 20 + length);
    put16(ip + 4, identification++);
    ip[8] = 255;
    ip[9] = 6;
    memcpy(ip + 12, own->ip, 4);
    memcpy(ip + 16, it->peer.ip, 4);
    put16(ip + 10, folded(sum(0, ip, 20)));
    put16(tcp, it->source);
    put16(tcp + 2, it->destination);
    put32(tcp + 4, it->sequence);
    put32(tcp + 8, it->acknowledgment);
    tcp[12] = (20 + options) / 4 << 4;
    tcp[13] = it->flags;
    put16(tcp + 14, it->window);
    if (it->mss) {
        tcp[20] = 2;
        tcp[21] = 4;
        put16(tcp + 22, it->mss);
    }
    if (it->octets)
        memcpy(tcp + 20 + options, it->payload, it->octets);
    put16(tcp + 16, folded(sum(sum(6 + length, ip + 12, 8), tcp, length)));
    return 34 + length < 60 ? 60 : 34 + length;
}

unsigned answer(uint8_t *frame, unsigned octets, const struct station *own)
{
    if (octets >= 42 && be16(frame + 12) == 0x0806 && be16(frame + 20) == 1 && !memcmp(frame + 38, own->ip, 4)) {
        memcpy(frame, frame + 6, 6);
        memcpy(frame + 6, own->mac, 6);
        put16(frame + 20, 2);
        memcpy(frame + 32, frame + 22, 10);
        memcpy(frame + 22, own->mac, 6);
        memcpy(frame + 28, own->ip, 4);
        return octets < 60 ? 60 : octets;
    }
    if (octets >= 42 && be16(frame + 12) == 0x0800 && frame[23] == 1 && frame[34] == 8 &&
        !memcmp(frame + 30, own->ip, 4)) {
        memcpy(frame, frame + 6, 6);
        memcpy(frame + 6, own->mac, 6);
        memcpy(frame + 30, frame + 26, 4);
        memcpy(frame + 26, own->ip, 4);
        frame[34] = 0;
        put16(frame + 36, 0);
        put16(frame + 36, folded(sum(0, frame + 34, be16(frame + 16) - 20)));
        return octets;
    }
    return 0;
}
