/* Passes frames between two stations and does to them what its options say: path END END OPTION=VALUE...
 *
 * An end is an interface of this namespace (veth) or tun:NAMESPACE, a TUN interface `eth0` that is made there. An option
 * counts for both directions, or with "ab." or "ba." for one. Times are in ms, rates in bits/s, sizes in octets. SIGTERM
 * ends it; it prints its counters as JSON. The stages of a direction, in order:
 *
 *   mtu, syn (so many SYNs are lost), outage and outage_for, police and burst, loss, bad and bad_length (Gilbert), nth
 *   mss, nosack, noscale, window (rewritten; checksums are computed again), corrupt, copy
 *   rate, overhead, queue, red, codel, slot and share (sends in this part of each period only), vary and factor, half
 *   stall and stall_for (holds everything at intervals), delay, spread, late and late_by, poll, sleep and beacon
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <math.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

typedef uint64_t ns_t;
#define MS 1000000.0
#define NEVER UINT64_MAX

struct frame { struct frame *next; ns_t queued; int length; uint8_t octets[2048]; };

enum option { MTU, SYN, OUTAGE, OUTAGE_FOR, POLICE, BURST, LOSS, BAD, BAD_LENGTH, NTH, MSS, NOSACK, NOSCALE, WINDOW, CORRUPT, COPY,
              RATE, OVERHEAD, QUEUE, RED, CODEL, SLOT, SHARE, VARY, FACTOR, HALF, STALL, STALL_FOR, DELAY, SPREAD, LATE, LATE_BY,
              POLL, SLEEP, BEACON, OPTIONS };
static const char *NAMES[OPTIONS] = { "mtu", "syn", "outage", "outage_for", "police", "burst", "loss", "bad", "bad_length", "nth",
    "mss", "nosack", "noscale", "window", "corrupt", "copy", "rate", "overhead", "queue", "red", "codel", "slot", "share", "vary",
    "factor", "half", "stall", "stall_for", "delay", "spread", "late", "late_by", "poll", "sleep", "beacon" };

enum counter { FRAMES, OCTETS, PASSED, LOST, POLICED, FULL, AQM, OUTED, TOO_LONG, COPIED, CORRUPTED, OVERTAKEN, HELD, REWRITTEN,
               COUNTERS };
static const char *COUNTED[COUNTERS] = { "frames", "octets", "passed", "lost", "policed", "queue_full", "aqm", "outage", "too_long",
    "copied", "corrupted", "overtaken", "held", "rewritten" };

struct direction {
    double set[OPTIONS];
    uint64_t count[COUNTERS];
    int in, out, busy, bad, scale, seen;
    double tokens, average;
    ns_t filled, delivered, awake, above, drop_next, service, first, last;
    double drops, queue_ms_sum, queue_ms_max;
    uint64_t served;
    struct frame *head, *tail;
    int held;
};
static struct direction ways[2];
static int link_octets = 14, medium_busy;
static ns_t began, first_payload = NEVER;
static uint64_t random_state;

static ns_t now_ns(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000ull + t.tv_nsec; }
static double uniform(void) {
    random_state ^= random_state << 13; random_state ^= random_state >> 7; random_state ^= random_state << 17;
    return (random_state >> 11) / 9007199254740992.0;
}

/* ---- events in the order of time */
enum stage { SERVED, TRY, DELIVER };
struct event { ns_t at; uint64_t number; enum stage stage; int way; struct frame *frame; };
static struct event heap[1 << 17];
static int events;
static uint64_t numbered;
static int before(const struct event *a, const struct event *b) { return a->at != b->at ? a->at < b->at : a->number < b->number; }
static void plan(ns_t at, enum stage stage, int way, struct frame *frame) {
    struct event it = { at, numbered++, stage, way, frame };
    if (events == 1 << 17) { free(frame); return; }
    int i = events++;
    while (i && before(&it, &heap[(i - 1) / 2])) { heap[i] = heap[(i - 1) / 2]; i = (i - 1) / 2; }
    heap[i] = it;
}
static struct event take(void) {
    struct event top = heap[0], it = heap[--events];
    int i = 0;
    for (;;) {
        int child = 2 * i + 1;
        if (child >= events) break;
        if (child + 1 < events && before(&heap[child + 1], &heap[child])) child++;
        if (!before(&heap[child], &it)) break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = it;
    return top;
}

/* ---- headers */
static uint8_t *tcp_of(struct frame *f, int *octets) {
    uint8_t *ip = f->octets + link_octets;
    if (f->length < link_octets + 20) return NULL;
    if (link_octets && !(f->octets[12] == 8 && f->octets[13] == 0)) return NULL;
    if (ip[0] >> 4 != 4 || ip[9] != 6) return NULL;
    int head = (ip[0] & 15) * 4, total = ip[2] << 8 | ip[3];
    if (total < head + 20 || link_octets + total > f->length) return NULL;
    *octets = total - head;
    return ip + head;
}
static int payload(struct frame *f) {
    int octets; uint8_t *tcp = tcp_of(f, &octets), *ip = f->octets + link_octets;
    if (tcp) return octets - (tcp[12] >> 4) * 4;
    return f->length >= link_octets + 28 && ip[0] >> 4 == 4 && ip[9] == 17 ? (ip[2] << 8 | ip[3]) - 28 : 0;
}
static void checksum(struct frame *f, uint8_t *tcp, int octets) {
    uint8_t *ip = f->octets + link_octets;
    uint32_t sum = 6 + octets;
    for (int i = 12; i < 20; i += 2) sum += ip[i] << 8 | ip[i + 1];
    tcp[16] = tcp[17] = 0;
    for (int i = 0; i < octets; i++) sum += tcp[i] << (i % 2 ? 0 : 8);
    while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
    sum = ~sum & 0xffff;
    tcp[16] = sum >> 8; tcp[17] = sum;
}
static void rewrite(struct direction *d, struct frame *f) {
    int octets, changed = 0;
    uint8_t *tcp = tcp_of(f, &octets);
    if (!tcp) return;
    int head = (tcp[12] >> 4) * 4;
    if (tcp[13] & 2) {
        d->scale = 0;
        for (int i = 20; i + 1 < head && tcp[i];) {
            if (tcp[i] == 1) { i++; continue; }
            int kind = tcp[i], length = tcp[i + 1];
            if (length < 2) break;
            if (kind == 3 && !d->set[NOSCALE]) d->scale = tcp[i + 2];
            if (kind == 2 && d->set[MSS] && (tcp[i + 2] << 8 | tcp[i + 3]) > d->set[MSS]) {
                tcp[i + 2] = (int)d->set[MSS] >> 8; tcp[i + 3] = (int)d->set[MSS]; changed = 1;
            }
            if ((kind == 3 && d->set[NOSCALE]) || (kind == 4 && d->set[NOSACK])) { memset(tcp + i, 1, length); changed = 1; }
            i += length;
        }
    }
    if (d->set[WINDOW]) {
        int scale = tcp[13] & 2 ? 0 : d->scale, window = (tcp[14] << 8 | tcp[15]) << scale;
        if (window > d->set[WINDOW]) {
            window = (int)d->set[WINDOW] >> scale;
            tcp[14] = window >> 8; tcp[15] = window; changed = 1;
        }
    }
    if (changed) { checksum(f, tcp, octets); d->count[REWRITTEN]++; }
}

/* ---- behind the bottleneck */
static void send_on(int way, struct frame *f, ns_t now) {
    struct direction *d = &ways[way];
    double at = now, *set = d->set;
    if (set[STALL]) {
        double phase = fmod((now - began) / MS, set[STALL]), rest = phase - (set[STALL] - set[STALL_FOR]);
        if (rest >= 0) { at += (set[STALL_FOR] - rest) * MS; d->count[HELD]++; }
    }
    at += set[DELAY] * MS;
    if (set[SPREAD]) at += -log(1 - uniform()) * set[SPREAD] * MS;
    if (set[SLEEP]) {
        if (at > d->awake) { at = began + ceil((at - began) / (set[BEACON] * MS)) * set[BEACON] * MS; d->count[HELD]++; }
        if (at + set[SLEEP] * MS > d->awake) d->awake = at + set[SLEEP] * MS;
    }
    if (set[POLL]) at = began + ceil((at - began) / (set[POLL] * MS)) * set[POLL] * MS;
    if (set[LATE] && payload(f) > 0 && uniform() < set[LATE]) { at += set[LATE_BY] * MS; d->count[OVERTAKEN]++; }
    else { if (at < d->delivered) at = d->delivered; d->delivered = at; }
    plan(at, DELIVER, way, f);
}

/* ---- the bottleneck */
static ns_t duration(struct direction *d, struct frame *f, ns_t now) {
    double rate = d->set[RATE];
    if (d->set[VARY] && fmod((now - began) / MS, 2 * d->set[VARY]) >= d->set[VARY]) rate *= d->set[FACTOR];
    return (f->length + d->set[OVERHEAD]) * 8e9 / rate;
}
static int codel_drops(struct direction *d, struct frame *f, ns_t now) {
    double interval = 20 * d->set[CODEL] * MS;
    if (now < f->queued + d->set[CODEL] * MS || d->held < 2 * 1514) { d->above = 0; d->drops = 0; return 0; }
    if (!d->above) { d->above = now + interval; return 0; }
    if (now < d->above) return 0;
    if (!d->drops || now >= d->drop_next) { d->drops++; d->drop_next = now + interval / sqrt(d->drops); return 1; }
    return 0;
}
static void serve(int way, ns_t now) {
    struct direction *d = &ways[way];
    while (!d->busy && d->head && !(d->set[HALF] && medium_busy)) {
        if (d->set[SLOT]) {
            double phase = fmod((now - began) / MS, d->set[SLOT]);
            if (phase >= d->set[SHARE] * d->set[SLOT]) { plan(now + (d->set[SLOT] - phase) * MS + 1000, TRY, way, NULL); return; }
        }
        struct frame *f = d->head;
        d->head = f->next;
        d->held -= f->length;
        if (d->set[CODEL] && codel_drops(d, f, now)) { d->count[AQM]++; free(f); continue; }
        if (now < f->queued) now = f->queued;
        double waited = (now - f->queued) / MS;
        d->queue_ms_sum += waited;
        if (waited > d->queue_ms_max) d->queue_ms_max = waited;
        d->served++;
        ns_t takes = duration(d, f, now);
        d->service += takes;
        d->busy = 1;
        if (d->set[HALF]) medium_busy = 1;
        plan(now + takes, SERVED, way, f);
    }
}
static void enqueue(int way, struct frame *f, ns_t now) {
    struct direction *d = &ways[way];
    if (!d->set[RATE]) { send_on(way, f, now); return; }
    if (d->held + f->length > d->set[QUEUE]) { d->count[FULL]++; free(f); return; }
    if (d->set[RED]) {
        double low = d->set[RED] * d->set[QUEUE];
        d->average += 0.02 * (d->held - d->average);
        if (d->average > low && uniform() < 0.1 * (d->average - low) / (d->set[QUEUE] - low)) { d->count[AQM]++; free(f); return; }
    }
    f->queued = now;
    f->next = NULL;
    if (d->head) d->tail->next = f; else d->head = f;
    d->tail = f;
    d->held += f->length;
    serve(way, now);
}

/* ---- before it */
static int is_lost(struct direction *d, struct frame *f, ns_t now) {
    double *set = d->set, passed_ms = first_payload == NEVER || now < first_payload ? -1 : (now - first_payload) / MS;
    int octets;
    uint8_t *tcp = tcp_of(f, &octets);
    if (set[MTU] && f->length - link_octets > set[MTU]) return TOO_LONG;
    if (set[SYN] && tcp && tcp[13] & 2 && d->seen++ < set[SYN]) return LOST;
    if (set[OUTAGE_FOR] && passed_ms >= set[OUTAGE] && passed_ms < set[OUTAGE] + set[OUTAGE_FOR]) return OUTED;
    if (set[POLICE]) {
        d->tokens += (now - d->filled) / 1e9 * set[POLICE] / 8;
        if (d->tokens > set[BURST] || !d->filled) d->tokens = set[BURST];
        d->filled = now;
        if (d->tokens < f->length) return POLICED;
        d->tokens -= f->length;
    }
    if (set[LOSS] && uniform() < set[LOSS]) return LOST;
    if (set[BAD]) {
        d->bad = d->bad ? uniform() > 1 / set[BAD_LENGTH] : uniform() < set[BAD];
        if (d->bad) return LOST;
    }
    if (set[NTH] && payload(f) > 0 && ++d->seen % (int)set[NTH] == 0) return LOST;
    return 0;
}
static void arrived(int way, struct frame *f, ns_t now) {
    struct direction *d = &ways[way];
    d->count[FRAMES]++;
    d->count[OCTETS] += f->length;
    if (payload(f) > 0) { if (first_payload == NEVER) first_payload = now; if (!d->first) d->first = now; d->last = now; }
    int why = is_lost(d, f, now);
    if (why) { d->count[why]++; free(f); return; }
    rewrite(d, f);
    if (d->set[CORRUPT] && payload(f) > 60 && uniform() < d->set[CORRUPT]) {
        f->octets[f->length - 1 - (int)(uniform() * 40)] ^= 1 << (int)(uniform() * 8);
        d->count[CORRUPTED]++;
    }
    struct frame *copy = NULL;
    if (d->set[COPY] && uniform() < d->set[COPY] && (copy = malloc(sizeof *copy))) { *copy = *f; d->count[COPIED]++; }
    struct direction *back = &ways[!way];
    if (back->set[SLEEP]) back->awake = now + back->set[SLEEP] * MS;
    enqueue(way, f, now);
    if (copy) enqueue(way, copy, now);
}

/* ---- ends */
static int open_end(const char *name) {
    if (!strncmp(name, "tun:", 4)) {
        char file[256];
        snprintf(file, sizeof file, "/run/netns/%s", name + 4);
        int home = open("/proc/self/ns/net", O_RDONLY), there = open(file, O_RDONLY), fd;
        struct ifreq request = { .ifr_flags = IFF_TUN | IFF_NO_PI };
        strcpy(request.ifr_name, "eth0");
        /* The interface belongs to the namespace in which the file is opened. */
        if (setns(there, CLONE_NEWNET) || (fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK)) < 0 || ioctl(fd, TUNSETIFF, &request)
            || setns(home, CLONE_NEWNET)) { perror(name); exit(1); }
        link_octets = 0;
        return fd;
    }
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, htons(ETH_P_ALL)), room = 1 << 23;
    struct sockaddr_ll address = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = if_nametoindex(name) };
    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
    if (bind(fd, (struct sockaddr *)&address, sizeof address)) { perror(name); exit(1); }
    return fd;
}
static struct frame *receive(int fd) {
    struct frame *f = malloc(sizeof *f);
    for (;;) {
        struct sockaddr_ll from = { 0 };
        socklen_t size = sizeof from;
        f->length = link_octets ? recvfrom(fd, f->octets, sizeof f->octets, 0, (struct sockaddr *)&from, &size)
                                : read(fd, f->octets, sizeof f->octets);
        if (f->length <= 0) { free(f); return NULL; }
        if (from.sll_pkttype != PACKET_OUTGOING) return f;
    }
}

static volatile sig_atomic_t ended;
static void end(int number) { (void)number; ended = 1; }

static uint32_t lateness[1024];
static void print(void) {
    uint64_t all = 0, so_far = 0, p99 = 0, most = 0;
    for (int i = 0; i < 1024; i++) { all += lateness[i]; if (lateness[i]) most = i; }
    for (int i = 0; i < 1024 && so_far < all * 0.99; i++) { so_far += lateness[i]; p99 = i; }
    printf("{");
    for (int way = 0; way < 2; way++) {
        struct direction *d = &ways[way];
        printf("\"%s\": {", way ? "ba" : "ab");
        for (int i = 0; i < COUNTERS; i++) if (d->count[i] || i < 3) printf("\"%s\": %llu, ", COUNTED[i], (unsigned long long)d->count[i]);
        double span = d->last > d->first ? d->last - d->first : INFINITY;
        printf("\"queue_ms_mean\": %.2f, \"queue_ms_max\": %.2f, \"busy\": %.3f}, ", d->served ? d->queue_ms_sum / d->served : 0,
               d->queue_ms_max, d->service / span);
    }
    printf("\"late_p99_ms\": %.1f, \"late_max_ms\": %.1f}\n", p99 / 10.0, most / 10.0);
}

int main(int count, char **words) {
    if (count < 3) return 2;
    random_state = 88172645463325252ull;
    for (int i = 3; i < count; i++) {
        char *name = words[i], *value = strchr(name, '=');
        int which = !strncmp(name, "ab.", 3) ? 1 : !strncmp(name, "ba.", 3) ? 2 : 3, found = 0;
        if (!value) { fprintf(stderr, "%s\n", name); return 2; }
        *value++ = 0;
        if (which != 3) name += 3;
        if (!strcmp(name, "seed")) { random_state ^= strtoull(value, NULL, 10) * 0x9e3779b97f4a7c15ull; found = 1; }
        for (int k = 0; k < OPTIONS; k++) if (!strcmp(name, NAMES[k])) {
            found = 1;
            for (int way = 0; way < 2; way++) if (which & 1 << way) ways[way].set[k] = atof(value);
        }
        if (!found) { fprintf(stderr, "no option %s\n", name); return 2; }
    }
    int ends[2] = { open_end(words[1]), open_end(words[2]) };
    for (int way = 0; way < 2; way++) { ways[way].in = ends[way]; ways[way].out = ends[!way]; }
    struct sched_param urgent = { .sched_priority = 10 };
    sched_setscheduler(0, SCHED_FIFO, &urgent);
    mlockall(MCL_CURRENT | MCL_FUTURE);
    signal(SIGTERM, end);
    signal(SIGINT, end);
    began = now_ns();
    puts("ready");
    fflush(stdout);
    while (!ended) {
        ns_t now = now_ns();
        while (events && heap[0].at <= now) {
            struct event it = take();
            struct direction *d = &ways[it.way];
            uint64_t late = (now - it.at) / 100000;
            lateness[late > 1023 ? 1023 : late]++;
            /* The line goes on from when it was due, however late this program is. */
            if (it.stage == SERVED) {
                d->busy = 0;
                if (d->set[HALF]) medium_busy = 0;
                send_on(it.way, it.frame, it.at);
                if (d->set[HALF]) serve(!it.way, it.at);
                serve(it.way, it.at);
            } else if (it.stage == TRY) {
                serve(it.way, it.at);
            } else {
                if (write(d->out, it.frame->octets, it.frame->length) == it.frame->length) d->count[PASSED]++;
                free(it.frame);
            }
        }
        struct pollfd them[2] = { { .fd = ends[0], .events = POLLIN }, { .fd = ends[1], .events = POLLIN } };
        struct timespec wait = { 1, 0 };
        if (events) {
            now = now_ns();
            ns_t left = heap[0].at > now ? heap[0].at - now : 0;
            wait.tv_sec = left / 1000000000; wait.tv_nsec = left % 1000000000;
        }
        if (ppoll(them, 2, &wait, NULL) <= 0) continue;
        for (int way = 0; way < 2; way++) {
            struct frame *f;
            for (int i = 0; i < 64 && them[way].revents & POLLIN && (f = receive(ways[way].in)); i++) arrived(way, f, now_ns());
        }
    }
    print();
    return 0;
}
