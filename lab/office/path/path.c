/* A path between two TAP interfaces, one in each of two network namespaces: what tc of a small kernel lacks (delay, reordering,
   copies, damage) and what no tc has (a receiver's ring, beacons, ticks, a duplex mismatch).

   path SPACE SPACE KEY=VALUE ...
   Keys begin with "up." (from the first space to the second) or "down.". It prints its counters as JSON at SIGTERM. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <errno.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

typedef int64_t ns;
enum { DELIVER, ARRIVE, FULL_STARTS, FULL_ENDS, HALF_STARTS, HALF_ENDS, FLUSH };

struct frame { ns at; uint64_t order; int kind, way, octets, tries; uint8_t *data; };

struct way {
  double rate, queue, loss, good_to_bad, bad_to_good, loss_in_bad, overtakes, copies, damage, jitter_us;
  double delay_us, overtakes_us, copy_us, cost_us, tick_ms, beacon_ms, idle_ms, thin_ms, out_ms, out_for_ms, out_every_ms;
  double mtu, syns, ring, thin, loss_from;
  ns free, last, busy, awake, phase;
  int bad, thinned;
  struct frame *held;
  uint64_t passed, delivered, lost_random, lost_burst, lost_queue, lost_ring, lost_mtu, lost_out, lost_syn, lost_duplex, copied, damaged,
      overtook, slept, thinned_out;
} ways[2];

static struct { const char *name; size_t at; } KEYS[] = {
#define K(it) {#it, offsetof(struct way, it)}
  K(rate), K(queue), K(loss), K(good_to_bad), K(bad_to_good), K(loss_in_bad), K(overtakes), K(copies), K(damage), K(jitter_us), K(delay_us),
  K(overtakes_us), K(copy_us), K(cost_us), K(tick_ms), K(beacon_ms), K(idle_ms), K(thin_ms), K(out_ms), K(out_for_ms), K(out_every_ms),
  K(mtu), K(syns), K(ring), K(thin), K(loss_from)};

static int taps[2], ends;
static ns began, late_most;
static uint64_t orders, events, late_4ms;
static struct frame **heap;
static int size, room;

/* A mismatch of duplex on the cable of the second space: `half` is the way whose sender has half duplex. */
static int has_mismatch, half_way;
static double mismatch_rate;
static ns full_busy, full_next;
static struct frame *half_now, *half_queue[256];
static int half_count, half_tries;
static ns half_since, half_blocked;

static ns now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000LL + t.tv_nsec; }
static double uniform(void) { return drand48(); }

static int before(struct frame *a, struct frame *b) { return a->at < b->at || (a->at == b->at && a->order < b->order); }

static void push(struct frame *it, ns at, int kind) {
  it->at = at; it->kind = kind; it->order = orders++;
  if (size == room) heap = realloc(heap, sizeof *heap * (room = room ? 2 * room : 1024));
  int i = size++;
  for (; i && before(it, heap[(i - 1) / 2]); i = (i - 1) / 2) heap[i] = heap[(i - 1) / 2];
  heap[i] = it;
}

static struct frame *pop(void) {
  struct frame *first = heap[0], *last = heap[--size];
  int i = 0;
  for (int child; (child = 2 * i + 1) < size; i = child) {
    if (child + 1 < size && before(heap[child + 1], heap[child])) child++;
    if (!before(heap[child], last)) break;
    heap[i] = heap[child];
  }
  if (size) heap[i] = last;
  return first;
}

static void release(struct frame *it) { free(it->data); free(it); }

static struct frame *copy(struct frame *it) {
  struct frame *other = malloc(sizeof *other);
  *other = *it;
  other->data = malloc(it->octets);
  memcpy(other->data, it->data, it->octets);
  return other;
}

static void deliver(struct frame *it) {
  struct way *w = &ways[it->way];
  if (write(taps[!it->way], it->data, it->octets) > 0) w->delivered++;
  release(it);
}

/* At the station: its ring, its ticks, its beacons. */
static void arrive(struct frame *it, ns t) {
  struct way *w = &ways[it->way];
  if (w->ring > 0) {
    ns cost = (ns)(w->cost_us * 1e3);
    if (w->busy > t && (w->busy - t + cost - 1) / cost >= w->ring) { w->lost_ring++; release(it); return; }
    w->busy = (w->busy > t ? w->busy : t) + cost;
    t = w->busy;
  }
  if (w->beacon_ms > 0) {
    ns idle = (ns)(w->idle_ms * 1e6), beacon = (ns)(w->beacon_ms * 1e6);
    if (t > w->awake) { t = w->phase + ((t - w->phase) / beacon + 1) * beacon; w->slept++; w->awake = t + idle; w->last = t; }
    else { if (t < w->last) t = w->last; if (t + idle > w->awake) w->awake = t + idle; }
  }
  if (w->tick_ms > 0) {
    ns tick = (ns)(w->tick_ms * 1e6);
    t = w->phase + ((t - w->phase) / tick + 1) * tick;
  }
  push(it, t, DELIVER);
}

/* The cable with a mismatch of duplex. */
static ns duration(struct frame *it) { return (ns)((it->octets < 60 ? 84 : it->octets + 24) * 8e9 / mismatch_rate); }

static void pass(struct frame *it, ns t);

static void half_tries_to_start(ns t) {
  if (half_now || !half_count) return;
  ns from = t;
  if (full_busy > from) from = full_busy + 2000;
  if (half_blocked > from) from = half_blocked;
  if (from > t) { struct frame *wait = calloc(1, sizeof *wait); push(wait, from, HALF_STARTS); return; }
  half_now = half_queue[0];
  half_since = t;
  struct frame *end = calloc(1, sizeof *end);
  end->tries = half_tries;
  push(end, t + duration(half_now), HALF_ENDS);
}

static void half_drop(void) { half_count--; memmove(half_queue, half_queue + 1, sizeof *half_queue * half_count); half_tries = 0; }

static void cable(struct frame *it, ns t) {
  if (it->way == half_way) {
    if (half_count >= 200) { ways[it->way].lost_queue++; release(it); return; }
    half_queue[half_count++] = it;
    half_tries_to_start(t);
  } else {
    ns from = full_next > t ? full_next : t;
    full_next = from + duration(it);
    push(it, from, FULL_STARTS);
  }
}

static uint64_t collision_id;

static void full_starts(struct frame *it, ns t) {
  int lost = 0;
  if (half_now) {
    lost = 1;
    collision_id++;
    if (t - half_since > (ns)(512e9 / mismatch_rate)) {
      ways[half_way].lost_duplex++;
      release(half_now);
      half_drop();
    } else if (++half_tries > 15) { ways[half_way].lost_duplex++; release(half_now); half_drop(); }
    half_now = NULL;
    int most = half_tries > 10 ? 1023 : (1 << half_tries) - 1;
    half_blocked = t + (ns)(512e9 / mismatch_rate * (1 + (int)(uniform() * (most + 1))));
  }
  full_busy = t + duration(it);
  it->tries = lost;
  push(it, full_busy, FULL_ENDS);
  half_tries_to_start(t);
}

static void full_ends(struct frame *it, ns t) {
  if (it->tries) { ways[it->way].lost_duplex++; release(it); }
  else pass(it, t);
  half_tries_to_start(t);
}

static void half_ends(ns t) {
  if (!half_now || t < half_since + duration(half_now)) return;
  struct frame *it = half_now;
  half_now = NULL;
  half_drop();
  half_blocked = 0;
  pass(it, t);
  half_tries_to_start(t);
}

/* The line: rate and queue, delay; from there to the station. */
static void line(struct frame *it, ns t) {
  struct way *w = &ways[it->way];
  if (w->rate > 0) {
    ns took = (ns)((it->octets + 4) * 8e9 / w->rate);
    ns from = w->free > t ? w->free : t;
    if (w->queue > 0 && (from - t) * w->rate / 8e9 > w->queue) { w->lost_queue++; release(it); return; }
    t = w->free = from + took;
  }
  t += (ns)(w->delay_us * 1e3);
  if (w->copies > 0 && uniform() < w->copies) { w->copied++; push(copy(it), t + (ns)(w->copy_us * 1e3), ARRIVE); }
  if (w->overtakes > 0 && uniform() < w->overtakes) {
    w->overtook++;
    push(it, t + (ns)(w->overtakes_us * 1e3 * (0.5 + uniform())), ARRIVE);
    return;
  }
  if (w->jitter_us > 0) { t += (ns)(uniform() * w->jitter_us * 1e3); }
  static ns last[2];
  if (w->jitter_us > 0) { if (t < last[it->way]) t = last[it->way]; last[it->way] = t; }
  push(it, t, ARRIVE);
}

static void pass(struct frame *it, ns t) {
  /* The mismatch lies at the second space: "up" passes it last, "down" first. */
  if (it->way == 0) arrive(it, t); else line(it, t);
}

static int is_pure_ack(struct frame *it) {
  uint8_t *ip = it->data + 14;
  if (it->octets < 54 || ip[9] != 6) return 0;
  int at = (ip[0] & 15) * 4, total = ip[2] << 8 | ip[3];
  return total == at + (ip[at + 12] >> 4) * 4 && ip[at + 13] == 0x10;
}

static void enter(struct frame *it, ns t) {
  struct way *w = &ways[it->way], *back = &ways[!it->way];
  uint8_t *ip = it->data + 14;
  if (!began) began = t;
  w->passed++;
  if (back->beacon_ms > 0 && t > back->awake - (ns)(back->idle_ms * 1e6)) {
    /* What the station sends wakes it up. */
    if (t + (ns)(back->idle_ms * 1e6) > back->awake && t >= back->last) back->awake = t + (ns)(back->idle_ms * 1e6);
  }
  if (w->out_for_ms > 0) {
    double since = (t - began) / 1e6 - w->out_ms;
    if (since >= 0 && w->out_every_ms > 0) since -= (int)(since / w->out_every_ms) * w->out_every_ms;
    if (since >= 0 && since < w->out_for_ms) { w->lost_out++; release(it); return; }
  }
  if (w->mtu > 0 && it->octets - 14 > w->mtu) { w->lost_mtu++; release(it); return; }
  if (w->syns >= 1 && ip[9] == 6 && ip[(ip[0] & 15) * 4 + 13] & 2) { w->syns--; w->lost_syn++; release(it); return; }
  if (w->good_to_bad > 0) {
    if (uniform() < (w->bad ? w->bad_to_good : w->good_to_bad)) w->bad = !w->bad;
    if (w->bad && uniform() < w->loss_in_bad) { w->lost_burst++; release(it); return; }
  }
  if (w->loss > 0 && it->octets >= w->loss_from && uniform() < w->loss) { w->lost_random++; release(it); return; }
  if (w->damage > 0 && it->octets > 90 && uniform() < w->damage) {
    w->damaged++;
    it->data[54 + 12 + (int)(uniform() * (it->octets - 54 - 12))] ^= 1 << (int)(uniform() * 8);
  }
  if (w->thin > 1 && is_pure_ack(it)) {
    if (++w->thinned < w->thin) {
      if (w->held) { w->thinned_out++; release(w->held); }
      else { struct frame *timer = calloc(1, sizeof *timer); timer->way = it->way; push(timer, t + (ns)(w->thin_ms * 1e6), FLUSH); }
      w->held = it;
      return;
    }
    if (w->held) { w->thinned_out++; release(w->held); w->held = NULL; }
    w->thinned = 0;
  }
  if (has_mismatch && it->way == 1) cable(it, t); else line(it, t);
}

static void on_end(int it) { (void)it; ends = 1; }

static int open_tap(const char *space) {
  char path[128];
  snprintf(path, sizeof path, "/run/netns/%s", space);
  int fd = open(path, O_RDONLY);
  if (fd < 0 || setns(fd, 0)) { perror(path); exit(1); }
  close(fd);
  struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
  strcpy(request.ifr_name, "path0");
  if ((fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK)) < 0 || ioctl(fd, TUNSETIFF, &request)) { perror("tun"); exit(1); }
  int buffer = 1 << 24;
  ioctl(fd, TUNSETSNDBUF, &buffer);
  return fd;
}

int main(int count, char **words) {
  taps[0] = open_tap(words[1]);
  taps[1] = open_tap(words[2]);
  for (int i = 3; i < count; i++) {
    char *value = strchr(words[i], '=');
    *value++ = 0;
    if (!strcmp(words[i], "seed")) { srand48(atol(value)); continue; }
    if (!strcmp(words[i], "mismatch")) { has_mismatch = 1; mismatch_rate = atof(value); continue; }
    if (!strcmp(words[i], "half")) { half_way = strcmp(value, "down") == 0; continue; }
    struct way *w = &ways[words[i][0] == 'd'];
    char *key = strchr(words[i], '.') + 1;
    for (size_t k = 0; k < sizeof KEYS / sizeof *KEYS; k++)
      if (!strcmp(KEYS[k].name, key)) { *(double *)((char *)w + KEYS[k].at) = atof(value); key = NULL; break; }
    if (key) { fprintf(stderr, "no key %s\n", key); return 1; }
  }
  for (int i = 0; i < 2; i++) ways[i].phase = now() - (ns)(uniform() * 1e9);
  struct sched_param first = {.sched_priority = 20};
  sched_setscheduler(0, SCHED_FIFO, &first);
  mlockall(MCL_CURRENT);
  signal(SIGTERM, on_end);
  signal(SIGINT, on_end);
  printf("ready\n");
  fflush(stdout);
  static uint8_t data[65536];
  while (!ends) {
    ns t = now();
    while (size && heap[0]->at <= t) {
      struct frame *it = pop();
      ns late = t - it->at;
      events++;
      if (it->kind == DELIVER || it->kind == ARRIVE) { if (late > late_most) late_most = late; late_4ms += late > 4000000; }
      switch (it->kind) {
        case DELIVER: deliver(it); break;
        case ARRIVE: if (has_mismatch && it->way == 0) cable(it, it->at); else arrive(it, it->at); break;
        case FULL_STARTS: full_starts(it, it->at); break;
        case FULL_ENDS: full_ends(it, it->at); break;
        case HALF_STARTS: { ns at = it->at; free(it); half_tries_to_start(at); break; }
        case HALF_ENDS: { ns at = it->at; free(it); half_ends(at); break; }
        case FLUSH: { struct way *w = &ways[it->way]; if (w->held) { struct frame *held = w->held; w->held = NULL; w->thinned = 0; line(held, it->at); } free(it); break; }
      }
    }
    struct pollfd polled[2] = {{taps[0], POLLIN, 0}, {taps[1], POLLIN, 0}};
    ns wait = size ? heap[0]->at - now() : 200000000;
    if (wait < 0) wait = 0;
    struct timespec left = {wait / 1000000000, wait % 1000000000};
    if (ppoll(polled, 2, &left, NULL) <= 0) continue;
    for (int i = 0; i < 2; i++)
      for (int k = 0; k < 64 && polled[i].revents & POLLIN; k++) {
        ssize_t octets = read(taps[i], data, sizeof data);
        if (octets <= 0) break;
        if (octets < 34 || data[12] != 8 || data[13] != 0) continue;
        struct frame *it = calloc(1, sizeof *it);
        it->way = i; it->octets = octets; it->data = malloc(octets);
        memcpy(it->data, data, octets);
        enter(it, now());
      }
  }
  printf("{\"late_4ms_share\": %.5f, \"path_late_max_ms\": %.2f", events ? (double)late_4ms / events : 0, late_most / 1e6);
  for (int i = 0; i < 2; i++) {
    struct way *w = &ways[i];
#define P(it) if (w->it) printf(", \"%s_%s\": %llu", i ? "down" : "up", #it, (unsigned long long)w->it)
    P(passed); P(delivered); P(lost_random); P(lost_burst); P(lost_queue); P(lost_ring); P(lost_mtu); P(lost_out); P(lost_syn); P(lost_duplex);
    P(copied); P(damaged); P(overtook); P(slept); P(thinned_out);
  }
  printf("}\n");
  return 0;
}
