// What is sent: segments, timers, what limits the sender.
#include "tcp.h"

Conn::Conn(Host* h, Host* peer, uint16_t lp, uint16_t rp) : h(h), peer(peer), lp(lp), rp(rp) {
    const Set& s = h->set;
    std::string v = s.str("variant", "cubic");
    variant = v == "tahoe" ? TAHOE : v == "reno" ? RENO : v == "newreno" ? NEWRENO : v == "sack" ? SACK : v == "fixed" ? FIXED : CUBIC;
    mss_offered = mss = (int)s.num("mss", h->v6 ? 1440 : 1460);
    iw = (int)s.num("iw", 10); ack_every = (int)s.num("ack_every", 2); quick = (int)s.num("quick", 0); max_tries = (int)s.num("max_tries", 12);
    rto_min = s.time("rto_min", 0.2); rto_tick = s.time("rto_tick", 0.001); syn_rto = s.time("syn_rto", 1); delack = s.time("delack", 0.04); delack_coarse = s.num("delack_coarse");
    nagle = s.num("nagle", 1); minshall = s.num("nagle", 1) < 2; want_ts = s.num("ts", 1); want_sack = s.num("sack", 1); sws = s.num("sws", 1); limited = s.num("limited", 1); keeps_ooo = s.num("ooo", 1);
    grows = s.num("grows"); probes_empty = s.num("probes_empty"); fixed_rwnd = s.num("fixed_rwnd"); abc = s.num("abc", 1); hystart = s.num("hystart", 1);
    want_ws = (int)s.num("ws", 7); rcvbuf = (int64_t)s.num("rcvbuf", 1 << 20); sndbuf = (int64_t)s.num("sndbuf", 1 << 22); fixed_cwnd = (int64_t)s.num("fixed_cwnd");
    keepalive = s.time("keepalive"); rto = syn_rto;
    dup_threshold = (int)s.num("dup_threshold", 3);
    iss = rng.u32(); ts_base = rng.u32();
    h->conns.push_back(this);
    h->table[(uint64_t)peer->ip[3] << 40 | (uint64_t)peer->ip[15] << 32 | lp << 16 | rp] = this;
    limit_since = sim.now;
}

void Conn::now_limited(const std::string& by) {
    limits[limit] += (sim.now - limit_since) / 1e9;
    limit = by;
    limit_since = sim.now;
}

void Conn::connect() {
    active = true;
    state = SYN_SENT;
    send(0, 0, SYN);
    arm_rto();
}

int64_t Conn::write(int64_t n) {
    n = std::min(n, room());
    if (n <= 0 || fin_queued || state == DEAD) return 0;
    wr += n;
    output();
    return n;
}

int64_t Conn::write_text(const std::string& s, int64_t pad) {
    stream->text[wr] = s;
    wr += (int64_t)s.size() + pad;
    if (state == OPEN) output();
    return s.size() + pad;
}

void Conn::abort() {
    if (state == DEAD) return;
    P p = std::make_shared<Pkt>();
    p->kind = TCP; p->dst = peer; p->sp = lp; p->dp = rp; p->flags = RST | ACK;
    p->seq = iss + (uint32_t)nxt; p->ack = irs + (uint32_t)rcv; p->ts = false;
    state = DEAD; aborted = true;
    counters[h->name + "_aborted"]++;
    h->tx(p);
}

void Conn::send(int64_t off, int len, uint8_t flags) {
    P p = std::make_shared<Pkt>();
    p->kind = TCP; p->dst = peer; p->sp = lp; p->dp = rp; p->flags = flags; p->off = off; p->len = len; p->data = stream;
    p->seq = iss + (uint32_t)off;
    if (flags & SYN) {
        p->mss = mss_offered;
        p->ws = want_ws >= 0 ? want_ws : 255;
        p->sackok = want_sack;
        p->ts = want_ts;
        p->tsv = clock(); p->tse = flags & ACK ? ts_recent : 0;
        p->win = (uint16_t)std::min<int64_t>(65535, grows ? 65535 : rcvbuf);
        if (flags & ACK) p->ack = irs + 1;
        timed_at = sim.now; timed_end = 1;
        if (smax < 1) nxt = smax = 1;
        h->tx(p);
        return;
    }
    p->ts = ts_ok; p->tsv = clock(); p->tse = ts_recent;
    edge = new_edge();
    p->ack = irs + (uint32_t)rcv;
    p->win = (uint16_t)std::min<int64_t>(65535, std::max<int64_t>(0, edge - rcv) >> rcv_ws);
    if (!ooo.empty() && sack_ok) {
        int most = ts_ok ? 3 : 4;
        auto put = [&](std::map<int64_t, int64_t>::iterator i) { p->sack[p->nsack][0] = irs + (uint32_t)i->first; p->sack[p->nsack][1] = irs + (uint32_t)i->second; p->nsack++; };
        auto i = ooo.upper_bound(ooo_last);
        if (i != ooo.begin()) --i;
        int64_t first = i->first;
        put(i);
        for (auto j = ooo.rbegin(); j != ooo.rend() && p->nsack < most; ++j) if (j->first != first) put(std::prev(j.base()));
    }
    last_ack_sent = rcv; unacked = 0; unacked_octets = 0; delack_at = 0; ack_pending = false;
    int64_t end = off + len + (flags & FIN ? 1 : 0);
    if (len && len < mss) small_end = off + len;
    if (len) { segments++; if (len < mss / 4) small++; }
    if (len && off + len == wr) p->flags |= PSH;
    if (end > off) {
        if (off < smax) { if (timed_end && off < timed_end) timed_end = 0; }  // Karn
        else if (!timed_end) { timed_end = end; timed_at = sim.now; }
        if (off == nxt || off > nxt) nxt = std::max(nxt, end);
        smax = std::max(smax, end);
    }
    h->tx(p);
}

void Conn::watch(T& deadline, bool& set, T when, void (Conn::*f)()) {
    deadline = when;
    if (set) return;
    set = true;
    T *d = &deadline;
    bool* s = &set;
    h->at(when, [this, d, s, f] {
        *s = false;
        if (!*d) return;
        if (sim.now < *d) { watch(*d, *s, *d, f); return; }
        *d = 0;
        (this->*f)();
    });
}

void Conn::arm_rto() {
    if (smax <= una || state == DEAD) { rto_at = 0; return; }
    if (!rto_at) {
        T d = (state == SYN_SENT || state == SYN_RCVD ? syn_rto : rto) << std::min(backoff, 7);
        d = std::min(d, 64 * SEC);
        T when = sim.now + d;
        if (rto_tick > 10 * MS) when = (when / rto_tick + 1) * rto_tick;
        watch(rto_at, rto_set, when, &Conn::on_rto);
    } else watch(rto_at, rto_set, rto_at, &Conn::on_rto);
}

void Conn::on_rto() {
    if (state == DEAD) return;
    if (smax <= una) return;
    if (backoff >= max_tries) { counters[h->name + "_gave_up"]++; state = DEAD; if (on_dead) { Fn f = on_dead; on_dead = nullptr; f(); } return; }
    timeouts++;
    if (state == SYN_SENT || state == SYN_RCVD) { backoff++; send(0, 0, state == SYN_SENT ? SYN : SYN | ACK); timed_end = 0; arm_rto(); return; }
    if (variant != FIXED) { if (!backoff) reduce(); cwnd = mss; }
    backoff++;
    recovering = false;
    recover = smax;
    dups = 0;
    timed_end = 0;
    epoch = 0;
    nxt = una;
    high_rxt = una;
    now_limited("timeout");
    int64_t len = std::min<int64_t>(mss, std::min(wr, smax) - una);
    if (!sacked.empty() && sacked.begin()->first > una) len = std::min<int64_t>(len, sacked.begin()->first - una);
    int64_t old = nxt;
    send(una, (int)std::max<int64_t>(0, len), ACK | (len <= 0 ? FIN : 0));
    nxt = old + std::max<int64_t>(len, 1);
    resent++;
    rto_at = 0;
    arm_rto();
}

void Conn::on_delack() { if (state == OPEN && unacked) send(nxt, 0, ACK); }

void Conn::on_persist() {
    if (state != OPEN || wr <= nxt || flight() > 0) return;
    int64_t open = una + rwnd - nxt;
    if (open > 0) {  // small openings are filled when the timer ends
        send(nxt, (int)std::min<int64_t>({open, (int64_t)mss, wr - nxt}), ACK);
        arm_rto();
        return;
    }
    probes++;
    persist_tries++;
    if (probes_empty) {
        P p = std::make_shared<Pkt>();
        p->kind = TCP; p->dst = peer; p->sp = lp; p->dp = rp; p->flags = ACK; p->seq = iss + (uint32_t)una - 1; p->ack = irs + (uint32_t)rcv;
        p->win = (uint16_t)std::min<int64_t>(65535, std::max<int64_t>(0, edge - rcv) >> rcv_ws); p->ts = ts_ok; p->tsv = clock(); p->tse = ts_recent;
        h->tx(p);
    } else {
        int64_t n = nxt, m = smax;
        send(nxt, 1, ACK);
        nxt = n; smax = m;
        timed_end = 0;
    }
    watch(persist_at, persist_set, sim.now + std::min<T>(60 * SEC, std::max(rto, persist_min) << std::min(persist_tries, 6)), &Conn::on_persist);
}

void Conn::output() {
    if (state != OPEN) return;
    if (recovering && sack_ok) { sack_output(); return; }
    std::string why;
    while (true) {
        // Behind a time-out: what the other end has is not sent again.
        if (nxt < smax && sack_ok) for (auto& i : sacked) if (i.first <= nxt && nxt < i.second) nxt = i.second;
        int64_t left = wr - nxt;
        if (left <= 0) {
            if (fin_queued && nxt == wr) { bool again = nxt < smax; send(wr, 0, ACK | FIN); nxt = wr + 1; resent += again; continue; }
            why = more_to_write ? "sndbuf" : "app";
            break;
        }
        int64_t in_flight = sack_ok && !sacked.empty() ? flight() - std::min(flight(), [&] { int64_t n = 0; for (auto& i : sacked) if (i.first < nxt) n += std::min(i.second, nxt) - i.first; return n; }()) : flight();
        int64_t by_cwnd = (int64_t)cwnd - in_flight, by_rwnd = una + rwnd - nxt;
        int64_t len = std::min<int64_t>(mss, left);
        if (nxt < smax && sack_ok) { auto i = sacked.upper_bound(nxt); if (i != sacked.end()) len = std::min(len, i->first - nxt); }
        if (by_cwnd < len) { why = nxt < smax || recovering ? "recovery" : "cwnd"; if (by_cwnd < mss && in_flight > 0) break; }
        if (by_rwnd < len) {
            if (by_rwnd <= 0 || (by_rwnd < max_rwnd / 2 && by_rwnd < len && sws)) {
                why = "rwnd";
                if (flight() <= 0 && !persist_at) watch(persist_at, persist_set, sim.now + std::max(rto, persist_min), &Conn::on_persist);
                break;
            }
            if (by_rwnd < len && flight() > 0 && nagle && by_rwnd < max_rwnd / 2) { why = "rwnd"; break; }
            len = by_rwnd;
        }
        bool all = nxt + len == wr;
        if (len < mss && nagle && flight() > 0 && (!minshall || small_end > una || len < left) && nxt >= smax && !(all && fin_queued) && !(len < left && len >= max_rwnd / 2)) { why = all ? more_to_write ? "sndbuf" : "nagle" : "rwnd"; break; }
        bool again = nxt < smax;
        if (again) resent++;
        int64_t before = nxt;
        send(nxt, (int)len, ACK | (all ? PSH : 0));
        nxt = before + len;
    }
    arm_rto();
    if (why == "cwnd" && variant == FIXED) why = "fixed";
    now_limited(why);
    if (keepalive && !keep_set) {
        struct Keep { static void run(Conn* c) {
            if (c->state != OPEN || c->fin_queued) return;
            if (sim.now >= c->keep_at) {
                P p = std::make_shared<Pkt>();
                p->kind = TCP; p->dst = c->peer; p->sp = c->lp; p->dp = c->rp; p->flags = ACK; p->seq = c->iss + (uint32_t)c->nxt - 1; p->ack = c->irs + (uint32_t)c->rcv;
                p->win = (uint16_t)std::min<int64_t>(65535, (c->edge - c->rcv) >> c->rcv_ws); p->ts = c->ts_ok; p->tsv = c->clock(); p->tse = c->ts_recent;
                c->keepalives++;
                c->h->tx(p);
                c->keep_at = sim.now + c->keepalive;
            }
            c->h->at(c->keep_at, [c] { run(c); });
        } };
        keep_set = true;
        keep_at = sim.now + keepalive;
        Conn* c = this;
        h->at(keep_at, [c] { Keep::run(c); });
    }
}

void Conn::path_mtu(int mtu) {
    int now = mtu - (h->v6 ? 60 : 40) - (ts_ok ? 12 : 0);
    if (now >= mss || state != OPEN) return;
    mss = now;
    counters[h->name + "_path_mtu"] = mtu;
    nxt = una;
    recover = smax;
    output();
}
