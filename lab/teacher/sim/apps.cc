#include "apps.h"

App::App(const Set& set, std::map<std::string, Host*>& hosts) : s(set) {
    client = hosts.at(s.str("client", "a"));
    server = hosts.at(s.str("server", "b"));
    if (s.has("dns")) resolver = hosts.at(s.str("dns"));
    start = s.time("start", 0.01);
    sim.at(start, [this] {
        if (s.num("arp") && client->tap && !client->v6) {  // the gateway, or the other end, is asked for first
            Host* gate = routed ? &gate_a : server;
            P p = std::make_shared<Pkt>(), r = std::make_shared<Pkt>();
            p->kind = r->kind = ARP;
            p->src = client; p->dst = gate; r->src = gate; r->dst = client; r->reply = true;
            client->tap->see(p);
            sim.in((T)(rng.uni(0.15, 0.6) * MS), [this, r] { client->tap->see(r); look_up_and_begin(); });
        } else look_up_and_begin();
    });
}

void App::look_up_and_begin() {
    if (!resolver) { begin(); return; }
    uint16_t id = rng.u32(), port = client->port();
    T asked = sim.now;
    client->sockets[port] = [this, asked](P) {
        if (name_s > 0) return;
        name_s = (sim.now - asked) / 1e9;
        client->in((T)(rng.uni(0.05, 0.4) * MS), [this] { begin(); });
    };
    Host* r = resolver;
    auto seen = std::make_shared<int>(0);
    r->sockets[53] = [this, r, id, seen](P p) {
        if ((*seen)++ < (int)s.num("dns_silent")) return;
        Host* back = p->src;
        uint16_t to = p->sp;
        r->in(s.time("dns_delay", 0.0008), [this, r, back, to, id] { r->udp(back, 53, to, dns_text(id, s.str("name", "files.example.com"), true, server), 0); });
    };
    ask_name(0, id, port);
}

void App::ask_name(int attempt, uint16_t id, uint16_t port) {
    if (name_s > 0 || attempt > 6) return;
    client->udp(resolver, port, 53, dns_text(id, s.str("name", "files.example.com"), false, server), 0);
    client->in(s.time("dns_retry", 5), [this, attempt, id, port] { ask_name(attempt + 1, id, port); });
}

Conn* App::open(uint16_t port) {
    Conn* c = new Conn(client, server, client->port(), port);
    c->connect();
    return c;
}

// A file in one direction. The writer may write by chunks, the reader may read slowly or stop.
struct Bulk : App {
    int64_t bytes, left, sent_in_chunk = 0, since_stall = 0, read_since = 0, total_read = 0, header = 0;
    bool waiting = false, reading = false, up;
    Conn *from = nullptr, *to = nullptr;
    using App::App;
    void begin() override {
        up = s.str("dir", "down") == "up";
        left = bytes = (int64_t)s.num("bytes", 1e6);
        uint16_t port = (uint16_t)s.num("port", 80);
        std::string flavour = s.str("flavour", "http");
        server->listeners[port] = [this, flavour](Conn* c) {
            if (up) receive(c); else {
                auto asked = std::make_shared<bool>(false);
                c->on_data = [this, c, asked, flavour] { if (*asked) return; *asked = true; server->in(s.time("work", 0.0003), [this, c, flavour] { give(c, answer_text(flavour, bytes, 1, 0)); }); };
                if (flavour != "http") c->on_open = [this, c] { give(c, ""); };
            }
        };
        Conn* c = open(port);
        c->on_dead = [this] { done = true; };
        if (up) c->on_open = [this, c, flavour] { give(c, request_text(flavour, "PUT", bytes, 1, 160)); };
        else { receive(c); if (flavour == "http") c->on_open = [c, this] { c->write_text(request_text("http", "GET", 0, 3, (int)s.num("asks", 130))); }; }
    }
    void give(Conn* c, const std::string& first) {
        from = c;
        if (!first.empty()) { header = c->write_text(first); }
        c->on_writable = [this] { pump(); };
        pump();
    }
    void pump() {
        if (waiting || !from || from->state != Conn::OPEN) return;
        double chunk = s.num("chunk"), gap = s.num("gap"), wrate = s.num("wrate"), stall_each = s.num("wstall_each");
        int64_t unit = (int64_t)s.num("unit", 65536);
        while (left > 0) {
            from->more_to_write = true;
            int64_t n = std::min(left, unit);
            if (chunk > 0) n = std::min<int64_t>(n, (int64_t)chunk - sent_in_chunk);
            n = from->write(n);
            if (!n) return;
            left -= n; sent_in_chunk += n; since_stall += n;
            if (s.num("abort_at") && bytes - left >= s.num("abort_at")) { Conn* c = from; from->h->in(s.time("abort_after", 0.01), [c] { c->abort(); }); return; }
            if (chunk > 0 && sent_in_chunk >= chunk && left > 0) {
                sent_in_chunk = 0;
                wait(spread(gap));
                return;
            }
            if (stall_each > 0 && since_stall >= stall_each) { since_stall = 0; from->h->stall((T)(spread(s.num("wstall_for")) * 1e9)); }
            if (wrate > 0) { wait(n / wrate, false); return; }
        }
        from->more_to_write = false;
        if (s.num("close", 1)) from->close();
    }
    void wait(double t, bool counts = true) {
        waiting = true;
        from->more_to_write = false;
        writer_s += t;
        from->h->in((T)(t * 1e9), [this] { waiting = false; pump(); });
    }
    void receive(Conn* c) {
        to = c;
        if (s.num("reset_after") > 0) { c->on_data = [this, c] { if (c->rcv > s.num("reset_after")) c->abort(); }; c->on_fin = [c, this] { c->close(); }; return; }
        c->on_fin = [this, c] { c->close(); };
        if (s.num("rrate") > 0 || s.num("rpause_each") > 0 || s.num("rstall_each") > 0) { c->reads_at_once = false; c->on_data = [this] { drain(); }; }
        if (c->h->end == 'A') c->on_dead = [this] { done = true; };
    }
    void drain() {
        if (reading || !to) return;
        double rate = s.num("rrate"), pause_each = s.num("rpause_each"), stall_each = s.num("rstall_each");
        int64_t unit = (int64_t)s.num("runit", 65536);
        bool exactly = s.num("exactly");
        while (to->available() > 0) {
            if (exactly && to->available() < unit && total_read + to->available() < bytes) return;
            int64_t n = to->read(unit);
            total_read += n; read_since += n;
            if (pause_each > 0 && read_since >= pause_each) { read_since = 0; later(spread(s.num("rpause_for"))); return; }
            if (stall_each > 0 && read_since >= stall_each) { read_since = 0; to->h->stall((T)(spread(s.num("rstall_for")) * 1e9)); reader_s += s.num("rstall_for"); later(0); return; }
            if (rate > 0) { later(n / rate * rng.uni(0.85, 1.15)); return; }
        }
    }
    void later(double t) { reading = true; reader_s += t; to->h->in((T)(t * 1e9), [this] { reading = false; drain(); }); }
};

// Requests and answers, one after the other.
struct Calls : App {
    long n, asked = 0, got_in = 0;
    Conn *c = nullptr;
    int64_t want = 0;
    T began = 0;
    using App::App;
    void begin() override {
        n = (long)s.num("n", 20);
        uint16_t port = (uint16_t)s.num("port", 80);
        if (!s.num("no_listener")) server->listeners[port] = [this](Conn* k) {
            auto have = std::make_shared<int64_t>(0);
            k->on_data = [this, k, have] {
                *have = k->rcv - 1;
                long now = ++got_now;
                (void)now;
                if (*have >= need[k->rp]) answer(k);
            };
            k->on_fin = [k] { k->close(); };
        };
        ask();
    }
    std::map<uint16_t, int64_t> need;
    long got_now = 0;
    void ask() {
        if (asked >= n) { if (c) c->close(); client->in(SEC / 2, [this] { done = true; }); return; }
        began = sim.now;
        if (c && !s.num("per_conn")) { send(); return; }
        c = open((uint16_t)s.num("port", 80));
        Conn* k = c;
        need[k->lp] = 1;
        k->on_open = [this] { send(); };
        auto so_far = std::make_shared<int64_t>(0);
        k->on_data = [this, k] { if (k->rcv - 1 >= want && want) { want_reached(k); } };
        k->on_fin = [k] { k->close(); };
        k->on_dead = [this] { if (answers < asked || !asked) { failures++; if (s.num("again_after") && failures < s.num("attempts", 3)) { c = nullptr; asked = answers; client->in(s.time("again_after"), [this] { ask(); }); } else done = true; } };
    }
    void send() {
        asked++;
        int size = (int)spread(s.num("req", 120));
        std::string flavour = s.str("flavour", "http"), t = request_text(flavour, s.num("body") ? "POST" : "GET", (int64_t)s.num("body"), asked, size);
        int64_t pad = std::max<int64_t>(0, flavour == "modbus" || (flavour == "http" && t.size() > 40) ? 0 : size - (int64_t)t.size());
        int64_t answer_size = (int64_t)std::max(1.0, spread(s.num("ans", 500)));
        answer_text_now = answer_text(flavour, answer_size, asked, (int)answer_size);
        if (flavour == "modbus") answer_size = 41;
        else if (flavour == "http") answer_size += answer_text_now.size();
        answer_size = std::max<int64_t>(answer_size, answer_text_now.size());
        answer_now = answer_size;
        want = c->rcv - 1 + answer_size;
        int64_t body = (int64_t)s.num("body");
        Conn* k = c;
        need[k->lp] = k->wr - 1 + (int64_t)t.size() + pad + body;
        k->write_text(t, pad);
        if (body) k->write(body);
        messages++;
    }
    std::string answer_text_now;
    int64_t answer_now = 0;
    void answer(Conn* k) {
        need[k->rp] = INT64_MAX;
        double think = spread(s.num("sthink", 0.0002));
        if (s.num("sthink_every") && (messages - 1) % (long)s.num("sthink_every")) think = 0.0004;
        if (s.num("hang_at") && messages >= s.num("hang_at")) { client->in(s.time("patience", 20), [this] { failures++; c->close(); done = true; }); return; }
        server_s += think;
        server->in((T)(think * 1e9), [this, k] {
            int64_t rest = answer_now;
            int64_t parts = (int64_t)s.num("first_part");
            if (parts && answer_text_now.empty()) answer_text_now = "OK";
            if (!answer_text_now.empty()) { int64_t first = std::min(parts ? parts : std::max<int64_t>(k->room(), 1), rest), pad = std::max<int64_t>(0, first - (int64_t)answer_text_now.size()); k->write_text(answer_text_now, pad); rest -= answer_text_now.size() + pad; }
            k->on_writable = [] {};
            feed(k, std::make_shared<int64_t>(rest));
        });
    }
    void feed(Conn* k, std::shared_ptr<int64_t> rest) {
        k->more_to_write = true;
        *rest -= k->write(*rest);
        k->more_to_write = *rest > 0;
        k->on_writable = *rest > 0 ? Fn([this, k, rest] { feed(k, rest); }) : Fn([] {});
    }
    void want_reached(Conn* k) {
        want = 0;
        answers++;
        if (s.num("per_conn")) { k->on_data = nullptr; if (s.num("server_closes")) {} k->close(); }
        double think = spread(s.num("cthink", 0.0001));
        if (s.num("each") > 0) think = std::max(0.0, s.num("each") * (1 + s.num("each_jitter", 0.01) * (rng.uni() - 0.5)) - (sim.now - began) / 1e9);
        client_s += think;
        client->in((T)(think * 1e9), [this] { ask(); });
    }
};

// Messages of one end by a clock, or by a person; the other end may echo them.
struct Messages : App {
    long n;
    Conn* c = nullptr;
    using App::App;
    void begin() override {
        n = (long)s.num("n", 100);
        uint16_t port = (uint16_t)s.num("port", 1883);
        server->listeners[port] = [this](Conn* k) {
            k->on_fin = [k] { k->close(); };
            if (s.num("echo")) k->on_data = [this, k] { server->in(s.time("sthink", 0.0008), [this, k] { if (k->state == Conn::OPEN) k->write_text(request_text(s.str("flavour"), "", 0, 1, (int)s.num("echo"))); }); };
            if (s.str("dir", "up") == "down") k->on_open = [this, k] { c = k; server->in(MS, [this] { next(); }); };
        };
        Conn* k = open(port);
        k->on_fin = [k] { k->close(); };
        k->on_dead = [this] { done = true; };
        if (s.str("dir", "up") == "up") k->on_open = [this, k] { c = k; client->in(MS, [this] { next(); }); };
        if (s.has("hold")) client->in(s.time("hold"), [this] { done = true; });
    }
    void next() {
        if (c->state != Conn::OPEN) { done = true; return; }
        if (messages >= n) { if (s.num("close", 1)) c->close(); c->h->in(s.time("linger", 1), [this] { done = true; }); return; }
        int group = (int)s.num("group", 1);
        T at = 0;
        for (int i = 0; i < group; i++) {
            int size = (int)spread(s.num("size", 80));
            auto one = [this, size] {
                if (c->state != Conn::OPEN) return;
                messages++;
                std::string t = request_text(s.str("flavour", "raw"), "POST", size, messages, size);
                if (c->room() > size || s.num("blocks", 1)) c->write_text(t, std::max<int64_t>(0, size - (int64_t)t.size()));
            };
            if (i) c->h->in(at, one); else one();
            at += (T)(s.num("group_gap", 0.00005) * 1e9);
        }
        double gap = s.num("gap", 0.1);
        if (s.num("random")) gap = rng.expo(gap); else gap *= 1 + s.num("gap_jitter", 0.02) * (rng.uni() - 0.5);
        if (s.num("waits_for_ack") && c->una < c->wr) { c->on_acked = [this] { if (c->una >= c->wr) { c->on_acked = nullptr; c->h->in((T)(s.num("gap", 0.0001) * 1e9), [this] { next(); }); } }; return; }
        if (s.num("window") && c->wr - c->una > s.num("window")) { c->on_acked = [this] { if (c->wr - c->una <= s.num("window")) { c->on_acked = nullptr; next(); } }; return; }
        c->h->in(at + (T)(gap * 1e9), [this] { next(); });
    }
};

// Datagrams by a clock, one way or both.
struct Datagrams : App {
    using App::App;
    void begin() override {
        uint16_t port = (uint16_t)s.num("port", 5004), from = s.num("same_port") ? port : client->port();
        server->sockets[port] = [](P) {};
        client->sockets[from] = [](P) {};
        auto catches = [](Host* h) { return [h](P p) { octets_in[h->end == 'B'] += p->len; last_in[h->end == 'B'] = sim.now; }; };
        server->sockets[port] = catches(server);
        client->sockets[from] = catches(client);
        std::string dir = s.str("dir", "up");
        if (dir != "down") tick(client, server, from, port, 0);
        if (dir != "up") { if (dir == "down") client->udp(server, from, port, "start", 24); server->in(s.time("turn", 0.13), [this, from, port] { tick(server, client, port, from, 0); }); }
    }
    void tick(Host* h, Host* o, uint16_t sp, uint16_t dp, long k) {
        if (sim.now > start + s.time("for", 6)) { done = true; return; }
        int size = (int)s.num("size", 1200), group = (int)s.num("group", 1);
        for (int i = 0; i < group; i++) { h->udp(o, sp, dp, request_text(s.str("flavour", "numbered"), "", 0, k * group + i, size), size); messages++; }
        double gap = size * group * 8 / s.num("rate", 1e6);
        h->in((T)(gap * (1 + s.num("wobble", 0.01) * (rng.uni() - 0.5)) * 1e9), [=] { tick(h, o, sp, dp, k + 1); });
    }
};

// Datagrams that are answered: DNS, NTP, CoAP, SNMP, TFTP.
struct Asks : App {
    long n, k = 0, tries = 0;
    uint16_t from, port, tid;
    bool open = false;
    using App::App;
    void begin() override {
        n = (long)s.num("n", 10);
        port = (uint16_t)s.num("port", 5683);
        from = client->port();
        tid = s.str("flavour") == "tftp" ? server->port() : port;
        auto reply = [this](P p) {
            octets_in[1] += p->len;
            if (s.num("hang_at") && k >= s.num("hang_at")) return;
            Host* to = p->src;
            uint16_t dp = p->sp;
            long now = k;
            double t = spread(s.num("sthink", 0.0005));
            server_s += t;
            server->in((T)(t * 1e9), [this, to, dp, now] {
                if (s.str("flavour") == "tftp") {
                    std::string head = {0, 3, (char)(now + 1 >> 8), (char)(now + 1)};
                    server->udp(to, tid, dp, head, 4 + (now + 1 < n ? (int)s.num("ans", 512) : 77));
                } else server->udp(to, tid, dp, answer_text(s.str("flavour"), 0, now, (int)s.num("ans")), (int)s.num("ans", 60));
            });
        };
        server->sockets[port] = server->sockets[tid] = reply;
        client->sockets[from] = [this](P p) {
            octets_in[0] += p->len;
            last_in[0] = sim.now;
            if (!open) return;
            open = false;
            answers++;
            k++;
            tries = 0;
            double gap = s.num("gap", 0.5) * (1 + s.num("gap_jitter", 0.02) * (rng.uni() - 0.5));
            client_s += gap;
            client->in((T)(gap * 1e9), [this] { ask(); });
        };
        ask();
    }
    void ask() {
        if (k >= n || sim.now > start + s.time("for", 1e5)) {
            if (s.str("flavour") == "tftp") client->udp(server, from, tid, std::string({0, 4, (char)(n >> 8), (char)n}), 4);
            done = true;
            return;
        }
        open = true;
        messages++;
        if (s.str("flavour") == "tftp") {
            if (k == 0) client->udp(server, from, port, std::string("\0\1", 2) + s.str("name", "firmware.bin") + std::string("\0octet\0", 7), 0);
            else client->udp(server, from, tid, std::string({0, 4, (char)(k >> 8), (char)k}), 4);
        } else client->udp(server, from, port, request_text(s.str("flavour"), "", 0, k, (int)s.num("req")), (int)s.num("req", 30));
        long now = k, t = tries;
        double wait = s.num("retry", 2) * (s.num("retry_doubles", 1) ? (1 << std::min(tries, 8L)) : 1);
        client->in((T)(wait * 1e9), [this, now, t] {
            if (!open || k != now || tries != t) return;
            if (++tries > s.num("retries", 4)) { failures++; done = true; return; }
            ask();
        });
    }
};

// A third station's broadcasts, or questions by ARP that nobody answers.
struct Noise : App {
    using App::App;
    void begin() override { tick(0); }
    void tick(long k) {
        P p = std::make_shared<Pkt>();
        p->broadcast = true;
        messages++;
        if (s.str("what") == "ask") { p->kind = ARP; p->src = client; p->dst = server; if (client->tap) client->tap->see(p); }
        else { p->kind = ARP; p->src = server; p->dst = &gate_a; p->sp = p->dp = 137; p->len = p->kind == UDP ? 50 : 0; p->data = std::make_shared<Stream>(); if (p->kind == UDP) p->broadcast = true; client->rx(p); }
        if (k + 1 >= s.num("n", 1e9)) { done = true; return; }
        sim.in((T)(rng.uni(0.6, 1.4) * s.num("gap", 1) * 1e9), [this, k] { tick(k + 1); });
    }
};

App* make_app(const Set& s, std::map<std::string, Host*>& hosts) {
    if (s.name == "bulk") return new Bulk(s, hosts);
    if (s.name == "calls") return new Calls(s, hosts);
    if (s.name == "messages") return new Messages(s, hosts);
    if (s.name == "datagrams") return new Datagrams(s, hosts);
    if (s.name == "asks") return new Asks(s, hosts);
    if (s.name == "noise") return new Noise(s, hosts);
    fprintf(stderr, "unknown program %s\n", s.name.c_str());
    exit(1);
}
