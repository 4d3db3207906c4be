// A host: addresses, adapter, processor, connections.
#pragma once
#include "capture.h"

struct Conn;
struct Host {
    std::string name;
    bool v6 = false, absent = false, gro = false, wiretap = false, counts_ids = true;
    uint8_t ip[16] = {}, mac[6] = {}, ttl = 64;
    uint32_t flow = 0;
    uint16_t next_id = 0, next_port = 0;
    char end = 'A';
    Set set;
    Tap* tap = nullptr;
    std::function<void(P)> out;  // to the path
    // Receiving
    int ring = 100000, batch = 64;
    T rx_cost = 0, coalesce = 0, poll = 0, stalled_until = 0, cpu_free = 0;
    std::deque<P> rxq;
    bool scheduled = false, in_batch = false, storm_bound = false;
    // Sending
    T tx_cost = 0, tx_free = 0, driver = 0;
    double pace = 0;
    std::vector<Conn*> conns;
    std::map<uint16_t, std::function<void(Conn*)>> listeners;
    std::map<uint16_t, std::function<void(P)>> sockets;
    std::map<uint64_t, Conn*> table;
    void configure(const Set& s);
    T stall_end(T t) const { return std::max(t, stalled_until); }
    void stall(T d);
    void at(T t, Fn f);  // not while the host stands still
    void in(T d, Fn f) { at(sim.now + d, std::move(f)); }
    void rx(P p);
    void schedule();
    void process();
    void handle(P p);
    void tx(P p);
    void udp(Host* to, uint16_t sp, uint16_t dp, const std::string& text, int len);
    void icmp(P about, uint8_t type, uint8_t code, uint16_t mtu, Host* to);
    void reset(P p);
    uint16_t port() { return next_port += 1 + rng.u32() % 3; }
};
extern bool routed;
extern double octets_in[2], sent_data[2], arrived_data[2];  // at end A, at end B
extern T last_in[2];
extern Host gate_a, gate_b;
void macs(const Pkt& p, char place, uint8_t* s, uint8_t* d);
void bad_packet(Host* h, P p);
