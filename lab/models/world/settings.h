/* What a run is given as --name=value, and what it counts. */
#pragma once

#include <cstdint>
#include <string>

struct Settings {
    std::string out = ".", sender = "A", opens = "A", boards = "", library = "", kind = "stream";
    /* Boards to which ring, frame_us, poll_ms, wakes_ms and still_… apply. */
    std::string slow = "AB";
    /* the path: rates in bit/s, times in ms, queues in packets; `there` is the way of the data */
    double rate = 10e6, back = 0, access = 100e6, lan = 0, delay = 5;
    uint32_t queue = 100, back_queue = 100;
    std::string disc = "fifo", medium = "wire";
    double loss = 0, back_loss = 0, bursts = 0, burst_length = 3, police = 0, bucket = 20000, down_at = 0, down_for = 0, longest_packet = 0, storm = 0;
    uint32_t lost_opening = 0;
    /* hosts: TCP of ns-3 */
    std::string tcp = "TcpCubic";
    uint32_t host_receives = 1 << 20, host_sends = 1 << 20, host_mss = 1448, acks_each = 2, acks_after = 40, first_window = 10, listens = 1;
    bool sack = true, scaling = true, stamps = true, nagle = false;
    /* boards: CycloneTCP */
    uint32_t board_mss = 1460, board_sends = 2920, board_receives = 2920, ring = 64;
    double frame_us = 0, poll_ms = 0, wakes_ms = 0, awake_ms = 0, still_each = 0, still_works = 0, still_ms = 0;
    bool no_delay = false;
    /* programs: octets, ms */
    double octets = 0, chunk = 0, pause = 0, works = 0, stops = 0, read_chunk = 0, read_pause = 0, seconds = 30;
    double request = 0, answer = 0, think = 0, client_pause = 0, split = 0, asks = 0, first_think = 0;
    uint32_t seed = 1;
};

struct Counts {
    uint64_t damaged = 0, queue_full = 0, back_queue_full = 0, policed = 0, too_long = 0, ring_full = 0, written = 0, taken = 0, served = 0,
             answers = 0, sent = 0, arrived = 0, broadcasts = 0, still = 0;
    double queue_ms_max = 0, back_queue_ms_max = 0;
};

extern Settings settings;
extern Counts counts;
