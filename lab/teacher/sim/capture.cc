#include "capture.h"
#include "host.h"

int Pkt::ipsize() const {
    if (kind == ARP) return 28;
    int head = src->v6 ? 40 : 20;
    if (kind == TCP) return head + 20 + options() + len;
    return head + 8 + len;
}

void Tap::see(const P& p) {
    bool out = host && p->src == host;
    T t = sim.now + (jitter_us > 0 ? (T)(rng.expo(jitter_us) * US) : 0);
    t = std::max(t, last + (jitter_us > 0 ? 120 + (T)(rng.uni() * 200) : 0));
    bool merge = out ? merge_out : merge_in && host;
    if (merge && p->kind == TCP && p->len && !records.empty()) {
        Record& r = records.back();
        Pkt& q = r.p;
        if (q.kind == TCP && q.src == p->src && q.dst == p->dst && q.sp == p->sp && q.dp == p->dp && q.len && q.seq + (uint32_t)q.len == p->seq && q.ack == p->ack &&
            sim.now - r.t < (out ? 20 * US : 60 * US) && !(q.flags & (PSH | SYN | FIN)) && q.len + p->len < 62000 && q.tsv == p->tsv && q.options() == p->options() && q.ipsize() >= 1200) {
            q.len += p->len;
            q.flags |= p->flags;
            r.merged++;
            return;
        }
    }
    last = t;
    records.push_back({t, *p, 1});
}

static void put16(std::vector<uint8_t>& b, unsigned v) { b.push_back(v >> 8); b.push_back(v); }
static void put32(std::vector<uint8_t>& b, uint32_t v) { put16(b, v >> 16); put16(b, v & 0xffff); }
static void set16(uint8_t* b, unsigned v) { b[0] = v >> 8; b[1] = v; }
static uint32_t sum(const uint8_t* b, size_t n, uint32_t s = 0) {
    uint64_t t = s;
    for (size_t i = 0; i + 1 < n; i += 2) t += b[i] << 8 | b[i + 1];
    if (n & 1) t += b[n - 1] << 8;
    while (t >> 16) t = (t & 0xffff) + (t >> 16);
    return (uint32_t)t;
}

void serialise(const Pkt& p, bool unfilled, std::vector<uint8_t>& b) {
    b.clear();
    const Host &s = *p.src, &d = *p.dst;
    if (p.kind == ARP) {
        static const uint8_t head[] = {0, 1, 8, 0, 6, 4, 0};
        b.insert(b.end(), head, head + 7);
        b.push_back(p.reply ? 2 : 1);
        b.insert(b.end(), s.mac, s.mac + 6);
        b.insert(b.end(), s.ip, s.ip + 4);
        for (int i = 0; i < 6; i++) b.push_back(p.reply ? d.mac[i] : 0);
        b.insert(b.end(), d.ip, d.ip + 4);
        return;
    }
    bool v6 = s.v6;
    int total = p.ipsize(), proto = p.kind == TCP ? 6 : p.kind == UDP ? 17 : v6 ? 58 : 1;
    if (v6) {
        put32(b, 0x60000000 | (s.flow & 0xfffff));
        put16(b, total - 40);
        b.push_back(proto);
        b.push_back(p.ttl);
        b.insert(b.end(), s.ip, s.ip + 16);
        b.insert(b.end(), d.ip, d.ip + 16);
    } else {
        put16(b, 0x4500);
        put16(b, total);
        put16(b, p.id);
        put16(b, p.df ? 0x4000 : 0);
        b.push_back(p.ttl);
        b.push_back(proto);
        put16(b, 0);
        b.insert(b.end(), s.ip, s.ip + 4);
        b.insert(b.end(), d.ip, d.ip + 4);
        set16(&b[10], ~sum(&b[0], 20));
    }
    size_t at = b.size(), field;
    if (p.kind == TCP) {
        put16(b, p.sp), put16(b, p.dp), put32(b, p.seq), put32(b, p.flags & ACK ? p.ack : 0);
        b.push_back((20 + p.options()) / 4 << 4), b.push_back(p.flags);
        put16(b, p.win), put16(b, 0), put16(b, 0);
        field = at + 16;
        if (p.flags & SYN) {
            if (p.mss) put16(b, 0x0204), put16(b, p.mss);
            if (p.sackok) put16(b, 0x0402);
            if (p.ts) put16(b, 0x080a), put32(b, p.tsv), put32(b, p.tse);
            if (p.ws != 255) b.push_back(3), b.push_back(3), b.push_back(p.ws);
        } else {
            if (p.ts) put32(b, 0x0101080a), put32(b, p.tsv), put32(b, p.tse);
            if (p.nsack) {
                put16(b, 0x0101), b.push_back(5), b.push_back(2 + 8 * p.nsack);
                for (int i = 0; i < p.nsack; i++) put32(b, p.sack[i][0]), put32(b, p.sack[i][1]);
            }
        }
        while (b.size() < at + 20 + p.options()) b.push_back(p.flags & SYN ? 1 : 0);
    } else if (p.kind == UDP) {
        put16(b, p.sp), put16(b, p.dp), put16(b, 8 + p.len), put16(b, 0);
        field = at + 6;
    } else {
        b.push_back(p.icmptype), b.push_back(p.icmpcode), put16(b, 0);
        if (v6) put32(b, p.mtu); else put16(b, 0), put16(b, p.mtu);
        field = at + 2;
    }
    size_t head = b.size();
    b.resize(head + p.len);
    if (p.len && p.data) p.data->copy(p.off, p.len, &b[head]);
    uint32_t pseudo = 0;
    if (p.kind != ICMP || v6) {
        pseudo = sum(&s.ip[0], v6 ? 16 : 4);
        pseudo = sum(&d.ip[0], v6 ? 16 : 4, pseudo);
        uint8_t rest[4] = {0, (uint8_t)proto, (uint8_t)((total - at) >> 8), (uint8_t)(total - at)};
        pseudo = sum(rest, 4, pseudo);
    }
    uint32_t all = unfilled && p.kind != ICMP ? pseudo : ~sum(&b[at], b.size() - at, pseudo) & 0xffff;
    if (p.kind == UDP && !all) all = 0xffff;
    set16(&b[field], all);
    // A bit changed behind the sender: the checksum is of what was sent.
    if (p.badsum) b[p.len ? head + (p.uid * 7919) % p.len : at + 14] ^= 1 << (p.uid % 8);
}

struct Writer {
    FILE* f;
    bool ng, ns;
    void raw(const void* p, size_t n) { fwrite(p, 1, n, f); }
    template <class V> void v(V x) { raw(&x, sizeof x); }
};

void write_file(const Tap& tap, const Set& o) {
    std::string link = o.str("link", "eth"), format = o.str("format", "pcap");
    int snap = (int)o.num("snap", 192), cut = (int)o.num("cut");
    double from = o.num("from", -1), to = o.num("to", 2), epoch = o.num("epoch", 1.76e9);
    Writer w{fopen(o.str("file").c_str(), "wb"), format == "pcapng", format != "pcap"};
    std::vector<char> buffer(1 << 20);
    setvbuf(w.f, buffer.data(), _IOFBF, buffer.size());
    int type = link == "raw" ? 101 : link == "sll" ? 113 : link == "sll2" ? 276 : 1;
    if (w.ng) {
        w.v<uint32_t>(0x0a0d0d0a), w.v<uint32_t>(28), w.v<uint32_t>(0x1a2b3c4d), w.v<uint16_t>(1), w.v<uint16_t>(0), w.v<int64_t>(-1), w.v<uint32_t>(28);
        w.v<uint32_t>(1), w.v<uint32_t>(32), w.v<uint16_t>(type), w.v<uint16_t>(0), w.v<uint32_t>(snap);
        w.v<uint16_t>(9), w.v<uint16_t>(1), w.v<uint32_t>(9), w.v<uint32_t>(0), w.v<uint32_t>(32);
    } else {
        w.v<uint32_t>(w.ns ? 0xa1b23c4d : 0xa1b2c3d4), w.v<uint16_t>(2), w.v<uint16_t>(4), w.v<uint64_t>(0), w.v<uint32_t>(snap), w.v<uint32_t>(type);
    }
    T first = -1, last = 0;
    for (auto& r : tap.records) if (r.p.kind <= UDP && r.p.len) { if (first < 0) first = r.t; last = r.t; }
    if (first < 0 && !tap.records.empty()) first = tap.records[0].t, last = tap.records.back().t;
    std::vector<uint8_t> ip, frame;
    long packets = 0;
    T lo = from < 0 ? -1 : first + (T)(from * (last - first)), hi = to > 1 ? INT64_MAX : first + (T)(to * (last - first));
    for (auto& r : tap.records) {
        if (r.t < lo || r.t > hi || (type == 101 && r.p.kind == ARP)) continue;
        bool out = tap.host && r.p.src == tap.host;
        serialise(r.p, out && tap.unfilled && (r.p.kind == TCP || r.p.kind == UDP), ip);
        frame.clear();
        uint16_t ether = r.p.kind == ARP ? 0x0806 : r.p.src->v6 ? 0x86dd : 0x0800;
        uint8_t smac[6], dmac[6];
        macs(r.p, tap.place, smac, dmac);
        if (type == 1) {
            frame.insert(frame.end(), dmac, dmac + 6), frame.insert(frame.end(), smac, smac + 6);
            if (link == "vlan") put16(frame, 0x8100), put16(frame, 42);
            put16(frame, ether);
        } else if (type == 113) {
            put16(frame, out ? 4 : r.p.broadcast ? 1 : 0), put16(frame, 1), put16(frame, 6);
            frame.insert(frame.end(), smac, smac + 6), put16(frame, 0), put16(frame, ether);
        } else if (type == 276) {
            put16(frame, ether), put16(frame, 0), put32(frame, 2), put16(frame, 1), frame.push_back(out ? 4 : r.p.broadcast ? 1 : 0), frame.push_back(6);
            frame.insert(frame.end(), smac, smac + 6), put16(frame, 0);
        }
        frame.insert(frame.end(), ip.begin(), ip.end());
        if (type == 1 && !out && frame.size() < 60) frame.resize(60);  // padding, seen on arrival
        uint32_t octets = frame.size(), kept = std::min<uint32_t>(octets, snap);
        T t = (T)(epoch * 1e9) + r.t;
        if (!w.ns) t = t / 1000 * 1000;
        if (w.ng) {
            uint32_t pad = (4 - kept % 4) % 4, all = 32 + kept + pad, zero = 0;
            w.v<uint32_t>(6), w.v<uint32_t>(all), w.v<uint32_t>(0), w.v<uint32_t>((uint64_t)t >> 32), w.v<uint32_t>((uint32_t)t), w.v(kept), w.v(octets);
            w.raw(frame.data(), kept), w.raw(&zero, pad), w.v(all);
        } else {
            w.v<uint32_t>(t / SEC), w.v<uint32_t>(w.ns ? t % SEC : t % SEC / 1000), w.v(kept), w.v(octets);
            w.raw(frame.data(), kept);
        }
        packets++;
    }
    if (cut && packets > 2) { fflush(w.f); long end = ftell(w.f); if (ftruncate(fileno(w.f), end - cut)) perror("truncate"); }
    fclose(w.f);
    printf("FILE %s %ld %.3f %.3f\n", o.str("file").c_str(), packets, from < 0 ? 0.0 : from * (last - first) / 1e9, to > 1 ? 0.0 : to * (last - first) / 1e9);
}
