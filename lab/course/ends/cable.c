// A cable between two TAP interfaces in network namespaces, with what Linux has no discipline for: cable key=value …
//   near=NS dev=b  far=NS peer=eth0  rate=1e7  duplex=full|half|near-half|far-half  radio: beacon_ms=102.4 awake_ms=30 (the far end sleeps)
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "settings.h"

#define RING 256

struct end {
    int fd, is_half, first, held, limit, tries;
    struct { unsigned char data[2048]; int octets; } ring[RING];
    double until, since, free_at;  // Of the frame under way; when the next may begin.
    int is_sending, is_spoilt, is_copy;
    long sent, copies, lost, late, early, deferred, excessive;
} ends[2];

static int percent;  // Of the frames with more than 200 octets that are sent twice.
static double rate, beacon, awake_for, awake_until, origin;
static long waits_for_beacon;


static int tap(const char *space, const char *device) {
    char path[128];
    snprintf(path, sizeof path, "/run/netns/%s", space);
    int name_space = open(path, O_RDONLY);
    if (name_space < 0 || setns(name_space, CLONE_NEWNET)) exit(3);
    struct ifreq it = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    strncpy(it.ifr_name, device, IFNAMSIZ - 1);
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    if (fd < 0 || ioctl(fd, TUNSETIFF, &it)) exit(4);
    return fd;
}
// Time of a frame, with preamble, FCS and gap.
static double wire_s(int octets) { return ((octets < 60 ? 60 : octets) + 24) * 8 / rate; }
static double slot_s(void) { return 512 / rate; }

static void take_out(struct end *it) {
    it->first = (it->first + 1) % RING;
    it->held--;
    it->tries = 0;
}
static void back_off(struct end *it, double at) {
    it->early++;
    if (++it->tries > 15) {
        it->excessive++;
        take_out(it);
    }
    int most = it->tries > 10 ? 10 : it->tries;
    it->free_at = at + slot_s() * (1 + rand() % (1 << most));
}
// Both ends begin what they may begin; returns when something changes next.
static double step(double at) {
    double next = at + 0.2;
    for (int i = 0; i < 2; i++) {
        struct end *it = &ends[i], *other = &ends[!i];
        if (it->is_sending && at >= it->until) {
            it->is_sending = 0;
            if (it->is_spoilt)
                it->lost++;
            else if (write(other->fd, it->ring[it->first].data, it->ring[it->first].octets) > 0)
                it->sent++;
            if (percent && !it->is_copy && it->ring[it->first].octets > 200 && rand() % 100 < percent) {
                it->is_copy = 1;
                it->copies++;
            } else {
                it->is_copy = 0;
                take_out(it);
            }
            it->free_at = it->until;
        }
    }
    // Two half-duplex ends that waited for the same silence begin together.
    if (ends[0].is_half && ends[1].is_half && ends[0].held && ends[1].held && !ends[0].is_sending && !ends[1].is_sending && ends[0].free_at <= at && ends[1].free_at <= at) {
        back_off(&ends[0], at);
        back_off(&ends[1], at);
    }
    for (int i = 0; i < 2; i++) {
        struct end *it = &ends[i], *other = &ends[!i];
        if (it->is_sending || !it->held) continue;
        if (beacon && i == 0 && at >= awake_until) {
            double tick = origin + beacon * (long)((at - origin) / beacon + 1);
            if (it->free_at < tick && it->free_at <= at) it->free_at = tick, awake_until = tick + awake_for, waits_for_beacon++;
        }
        if (it->free_at > at) {
            next = it->free_at < next ? it->free_at : next;
            continue;
        }
        if (it->is_half && other->is_sending) {
            it->deferred++;
            it->free_at = other->until;
            next = it->free_at < next ? it->free_at : next;
            continue;
        }
        it->is_sending = 1;
        it->is_spoilt = 0;
        it->since = at;
        it->until = at + wire_s(it->ring[it->first].octets);
        if (beacon) awake_until = it->until + awake_for > awake_until ? it->until + awake_for : awake_until;
        if (other->is_half && other->is_sending) {
            // A full-duplex end begins while the half-duplex one sends: neither frame arrives.
            it->is_spoilt = 1;
            if (at - other->since < slot_s()) {
                other->is_sending = 0;
                back_off(other, it->until);
            } else {
                other->is_spoilt = 1;
                other->late++;
                other->until = at + 32 / rate;
            }
        }
    }
    for (int i = 0; i < 2; i++) {
        if (ends[i].is_sending && ends[i].until < next) next = ends[i].until;
        if (!ends[i].is_sending && ends[i].held && ends[i].free_at > at && ends[i].free_at < next) next = ends[i].free_at;
    }
    return next;
}

int main(int given, char **arguments) {
    words = arguments + 1;
    count_of_words = given - 1;
    struct sigaction it = {.sa_handler = over};
    sigaction(SIGTERM, &it, NULL);
    percent = (int)number("copies", 0), rate = number("rate", 1e7), beacon = number("beacon_ms", 0) / 1e3, awake_for = number("awake_ms", 30) / 1e3;
    ends[0].fd = tap(text("near", ""), text("dev", "b"));
    ends[1].fd = tap(text("far", ""), text("peer", "eth0"));
    const char *duplex = text("duplex", "full");
    ends[0].is_half = !strcmp(duplex, "half") || !strcmp(duplex, "near-half");
    ends[1].is_half = !strcmp(duplex, "half") || !strcmp(duplex, "far-half");
    ends[0].limit = ends[1].limit = (int)number("ring", 64);
    srand((unsigned)number("seed", 11));
    origin = now();
    while (!is_over) {
        double until = step(now());
        struct pollfd ready[2];
        for (int i = 0; i < 2; i++) ready[i] = (struct pollfd){ends[i].held < ends[i].limit ? ends[i].fd : -1, POLLIN, 0};
        double wait = until - now();
        struct timespec most = {0, wait > 0 ? (long)(wait * 1e9 > 999999999 ? 999999999 : wait * 1e9) + 1 : 0};
        if (ppoll(ready, 2, &most, NULL) <= 0) continue;
        for (int i = 0; i < 2; i++)
            while (ready[i].revents & POLLIN && ends[i].held < ends[i].limit) {
                struct end *it = &ends[i];
                int slot = (it->first + it->held) % RING, octets = read(it->fd, it->ring[slot].data, 2048);
                if (octets <= 0) break;
                it->ring[slot].octets = octets;
                it->held++;
            }
    }
    printf("{\"waits_for_beacon\": %ld, \"collisions_late\": %ld, \"collisions\": %ld, \"spoilt_near\": %ld, \"spoilt_far\": %ld, \"copies\": %ld, \"passed_near\": %ld, \"passed_far\": %ld}\n", waits_for_beacon,
           ends[0].late + ends[1].late, ends[0].early + ends[1].early, ends[0].lost, ends[1].lost, ends[0].copies + ends[1].copies, ends[0].sent, ends[1].sent);
    return 0;
}
