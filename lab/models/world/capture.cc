#include "capture.h"

#include "settings.h"

#include "ns3/core-module.h"

using namespace ns3;

static const uint32_t IP = 14;

static uint32_t add(const uint8_t *octets, uint32_t length, uint32_t sum)
{
    for (uint32_t i = 0; i < length; i += 2) {
        sum += octets[i] << 8 | (i + 1 < length ? octets[i + 1] : 0);
    }
    return sum;
}

static void put(uint8_t *at, uint32_t value) { at[0] = (uint8_t)(value >> 8), at[1] = (uint8_t)value; }

static uint32_t folded(uint32_t sum)
{
    while (sum >> 16) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return ~sum & 0xffff;
}

Frame frame_of(Ptr<const Packet> packet)
{
    Frame frame(packet->GetSize());
    packet->CopyData(frame.data(), frame.size());
    frame.resize(frame.size() - 4);
    return frame;
}

void complete(Frame &frame)
{
    if (frame.size() < IP + 40 || frame[12] != 8 || frame[13] != 0 || frame[IP] != 0x45 || frame[IP + 9] != 6) {
        return;
    }
    uint32_t total = frame[IP + 2] << 8 | frame[IP + 3];
    uint8_t *tcp = &frame[IP + 20];
    uint32_t header = (tcp[12] >> 4) * 4, payload = total - 20 - header;
    bool is_changed = false;
    if (tcp[13] & 2) {
        for (uint32_t i = 20; i < header && tcp[i] != 0; i += tcp[i] == 1 ? 1 : std::max<uint32_t>(tcp[i + 1], 2)) {
            if (tcp[i] == 2) {
                return;
            }
        }
        Frame option = {2, 4, 0, 0};
        put(&option[2], settings.host_mss + (settings.stamps ? 12 : 0));
        frame.resize(IP + total);
        frame.insert(frame.begin() + IP + 40, option.begin(), option.end());
        total += 4;
        frame.resize(std::max<uint32_t>(IP + total, 60));
        tcp = &frame[IP + 20];
        tcp[12] = (uint8_t)(tcp[12] + 0x10);
        put(&frame[IP + 2], total);
        is_changed = true;
    } else if (payload > 0 && payload < settings.host_mss && !(tcp[13] & 8)) {
        tcp[13] |= 8;
        is_changed = true;
    }
    if (is_changed) {
        put(&frame[IP + 10], 0);
        put(&frame[IP + 10], folded(add(&frame[IP], 20, 0)));
        put(tcp + 16, 0);
        put(tcp + 16, folded(add(tcp, total - 20, add(&frame[IP + 12], 8, 6 + total - 20))));
    }
}

void Capture::open(const std::string &name)
{
    file = fopen(name.c_str(), "wb");
    uint32_t head[6] = {0xa1b2c3d4, 0x00040002, 0, 0, 2000, 1};
    fwrite(head, sizeof head, 1, file);
}

void Capture::write(Ptr<const Packet> packet)
{
    Frame frame = frame_of(packet);
    complete(frame);
    int64_t t = Simulator::Now().GetMicroSeconds();
    uint32_t head[4] = {(uint32_t)(1795000000 + settings.seed * 997 + t / 1000000), (uint32_t)(t % 1000000), (uint32_t)frame.size(), (uint32_t)frame.size()};
    fwrite(head, sizeof head, 1, file);
    fwrite(frame.data(), frame.size(), 1, file);
}
