// What arrives: acknowledgments, data, the receiver's window.
#include "tcp.h"

void Conn::add_sack(int64_t a, int64_t b) {
    if (a < una) a = una;
    if (b <= a || b > smax) return;
    auto i = sacked.upper_bound(a);
    if (i != sacked.begin() && std::prev(i)->second >= a) { --i; a = i->first; b = std::max(b, i->second); i = sacked.erase(i); }
    while (i != sacked.end() && i->first <= b) { b = std::max(b, i->second); i = sacked.erase(i); }
    sacked[a] = b;
}

// Holes that end at or below this place are lost: more than two segments above them are known to have arrived.
int64_t Conn::lost_below() const {
    int64_t above = 0;
    for (auto i = sacked.rbegin(); i != sacked.rend(); ++i) {
        above += i->second - i->first;
        if (above > (int64_t)(dup_threshold - 1) * mss) return i->first;
    }
    return 0;
}

int64_t Conn::pipe() {
    int64_t lost = lost_below(), n = 0, at = una;
    auto hole = [&](int64_t a, int64_t b) {
        if (b > a) {
            if (a < lost) n += std::max<int64_t>(0, std::min(b, high_rxt) - a);  // repeated, and under way again
            else n += b - a + std::max<int64_t>(0, std::min(b, high_rxt) - a);
        }
    };
    for (auto& i : sacked) { hole(at, i.first); at = std::max(at, i.second); }
    hole(at, nxt);
    return n;
}

void Conn::sample(double s) {
    // HyStart (RFC 9406), without its rounds: eight round trips in a row that have grown end slow start.
    if (!min_rtt || s < min_rtt) min_rtt = s;
    grown = s > min_rtt + std::max(0.004, std::min(0.016, min_rtt / 8)) ? grown + 1 : 0;
    if (hystart && variant == CUBIC && cwnd < ssthresh && grown >= 8 && cwnd > 16 * mss) ssthresh = cwnd;
    if (!srtt) { srtt = s; rttvar = s / 2; }
    else { rttvar = 0.75 * rttvar + 0.25 * std::fabs(srtt - s); srtt = 0.875 * srtt + 0.125 * s; }
    T r = (T)((srtt + std::max(4 * rttvar, rto_tick / 1e9)) * 1e9);
    rto = std::max(rto_min, (r + rto_tick - 1) / rto_tick * rto_tick);
}

void Conn::grow(int64_t acked) {
    if (variant == FIXED) return;
    if (cwnd < ssthresh) { cwnd += abc && una > recover ? acked : std::min<int64_t>(acked, mss); return; }
    if (variant == CUBIC) {
        double w = cwnd / mss, t;
        if (!epoch) { epoch = sim.now; if (w < w_max) k = std::cbrt((w_max - w) / 0.4); else { k = 0; w_max = w; } w_est = w; }
        t = (sim.now - epoch) / 1e9 + srtt;
        double target = 0.4 * std::pow(t - k, 3) + w_max;
        w_est += 3 * 0.3 / 1.7 * acked / cwnd;
        if (target < w_est) target = w_est;
        target = std::min(target, 1.5 * w);
        if (target > w) cwnd += (target - w) / w * acked; else cwnd += 0.01 * acked / w;
    } else cwnd += (double)mss * std::min<double>(acked, cwnd) / cwnd;
}

void Conn::reduce() {
    double f = std::max<double>(variant == CUBIC ? cwnd * 0.7 : std::min<double>(flight(), cwnd) / 2, 2 * mss);
    if (variant == CUBIC) { f = std::max(std::min<double>(cwnd, flight() + mss) * 0.7, 2.0 * mss); double w = cwnd / mss; w_max = w < w_max ? w * 0.85 : w; epoch = 0; }
    ssthresh = f;
}

void Conn::enter_recovery() {
    if (variant == FIXED) { send(una, (int)std::min<int64_t>(mss, smax - una), ACK); resent++; fast++; return; }
    reduce();
    fast++;
    recover = smax;
    if (variant == TAHOE) { cwnd = mss; nxt = una; dups = 0; output(); return; }
    recovering = true;
    int64_t len = std::min<int64_t>(mss, std::min(wr, smax) - una);
    if (!sacked.empty()) len = std::min<int64_t>(len, sacked.begin()->first - una);
    send(una, (int)std::max<int64_t>(len, 0), ACK | (len <= 0 ? FIN : 0));
    resent++;
    high_rxt = una + std::max<int64_t>(len, 1);
    rto_at = sim.now + (rto << backoff);
    if (sack_ok) { cwnd = ssthresh; sack_output(); }
    else { cwnd = ssthresh + dup_threshold * mss; output(); }
}

void Conn::sack_output() {
    int64_t in_pipe = pipe();
    while (cwnd - in_pipe >= mss) {
        int64_t lost = lost_below(), a = std::max(una, high_rxt);
        for (auto& i : sacked) { if (i.first <= a && a < i.second) a = i.second; }
        if (a < lost) {
            auto i = sacked.upper_bound(a);
            int64_t end = i == sacked.end() ? smax : i->first;
            int len = (int)std::min<int64_t>(mss, end - a);
            send(a, len, ACK);
            resent++;
            high_rxt = a + len;
            in_pipe += len;
            continue;
        }
        int64_t len = std::min<int64_t>({(int64_t)mss, wr - nxt, una + rwnd - nxt});
        if (len <= 0 || (len < mss && nagle && nxt + len < wr)) break;
        send(nxt, (int)len, ACK | (nxt + len == wr ? PSH : 0));
        in_pipe += len;
    }
    arm_rto();
    now_limited("recovery");
}

void Conn::acknowledge(const Pkt& p) {
    int64_t ack = una + (int32_t)(p.ack - (iss + (uint32_t)una));
    if (ack == smax + 1 && probes && nxt == smax) nxt = smax = ack;  // the octet of a probe was taken
    if (ack > smax || ack < una - (1 << 30)) return;
    int64_t window = (int64_t)p.win << (p.flags & SYN ? 0 : snd_ws), before = rwnd;
    if (ack >= una) { rwnd = window; max_rwnd = std::max(max_rwnd, rwnd); }
    if (rwnd > 0 && before <= 0) { persist_at = 0; persist_tries = 0; }
    int64_t sacked_before = sacked.size() ? sacked_octets() : 0;
    if (sack_ok) for (int i = 0; i < p.nsack; i++) {
        int64_t a = una + (int32_t)(p.sack[i][0] - (iss + (uint32_t)una)), b = una + (int32_t)(p.sack[i][1] - (iss + (uint32_t)una));
        if (b > ack) add_sack(a, b);
    }
    bool news = sack_ok && p.nsack && sacked_octets() > sacked_before;
    if (ack > una) {
        int64_t acked = ack - una;
        bool was_full = flight() + 2 * mss >= cwnd || cwnd < ssthresh;
        una = ack;
        nxt = std::max(nxt, una);
        while (!sacked.empty() && sacked.begin()->second <= una) sacked.erase(sacked.begin());
        if (!sacked.empty() && sacked.begin()->first < una) { int64_t e = sacked.begin()->second; sacked.erase(sacked.begin()); sacked[una] = e; }
        if (has_ts(p) && p.tse) sample(std::max(0.0005, (int32_t)(clock() - p.tse) / 1e3));
        else if (timed_end && una >= timed_end) { sample((sim.now - timed_at) / 1e9); timed_end = 0; }
        backoff = 0;
        if (recovering && (ack >= recover || variant == RENO)) {
            recovering = false;
            cwnd = sack_ok || variant == RENO ? ssthresh : std::min<double>(ssthresh, flight() + mss);
            dups = 0;
        } else if (recovering) {
            if (!sack_ok) {
                int64_t len = std::min<int64_t>(mss, std::min(wr, smax) - una);
                send(una, (int)std::max<int64_t>(len, 0), ACK | (len <= 0 ? FIN : 0));
                resent++;
                cwnd = std::max<double>(mss, cwnd - acked + mss);
            } else if (high_rxt < una) high_rxt = una;
        } else {
            dups = 0;
            if (was_full) grow(acked);
        }
        rto_at = 0;
        arm_rto();
        if (on_acked) on_acked();
        if (sack_ok && recovering) sack_output();
        if (on_writable && room() > 0 && (room() >= std::min<int64_t>(sndbuf / 3, 3 * mss) || flight() <= 0)) on_writable();
        output();
        if (fin_queued && una > wr && fin_rcvd && on_dead) { Fn f = on_dead; on_dead = nullptr; f(); }
        return;
    }
    if (ack == una && smax > una && nxt > una && p.len == 0 && !(p.flags & (SYN | FIN)) && (window == before || news)) {
        dups++;
        if (sack_ok && recovering) { sack_output(); return; }
        bool lost = dups >= dup_threshold || (sack_ok && lost_below() > una);
        if (recovering) { cwnd += mss; output(); }
        else if (lost && (una > recover || recover == 0) && (variant != FIXED || dups == dup_threshold)) { if (variant != TAHOE || dups >= dup_threshold) enter_recovery(); }
        else if (limited && dups < dup_threshold && wr > nxt && (una > recover || !recover) && variant > TAHOE) {
            int64_t len = std::min<int64_t>(mss, wr - nxt);
            if (nxt + len <= una + rwnd && flight() < cwnd + 2 * mss && nxt == smax) send(nxt, (int)len, ACK);
        }
        return;
    }
    if (rwnd != before) output();
}

int64_t Conn::new_edge() {
    int64_t size = grows ? std::min(rcvbuf, 65535 + 2 * (read_to - 1)) : rcvbuf;
    int64_t wanted = read_to + size;
    if (fixed_rwnd) wanted = rcv + size;
    int64_t most = rcv + ((int64_t)65535 << rcv_ws);
    wanted = std::min(wanted, most);
    if (sws && wanted - edge < std::min<int64_t>(mss_offered, size / 2)) wanted = edge;
    return std::max(wanted, edge);
}

void Conn::ack_now() {
    if (h->in_batch) { ack_pending = true; return; }
    send(nxt, 0, ACK);
}

void Conn::batch_ends() {
    if (ack_pending || unacked >= ack_every) { ack_pending = false; send(nxt, 0, ACK); }
}

int64_t Conn::read(int64_t n) {
    n = std::min(n, available());
    if (n <= 0) return 0;
    read_to += n;
    if (state == OPEN) {
        int64_t size = std::min<int64_t>(rcvbuf, 65535LL << rcv_ws), open = new_edge() - edge;
        // A window update: for two segments, or half of the buffer; without silly-window avoidance for any octet.
        if (sws ? edge - rcv < size / 2 && open >= std::min<int64_t>(2 * mss_offered, size / 2) && !reads_at_once : open > 0 && !reads_at_once) ack_now();
    }
    return n;
}

void Conn::deliver(const Pkt& p) {
    int64_t a = rcv + (int32_t)(p.seq - (irs + (uint32_t)rcv)), b = a + p.len;
    received_segments++;
    if (p.len && (b <= rcv || a >= edge)) { ack_now(); return; }  // a copy, or outside the window: a probe
    if (b > edge) b = edge;
    if (a > rcv) {
        if (keeps_ooo) {
            int64_t x = a, y = b;
            auto i = ooo.upper_bound(x);
            if (i != ooo.begin() && std::prev(i)->second >= x) { --i; x = i->first; y = std::max(y, i->second); i = ooo.erase(i); }
            while (i != ooo.end() && i->first <= y) { y = std::max(y, i->second); i = ooo.erase(i); }
            ooo[x] = y;
            ooo_last = x;
        }
        counters[h->name + "_out_of_order"]++;
        ack_now();
        if (h->in_batch) { ack_pending = false; send(nxt, 0, ACK); }
        return;
    }
    bool filled = !ooo.empty();
    if (b > rcv) {
        if (ts_ok && p.ts && a <= last_ack_sent) ts_recent = p.tsv;
        unacked_octets += b - rcv;
        int64_t had = rcv;
        last_in[h->end == 'B'] = sim.now;
        rcv = b;
        while (!ooo.empty() && ooo.begin()->first <= rcv) { rcv = std::max(rcv, ooo.begin()->second); ooo.erase(ooo.begin()); }
        octets_in[h->end == 'B'] += rcv - had;
    }
    bool fin = false;
    if (p.flags & FIN && ooo.empty() && rcv == a + p.len && !fin_rcvd) { rcv++; edge = std::max(edge, rcv); fin_rcvd = fin = true; }
    if (p.len) {
        unacked += p.len >= mss_offered / 2 && p.len > mss ? 2 : 1;
        if (reads_at_once) read(available());
        if (fin) { ack_now(); }
        int64_t before = last_ack_sent;
        if (on_data) on_data();
        if (last_ack_sent == before && !fin) {
            if (filled) ack_now();
            else if ((unacked >= ack_every && (!h->gro || !h->in_batch)) || received_segments <= quick || ack_every <= 1) ack_now();
            else if (!delack_at) {
                T when = delack_coarse ? (sim.now / delack + 1) * delack : sim.now + delack;
                watch(delack_at, delack_set, when, &Conn::on_delack);
            }
        }
    } else if (fin) ack_now();
    if (fin && on_fin) on_fin();
    if (fin && fin_queued && una > wr && on_dead) { Fn f = on_dead; on_dead = nullptr; f(); }
}

void Conn::segment(const Pkt& p) {
    if (state == DEAD) { if (!(p.flags & RST) && aborted) h->reset(std::make_shared<Pkt>(p)); return; }
    if (p.flags & RST) {
        counters[h->name + "_reset_received"]++;
        state = DEAD;
        now_limited("over");
        if (on_dead) { Fn f = on_dead; on_dead = nullptr; f(); }
        return;
    }
    if (p.flags & SYN) {
        if (state == OPEN) { ack_now(); return; }
        if (state == SYN_RCVD && !(p.flags & ACK)) { send(0, 0, SYN | ACK); return; }
        irs = p.seq;
        rcv = 1;
        edge = 1;
        if (p.mss) mss = std::min(mss_offered, (int)p.mss); else mss = std::min(mss_offered, 536);
        if (state == CLOSED) {
            ts_ok = want_ts && p.ts; sack_ok = want_sack && p.sackok;
            bool scale = want_ws >= 0 && p.ws != 255;
            snd_ws = scale ? p.ws : 0; rcv_ws = scale ? want_ws : 0;
            if (!scale) want_ws = -1;
            want_ts = ts_ok; want_sack = sack_ok;
        } else {
            ts_ok = want_ts && p.ts; sack_ok = want_sack && p.sackok;
            bool scale = want_ws >= 0 && p.ws != 255;
            snd_ws = scale ? p.ws : 0; rcv_ws = scale ? want_ws : 0;
        }
        if (ts_ok) { ts_recent = p.tsv; mss -= 12; }
        if (variant == SACK && !sack_ok) variant = NEWRENO;
        cwnd = variant == FIXED ? (fixed_cwnd ? (double)fixed_cwnd : 1e12) : (double)iw * mss;
        if (fixed_cwnd && variant != FIXED) { cwnd = fixed_cwnd; ssthresh = 1; }
        rwnd = max_rwnd = p.win;
        last_ack_sent = 1;
        if (state == CLOSED) { state = SYN_RCVD; edge = new_edge(); send(0, 0, SYN | ACK); arm_rto(); return; }
        state = OPEN;
        una = 1; nxt = smax = std::max<int64_t>(1, nxt); rto_at = 0; backoff = 0;
        sample(std::max(0.0003, (sim.now - timed_at) / 1e9));
        edge = new_edge();
        ack_now();
        if (h->in_batch) batch_ends();
        if (on_open) on_open();
        output();
        return;
    }
    if (state == SYN_RCVD && p.flags & ACK) {
        state = OPEN;
        una = 1; nxt = smax = 1; rto_at = 0; backoff = 0;
        rwnd = (int64_t)p.win << snd_ws;
        max_rwnd = rwnd;
        if (timed_end) { sample(std::max(0.0003, (sim.now - timed_at) / 1e9)); timed_end = 0; }
        if (on_open) on_open();
    }
    if (state != OPEN) return;
    if (keepalive) keep_at = sim.now + keepalive;
    if (p.flags & ACK) acknowledge(p);
    if (state != OPEN) return;
    int64_t a = rcv + (int32_t)(p.seq - (irs + (uint32_t)rcv));
    if (p.len || p.flags & FIN) deliver(p);
    else if (a < rcv) ack_now();  // keep-alive or an empty probe
}
