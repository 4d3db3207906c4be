#include "host.h"
#include "path.h"
#include "tcp.h"

void Host::configure(const Set& s) {
    set = s;
    name = s.name;
    v6 = s.num("v6");
    end = s.str("end", "A")[0];
    uint32_t a = 0;
    std::string text = s.str("ip");  // eight hexadecimal digits
    a = strtoul(text.c_str(), nullptr, 16);
    uint8_t four[4] = {(uint8_t)(a >> 24), (uint8_t)(a >> 16), (uint8_t)(a >> 8), (uint8_t)a};
    if (v6) {
        uint8_t prefix[8] = {0x20, 0x01, 0x0d, 0xb8, four[1], four[2], 0, (uint8_t)(end == 'A' ? 1 : 2)};
        memcpy(ip, prefix, 8);
        for (int i = 8; i < 16; i++) ip[i] = rng.u32();
        flow = rng.u32();
    } else memcpy(ip, four, 4);
    static const uint8_t makers[][3] = {{0x00, 0x1b, 0x21}, {0x3c, 0xec, 0xef}, {0xb8, 0x27, 0xeb}, {0x00, 0x80, 0xe1}, {0x24, 0x0a, 0xc4}, {0xf4, 0x4d, 0x30}};
    memcpy(mac, makers[rng.u32() % 6], 3);
    for (int i = 3; i < 6; i++) mac[i] = rng.u32();
    ttl = (uint8_t)s.num("ttl", 64);
    next_id = rng.u32();
    next_port = 40000 + rng.u32() % 18000;
    counts_ids = s.num("ids", 1);
    ring = (int)s.num("ring", 100000); batch = (int)s.num("batch", 64);
    rx_cost = s.time("rx_cost"); coalesce = s.time("coalesce"); poll = s.time("poll"); tx_cost = s.time("tx_cost", 0.000002); driver = s.time("driver"); pace = s.num("pace");
    gro = s.num("gro"); absent = s.num("absent"); wiretap = s.num("wiretap");
    if (s.has("stall_every")) {
        static std::vector<std::shared_ptr<Fn>> keep;
        auto again = std::make_shared<Fn>();
        keep.push_back(again);
        T every = s.time("stall_every"), lasts = s.time("stall_for");
        Fn* f = again.get();
        *f = [this, every, lasts, f] { stall((T)(lasts * rng.uni(0.9, 1.1))); sim.in(every, *f); };
        sim.in(s.time("stall_first", 0.7), *f);
    }
}

void Host::stall(T d) {
    counters[name + "_stalls"]++;
    counters[name + "_stalled_s"] += d / 1e9;
    stalled_until = std::max(stalled_until, sim.now + d);
}

void Host::at(T t, Fn f) {
    sim.at(t, [this, f] { if (sim.now < stalled_until) at(stalled_until, f); else f(); });
}

void Host::rx(P p) {
    if (absent) { counters[name + "_absent"]++; return; }
    if (wiretap && tap) tap->see(p);
    if ((int)rxq.size() >= ring) { counters[name + "_ring_full"]++; if (p->len && !p->broadcast) counters[name + "_ring_lost_data"]++; return; }
    rxq.push_back(p);
    schedule();
}

void Host::schedule() {
    if (scheduled || rxq.empty()) return;
    scheduled = true;
    T t = std::max(sim.now + coalesce, cpu_free);
    if (rx_cost) t = std::max(sim.now, cpu_free) + (T)(rx_cost * rng.uni(0.92, 1.1));
    if (poll) t = std::max(t, (sim.now / poll + 1) * poll);
    at(t, [this] { scheduled = false; process(); });
}

void Host::process() {
    int n = rx_cost ? 1 : batch;
    in_batch = gro;
    while (n-- && !rxq.empty()) {
        P p = rxq.front();
        rxq.pop_front();
        if (!wiretap && tap) tap->see(p);
        handle(p);
    }
    if (in_batch) { in_batch = false; for (Conn* c : conns) c->batch_ends(); }
    cpu_free = std::max(cpu_free, sim.now);
    schedule();
}

void Host::handle(P p) {
    if (p->len && !p->badsum && !p->again && !p->broadcast && p->kind <= UDP) arrived_data[end == 'B']++;
    if (p->broadcast) { counters[name + "_broadcasts"]++; return; }
    if (p->badsum) { counters[name + "_bad_checksum"]++; return; }
    if (p->kind == TCP) {
        auto i = table.find((uint64_t)p->src->ip[3] << 40 | (uint64_t)p->src->ip[15] << 32 | p->dp << 16 | p->sp);
        if (i != table.end()) { i->second->segment(*p); return; }
        auto l = listeners.find(p->dp);
        if (l != listeners.end() && (p->flags & (SYN | ACK)) == SYN) {
            Conn* c = new Conn(this, p->src, p->dp, p->sp);
            l->second(c);
            c->segment(*p);
            return;
        }
        if (!(p->flags & RST)) reset(p);
    } else if (p->kind == UDP) {
        auto i = sockets.find(p->dp);
        if (i != sockets.end()) i->second(p);
        else { counters[name + "_port_unreachable"]++; icmp(p, v6 ? 1 : 3, v6 ? 4 : 3, 0, p->src); }
    } else if (p->kind == ICMP && p->mtu) {
        for (Conn* c : conns) c->path_mtu(p->mtu);
    }
}

void Host::tx(P p) {
    p->src = this;
    p->ttl = ttl;
    p->id = v6 ? 0 : counts_ids ? next_id++ : 0;
    p->uid = rng.u32();
    if (p->len && p->kind <= UDP) sent_data[end == 'B']++;
    if (!wiretap && tap) tap->see(p);
    T t = std::max(sim.now, tx_free) + tx_cost;
    if (pace) t = std::max(t, tx_free + (T)(p->wire(38) * 8e9 / pace));
    tx_free = std::max(t, stalled_until);
    t = tx_free + driver;
    sim.at(t, [this, p] { if (wiretap && tap) tap->see(p); out(p); });
}

void Host::udp(Host* to, uint16_t sp, uint16_t dp, const std::string& text, int len) {
    P p = std::make_shared<Pkt>();
    p->kind = UDP; p->dst = to; p->sp = sp; p->dp = dp;
    p->data = std::make_shared<Stream>();
    p->data->text[0] = text;
    p->len = std::max<int>(len, text.size());
    counters[name + "_datagrams"]++;
    tx(p);
}

void Host::icmp(P about, uint8_t type, uint8_t code, uint16_t mtu, Host* to) {
    P p = std::make_shared<Pkt>();
    p->kind = ICMP; p->dst = to; p->icmptype = type; p->icmpcode = code; p->mtu = mtu; p->df = false;
    std::vector<uint8_t> quoted;
    serialise(*about, false, quoted);
    quoted.resize(std::min<size_t>(quoted.size(), v6 ? 512 : 28));
    p->data = std::make_shared<Stream>();
    p->data->text[0] = std::string(quoted.begin(), quoted.end());
    p->len = quoted.size();
    tx(p);
}

void Host::reset(P q) {
    P p = std::make_shared<Pkt>();
    p->kind = TCP; p->dst = q->src; p->sp = q->dp; p->dp = q->sp;
    if (q->flags & ACK) { p->seq = q->ack; p->flags = RST; }
    else { p->ack = q->seq + q->len + !!(q->flags & SYN); p->flags = RST | ACK; }
    counters[name + "_resets"]++;
    tx(p);
}

void Mtu::push(P k) {
    if (k->ipsize() <= mtu) { next(k); return; }
    count("too_long");
    if (!tells) return;
    // The router in the way answers from its own address, over the queue of the adapter of the sender.
    Host* to = k->src;
    P p = std::make_shared<Pkt>();
    Host* gate = to->end == 'A' ? &gate_b : &gate_a;
    p->kind = ICMP; p->src = gate; p->dst = to; p->icmptype = to->v6 ? 2 : 3; p->icmpcode = to->v6 ? 0 : 4; p->mtu = mtu; p->ttl = 61; p->df = false; p->id = rng.u32();
    std::vector<uint8_t> quoted;
    serialise(*k, false, quoted);
    quoted.resize(std::min<size_t>(quoted.size(), to->v6 ? 512 : 28));
    p->data = std::make_shared<Stream>();
    p->data->text[0] = std::string(quoted.begin(), quoted.end());
    p->len = quoted.size();
    sim.in(back, [to, p] { to->rx(p); });
}

void macs(const Pkt& p, char place, uint8_t* s, uint8_t* d) {
    bool up = p.src->end == 'A';
    const uint8_t *from = p.src->mac, *to = p.dst->mac;
    if (routed && p.kind != ARP && !p.broadcast && p.src->end != p.dst->end) {
        bool near_source = (place == 'A') == up && place != 'M', near_target = place != 'M' && !near_source;
        if (!near_source) from = up ? gate_b.mac : gate_a.mac;
        if (!near_target) to = up ? gate_a.mac : gate_b.mac;
    }
    memcpy(s, from, 6);
    memcpy(d, to, 6);
    if (p.broadcast || (p.kind == ARP && !p.reply)) memset(d, 255, 6);
}
