#include "frame.h"

static unsigned be16(const uint8_t *at)
{
    return at[0] << 8 | at[1];
}

static uint64_t be32(const uint8_t *at)
{
    return (uint64_t)be16(at) << 16 | be16(at + 2);
}

void parse(const uint8_t *frame, unsigned octets, struct parsed *out)
{
    *out = (struct parsed){0};
    if (octets < 34 || be16(frame + 12) != 0x0800)
        return;
    const uint8_t *ip = frame + 14;
    unsigned header = (ip[0] & 15) * 4;
    unsigned total = be16(ip + 2);
    if (header < 20 || total < header || total + 14 > octets)
        return;
    out->ip = 14;
    out->ip_octets = total;
    unsigned at = 14 + header;
    if (ip[9] == 6 && total >= header + 20) {
        out->tcp = at;
        out->flags = frame[at + 13];
        unsigned words = frame[at + 12] >> 4;
        out->payload = total - header > words * 4 ? total - header - words * 4 : 0;
    } else if (ip[9] == 17 && total >= header + 8) {
        out->udp = at;
        out->payload = total - header - 8;
    } else {
        return;
    }
    out->source = be16(frame + at);
    out->destination = be16(frame + at + 2);
    out->connection = be32(ip + 12) + be32(ip + 16) + ((uint64_t)(out->source ^ out->destination) << 32);
}

/* RFC 1624: the checksum after the 16-bit word `old` became `new`. */
static void mend(uint8_t *checksum, unsigned old, unsigned new)
{
    uint32_t sum = (~be16(checksum) & 0xffff) + (~old & 0xffff) + new;
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    sum = ~sum;
    checksum[0] = sum >> 8;
    checksum[1] = sum;
}

/* Writes an octet of the TCP header; the checksum works on words from the header's start. */
static void put(uint8_t *tcp, unsigned at, uint8_t value)
{
    uint8_t *word = tcp + (at & ~1u);
    unsigned old = be16(word);
    tcp[at] = value;
    mend(tcp + 16, old, be16(word));
}

void rewrite_syn(uint8_t *frame, const struct parsed *it, unsigned mss, unsigned strip)
{
    uint8_t *tcp = frame + it->tcp;
    unsigned end = (tcp[12] >> 4) * 4;
    unsigned at = 20;
    while (at < end && tcp[at] != 0) {
        unsigned kind = tcp[at];
        unsigned size = kind == 1 ? 1 : tcp[at + 1];
        if (size == 0 || at + size > end)
            return;
        int gone = (kind == 4 && strip & STRIP_SACK) || (kind == 3 && strip & STRIP_SCALE) ||
                   (kind == 8 && strip & STRIP_STAMPS);
        if (gone)
            for (unsigned i = 0; i < size; i++)
                put(tcp, at + i, 1);
        else if (kind == 2 && mss && be16(tcp + at + 2) > mss) {
            put(tcp, at + 2, mss >> 8);
            put(tcp, at + 3, mss & 255);
        }
        at += size;
    }
}

void flip_bit(uint8_t *frame, unsigned octets, const struct parsed *it, uint32_t random)
{
    unsigned from = it->tcp ? it->tcp : it->udp;
    unsigned end = it->ip + it->ip_octets;
    if (!from || end > octets)
        return;
    if (it->payload)
        from = end - it->payload;
    frame[from + (random >> 3) % (end - from)] ^= 1 << (random & 7);
}
