/*
 * The path between two veths of a router: the kernel queues each forwarded packet (NFQUEUE) until this program releases or drops
 * it. Queue 0 has the packets of A, queue 1 those of B. Rates and their queues are the kernel's (tbf), behind this program.
 *
 * Arguments are key=value; keys of one direction begin with a. (from A) or b. (from B):
 *   delay jitter          ms of each packet; jitter is uniform and keeps the order
 *   loss                  share of packets that are lost, alone
 *   bad badlength         chance of a bad moment at a packet, packets in it (mean); all of them are lost
 *   late lateby           share of packets that take longer, and by how many ms: others overtake them
 *   ring cost             frames that the receiving device holds, microseconds that it takes for each
 *   sleep beacon          ms: idle for so long, the receiving radio sleeps until the next beacon
 *   syn synwait           first SYNs to lose, ms by which the first is delayed
 * and of both directions:
 *   gap gapfor            ms: each gap ms, everything waits for gapfor ms
 *   mismatch half         rate, bit/s, of an Ethernet whose end A (half=0) or B (half=1) is half duplex, the other full duplex
 *   seed
 * On SIGTERM it prints what it counted as JSON.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <libnetfilter_queue/libnetfilter_queue.h>
#include <linux/netfilter.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <time.h>

struct packet {
    double at;
    uint64_t order;
    uint32_t id;
    int way, is_lost;
};

struct way {
    double delay, jitter, loss, bad, badlength, late, lateby, ring, cost, sleep, beacon, syn, synwait;
    struct nfq_q_handle *queue;
    double last, finish[4096], wire_from, wire_to, active;
    unsigned first, held;
    int left_bad, syns;
    struct packet *on_wire;
    long packets, passed, lost, overrun, overtaken, slept, syn_lost, collided;
};

static struct way ways[2];
static double gap, gapfor, mismatch, half, seed = 1, began = -1;
static struct packet *heap[65536];
static unsigned many;
static uint64_t orders;
static long gaps, late_events[2001];
static double late_max;
static volatile sig_atomic_t ends;

static double now(void)
{
    struct timespec it;
    clock_gettime(CLOCK_MONOTONIC, &it);
    return it.tv_sec * 1e3 + it.tv_nsec / 1e6;
}

static int before(const struct packet *a, const struct packet *b) { return a->at < b->at || (a->at == b->at && a->order < b->order); }

static void push(struct packet *it)
{
    unsigned at = many++;
    for (; at && before(it, heap[(at - 1) / 2]); at = (at - 1) / 2) {
        heap[at] = heap[(at - 1) / 2];
    }
    heap[at] = it;
}

static struct packet *pop(void)
{
    struct packet *top = heap[0], *it = heap[--many];
    unsigned at = 0;
    for (unsigned next; (next = 2 * at + 1) < many; at = next) {
        if (next + 1 < many && before(heap[next + 1], heap[next])) {
            next++;
        }
        if (!before(heap[next], it)) {
            break;
        }
        heap[at] = heap[next];
    }
    heap[at] = it;
    return top;
}

static void drop(struct way *way, uint32_t id, long *count)
{
    ++*count;
    nfq_set_verdict(way->queue, id, NF_DROP, 0, NULL);
}

/* When the receiving device is done with a frame that arrives at this time, or -1: no room. */
static double device(struct way *way, double at)
{
    while (way->held && way->finish[way->first % 4096] <= at) {
        way->first++, way->held--;
    }
    if (way->held >= way->ring) {
        return -1;
    }
    double start = way->held ? way->finish[(way->first + way->held - 1) % 4096] : at;
    way->finish[(way->first + way->held++) % 4096] = start + way->cost / 1e3;
    return start + way->cost / 1e3;
}

/* When the frame has crossed the mismatched link; *is_lost if it collides at once. */
static double cross(struct way *way, double t, int octets, int *is_lost)
{
    struct way *other = &ways[way == &ways[0]];
    double takes = (octets + 38) * 8e3 / mismatch, from = fmax(t, way->wire_to);
    int is_half = (way - ways) == (int)half;
    if (is_half) {
        from = fmax(from, other->wire_to); /* senses the carrier */
    } else if (from < other->wire_to && from + takes > other->wire_from) {
        *is_lost = 1; /* sends into a frame of the half-duplex end, whose frame is destroyed, too */
        if (other->on_wire && !other->on_wire->is_lost) {
            other->on_wire->is_lost = 1;
            other->collided++;
        }
    }
    way->wire_from = from, way->wire_to = from + takes;
    return from + takes;
}

static int arrived(struct nfq_q_handle *queue, struct nfgenmsg *message, struct nfq_data *data, void *argument)
{
    struct way *way = argument, *other = &ways[way == &ways[0]];
    uint32_t id = ntohl(nfq_get_msg_packet_hdr(data)->packet_id);
    unsigned char *ip;
    int kept = nfq_get_payload(data, &ip), octets = kept >= 20 ? ip[2] << 8 | ip[3] : 0;
    double t = now(), at;
    (void)queue, (void)message;
    began = began < 0 ? t : began;
    way->packets++;
    if (kept >= 34 && ip[9] == 6 && ip[(ip[0] & 15) * 4 + 13] & 2) {
        if (way->syns++ < way->syn) {
            drop(way, id, &way->syn_lost);
            return 0;
        }
        if (way->syns == 1 && way->synwait) {
            t += way->synwait, way->slept++;
        }
    }
    if (way->left_bad > 0 || (way->bad && drand48() < way->bad)) {
        way->left_bad = way->left_bad > 0 ? way->left_bad - 1 : (int)(-log(drand48() + 1e-12) * way->badlength);
        drop(way, id, &way->lost);
        return 0;
    }
    if (way->loss && drand48() < way->loss) {
        drop(way, id, &way->lost);
        return 0;
    }
    int is_lost = 0;
    at = t;
    if (mismatch) {
        at = cross(way, t, octets, &is_lost);
        way->collided += is_lost;
    }
    at += way->delay + (way->jitter ? way->jitter * drand48() : 0);
    if (gap && fmod(at - began, gap) > gap - gapfor) {
        at += gap - fmod(at - began, gap), gaps++;
    }
    if (way->sleep) {
        double active = fmax(way->active, other->active);
        if (at - active > way->sleep) {
            at = began + ceil((at - began) / way->beacon) * way->beacon, way->slept++;
        }
        way->active = at;
    } else {
        way->active = t;
    }
    if (way->ring && (at = device(way, at)) < 0) {
        drop(way, id, &way->overrun);
        return 0;
    }
    if (way->late && drand48() < way->late) {
        at += way->lateby, way->overtaken++;
    } else {
        at = way->last = fmax(at, way->last);
    }
    struct packet *it = malloc(sizeof *it);
    *it = (struct packet){.at = at, .order = orders++, .id = id, .way = (int)(way - ways), .is_lost = is_lost};
    way->on_wire = it;
    if (many >= 65000) {
        free(it);
        drop(way, id, &way->overrun);
        return 0;
    }
    push(it);
    return 0;
}

static void release(void)
{
    while (many && heap[0]->at <= now()) {
        struct packet *it = pop();
        struct way *way = &ways[it->way];
        double late = now() - it->at;
        late_max = fmax(late, late_max);
        late_events[late >= 200 ? 2000 : (int)(late * 10)]++;
        nfq_set_verdict(way->queue, it->id, it->is_lost ? NF_DROP : NF_ACCEPT, 0, NULL);
        way->passed += !it->is_lost;
        if (way->on_wire == it) {
            way->on_wire = NULL;
        }
        free(it);
    }
}

/* The priority of any program, with a slice of 0.1 ms: woken, it need not wait for the slices of others. */
static void short_slice(void)
{
    struct { uint32_t size, policy; uint64_t flags; int32_t nice; uint32_t priority; uint64_t runtime, deadline, period; } it = {.size = 48, .runtime = 100000};
    syscall(SYS_sched_setattr, 0, &it, 0);
}

static void end(int number) { (void)number, ends = 1; }

static int set(const char *word)
{
    char key[32];
    double value;
    if (sscanf(word, "%31[^=]=%lf", key, &value) != 2) {
        return 0;
    }
    struct { const char *name; double *where; } both[] = {{"gap", &gap}, {"gapfor", &gapfor}, {"mismatch", &mismatch}, {"half", &half}, {"seed", &seed}};
    for (unsigned i = 0; i < sizeof both / sizeof *both; i++) {
        if (!strcmp(both[i].name, key)) {
            *both[i].where = value;
            return 1;
        }
    }
    struct way *way = &ways[key[0] == 'b'];
    struct { const char *name; double *where; } one[] = {
        {"delay", &way->delay}, {"jitter", &way->jitter}, {"loss", &way->loss}, {"bad", &way->bad}, {"badlength", &way->badlength},
        {"late", &way->late}, {"lateby", &way->lateby}, {"ring", &way->ring}, {"cost", &way->cost}, {"sleep", &way->sleep},
        {"beacon", &way->beacon}, {"syn", &way->syn}, {"synwait", &way->synwait}};
    for (unsigned i = 0; key[1] == '.' && i < sizeof one / sizeof *one; i++) {
        if (!strcmp(one[i].name, key + 2)) {
            *one[i].where = value;
            return 1;
        }
    }
    return 0;
}

int main(int n, char **words)
{
    static char buffer[1 << 16];
    for (int i = 1; i < n; i++) {
        if (!set(words[i])) {
            fprintf(stderr, "unknown: %s\n", words[i]);
            return 2;
        }
    }
    srand48((long)seed);
    signal(SIGTERM, end);
    short_slice();
    prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
    struct nfq_handle *handle = nfq_open();
    for (int i = 0; handle && i < 2; i++) {
        ways[i].queue = nfq_create_queue(handle, (uint16_t)i, arrived, &ways[i]);
        if (!ways[i].queue || nfq_set_mode(ways[i].queue, NFQNL_COPY_PACKET, 80) < 0) {
            handle = NULL;
            break;
        }
        nfq_set_queue_maxlen(ways[i].queue, 60000);
    }
    if (!handle) {
        perror("nfqueue");
        return 1;
    }
    int fd = nfq_fd(handle), octets = 1 << 24;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &octets, sizeof octets);
    printf("ready\n");
    fflush(stdout);
    while (!ends) {
        double wait = many ? fmax(0, heap[0]->at - now()) : 1000;
        struct timespec most = {.tv_sec = (time_t)(wait / 1e3), .tv_nsec = (long)(fmod(wait, 1e3) * 1e6)};
        struct pollfd it = {.fd = fd, .events = POLLIN};
        if (ppoll(&it, 1, &most, NULL) > 0) {
            ssize_t length;
            for (int i = 0; i < 64 && (length = recv(fd, buffer, sizeof buffer, MSG_DONTWAIT)) > 0; i++) {
                nfq_handle_packet(handle, buffer, (int)length);
            }
        }
        release();
    }
    long all = 0, so_far = 0;
    int p99 = 0;
    for (int i = 0; i <= 2000; i++) {
        all += late_events[i];
    }
    for (; p99 < 2000 && (so_far += late_events[p99]) < all - all / 100; p99++) {
    }
    printf("{");
    for (int i = 0; i < 2; i++) {
        struct way *it = &ways[i];
        printf("\"%c\": {\"packets\": %ld, \"passed\": %ld, \"lost\": %ld, \"overrun\": %ld, \"overtaken\": %ld, \"slept\": %ld, \"syn_lost\": %ld, "
               "\"collided\": %ld}, ", 'a' + i, it->packets, it->passed, it->lost, it->overrun, it->overtaken, it->slept, it->syn_lost, it->collided);
    }
    printf("\"gaps\": %ld, \"late_p99_ms\": %.1f, \"late_max_ms\": %.2f}\n", gaps, p99 / 10.0, late_max);
    return 0;
}
