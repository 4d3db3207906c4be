/* A device with a small TCP of its own on TAP interface `pa` of the gateway: node ip=A.B.C.D port=N KEY=VALUE ...
   do=sink: mss wnd (octets of its buffer) scale_none read (octets at a time) read_ms every (acknowledges each n-th segment) rest_ms (the timer for the others) update (octets that a window update needs).
   do=source: octets flight (segments) rto_ms.  tick_ms: looks for frames at ticks. stop_every stop_ms: stands still after so many octets. It does not send again but its oldest segment. */
#include "tap.h"
#include <arpa/inet.h>

static int fd;
static unsigned char mac[6] = {0x02, 0x1d, 0x3a, 0x07, 0x44, 0x10}, peer_mac[6];
static uint32_t ip, peer;
static uint16_t port, peer_port, ident = 17;
static uint32_t next_in, next_out, acked, advertised;
static int state;                           /* 0 listens, 1 SYN came, 2 open, 3 the peer has closed, 4 all is over */
static long unread, wnd, octets, acks, stops, updates, resent, sent;
static int mss, peer_wnd;

static void report(int s) {
    (void)s;
    printf("{\"program\": \"node\", \"octets\": %ld, \"acks\": %ld, \"stops\": %ld, \"updates\": %ld, \"resent\": %ld}\n", octets, acks, stops, updates, resent);
    fflush(stdout);
    _exit(0);
}
static uint32_t sum(const unsigned char *it, int n, uint32_t s) {
    for (int i = 0; i + 1 < n; i += 2) s += it[i] << 8 | it[i + 1];
    if (n & 1) s += it[n - 1] << 8;
    return s;
}
static uint16_t folded(uint32_t s) { while (s >> 16) s = (s & 0xffff) + (s >> 16); return ~s; }
static void put16(unsigned char *to, unsigned v) { to[0] = v >> 8; to[1] = v; }
static void put32(unsigned char *to, uint32_t v) { put16(to, v >> 16); put16(to + 2, v & 0xffff); }
static uint32_t get32(const unsigned char *it) { return (uint32_t)it[0] << 24 | it[1] << 16 | it[2] << 8 | it[3]; }

static void segment(int flags, uint32_t seq, int size) {
    unsigned char f[1600] = {0}, *i = f + 14, *t = i + 20;
    int head = flags & 2 ? 24 : 20, total = 20 + head + size;
    long w = wnd - unread;
    if (w < 0) w = 0;
    if (w > 65535) w = 65535;
    memcpy(f, peer_mac, 6); memcpy(f + 6, mac, 6); f[12] = 8;
    i[0] = 0x45; put16(i + 2, total); put16(i + 4, ident++); i[6] = 0x40; i[8] = 64; i[9] = 6; put32(i + 12, ip); put32(i + 16, peer);
    put16(i + 10, folded(sum(i, 20, 0)));
    put16(t, port); put16(t + 2, peer_port); put32(t + 4, seq); put32(t + 8, next_in); t[12] = head / 4 << 4; t[13] = flags; put16(t + 14, w);
    if (flags & 2) { t[20] = 2; t[21] = 4; put16(t + 22, mss); }
    for (int n = 0; n < size; n++) t[head + n] = 'a' + n % 23;
    put16(t + 16, folded(sum(t, head + size, sum(i + 12, 8, 6 + head + size))));
    advertised = next_in + w;
    write(fd, f, 14 + total < 60 ? 60 : 14 + total);
    acks++;
}
static void arp(unsigned char *f) {
    if (f[21] != 1 || get32(f + 38) != ip) return;
    unsigned char g[60] = {0};
    memcpy(g, f + 6, 6); memcpy(g + 6, mac, 6); memcpy(g + 12, f + 12, 8); g[21] = 2;
    memcpy(g + 22, mac, 6); put32(g + 28, ip); memcpy(g + 32, f + 22, 10);
    write(fd, g, 60);
}
int main(int argc, char **argv) {
    argc_ = argc; argv_ = argv;
    signal(SIGTERM, report);
    ip = ntohl(inet_addr(text("ip", "0.0.0.0"))); port = number("port", 0); mss = number("mss", 1460); wnd = number("wnd", 8760);
    int is_source = !strcmp(text("do", "sink"), "source"), every = number("every", 2), flight = number("flight", 1);
    long read_size = number("read", 0), update = number("update", 2 * mss), want = number("octets", 1e6), stop_every = number("stop_every", 0), since = 0;
    int64_t read_every = number("read_ms", 0) * 1e3, rest = number("rest_ms", 200) * 1e3, rto = number("rto_ms", 1000) * 1e3, tick = number("tick_ms", 0) * 1e3, stop = number("stop_ms", 0) * 1e3;
    int64_t ack_due = -1, read_due = -1, again = -1, stopped_until = 0, start;
    int unacked = 0;
    fd = tap(text("net", "gw"), "pa");
    start = now_us();
    struct pollfd fds = {fd, POLLIN, 0};
    for (;;) {
        int64_t now = now_us(), next = -1;
        if (now < stopped_until) { fds.events = 0; wait_until(&fds, 0, stopped_until); continue; }
        if (tick && (now - start) % tick > 60) { wait_until(&fds, 0, now - (now - start) % tick + tick); now = now_us(); }
        for (;;) {
            unsigned char f[1700], *i = f + 14;
            int n = read(fd, f, sizeof f);
            if (n <= 0) break;
            if (f[12] == 8 && f[13] == 6) { arp(f); continue; }
            if (f[12] != 8 || f[13] || get32(i + 16) != ip) continue;
            int head = (i[0] & 15) * 4, total = i[2] << 8 | i[3];
            unsigned char *t = i + head;
            if (i[9] == 1 && t[0] == 8) {                                     /* ping */
                memcpy(f, f + 6, 6); memcpy(f + 6, mac, 6); memcpy(i + 16, i + 12, 4); put32(i + 12, ip); t[0] = 0; put16(t + 2, 0); put16(t + 2, folded(sum(t, total - head, 0)));
                write(fd, f, n); continue;
            }
            if (i[9] != 6 || (t[2] << 8 | t[3]) != port) continue;
            int size = total - head - (t[12] >> 4) * 4;
            uint32_t seq = get32(t + 4), ack = get32(t + 8);
            if (t[13] & 4) { state = 0; continue; }
            if (t[13] & 2) {
                memcpy(peer_mac, f + 6, 6); peer = get32(i + 12); peer_port = t[0] << 8 | t[1];
                next_in = seq + 1; next_out = acked = 0x1000 + ident * 977; unread = 0; sent = 0; state = 1;
                segment(0x12, next_out++, 0); continue;
            }
            if (!state || (t[0] << 8 | t[1]) != peer_port) continue;
            peer_wnd = t[14] << 8 | t[15];
            if (state == 1) { state = 2; acked = next_out; }
            if ((int32_t)(ack - acked) > 0) { acked = ack; again = -1; }
            if (size > 0) {
                if (seq == next_in && size <= wnd - unread) {
                    next_in += size; octets += size; unread += size; since += size; unacked++;
                    if (!read_size) unread = 0;
                    else if (read_due < 0) read_due = now + read_every;
                    if (unacked >= every) { segment(0x10, next_out, 0); unacked = 0; ack_due = -1; }
                    else if (ack_due < 0) ack_due = now + rest;
                } else { segment(0x10, next_out, 0); unacked = 0; ack_due = -1; }
                if (stop_every && since >= stop_every) { since = 0; stops++; stopped_until = now + stop; break; }
            }
            if ((t[13] & 1) && seq + (size > 0 ? size : 0) == next_in) { next_in++; unread = 0; segment(0x10, next_out, 0); if (state == 2) { segment(0x11, next_out++, 0); } state = 4; }
        }
        if (now < stopped_until) continue;
        if (ack_due >= 0 && now >= ack_due) { segment(0x10, next_out, 0); unacked = 0; ack_due = -1; }
        if (read_due >= 0 && now >= read_due) {
            unread -= unread < read_size ? unread : read_size;
            read_due = unread ? now + read_every : -1;
            if ((int32_t)(next_in + wnd - unread - advertised) >= update && state == 2) { segment(0x10, next_out, 0); updates++; }
        }
        if (is_source && state == 2) {
            if (again >= 0 && now >= again && next_out != acked) {
                long left = (int32_t)(next_out - acked), size = left < mss ? left : mss;
                segment(0x18, acked, size); resent++; again = now + rto;
            }
            while (sent < want && (int32_t)(next_out - acked) < flight * mss && peer_wnd > 0) {
                int size = want - sent < mss ? want - sent : mss;
                segment(sent + size >= want ? 0x18 : 0x10, next_out, size);
                next_out += size; sent += size; octets += size; since += size;
                if (again < 0) again = now + rto;
                if (stop_every && since >= stop_every) { since = 0; stops++; stopped_until = now + stop; break; }
            }
            if (sent >= want && next_out == acked) { segment(0x11, next_out++, 0); state = 3; }
        }
        for (int k = 0; k < 3; k++) { int64_t it = k == 0 ? ack_due : k == 1 ? read_due : again; if (it >= 0 && (next < 0 || it < next)) next = it; }
        if (stopped_until > now) continue;
        if (tick) { int64_t at = now - (now - start) % tick + tick; next = state == 0 || state == 4 ? -1 : at; }
        fds.events = POLLIN;
        wait_until(&fds, 1, next);
    }
}
