// A small station with a TCP of its own on a TUN interface: station key=value …. It has no selective acknowledgments, no time stamps, no scaling,
// and keeps nothing that arrives behind a gap. Its processor takes time for each frame, stands still, or sleeps between beacons.
//   dev=st0 listen=7000 | peer=10.0.0.1 port=7000 own=10.0.0.2   does=sink|source|answer
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "settings.h"

typedef unsigned char octet;
enum { FIN = 1, SYN = 2, RST = 4, PSH = 8, ACK = 16 };
enum { CLOSED, OPENING, ANSWERED, OPEN };

static int tun;

static uint32_t get32(const octet *at) { return (uint32_t)at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3]; }
static uint32_t get16(const octet *at) { return at[0] << 8 | at[1]; }
static void put32(octet *at, uint32_t it) { at[0] = it >> 24, at[1] = it >> 16, at[2] = it >> 8, at[3] = it; }
static void put16(octet *at, uint32_t it) { at[0] = it >> 8, at[1] = it; }
static uint32_t sum(const octet *at, int octets, uint32_t start) {
    for (int i = 0; i < octets; i++) start += i & 1 ? at[i] : at[i] << 8;
    return start;
}
static uint32_t folded(uint32_t it) {
    while (it >> 16) it = (it & 0xffff) + (it >> 16);
    return ~it & 0xffff;
}

// The connection.
static struct {
    int state;
    uint32_t own, peer, own_port, peer_port, una, next, most, start, expects, window;
    uint64_t to_send, sent;
    int peer_mss, unacknowledged, repeats, fin_sent, fin_seen;
    double timer, back_off, acknowledge_at;
    uint32_t held;
} c;
static uint32_t mss, buffer, in_flight, each_ack, request, answer_octets, chunk;
static double late_s, gap_s, read_at, minimum_s;
static uint64_t received, asked, lost_frames, stops, waits_for_beacon;
static uint16_t identification;
static int does_source, does_answer, min_update;
static double busy_until, per_frame, stop_each, stop_for, next_stop, standing_until, beacon, awake_for, awake_until;

static void transmit(octet *packet, int octets) {
    if (write(tun, packet, octets) < 0) {}
}
static uint32_t free_octets(void) { return buffer > c.held ? buffer - c.held : 0; }
static void segment(int flags, uint32_t sequence, int octets) {
    static octet packet[2048];
    int head = flags & SYN ? 24 : 20, total = 20 + head + octets;
    memset(packet, 0, total);
    packet[0] = 0x45;
    put16(packet + 2, total);
    put16(packet + 4, ++identification);
    packet[8] = 64;
    packet[9] = 6;
    put32(packet + 12, c.own);
    put32(packet + 16, c.peer);
    put16(packet + 10, folded(sum(packet, 20, 0)));
    octet *tcp = packet + 20;
    put16(tcp, c.own_port);
    put16(tcp + 2, c.peer_port);
    put32(tcp + 4, sequence);
    put32(tcp + 8, flags & ACK ? c.expects : 0);
    tcp[12] = head / 4 << 4;
    tcp[13] = flags;
    put16(tcp + 14, free_octets() > 65535 ? 65535 : free_octets());
    if (flags & SYN) {
        tcp[20] = 2;
        tcp[21] = 4;
        put16(tcp + 22, mss);
    }
    for (int i = 0; i < octets; i++) tcp[head + i] = (octet)((sequence - c.start + i) * 31 >> 3);
    put16(tcp + 16, folded(sum(tcp, head + octets, sum(packet + 12, 8, 6 + head + octets))));
    transmit(packet, total);
    if (flags & ACK) {
        c.unacknowledged = 0;
        c.acknowledge_at = 0;
    }
}
static void acknowledge(void) { segment(ACK, c.next, 0); }
static void push(void) {
    uint32_t limit = c.peer_mss < (int)mss ? (uint32_t)c.peer_mss : mss;
    while (c.state == OPEN) {
        uint32_t flying = c.next - c.una, room = c.window > flying ? c.window - flying : 0, done = c.next - c.start;
        if (c.fin_sent && c.next == c.una) c.fin_sent = 0;
        if (done >= c.to_send) {
            if (c.fin_seen && !c.fin_sent && flying == 0) {
                segment(FIN | ACK, c.next, 0);
                c.next++;
                c.fin_sent = 1;
                c.timer = now() + c.back_off;
            } else if (does_source && c.to_send && !c.fin_sent && flying == 0) {
                segment(FIN | ACK, c.next, 0);
                c.next++;
                c.fin_sent = 1;
                c.timer = now() + c.back_off;
            }
            return;
        }
        uint32_t octets = limit;
        if (octets > c.to_send - done) octets = c.to_send - done;
        if (octets > room) octets = room;
        if (!octets || flying + octets > in_flight * limit) return;
        segment(ACK | (done + octets >= c.to_send ? PSH : 0), c.next, octets);
        if (flying == 0) c.timer = now() + c.back_off;
        c.next += octets;
        if ((int32_t)(c.next - c.most) > 0) c.most = c.next;
    }
}
static void opened(void) {
    c.state = OPEN;
    c.back_off = minimum_s;
    if (does_source) c.to_send = (uint64_t)number("octets", 1e5);
}
static void start(uint32_t own, uint32_t peer, uint32_t own_port, uint32_t peer_port) {
    memset(&c, 0, sizeof c);
    c.own = own, c.peer = peer, c.own_port = own_port, c.peer_port = peer_port;
    c.una = 0x10000000u + (uint32_t)rand();
    c.next = c.una + 1;
    c.start = c.most = c.next;
    c.peer_mss = 536;
    c.back_off = 1;
    c.timer = now() + 1;
}
static void handle_tcp(octet *ip, int octets) {
    octet *tcp = ip + 20;
    int head = (tcp[12] >> 4) * 4, data = octets - 20 - head, flags = tcp[13];
    uint32_t sequence = get32(tcp + 4), confirms = get32(tcp + 8);
    if (flags & SYN) {
        if (!(flags & ACK)) {
            if (get16(tcp + 2) != (uint32_t)number("listen", 0)) return;
            if (c.state != ANSWERED || get16(tcp) != c.peer_port) start(get32(ip + 16), get32(ip + 12), get16(tcp + 2), get16(tcp));
            c.state = ANSWERED;
        } else if (c.state != OPENING)
            return;
        c.expects = sequence + 1;
        c.window = get16(tcp + 14);
        for (int at = 20; at + 3 < head; at += tcp[at] == 1 ? 1 : tcp[at + 1] ? tcp[at + 1] : 60)
            if (tcp[at] == 2) c.peer_mss = get16(tcp + at + 2);
        if (c.state == ANSWERED)
            segment(SYN | ACK, c.next - 1, 0);
        else {
            c.una = confirms;
            opened();
            acknowledge();
            push();
        }
        return;
    }
    if (c.state == CLOSED || get16(tcp) != c.peer_port || get32(ip + 12) != c.peer) return;
    if (flags & RST) {
        c.state = CLOSED;
        return;
    }
    if (c.state == ANSWERED && confirms == c.next) c.una = confirms, opened();
    int is_new = (int32_t)(confirms - c.una) > 0 && (int32_t)(confirms - c.most) <= (c.fin_sent ? 1 : 0);
    if (is_new) {
        c.una = confirms;
        if ((int32_t)(c.next - c.una) < 0) c.next = c.una;
        c.repeats = 0;
        c.back_off = minimum_s;
        c.timer = now() + c.back_off;
    } else if (confirms == c.una && c.next != c.una && !data && get16(tcp + 14) == c.window && ++c.repeats == 3) {
        uint32_t keep = c.next, limit = c.peer_mss < (int)mss ? (uint32_t)c.peer_mss : mss;
        segment(ACK, c.una, keep - c.una < limit ? keep - c.una : limit);
    }
    c.window = get16(tcp + 14);
    if (data > 0) {
        int fresh = data - (int)(c.expects - sequence);
        if ((int32_t)(sequence - c.expects) > 0 || fresh <= 0 || (uint32_t)fresh > free_octets())
            acknowledge();
        else {
            c.expects += fresh;
            received += fresh;
            if (chunk) c.held += fresh;
            c.unacknowledged++;
            if (does_answer) {
                asked += fresh;
                int is_asked = 0;
                while (asked >= request) asked -= request, c.to_send += answer_octets, is_asked = 1;
                if (is_asked && !number("together", 0)) acknowledge();
            }
            if (c.unacknowledged >= (int)each_ack) acknowledge();
            else if (c.unacknowledged && !c.acknowledge_at) c.acknowledge_at = now() + late_s;
        }
    }
    if (flags & FIN && sequence + data == c.expects && !c.fin_seen) {
        c.expects++;
        c.fin_seen = 1;
        acknowledge();
    }
    push();
}
static void handle(octet *ip, int octets) {
    if (octets < 28 || ip[0] != 0x45) return;
    int total = get16(ip + 2);
    if (total > octets) return;
    if (ip[9] == 6) handle_tcp(ip, total);
    if (ip[9] == 1 && ip[20] == 8) {
        uint32_t own = get32(ip + 16);
        memmove(ip + 16, ip + 12, 4);
        put32(ip + 12, own);
        put16(ip + 4, ++identification);
        ip[8] = 64;
        put16(ip + 10, 0);
        put16(ip + 10, folded(sum(ip, 20, 0)));
        ip[20] = 0;
        put16(ip + 22, 0);
        put16(ip + 22, folded(sum(ip + 20, total - 20, 0)));
        transmit(ip, total);
    }
}
// What timers do, while the station is awake.
static void timers(double at) {
    if (c.state == CLOSED) return;
    if (c.acknowledge_at && at >= c.acknowledge_at) acknowledge();
    if (chunk && at >= read_at && c.held) {
        uint32_t before = free_octets();
        c.held -= c.held < chunk ? c.held : chunk;
        read_at = at + gap_s;
        if (free_octets() - before >= (uint32_t)min_update || before == 0) acknowledge();
    }
    int is_pending = c.next != c.una || c.state == OPENING || c.state == ANSWERED;
    if (is_pending && at >= c.timer) {
        c.back_off = c.back_off * 2 > 16 ? 16 : c.back_off * 2;
        c.timer = at + c.back_off;
        if (c.state == OPENING) segment(SYN, c.next - 1, 0);
        else if (c.state == ANSWERED) segment(SYN | ACK, c.next - 1, 0);
        else {
            c.next = c.una;
            c.fin_sent = 0;
            push();
        }
    }
    if (c.state == OPEN && c.next == c.una && c.to_send > c.next - c.start && c.window == 0 && at >= c.timer) {
        segment(ACK, c.una - 1, 0);
        c.timer = at + 0.5;
    }
}

int main(int given, char **arguments) {
    static struct { octet data[2048]; int octets; } frames[4096];
    static int first, held;
    words = arguments + 1;
    count_of_words = given - 1;
    struct sigaction it = {.sa_handler = over};
    sigaction(SIGTERM, &it, NULL);
    struct ifreq name = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    strncpy(name.ifr_name, text("dev", "st0"), IFNAMSIZ - 1);
    tun = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    if (tun < 0 || ioctl(tun, TUNSETIFF, &name)) return 1;
    srand((unsigned)number("seed", 5));
    mss = number("mss", 1460), buffer = number("window", 8192), in_flight = number("in_flight", 4), each_ack = number("ackn", 2);
    late_s = number("late_ms", 100) / 1e3, minimum_s = number("rto_ms", 600) / 1e3, chunk = number("chunk", 0), gap_s = number("gap_ms", 0) / 1e3, min_update = number("update", 1);
    does_source = !strcmp(text("does", "sink"), "source"), does_answer = !strcmp(text("does", "sink"), "answer");
    request = number("size", 64), answer_octets = number("answer", 64);
    per_frame = number("frame_us", 0) / 1e6, stop_each = number("stop_each_ms", 0) / 1e3, stop_for = number("stop_ms", 0) / 1e3;
    beacon = number("beacon_ms", 0) / 1e3, awake_for = number("awake_ms", 0) / 1e3;
    int slots = number("queue", 1000);
    double wake_at = 0, origin = now(), connect_at = text("peer", NULL) ? origin + 0.5 : 0;
    next_stop = stop_each ? origin + stop_each : 0;
    while (!is_over) {
        double at = now(), until = at + 0.2;
        if (next_stop && at >= next_stop) {
            standing_until = next_stop + stop_for * (0.9 + 0.2 * rand() / RAND_MAX);
            next_stop = standing_until + stop_each;
            stops++;
        }
        int is_asleep = beacon && at >= awake_until;
        double free_at = standing_until > busy_until ? standing_until : busy_until;
        if (is_asleep && held) {
            if (!wake_at) {
                wake_at = origin + beacon * (long)((at - origin) / beacon + 1);
                waits_for_beacon++;
            }
            if (at >= wake_at) {
                wake_at = 0;
                is_asleep = 0;
            } else if (free_at < wake_at)
                free_at = wake_at;
        }
        if (at >= free_at && !is_asleep) {
            if (beacon && held) awake_until = at + awake_for;
            if (connect_at && at >= connect_at) {
                start(ntohl(inet_addr(text("own", ""))), ntohl(inet_addr(text("peer", ""))), 30000 + rand() % 20000, (uint32_t)number("port", 0));
                c.state = OPENING;
                segment(SYN, c.next - 1, 0);
                connect_at = 0;
            }
            if (held) {
                int octets = frames[first].octets;
                static octet copy[2048];
                memcpy(copy, frames[first].data, octets);
                first = (first + 1) % 4096, held--;
                busy_until = at + per_frame;
                handle(copy, octets);
                until = at;
            }
            timers(at);
        }
        double wakes[] = {c.acknowledge_at, chunk && c.held ? read_at : 0, c.next != c.una || c.state == OPENING ? c.timer : 0, next_stop, connect_at};
        for (int i = 0; i < 5; i++)
            if (wakes[i] && wakes[i] < until) until = wakes[i];
        if (held || until <= at) until = at;
        if (until < free_at && free_at > at) until = free_at;
        if (is_asleep && !held) until = at + 0.05;
        if (until < at) until = at;
        // A frame that arrives meanwhile is kept, if there is room.
        for (;;) {
            double wait = until - now();
            struct timespec most = {0, wait > 0 ? (long)(wait * 1e9 > 999999999 ? 999999999 : wait * 1e9) + 1 : 0};
            struct pollfd ready = {tun, POLLIN, 0};
            if (ppoll(&ready, 1, &most, NULL) > 0) {
                octet data[2048];
                int octets = read(tun, data, sizeof data);
                if (octets > 0) {
                    if (held < slots && held < 4096) {
                        int slot = (first + held++) % 4096;
                        memcpy(frames[slot].data, data, octets);
                        frames[slot].octets = octets;
                    } else
                        lost_frames++;
                }
                if (now() >= free_at) break;
            } else if (now() >= until || is_over)
                break;
        }
    }
    printf("{\"received\": %llu, \"lost_frames\": %llu, \"stops\": %llu, \"waits_for_beacon\": %llu, \"sent\": %u}\n", (unsigned long long)received, (unsigned long long)lost_frames,
           (unsigned long long)stops, (unsigned long long)waits_for_beacon, c.una - c.start);
    return 0;
}
