/*
 * Forwards frames between two TAP interfaces, each in its own network namespace, as a path would.
 *
 *     forward A=NAMESPACE:INTERFACE B=NAMESPACE:INTERFACE [seed=N] [middle=FILE] [SETTING=VALUE ...]
 *
 * `ab.rate=8e6` sets the direction from A to B, `ba.rate=` the other, `rate=` both; path.h lists the settings.
 * `shared=1`: both directions share the slowest link. `duplex=RATE half=a`: see duplex.h. `outage=FROM,FOR` (in ms
 * after the first SYN, several allowed): nothing passes. `middle=` writes a capture taken in the middle of the path.
 * Ends on SIGTERM, and then prints its counters as JSON.
 */
#define _GNU_SOURCE
#include "duplex.h"
#include "path.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define HEAP 65536
#define OUTAGES 16
#define BUCKETS 200

static struct direction to[2];
static struct frame *heap[HEAP];
static unsigned heaped;
static uint64_t serial;
static FILE *middle;
static ns_t outages[OUTAGES][2];
static unsigned outage_count;
static ns_t first_syn;
static volatile sig_atomic_t ended;
static uint64_t lateness[BUCKETS + 1], lateness_max; /* by 100 us */
ns_t awake_until;

ns_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static void fail(const char *what)
{
    fprintf(stderr, "forward: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int before(const struct frame *a, const struct frame *b)
{
    return a->due < b->due || (a->due == b->due && a->serial < b->serial);
}

void deliver(int end, ns_t due, uint8_t *data, unsigned octets)
{
    if (heaped == HEAP) {
        free(data);
        return;
    }
    struct frame *it = malloc(sizeof *it);
    *it = (struct frame){due, serial++, octets, end, data};
    unsigned at = heaped++;
    while (at && before(it, heap[(at - 1) / 2])) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = it;
}

static struct frame *take(void)
{
    struct frame *top = heap[0], *last = heap[--heaped];
    unsigned at = 0;
    for (;;) {
        unsigned child = 2 * at + 1;
        if (child >= heaped)
            break;
        if (child + 1 < heaped && before(heap[child + 1], heap[child]))
            child++;
        if (!before(heap[child], last))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return top;
}

int interrupted(ns_t at)
{
    for (unsigned i = 0; first_syn && i < outage_count; i++)
        if (at - first_syn >= outages[i][0] && at - first_syn < outages[i][0] + outages[i][1])
            return 1;
    return 0;
}

void pass_middle(ns_t at, const uint8_t *data, unsigned octets)
{
    if (!middle)
        return;
    uint32_t head[4] = {at / 1000000000, at % 1000000000 / 1000, octets, octets};
    fwrite(head, sizeof head, 1, middle);
    fwrite(data, octets, 1, middle);
}

static void open_middle(const char *file)
{
    struct { uint32_t magic; uint16_t major, minor; uint32_t zone, accuracy, snap, type; } head = {
        0xa1b2c3d4, 2, 4, 0, 0, 65535, 1};
    middle = fopen(file, "w");
    if (!middle)
        fail(file);
    fwrite(&head, sizeof head, 1, middle);
}

static int open_tap(char *name)
{
    char file[64], *interface = strchr(name, ':');
    if (!interface)
        fail("an end is NAMESPACE:INTERFACE");
    *interface++ = 0;
    snprintf(file, sizeof file, "/run/netns/%s", name);
    int space = open(file, O_RDONLY);
    if (space < 0 || setns(space, CLONE_NEWNET) < 0)
        fail(file);
    close(space);
    int tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    strncpy(request.ifr_name, interface, IFNAMSIZ - 1);
    if (tap < 0 || ioctl(tap, TUNSETIFF, &request) < 0)
        fail(interface);
    return tap;
}

static const struct { const char *name; size_t at; } SETTINGS[] = {
#define SETTING(name) {#name, offsetof(struct settings, name)}
    SETTING(rate), SETTING(overhead), SETTING(queue), SETTING(queue_octets), SETTING(before), SETTING(after),
    SETTING(jitter), SETTING(loss), SETTING(reorder), SETTING(reorder_by), SETTING(duplicate), SETTING(corrupt),
    SETTING(police), SETTING(bucket), SETTING(busy_min), SETTING(busy_max), SETTING(mtu), SETTING(drop_syn),
    SETTING(syn_every), SETTING(syn_late), SETTING(drop_port), SETTING(mss), SETTING(strip), SETTING(idle),
    SETTING(beacon)};

static void set(const char *name, double value)
{
    int only = -1;
    if (!strncmp(name, "ab.", 3) || !strncmp(name, "ba.", 3)) {
        only = name[0] == 'a';
        name += 3;
    }
    for (unsigned i = 0; i < sizeof SETTINGS / sizeof *SETTINGS; i++)
        if (!strcmp(SETTINGS[i].name, name)) {
            for (int end = 0; end < 2; end++)
                if (only < 0 || only == end)
                    *(double *)((char *)&to[end].set + SETTINGS[i].at) = value;
            return;
        }
    fprintf(stderr, "forward: no setting %s\n", name);
    exit(1);
}

static void print_counters(void)
{
    uint64_t all = 0, sum = 0, p99 = 0;
    for (unsigned i = 0; i <= BUCKETS; i++)
        all += lateness[i];
    for (unsigned i = 0; i <= BUCKETS && sum < all * 99 / 100; i++) {
        sum += lateness[i];
        p99 = i * 100;
    }
    printf("{\"late_p99_us\": %lu, \"late_max_us\": %lu", p99, lateness_max / 1000);
    for (int end = 1; end >= 0; end--) {
        const struct counters *it = &to[end].count;
        printf(", \"%s\": {\"frames\": %lu, \"passed\": %lu, \"octets\": %lu", end ? "ab" : "ba", it->in, it->out,
               it->octets);
#define COUNT(name) if (it->name) printf(", \"" #name "\": %lu", it->name)
        COUNT(lost); COUNT(overflowed); COUNT(policed); COUNT(busy); COUNT(outage); COUNT(black_hole); COUNT(syn);
        COUNT(port); COUNT(corrupted); COUNT(duplicated); COUNT(reordered); COUNT(collisions);
        COUNT(late_collisions); COUNT(destroyed); COUNT(beaconed); COUNT(queued_ns);
        printf("}");
    }
    printf("}\n");
}

static void end(int signal)
{
    (void)signal;
    ended = 1;
}

static void receive(int tap, int from)
{
    static uint8_t data[65600];
    for (int i = 0; i < 64; i++) {
        ssize_t octets = read(tap, data, sizeof data);
        if (octets < 14)
            return;
        ns_t at = now_ns();
        struct parsed it;
        parse(data, octets, &it);
        if (!first_syn && it.tcp && it.flags & SYN)
            first_syn = at;
        struct direction *dir = &to[!from];
        /* What the sleeping station itself sends wakes it up. */
        if (to[from].set.beacon && awake_until < at + (ns_t)(to[from].set.idle * 1000))
            awake_until = at + (ns_t)(to[from].set.idle * 1000);
        pass(dir, at, data, octets);
    }
}

static void send_due(const int *taps)
{
    ns_t now = now_ns();
    while (heaped && heap[0]->due <= now) {
        struct frame *it = take();
        uint64_t late = now - it->due;
        lateness[late / 100000 > BUCKETS ? BUCKETS : late / 100000]++;
        if (late > lateness_max)
            lateness_max = late;
        if (write(taps[it->to], it->data, it->octets) < 0 && errno != EAGAIN && errno != EIO)
            fail("write");
        free(it->data);
        free(it);
        now = now_ns();
    }
}

int main(int count, char **arguments)
{
    int taps[2] = {-1, -1};
    double duplex = 0, shared = 0;
    int half = 1;
    for (int i = 0; i < 2; i++)
        to[i] = (struct direction){.to = i, .set.overhead = 24};
    for (int i = 1; i < count; i++) {
        char *name = arguments[i], *value = strchr(name, '=');
        if (!value)
            fail(name);
        *value++ = 0;
        if (!strcmp(name, "A") || !strcmp(name, "B"))
            taps[*name == 'B'] = open_tap(value);
        else if (!strcmp(name, "seed"))
            seed_random(strtoull(value, 0, 10));
        else if (!strcmp(name, "middle"))
            open_middle(value);
        else if (!strcmp(name, "shared"))
            shared = atof(value);
        else if (!strcmp(name, "duplex"))
            duplex = atof(value);
        else if (!strcmp(name, "half"))
            half = *value == 'b';
        else if (!strcmp(name, "outage") && outage_count < OUTAGES) {
            double from = 0, length = 0;
            sscanf(value, "%lf,%lf", &from, &length);
            outages[outage_count][0] = from * 1e6;
            outages[outage_count++][1] = length * 1e6;
        } else
            set(name, atof(value));
    }
    for (int i = 0; i < 2; i++)
        to[i].free_at = shared ? &to[0].own_free : &to[i].own_free;
    if (duplex)
        duplex_start(duplex, half, &to[0], &to[1]);
    struct sched_param priority = {.sched_priority = 20};
    sched_setscheduler(0, SCHED_FIFO, &priority);
    mlockall(MCL_CURRENT | MCL_FUTURE);
    prctl(PR_SET_TIMERSLACK, 1);
    signal(SIGTERM, end);
    signal(SIGINT, end);
    struct pollfd polled[2] = {{taps[0], POLLIN, 0}, {taps[1], POLLIN, 0}};
    while (!ended) {
        send_due(taps);
        ns_t next = duplex_advance(now_ns());
        if (heaped && (!next || heap[0]->due < next))
            next = heap[0]->due;
        ns_t wait = next ? next - now_ns() : 100000000;
        if (wait < 0)
            wait = 0;
        struct timespec time = {wait / 1000000000, wait % 1000000000};
        if (ppoll(polled, 2, &time, 0) > 0)
            for (int i = 0; i < 2; i++)
                if (polled[i].revents & POLLIN)
                    receive(taps[i], i);
    }
    if (middle)
        fclose(middle);
    print_counters();
    return 0;
}
