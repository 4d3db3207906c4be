// What is between the hosts: links with queues, and faults.
#pragma once
#include "host.h"

// A link in one direction.
struct Link : Elem {
    double rate; T delay, jitter, hold; int64_t qbytes; int qpkts, over; bool overtakes, codel, red; double vary, cycle;
    T sleep_after, beacon, wake, awake_until = 0, last_out = 0, first_above = 0, drop_next = 0; int drops = 0; double avg = 0;
    std::deque<std::pair<P, T>> q; int64_t inq = 0; bool busy = false;
    double deepest = 0;
    Link(const Set& s) {
        rate = s.num("rate"); delay = s.time("delay"); jitter = s.time("jitter"); qbytes = (int64_t)s.num("qbytes", 1e12); qpkts = (int)s.num("qpkts", 1e9);
        over = (int)s.num("over", 38); overtakes = s.num("overtakes"); codel = s.num("codel"); red = s.num("red"); vary = s.num("vary"); cycle = s.num("cycle", 3);
        sleep_after = s.time("sleep_after"); beacon = s.time("beacon"); wake = s.time("wake");
    }
    double now_rate() { return vary > 0 ? rate * (1 - vary * (0.5 + 0.5 * std::sin(sim.now / 1e9 / cycle * 6.2832))) : rate; }
    void push(P p) override {
        int n = p->wire(over);
        if (inq + n > qbytes || (int)q.size() >= qpkts) { count("overflow"); return; }
        if (red) {
            avg += (inq - avg) * 0.02;
            double lo = qbytes * 0.15, hi = qbytes * 0.5;
            if (avg > lo && rng.chance(avg > hi ? 1 : 0.1 * (avg - lo) / (hi - lo))) { count("red"); return; }
        }
        inq += n;
        q.push_back({p, sim.now});
        deepest = std::max(deepest, inq * 8 / rate);
        counters[name + "_deepest_s"] = deepest;
        if (!busy) serve();
    }
    bool codel_drops(T waited) {
        if (waited < 5 * MS || inq < 1600) { first_above = 0; drops = 0; return false; }
        if (!first_above) { first_above = sim.now + 100 * MS; drop_next = 0; return false; }
        if (sim.now < first_above || sim.now < drop_next) return false;
        drops++;
        drop_next = std::max(drop_next, sim.now) + (T)(100 * MS / std::sqrt((double)drops));
        return true;
    }
    void serve() {
        while (!q.empty()) {
            auto [p, t] = q.front();
            if (codel && codel_drops(sim.now - t)) { q.pop_front(); inq -= p->wire(over); count("codel"); continue; }
            T start = sim.now;
            if (sleep_after && sim.now > awake_until) {  // asleep: the next beacon, or a fixed time to wake
                start = beacon ? (sim.now / beacon + 1) * beacon : sim.now + wake;
                count("waited_for_wake_s", (start - sim.now) / 1e9);
                count("waits");
            }
            busy = true;
            T end = start + (T)(p->wire(over) * 8e9 / now_rate());
            if (sleep_after) awake_until = end + sleep_after;
            sim.at(end, [this] {
                P p = q.front().first;
                q.pop_front();
                inq -= p->wire(over);
                count("passed");
                T t = sim.now + delay + (jitter ? (T)(rng.expo(1) * jitter) : 0);
                if (!overtakes) t = std::max(t, last_out + 1);
                last_out = std::max(t, last_out);
                sim.at(t, [this, p] { next(p); });
                busy = false;
                serve();
            });
            return;
        }
    }
};

struct Loss : Elem {  // at random, of long packets only, of SYNs, or Gilbert-Elliott by time
    double p, bad, enter, stay; int least, syns; bool is_bad = false; T until = 0; double from, to;
    std::set<int> which; int n = 0;
    Loss(const Set& s) {
        p = s.num("p"); bad = s.num("bad", 1); enter = s.num("enter"); stay = s.num("stay"); least = (int)s.num("least"); syns = (int)s.num("syns"); from = s.num("from"); to = s.num("to", 1e9); is_bad = enter > 0;
        for (std::string t = s.str("which"); !t.empty();) { which.insert(atoi(t.c_str())); size_t c = t.find('/'); t = c == std::string::npos ? "" : t.substr(c + 1); }
    }
    void push(P k) override {
        double t = sim.now / 1e9;
        if (syns && k->kind == TCP && (k->flags & SYN)) { syns--; count("syn_lost"); return; }
        if (k->len && which.count(++n)) { count("chosen"); return; }
        if (enter > 0) while (sim.now > until) { is_bad = !is_bad; until += (T)(rng.expo(is_bad ? stay : enter) * 1e9); if (!until) until = 1; }
        if (t >= from && t < to && k->ipsize() >= least && rng.chance(is_bad ? bad : p)) { count("lost"); if (k->len) count("lost_data"); return; }
        next(k);
    }
};

struct Policer : Elem {
    double rate, burst, tokens; T last = 0;
    Policer(const Set& s) { rate = s.num("rate"); burst = tokens = s.num("burst"); }
    void push(P p) override {
        tokens = std::min(burst, tokens + (sim.now - last) * rate / 8e9);
        last = sim.now;
        if (tokens < p->ipsize()) { count("policed"); return; }
        tokens -= p->ipsize();
        next(p);
    }
};

struct Shuffle : Elem {  // a share of the packets takes a longer way
    double p; T by; int burst, left = 0;
    Shuffle(const Set& s) { p = s.num("p"); by = s.time("by"); burst = (int)s.num("burst", 1); }
    void push(P k) override {
        if (!left && rng.chance(p)) left = burst;
        if (left) { left--; count("detoured"); sim.in((T)(by * rng.uni(0.7, 1.3)), [this, k] { next(k); }); }
        else next(k);
    }
};

struct Copies : Elem {
    double p; T by;
    Copies(const Set& s) { p = s.num("p", 1); by = s.time("by"); }
    void push(P k) override {
        next(k);
        if (rng.chance(p)) { count("copied"); P c = std::make_shared<Pkt>(*k); c->again = true; sim.in((T)(by * rng.uni(0.8, 1.3)), [this, c] { next(c); }); }
    }
};

struct Damage : Elem {  // bits change where no FCS shows it
    double p;
    Damage(const Set& s) { p = s.num("p"); }
    void push(P k) override {
        if (k->len > 40 && rng.chance(p)) { k = std::make_shared<Pkt>(*k); k->badsum = true; count("damaged"); }
        next(k);
    }
};

struct Mtu : Elem {
    int mtu; bool tells; T back;
    Mtu(const Set& s) { mtu = (int)s.num("mtu"); tells = s.num("tells"); back = s.time("back", 0.002); }
    void push(P k) override;
};

struct Outage : Elem {
    double from, to;
    Outage(const Set& s) { from = s.num("from"); to = s.num("to"); }
    void push(P k) override {
        double t = sim.now / 1e9;
        if (t >= from && t < to) { count("interrupted"); return; }
        next(k);
    }
};

struct Hop : Elem { void push(P k) override { k->ttl--; next(k); } };
struct Seen : Elem { Tap* tap; void push(P k) override { if (!k->cross) tap->see(k); next(k); } };
struct Sink : Elem { void push(P k) override { if (!k->cross) next(k); } };  // other traffic leaves here

struct Cross : Elem {  // other traffic enters here, in bursts or evenly
    double rate; int size; double on, off; Host *src, *dst;
    Cross(const Set& s, Host* a, Host* b) { rate = s.num("rate"); size = (int)s.num("size", 1200); on = s.num("on", 1e9); off = s.num("off"); src = a; dst = b; sim.in(MS, [this] { tick(sim.now + (T)(rng.expo(on) * 1e9)); }); }
    void push(P k) override { next(k); }
    void tick(T until) {
        P k = std::make_shared<Pkt>();
        k->kind = UDP; k->cross = true; k->src = src; k->dst = dst; k->len = size;
        count("injected");
        next(k);
        T gap = (T)(rng.expo((size + 66) * 8 / rate) * 1e9);
        if (sim.now + gap > until && off > 0) { gap += (T)(rng.expo(off) * 1e9); until = sim.now + gap + (T)(rng.expo(on) * 1e9); }
        sim.in(gap, [this, until] { tick(until); });
    }
};

// A segment of Ethernet with two stations. `mode` 0: both in half duplex; 1: end 0 only (end 1 is in full duplex).
struct Medium {
    struct Side { std::deque<P> q; bool sending = false; T started = 0, ends = 0; uint64_t turn = 0; int tries = 0; bool spoiled = false; Elem* e; size_t limit = 500; };
    double rate; int mode; Side side[2];
    T bits(double n) { return (T)(n * 1e9 / rate); }
    void push(int i, P p) { Side& s = side[i]; if (s.q.size() >= s.limit) { s.e->count("overflow"); return; } s.q.push_back(p); if (!s.sending) attempt(i); }
    bool half(int i) { return mode == 0 || i == 0; }
    void attempt(int i) {
        Side &s = side[i], &o = side[1 - i];
        if (s.sending || s.q.empty() || sim.now < s.ends) { if (!s.sending && !s.q.empty()) sim.at(s.ends, [this, i] { attempt(i); }); return; }
        if (half(i) && o.sending && sim.now - o.started > bits(mode ? 0 : 40)) { sim.at(o.ends + bits(96 + (mode ? 0 : rng.uni(0, 60))), [this, i] { attempt(i); }); return; }
        s.sending = true; s.started = sim.now; s.spoiled = false; s.ends = sim.now + bits(8.0 * (s.q.front()->wire(38) - 12));
        uint64_t turn = ++s.turn;
        sim.at(s.ends, [this, i, turn] { if (side[i].turn == turn && side[i].sending) done(i); });
        if (o.sending) {  // both transmit
            if (half(i)) collide(i); 
            if (half(1 - i)) collide(1 - i);
            if (!half(i)) s.spoiled = true;
            if (!half(1 - i)) o.spoiled = true;
        }
    }
    void collide(int i) {
        Side& s = side[i];
        bool late = sim.now - s.started > bits(512);
        s.turn++; s.sending = false; s.ends = sim.now + bits(96 + 32);
        s.e->count(late ? "late_collision" : "collision");
        if (late || ++s.tries > 15) { s.e->count(late ? "lost_by_late_collision" : "lost_by_collisions"); s.q.pop_front(); s.tries = 0; }
        else s.ends += bits(512) * (T)(rng.u32() % (1u << std::min(s.tries, 10)));
        sim.at(s.ends, [this, i] { attempt(i); });
    }
    void done(int i) {
        Side& s = side[i];
        P p = s.q.front();
        s.q.pop_front(); s.sending = false; s.tries = 0; s.ends = sim.now + bits(96);
        if (s.spoiled) s.e->count("fcs_error"); else { s.e->count("passed"); s.e->next(p); }
        if (!s.q.empty()) sim.at(s.ends, [this, i] { attempt(i); });
    }
};
struct MediumEnd : Elem { Medium* m; int i; void push(P p) override { m->push(i, p); } };
