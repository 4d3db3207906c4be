/* Captures of Ethernet frames, as pcap with microseconds. */
#pragma once

#include "ns3/network-module.h"

#include <cstdio>
#include <string>
#include <vector>

typedef std::vector<uint8_t> Frame;

/* The frame of a packet of a CSMA device, without the FCS. */
Frame frame_of(ns3::Ptr<const ns3::Packet> packet);

/* ns-3 knows the segment size of both ends, so it announces none, and it never sets PSH. The wire shows both: this adds the option
 * to a SYN that has none, and PSH to what is shorter than a full segment. */
void complete(Frame &frame);

struct Capture {
    FILE *file = nullptr;
    void open(const std::string &name);
    void write(ns3::Ptr<const ns3::Packet> packet);
};
