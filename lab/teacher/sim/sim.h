// Time, chance, settings and packets of the simulator.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <unistd.h>
#include <vector>

using T = int64_t;  // nanoseconds
constexpr T US = 1000, MS = 1000000, SEC = 1000000000;
using Fn = std::function<void()>;

struct Sim {
    struct Event { T t; uint64_t n; Fn f; };
    static bool later(const Event& a, const Event& b) { return a.t > b.t || (a.t == b.t && a.n > b.n); }
    T now = 0;
    uint64_t count = 0;
    std::vector<Event> heap;
    bool over = false;
    void at(T t, Fn f) {
        heap.push_back({std::max(t, now), count++, std::move(f)});
        std::push_heap(heap.begin(), heap.end(), later);
    }
    void in(T d, Fn f) { at(now + d, std::move(f)); }
    void run(T end) {
        while (!heap.empty() && !over) {
            std::pop_heap(heap.begin(), heap.end(), later);
            Event e = std::move(heap.back());
            heap.pop_back();
            if (e.t > end) break;
            now = e.t;
            e.f();
        }
    }
};
extern Sim sim;

struct Rng {
    std::mt19937_64 g;
    double uni() { return (g() >> 11) * (1.0 / 9007199254740992.0); }
    double uni(double a, double b) { return a + (b - a) * uni(); }
    bool chance(double p) { return p > 0 && uni() < p; }
    double expo(double mean) { return -mean * std::log(1 - uni()); }
    uint32_t u32() { return (uint32_t)g(); }
};
extern Rng rng;
extern std::map<std::string, double> counters;

// A line of the settings: a word, and key=value pairs.
struct Set {
    std::string word, name;
    std::map<std::string, std::string> kv;
    bool has(const std::string& k) const { return kv.count(k); }
    double num(const std::string& k, double d = 0) const { auto i = kv.find(k); return i == kv.end() ? d : atof(i->second.c_str()); }
    std::string str(const std::string& k, const std::string& d = "") const { auto i = kv.find(k); return i == kv.end() ? d : i->second; }
    T time(const std::string& k, double d = 0) const { return (T)std::llround(num(k, d) * 1e9); }
};

// The octets of one direction: texts at some places, filler elsewhere.
struct Stream {
    std::map<int64_t, std::string> text;
    uint32_t seed;
    static const std::vector<uint8_t>& filler() {
        static std::vector<uint8_t> table;
        if (table.empty()) {
            std::mt19937 g(7);
            table.resize(8191 + 66000);
            for (size_t i = 0; i < 8191; i++) table[i] = g();
            for (size_t i = 8191; i < table.size(); i++) table[i] = table[i - 8191];
        }
        return table;
    }
    Stream() : seed(rng.u32()) { filler(); }
    void copy(int64_t off, size_t n, uint8_t* out) const {
        memcpy(out, filler().data() + (off + seed) % 8191, n);
        auto i = text.upper_bound(off);
        if (i != text.begin()) --i;
        for (; i != text.end() && i->first < off + (int64_t)n; ++i) {
            int64_t a = std::max(off, i->first), b = std::min(off + (int64_t)n, i->first + (int64_t)i->second.size());
            if (a < b) memcpy(out + (a - off), i->second.data() + (a - i->first), b - a);
        }
    }
};

struct Host;
enum Kind : uint8_t { TCP, UDP, ICMP, ARP };
enum Flag : uint8_t { FIN = 1, SYN = 2, RST = 4, PSH = 8, ACK = 16 };

struct Pkt {
    Kind kind = TCP;
    Host *src = nullptr, *dst = nullptr;
    uint8_t ttl = 64, flags = 0, ws = 255, nsack = 0;
    bool df = true, badsum = false, cross = false, sackok = false, ts = false, broadcast = false, reply = false, fromrouter = false, again = false;
    uint16_t id = 0, sp = 0, dp = 0, win = 0, mss = 0, mtu = 0;
    uint32_t seq = 0, ack = 0, tsv = 0, tse = 0;
    uint32_t sack[4][2] = {};
    int64_t off = 0;  // place of the payload in its stream
    int len = 0;
    uint8_t icmptype = 0, icmpcode = 0;
    uint64_t uid = 0;
    std::shared_ptr<Stream> data;
    int options() const {
        if (kind != TCP) return 0;
        int n = 0;
        if (flags & SYN) n = (mss ? 4 : 0) + (sackok ? 2 : 0) + (ts ? 10 : 0) + (ws != 255 ? 3 : 0);
        else n = (ts ? 12 : 0) + (nsack ? 4 + 8 * nsack : 0);
        return (n + 3) & ~3;
    }
    int ipsize() const;  // octets of the IP packet
    int wire(int overhead) const { return std::max(ipsize() + overhead, 84); }
};
using P = std::shared_ptr<Pkt>;

struct Elem {
    std::function<void(P)> next;
    std::string name;
    virtual void push(P p) = 0;
    virtual ~Elem() {}
    void count(const char* what, double n = 1) { counters[name + "_" + what] += n; }
};
