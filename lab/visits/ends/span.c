/* The last cable to a device, between TAP interfaces `pa` of the site's gateway and `eth0` of the device: span KEY=VALUE ...
   half=dev|net rate=: one end in half duplex, the other in full. beacon_ms awake_ms: the device sleeps between beacons. buffers busy_us: few receive buffers.
   stop_every_ms stop_ms: the device stands still. thin flush_ms: only each n-th acknowledgment of the device passes. Prints what it did. */
#include "tap.h"

enum { IN, OUT };                           /* toward the device, from it */
struct frame { int size; int64_t due; unsigned char data[1600]; };
#define MOST 4096
static struct frame *queue[2][MOST];
static int first[2], count[2];
static int fd[2];                           /* where frames of a direction leave */
static struct frame *sending[2];
static int64_t begun[2], until[2], backoff, heard, last_thin;
static int is_garbled[2], tries;
static long passed[2], garbled[2], held, unheard, thinned, stops, retried;
static int seen_acks;
static struct frame *kept;

static void report(int s) {
    (void)s;
    printf("{\"program\": \"span\", \"passed_in\": %ld, \"passed_out\": %ld, \"garbled_in\": %ld, \"garbled_out\": %ld, \"held\": %ld, \"unheard\": %ld, \"thinned\": %ld, \"stops\": %ld, \"retried\": %ld}\n",
           passed[IN], passed[OUT], garbled[IN], garbled[OUT], held, unheard, thinned, stops, retried);
    fflush(stdout);
    _exit(0);
}
static void leave(int way, struct frame *it) { if (write(fd[way], it->data, it->size) > 0) passed[way]++; free(it); }
static int keep(int way, struct frame *it, int most) {
    if (count[way] >= most) { free(it); return 0; }
    queue[way][(first[way] + count[way]++) % MOST] = it;
    return 1;
}
static struct frame *take(int way) {
    struct frame *it = queue[way][first[way]];
    first[way] = (first[way] + 1) % MOST; count[way]--;
    return it;
}
static int is_pure_ack(struct frame *it) {
    unsigned char *ip = it->data + 14;
    if (it->size < 54 || it->data[12] != 8 || it->data[13] || ip[9] != 6) return 0;
    int head = (ip[0] & 15) * 4, total = ip[2] << 8 | ip[3];
    unsigned char *tcp = ip + head;
    return total == head + (tcp[12] >> 4) * 4 && tcp[13] == 0x10 && (tcp[12] >> 4) * 4 <= 32;
}

/* Half duplex at one end. */
static void shared(int half, double rate, int64_t now) {
    int other = !half;
    for (int way = 0; way < 2; way++)
        if (sending[way] && now >= until[way]) {
            struct frame *it = sending[way];
            sending[way] = NULL;
            if (is_garbled[way] == 2 && ++tries < 16) {                       /* an early collision: again */
                first[way] = (first[way] + MOST - 1) % MOST; queue[way][first[way]] = it; count[way]++;
                backoff = now + (random() % (1 << (tries < 10 ? tries : 10))) * (int64_t)(512e6 / rate); retried++;
            } else if (is_garbled[way]) { garbled[way]++; free(it); if (way == half) tries = 0; }
            else { leave(way, it); if (way == half) tries = 0; }
        }
    if (!sending[other] && count[other]) {
        struct frame *it = sending[other] = take(other);
        begun[other] = now; until[other] = now + (int64_t)((it->size + 24) * 8e6 / rate); is_garbled[other] = 0;
        if (sending[half]) {
            is_garbled[other] = 1;
            is_garbled[half] = now - begun[half] < 512e6 / rate ? 2 : 1;
            until[half] = now + 4;
        }
    }
    if (!sending[half] && !sending[other] && count[half] && now >= backoff) {
        struct frame *it = sending[half] = take(half);
        begun[half] = now; until[half] = now + (int64_t)((it->size + 24) * 8e6 / rate); is_garbled[half] = 0;
    }
}
int main(int argc, char **argv) {
    argc_ = argc; argv_ = argv;
    signal(SIGTERM, report);
    srandom(number("seed", 5));
    fd[IN] = tap(text("dev", "a"), "eth0");
    fd[OUT] = tap(text("net", "gw"), "pa");
    const char *duplex = text("half", NULL);
    int half = duplex && !strcmp(duplex, "dev") ? OUT : IN, buffers = number("buffers", 0), thin = number("thin", 0);
    int64_t beacon = number("beacon_ms", 0) * 1e3, awake = number("awake_ms", 0) * 1e3, busy = number("busy_us", 0), every = number("stop_every_ms", 0) * 1e3, stop = number("stop_ms", 0) * 1e3;
    int64_t flush = number("flush_ms", 0) * 1e3, is_free = 0, start = now_us(), stopped = 0;
    double rate = number("rate", 10e6);
    struct pollfd fds[2] = {{fd[IN], POLLIN, 0}, {fd[OUT], POLLIN, 0}};
    heard = start;
    for (;;) {
        int64_t now = now_us(), next = -1;
        for (int from = 0; from < 2; from++)                                  /* fd[IN] is read for what leaves the device */
            for (;;) {
                struct frame *it = malloc(sizeof *it);
                it->size = read(fd[from], it->data, sizeof it->data);
                if (it->size <= 0) { free(it); break; }
                int way = from == IN ? OUT : IN;
                it->due = now;
                if (duplex) { keep(way, it, 1000); continue; }
                if (way == OUT) {
                    if (beacon) heard = now;
                    if (thin && is_pure_ack(it)) {
                        if (++seen_acks % thin) { if (kept) { free(kept); thinned++; } kept = it; last_thin = now; continue; }
                    }
                    if (kept) { free(kept); kept = NULL; thinned++; }
                    if (every && (now - start) % every < stop && now - start > every) it->due = now - (now - start) % every + stop;
                    keep(OUT, it, MOST);
                    continue;
                }
                if (beacon) {
                    if (now - heard > awake) { it->due = start + ((now - start) / beacon + 1) * beacon; held++; }
                    else heard = now;
                }
                if (every && (now - start) % every < stop && now - start > every) {
                    int64_t this_stop = (now - start) / every;
                    if (this_stop != stopped) { stopped = this_stop; stops++; }
                    it->due = now - (now - start) % every + stop;
                }
                if (buffers) {
                    if (count[IN] >= buffers) { unheard++; free(it); continue; }
                    it->due = (is_free > now ? is_free : now) + busy;
                    is_free = it->due;
                }
                keep(IN, it, every && number("stop_queue", 0) ? (int)number("stop_queue", 0) : MOST);
            }
        if (duplex) {
            shared(half, rate, now);
            for (int way = 0; way < 2; way++) if (sending[way] && (next < 0 || until[way] < next)) next = until[way];
            if (count[half] && !sending[half] && !sending[!half] && (next < 0 || backoff < next)) next = backoff;
        } else {
            for (int way = 0; way < 2; way++) {
                while (count[way] && queue[way][first[way]]->due <= now) { if (way == IN && beacon) heard = now; leave(way, take(way)); }
                if (count[way] && (next < 0 || queue[way][first[way]]->due < next)) next = queue[way][first[way]]->due;
            }
            if (kept) {
                if (now >= last_thin + flush) { leave(OUT, kept); kept = NULL; }
                else if (next < 0 || last_thin + flush < next) next = last_thin + flush;
            }
        }
        wait_until(fds, 2, next);
    }
}
