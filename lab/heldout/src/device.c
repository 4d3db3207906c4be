/*
 * A small TCP over a TAP interface, as a device without an operating system has: no SACK, no window scaling, no
 * timestamps, segments behind a gap are discarded, one connection at a time, any port. It receives what a client sends,
 * or answers an HTTP request with a file.
 *
 *     device INTERFACE ADDRESS [SETTING=VALUE ...]
 *
 * Ends on SIGTERM, and then prints its counters as JSON.
 */
#define _GNU_SOURCE
#include "queue.h"
#include "segment.h"
#include <arpa/inet.h>
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
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define HEAD "HTTP/1.0 200 OK\r\nContent-Length: %.0f\r\n\r\n"

enum { US = 1000 };
enum state { LISTEN, SYN_RECEIVED, OPEN, CLOSING };

/* Times in microseconds; 0 switches a setting off. */
struct settings {
    double mss, window;
    double ack_every, ack_delay;      /* segments per acknowledgment; when fewer arrived: wait so long */
    double ack_late;                  /* each frame leaves so much later */
    double cost, ring;                /* time that each frame takes; how many may wait for it */
    double tick;                      /* looks for frames only at these ticks */
    double stall_every, stall;        /* stands still for `stall` */
    double read, read_every;          /* the program takes so many octets at a time */
    double update;                    /* announces room from this many octets on */
    double file, in_flight;           /* octets of its answer; octets in flight at most */
};
static struct settings set = {.mss = 1460, .window = 5840, .ack_every = 2, .ack_delay = 200000, .ring = 1000,
                              .update = 1, .in_flight = 65535};
static const struct { const char *name; size_t at; } SETTINGS[] = {
#define SETTING(name) {#name, offsetof(struct settings, name)}
    SETTING(mss), SETTING(window), SETTING(ack_every), SETTING(ack_delay), SETTING(ack_late), SETTING(cost),
    SETTING(ring), SETTING(tick), SETTING(stall_every), SETTING(stall), SETTING(read), SETTING(read_every),
    SETTING(update), SETTING(file), SETTING(in_flight)};

static struct queue received, leaving;
static struct station own;
static int tap;
static volatile sig_atomic_t ended;
static ns_t free_at, started, ack_due, read_due, timer_due, timeout = 400000000;
static struct { uint64_t octets, segments, overflowed, acks, timeouts; ns_t from, to; } count;

static struct {
    enum state state;
    struct segment reply;      /* peer and ports of what is sent */
    uint32_t receive_next, right_edge, send_first, send_una, send_next, send_end;
    unsigned unread, unacknowledged, duplicates, peer_window, mss;
} connection;

static ns_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static unsigned room(void)
{
    unsigned all = set.window > connection.unread ? set.window - connection.unread : 0;
    return all > 65535 ? 65535 : all;
}

static void send_segment(ns_t now, uint8_t flags, uint32_t sequence, const uint8_t *payload, unsigned octets)
{
    struct held *out = push(&leaving);
    struct segment *it = &connection.reply;
    /* The right edge of the window never moves back. */
    uint32_t edge = connection.receive_next + room();
    if ((int32_t)(edge - connection.right_edge) < 0)
        edge = connection.right_edge;
    connection.right_edge = edge;
    it->flags = flags;
    it->sequence = sequence;
    it->acknowledgment = connection.receive_next;
    it->window = edge - connection.receive_next;
    it->mss = flags & SYN ? set.mss : 0;
    it->payload = payload;
    it->octets = octets;
    out->at = now + (ns_t)(set.ack_late * US);
    out->octets = build_segment(out->data, &own, it);
    connection.unacknowledged = 0;
    ack_due = 0;
}

static void acknowledge(ns_t now)
{
    count.acks++;
    send_segment(now, ACK, connection.send_next, 0, 0);
}

/* Sends what the window and the limit in flight permit. */
static void send_file(ns_t now)
{
    static uint8_t text[FRAME];
    static char head[128];
    int length = snprintf(head, sizeof head, HEAD, set.file);
    unsigned limit = set.in_flight < connection.peer_window ? set.in_flight : connection.peer_window;
    while (connection.state == OPEN && connection.send_next != connection.send_end) {
        uint32_t at = connection.send_next - connection.send_first;
        unsigned size = connection.send_end - connection.send_next;
        if (size > connection.mss)
            size = connection.mss;
        if (connection.send_next - connection.send_una + size > limit && connection.send_next != connection.send_una)
            return;
        if (!limit)
            return;
        for (unsigned i = 0; i < size; i++)
            text[i] = at + i < (unsigned)length ? (uint8_t)head[at + i] : 'a' + (at + i) % 26;
        send_segment(now, ACK | PSH, connection.send_next, text, size);
        connection.send_next += size;
        if (!timer_due)
            timer_due = now + timeout;
    }
    if (set.file && connection.state == OPEN && connection.send_end != connection.send_first &&
        connection.send_next == connection.send_end) {
        send_segment(now, FIN | ACK, connection.send_next++, 0, 0);
        connection.state = CLOSING;
    }
}

static void open_connection(ns_t now, const struct segment *it)
{
    uint32_t first = 100000;
    memset(&connection, 0, sizeof connection);
    connection.state = SYN_RECEIVED;
    connection.reply = (struct segment){.peer = it->peer, .source = it->destination, .destination = it->source};
    connection.receive_next = connection.right_edge = it->sequence + 1;
    connection.mss = it->mss && it->mss < set.mss ? it->mss : set.mss;
    connection.peer_window = it->window;
    send_segment(now, SYN | ACK, first, 0, 0);
    connection.send_first = connection.send_una = connection.send_next = connection.send_end = first + 1;
    timer_due = 0;
}

static void take_acknowledgment(ns_t now, const struct segment *it)
{
    int32_t fresh = it->acknowledgment - connection.send_una;
    connection.peer_window = it->window;
    if (fresh > 0 && (int32_t)(connection.send_next - it->acknowledgment) < 0)
        connection.send_next = it->acknowledgment;
    if (fresh > 0) {
        connection.send_una = it->acknowledgment;
        connection.duplicates = 0;
        timeout = 400000000;
        timer_due = connection.send_una == connection.send_next ? 0 : now + timeout;
    } else if (fresh == 0 && !it->octets && connection.send_next != connection.send_una &&
               ++connection.duplicates == 3 && connection.state == OPEN) {
        connection.send_next = connection.send_una;
    }
    send_file(now);
}

static void take_payload(ns_t now, const struct segment *it)
{
    if (it->sequence != connection.receive_next || it->octets > connection.right_edge - it->sequence) {
        acknowledge(now);
        return;
    }
    count.from = count.from ? count.from : now;
    count.to = now;
    count.octets += it->octets;
    count.segments++;
    connection.receive_next += it->octets;
    if (set.read_every) {
        connection.unread += it->octets;
        if (!read_due)
            read_due = now + (ns_t)(set.read_every * US);
    }
    if (set.file && connection.send_end == connection.send_first) {
        connection.send_end += (uint32_t)set.file + snprintf(0, 0, HEAD, set.file);
        send_file(now);
    }
    if (++connection.unacknowledged >= set.ack_every)
        acknowledge(now);
    else if (!ack_due)
        ack_due = now + (ns_t)(set.ack_delay * US);
}

static void process(ns_t now, struct held *frame)
{
    struct segment it;
    unsigned octets = frame->octets;
    if ((octets = answer(frame->data, octets, &own))) {
        struct held *out = push(&leaving);
        out->at = now + (ns_t)(set.ack_late * US);
        out->octets = octets;
        memcpy(out->data, frame->data, octets);
        return;
    }
    if (!read_segment(frame->data, frame->octets, &own, &it))
        return;
    if (it.flags & SYN) {
        open_connection(now, &it);
        return;
    }
    if (connection.state == LISTEN || it.source != connection.reply.destination)
        return;
    if (it.flags & RST) {
        connection.state = LISTEN;
        return;
    }
    if (connection.state == SYN_RECEIVED)
        connection.state = OPEN;
    take_acknowledgment(now, &it);
    if (it.octets)
        take_payload(now, &it);
    if (it.flags & FIN && it.sequence + it.octets == connection.receive_next) {
        connection.receive_next++;
        if (connection.state == OPEN && connection.send_next == connection.send_end) {
            send_segment(now, FIN | ACK, connection.send_next++, 0, 0);
            connection.state = CLOSING;
        } else
            acknowledge(now);
    }
}

static void read_some(ns_t now)
{
    connection.unread -= set.read < connection.unread ? set.read : connection.unread;
    read_due = connection.unread ? now + (ns_t)(set.read_every * US) : 0;
    uint32_t edge = connection.receive_next + room();
    if ((int32_t)(edge - connection.right_edge) >= (int32_t)set.update && connection.state != LISTEN)
        acknowledge(now);
}

static void retransmit(ns_t now)
{
    count.timeouts++;
    connection.send_next = connection.send_una;
    timeout *= 2;
    timer_due = 0;
    send_file(now);
}

/* The time at which the processor runs again. */
static ns_t running(ns_t at)
{
    if (!set.stall_every || !started)
        return at;
    ns_t every = (ns_t)(set.stall_every * US), phase = (at - started) % every;
    ns_t from = every - (ns_t)(set.stall * US);
    return phase >= from ? at + every - phase : at;
}

static ns_t begins(const struct held *frame)
{
    ns_t at = frame->at > free_at ? frame->at : free_at;
    ns_t tick = (ns_t)(set.tick * US);
    return running(tick ? at + tick - at % tick : at) + (ns_t)(set.cost * US);
}

/* Does what is due; returns when to look again. */
static ns_t run(ns_t now)
{
    if (running(now) > now)
        return running(now);
    for (;;) {
        ns_t next = now + 100000000;
        if (received.used) {
            ns_t at = begins(head(&received));
            if (at <= now) {
                process(at, head(&received));
                free_at = at;
                drop(&received);
                continue;
            }
            next = at;
        }
        if (ack_due && ack_due <= now)
            acknowledge(now);
        if (read_due && read_due <= now)
            read_some(read_due);
        if (timer_due && timer_due <= now)
            retransmit(now);
        while (leaving.used && head(&leaving)->at <= now) {
            if (write(tap, head(&leaving)->data, head(&leaving)->octets) < 0)
                perror("device: write");
            drop(&leaving);
        }
        ns_t times[] = {ack_due, read_due, timer_due, leaving.used ? head(&leaving)->at : 0};
        for (unsigned i = 0; i < 4; i++)
            if (times[i] && times[i] < next)
                next = times[i];
        return next;
    }
}

static void receive(void)
{
    uint8_t data[65600];
    ssize_t octets;
    while ((octets = read(tap, data, sizeof data)) > 0) {
        if (octets > FRAME)
            continue;
        if (received.used >= set.ring) {
            count.overflowed++;
            continue;
        }
        struct held *it = push(&received);
        it->at = now_ns();
        it->octets = octets;
        memcpy(it->data, data, octets);
        if (!started && octets > 47 && data[23] == 6 && data[47] & SYN)
            started = it->at;
    }
}

static void end(int signal)
{
    (void)signal;
    ended = 1;
}

static int change(const char *text)
{
    const char *value = strchr(text, '=');
    for (unsigned at = 0; value && at < sizeof SETTINGS / sizeof *SETTINGS; at++)
        if (strlen(SETTINGS[at].name) == (size_t)(value - text) && !strncmp(SETTINGS[at].name, text, value - text)) {
            *(double *)((char *)&set + SETTINGS[at].at) = atof(value + 1);
            return 1;
        }
    return 0;
}

int main(int arguments, char **argument)
{
    if (arguments < 3)
        return 2;
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    strncpy(request.ifr_name, argument[1], IFNAMSIZ - 1);
    tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    if (tap < 0 || ioctl(tap, TUNSETIFF, &request) < 0 || inet_pton(AF_INET, argument[2], own.ip) != 1) {
        fprintf(stderr, "device: %s: %s\n", argument[1], strerror(errno));
        return 1;
    }
    memcpy(own.mac, (uint8_t[]){2, 0x48, 0x44, own.ip[2], 0, own.ip[3]}, 6);
    for (int i = 3; i < arguments; i++)
        if (!change(argument[i])) {
            fprintf(stderr, "device: no setting %s\n", argument[i]);
            return 1;
        }
    received.frames = calloc(RING, sizeof *received.frames);
    leaving.frames = calloc(RING, sizeof *leaving.frames);
    struct sched_param priority = {.sched_priority = 15};
    sched_setscheduler(0, SCHED_FIFO, &priority);
    prctl(PR_SET_TIMERSLACK, 1);
    signal(SIGTERM, end);
    struct pollfd polled = {tap, POLLIN, 0};
    while (!ended) {
        ns_t wait = run(now_ns()) - now_ns();
        struct timespec time = {wait > 0 ? wait / 1000000000 : 0, wait > 0 ? wait % 1000000000 : 0};
        if (ppoll(&polled, 1, &time, 0) > 0)
            receive();
    }
    printf("{\"octets\": %lu, \"segments\": %lu, \"overflowed\": %lu, \"acks\": %lu, \"timeouts\": %lu, "
           "\"seconds\": %.6f}\n", count.octets, count.segments, count.overflowed, count.acks, count.timeouts,
           (count.to - count.from) / 1e9);
    return 0;
}
