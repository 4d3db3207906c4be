/* The captures of simulated.cc: pcap of raw IP. */
#pragma once

#include "ns3/network-module.h"

#include <cstdio>
#include <cstring>
#include <string>

using namespace ns3;

static const uint32_t SNAP = 2000;

static uint32_t mss = 1440;

static uint16_t sum(const uint8_t *octets, uint32_t length, uint32_t so_far)
{
    for (uint32_t i = 0; i < length; i += 2) {
        so_far += octets[i] << 8 | (i + 1 < length ? octets[i + 1] : 0);
    }
    while (so_far >> 16) {
        so_far = (so_far & 0xffff) + (so_far >> 16);
    }
    return (uint16_t)~so_far;
}

static void put(uint8_t *at, uint16_t value) { at[0] = value >> 8, at[1] = value & 255; }

/* ns-3 knows both ends' segment size and does not announce it; a SYN in the capture does. Returns the octets that this adds. */
static uint32_t announce(uint8_t *ip, uint32_t length)
{
    uint32_t at = (ip[0] & 15) * 4;
    if (ip[9] != 6 || length < at + 20 || !(ip[at + 13] & 2)) {
        return 0;
    }
    uint8_t *tcp = ip + at;
    memmove(tcp + 24, tcp + 20, length - at - 20);
    tcp[20] = 2, tcp[21] = 4;
    put(tcp + 22, (uint16_t)(mss + 12));
    tcp[12] = (uint8_t)(tcp[12] + 0x10);
    length += 4;
    put(ip + 2, (uint16_t)length);
    put(ip + 10, 0);
    put(ip + 10, sum(ip, at, 0));
    put(tcp + 16, 0);
    uint32_t pseudo = 6 + length - at;
    for (int i = 12; i < 20; i += 2) {
        pseudo += ip[i] << 8 | ip[i + 1];
    }
    put(tcp + 16, sum(tcp, length - at, pseudo));
    return 4;
}

/* A pcap of raw IP with microseconds. */
struct Capture {
    FILE *file = nullptr;

    void open(const std::string &name)
    {
        file = fopen(name.c_str(), "wb");
        uint32_t head[6] = {0xa1b2c3d4, 0x00040002, 0, 0, SNAP, 101};
        fwrite(head, sizeof head, 1, file);
    }

    void write(Ptr<const Packet> packet, uint32_t skip)
    {
        static uint8_t octets[SNAP + 4];
        uint32_t length = packet->CopyData(octets, SNAP);
        int64_t t = Simulator::Now().GetMicroSeconds();
        if (length <= skip || octets[skip] >> 4 != 4) {
            return;
        }
        length -= skip;
        uint32_t added = announce(octets + skip, length);
        length += added;
        uint32_t head[4] = {(uint32_t)(1790000000 + t / 1000000), (uint32_t)(t % 1000000), length, packet->GetSize() - skip + added};
        fwrite(head, sizeof head, 1, file);
        fwrite(octets + skip, length, 1, file);
    }
};
