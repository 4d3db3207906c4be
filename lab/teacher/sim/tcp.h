// TCP after RFC 9293, 5681, 6582, 6675, 6298, 7323, 3042 and 9438, and what older stacks and boards leave out.
#pragma once
#include "host.h"

enum Variant { TAHOE, RENO, NEWRENO, SACK, CUBIC, FIXED };

struct Conn {
    Host *h, *peer;
    uint16_t lp, rp;
    // Settings
    Variant variant = SACK;
    int mss = 1460, mss_offered = 1460, iw = 10, dup_threshold = 3, ack_every = 2, quick = 0, max_tries = 15;
    T rto_min = 200 * MS, rto_tick = MS, syn_rto = SEC, delack = 40 * MS, persist_min = 200 * MS, keepalive = 0;
    bool delack_coarse = false, nagle = true, want_ts = true, want_sack = true, sws = true, limited = true, keeps_ooo = true, grows = false, probes_empty = false, fixed_rwnd = false, no_frto = true, abc = true;
    int want_ws = 7;
    int64_t rcvbuf = 1 << 20, sndbuf = 1 << 22, fixed_cwnd = 0;
    // State
    enum State { CLOSED, SYN_SENT, SYN_RCVD, OPEN, DEAD } state = CLOSED;
    bool active = false, ts_ok = false, sack_ok = false, fin_queued = false, fin_rcvd = false, aborted = false;
    int snd_ws = 0, rcv_ws = 0;
    uint32_t iss, irs = 0, ts_base;
    // Sending: octets are counted from the SYN (0)
    int64_t una = 0, nxt = 0, smax = 0, wr = 1, rwnd = 0, max_rwnd = 0;
    double cwnd = 0, ssthresh = 1e15;
    int dups = 0, backoff = 0;
    bool recovering = false;
    int64_t recover = 0, high_rxt = 0;
    std::map<int64_t, int64_t> sacked;  // begin -> end
    // CUBIC
    double w_max = 0, k = 0, w_est = 0;
    T epoch = 0;
    // Round trip
    double srtt = 0, rttvar = 0;
    T rto = SEC, timed_at = 0;
    int64_t timed_end = 0;
    // Timers: a deadline each; 0 is off
    T rto_at = 0, delack_at = 0, persist_at = 0, keep_at = 0;
    bool rto_set = false, delack_set = false, persist_set = false, keep_set = false;
    int persist_tries = 0;
    // Receiving
    int64_t rcv = 0, read_to = 1, edge = 0, last_ack_sent = 0;
    std::map<int64_t, int64_t> ooo;
    int64_t ooo_last = 0;
    uint32_t ts_recent = 0;
    int unacked = 0, received_segments = 0;
    int64_t unacked_octets = 0;
    bool ack_pending = false, reads_at_once = true;
    std::shared_ptr<Stream> stream = std::make_shared<Stream>();
    Fn on_open, on_data, on_writable, on_fin, on_dead, on_acked;
    bool more_to_write = false, minshall = true;
    int64_t small_end = 0;
    double min_rtt = 0;
    int grown = 0;
    bool hystart = true;
    // What limited the sender
    std::map<std::string, double> limits;
    std::string limit = "start";
    T limit_since = 0;
    int64_t resent = 0, timeouts = 0, fast = 0, probes = 0, keepalives = 0, small = 0, segments = 0;

    Conn(Host* h, Host* peer, uint16_t lp, uint16_t rp);
    void connect();
    int64_t write(int64_t n);
    int64_t write_text(const std::string& s, int64_t pad = 0);
    int64_t room() const { return std::max<int64_t>(0, sndbuf - (wr - std::max<int64_t>(una, 1))); }
    int64_t available() const { return rcv - (fin_rcvd ? 1 : 0) - read_to; }
    int64_t read(int64_t n);
    void close() { if (state == DEAD || fin_queued) return; fin_queued = true; output(); }
    void abort();
    void segment(const Pkt& p);
    void path_mtu(int mtu);
    void batch_ends();
    void output();
    bool done() const { return fin_queued && una > wr && fin_rcvd; }

private:
    void send(int64_t off, int len, uint8_t flags);
    void acknowledge(const Pkt& p);
    void deliver(const Pkt& p);
    void ack_now();
    void sample(double s);
    void arm_rto();
    void on_rto();
    void on_delack();
    void on_persist();
    void watch(T& deadline, bool& set, T when, void (Conn::*f)());
    void enter_recovery();
    void sack_output();
    void add_sack(int64_t a, int64_t b);
    int64_t sacked_octets() const { int64_t n = 0; for (auto& i : sacked) n += i.second - i.first; return n; }
    int64_t lost_below() const;
    int64_t pipe();
    void grow(int64_t acked);
    void reduce();
    int64_t new_edge();
    void now_limited(const std::string& by);
    uint32_t clock() const { return ts_base + (uint32_t)(sim.now / MS); }
    int64_t flight() const { return nxt - una; }
    bool has_ts(const Pkt& p) const { return ts_ok && p.ts; }
};
