// Capture points, and the files that are written of them.
#pragma once
#include "sim.h"

struct Record { T t; Pkt p; int merged; };

struct Tap {
    char place = 'M';            // A and B are in hosts, M is a mirror port
    double jitter_us = 0;        // mean of the exponential delay of a time stamp
    bool merge_out = false;      // segmentation is left to the adapter: larger frames here
    bool merge_in = false;       // segments are merged before they are captured
    bool unfilled = false;       // checksums of outgoing packets are filled in later
    Host* host = nullptr;
    std::vector<Record> records;
    T last = 0;
    void see(const P& p);
};

void serialise(const Pkt& p, bool unfilled, std::vector<uint8_t>& ip);
struct Octets { const uint8_t* at; size_t n; };
void write_file(const Tap& tap, const Set& out);
