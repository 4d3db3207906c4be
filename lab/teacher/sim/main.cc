// Reads settings (a line each: word, name, key=value ...), runs them, writes captures and the truth.
#include <iostream>
#include <sstream>
#include "apps.h"
#include "path.h"

Sim sim;
Rng rng;
std::map<std::string, double> counters;
bool routed = true;
double octets_in[2], sent_data[2], arrived_data[2];
T last_in[2];
Host gate_a, gate_b;

int main() {
    std::vector<Set> sets;
    std::string line;
    while (std::getline(std::cin, line)) {
        std::istringstream in(line);
        Set s;
        in >> s.word >> s.name;
        std::string w;
        while (in >> w) { size_t e = w.find('='); if (e != std::string::npos) s.kv[w.substr(0, e)] = w.substr(e + 1); }
        if (!s.word.empty()) sets.push_back(s);
    }
    double limit = 30, linger = 0.5;
    Tap taps[3];
    std::map<std::string, Host*> hosts;
    std::vector<Elem*> way[2];
    std::vector<App*> apps;
    std::map<std::string, int> numbers;
    for (auto& s : sets) if (s.word == "sim") {
        rng.g.seed((uint64_t)s.num("seed", 1));
        limit = s.num("limit", 30); linger = s.num("linger", 0.5);
        routed = s.num("routed", 1);
    }
    for (Host* g : {&gate_a, &gate_b}) { Set s; s.name = g == &gate_a ? "gate_a" : "gate_b"; s.kv["ip"] = g == &gate_a ? "0a140701" : "c6336401"; s.kv["end"] = g == &gate_a ? "A" : "B"; for (auto& x : sets) if (x.word == "host" && x.num("v6")) s.kv["v6"] = "1"; g->configure(s); }
    for (auto& s : sets) if (s.word == "gate") { Host& g = s.name == "a" ? gate_a : gate_b; uint32_t a = strtoul(s.str("ip").c_str(), nullptr, 16); if (!g.v6) for (int i = 0; i < 4; i++) g.ip[i] = a >> (24 - 8 * i); }
    for (auto& s : sets) if (s.word == "host") {
        Host* h = hosts[s.name] = new Host;
        h->configure(s);
        if (s.num("tap")) {
            Tap& t = taps[h->end == 'B'];
            t.place = h->end; t.host = h; t.jitter_us = s.num("jitter_us", 2); t.merge_out = s.num("tso"); t.merge_in = s.num("gro"); t.unfilled = s.num("unfilled");
            h->tap = &t;
        }
    }
    for (auto& s : sets) {
        bool up = s.word == "up" || s.word == "both", down = s.word == "down" || s.word == "both";
        if (!up && !down) continue;
        int number = numbers[s.name]++;
        Medium* medium = nullptr;
        // In the way down the elements are passed in the opposite order.
        for (int d = 0; d < 2; d++) {
            if (!(d ? down : up)) continue;
            Elem* e = nullptr;
            if (s.name == "link") e = new Link(s);
            else if (s.name == "loss") e = new Loss(s);
            else if (s.name == "policer") e = new Policer(s);
            else if (s.name == "shuffle") e = new Shuffle(s);
            else if (s.name == "copies") e = new Copies(s);
            else if (s.name == "damage") e = new Damage(s);
            else if (s.name == "mtu") e = new Mtu(s);
            else if (s.name == "outage") e = new Outage(s);
            else if (s.name == "hop") e = new Hop;
            else if (s.name == "sink") e = new Sink;
            else if (s.name == "tap") { Seen* x = new Seen; x->tap = &taps[2]; e = x; }
            else if (s.name == "cross") e = new Cross(s, d ? hosts.at("b") : hosts.at("a"), d ? hosts.at("a") : hosts.at("b"));
            else if (s.name == "medium") {
                if (!medium) { medium = new Medium; medium->rate = s.num("rate", 1e7); medium->mode = (int)s.num("mode"); }
                MediumEnd* x = new MediumEnd;
                x->m = medium; x->i = s.num("half_down") ? 1 - d : d; e = x;
                medium->side[x->i].e = x;
                medium->side[x->i].limit = (size_t)s.num("limit", 200);
            } else { fprintf(stderr, "unknown part %s\n", s.name.c_str()); return 1; }
            e->name = s.name + std::to_string(number) + (d ? "_down" : "_up");
            if (d) way[1].insert(way[1].begin(), e); else way[0].push_back(e);
        }
    }
    for (int d = 0; d < 2; d++)
        for (size_t i = 0; i < way[d].size(); i++) {
            if (i + 1 < way[d].size()) { Elem* n = way[d][i + 1]; way[d][i]->next = [n](P p) { n->push(p); }; }
            else way[d][i]->next = [](P p) { if (!p->cross) p->dst->rx(p); };
        }
    for (auto& h : hosts) {
        auto& w = way[h.second->end == 'B'];
        if (w.empty()) h.second->out = [](P p) { p->dst->rx(p); };
        else { Elem* e = w[0]; h.second->out = [e](P p) { e->push(p); }; }
    }
    for (auto& s : sets) if (s.word == "app") apps.push_back(make_app(s, hosts));
    T ended = 0;
    std::function<void()> look = [&] {
        bool all = true;
        for (App* a : apps) all &= a->done || a->s.num("background");
        if (all && !ended) ended = sim.now;
        if (ended && sim.now > ended + (T)(linger * 1e9)) { sim.over = true; return; }
        sim.in(20 * MS, look);
    };
    sim.in(20 * MS, look);
    sim.run((T)(limit * 1e9));
    for (auto& s : sets) if (s.word == "out") write_file(s.name == "A" ? taps[0] : s.name == "B" ? taps[1] : taps[2], s);
    T start = INT64_MAX;
    double waits[5] = {};
    long messages = 0, answers = 0, failures = 0;
    bool all = true;
    for (App* a : apps) {
        if (!a->s.num("background")) start = std::min(start, a->start), all &= a->done;
        waits[0] += a->server_s; waits[1] += a->client_s; waits[2] += a->writer_s; waits[3] += a->reader_s; waits[4] += a->name_s;
        messages += a->messages; answers += a->answers; failures += a->failures;
    }
    printf("{\"octets_a\": %.0f, \"octets_b\": %.0f, \"seconds_a\": %.4f, \"seconds_b\": %.4f, \"lost_a\": %.0f, \"lost_b\": %.0f, \"sent_a\": %.0f, \"sent_b\": %.0f, \"ended_s\": %.3f, \"done\": %s", octets_in[0], octets_in[1],
           std::max(0.0, (last_in[0] - start) / 1e9), std::max(0.0, (last_in[1] - start) / 1e9), sent_data[1] - arrived_data[0], sent_data[0] - arrived_data[1], sent_data[0], sent_data[1], sim.now / 1e9, all ? "true" : "false");
    printf(", \"program\": {\"server_s\": %.3f, \"client_s\": %.3f, \"writer_s\": %.3f, \"reader_s\": %.3f, \"name_s\": %.3f, \"messages\": %ld, \"answers\": %ld, \"failures\": %ld}", waits[0], waits[1], waits[2], waits[3], waits[4], messages, answers, failures);
    for (auto& h : hosts) {
        std::map<std::string, double> limits;
        double resent = 0, timeouts = 0, fast = 0, probes = 0, keepalives = 0, small = 0, segments = 0;
        for (Conn* c : h.second->conns) {
            c->limits[c->limit] += (std::min(sim.now, std::max(c->limit_since, ended)) - c->limit_since) / 1e9;
            for (auto& l : c->limits) if (l.second > 0) limits[l.first] += l.second;
            resent += c->resent; timeouts += c->timeouts; fast += c->fast; probes += c->probes; keepalives += c->keepalives; small += c->small; segments += c->segments;
        }
        printf(", \"%s\": {\"segments\": %.0f, \"small\": %.0f, \"resent\": %.0f, \"timeouts\": %.0f, \"fast\": %.0f, \"probes\": %.0f, \"keepalives\": %.0f, \"limited_s\": {", h.first.c_str(), segments, small, resent, timeouts, fast, probes, keepalives);
        bool first = true;
        for (auto& l : limits) { printf("%s\"%s\": %.3f", first ? "" : ", ", l.first.c_str(), l.second); first = false; }
        printf("}}");
    }
    printf(", \"parts\": {");
    bool first = true;
    for (auto& c : counters) { printf("%s\"%s\": %.6g", first ? "" : ", ", c.first.c_str(), c.second); first = false; }
    printf("}}\n");
}
