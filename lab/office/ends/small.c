/* A small TCP on a TUN interface of a network namespace: what the kernel's does not do (an acknowledgment for each n-th segment, one segment
   in flight, a tick, windows of some octets).

   small SPACE ADDRESS KEY=VALUE ...
   It listens on `port`. role=0 takes octets, role=1 sends `octets` to who connects, role=2 does so for each request that ends with an
   empty line (HTTP), role=3 answers each request of `request` octets with `octets`. It keeps nothing that arrives out of order. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
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
#include <time.h>
#include <unistd.h>

typedef int64_t ns;
static struct {
  double port, role, octets, request, mss, wnd, every, late_ms, flight, rto_ms, tick_ms, stall_every_ms, stall_ms, backlog, read_bps, read_octets,
      silly, scale, ttl, numbers, think_ms, buffer, opens_ms;
} o = {.port = 5001, .octets = 1e6, .request = 12, .mss = 1460, .wnd = 5840, .every = 2, .late_ms = 200, .flight = 4, .rto_ms = 500, .backlog = 64, .ttl = 128,
       .scale = -1, .read_octets = 64};
static struct { const char *name; double *at; } KEYS[] = {
#define K(it) {#it, &o.it}
    K(port), K(role), K(octets), K(request), K(mss), K(wnd), K(every), K(late_ms), K(flight), K(rto_ms), K(tick_ms), K(stall_every_ms), K(stall_ms),
    K(backlog), K(read_bps), K(read_octets), K(silly), K(scale), K(ttl), K(numbers), K(think_ms), K(buffer), K(opens_ms)};

static int tun, ends;
static uint32_t me;
static struct {
  int state; /* 0 closed, 1 SYN received, 2 open, 3 FIN sent */
  uint32_t peer; uint16_t port;
  uint32_t next, iss, una, sent, peer_window; int peer_scale, peer_mss;
  int full, dups; ns ack_at, rto_at, rto, think_at, opens_at;
  double unread; uint32_t told; ns read_at;
  uint64_t to_send, requested; char tail[4];
  int fin_in, tail_octets;
} c;
static uint64_t received, acks, repeated, timeouts, dropped, served, stalls, tells;
static uint16_t number = 1;

static ns now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000LL + t.tv_nsec; }
static uint32_t sum(const uint8_t *at, int octets, uint32_t total) {
  for (; octets > 1; at += 2, octets -= 2) total += at[0] << 8 | at[1];
  return octets ? total + (at[0] << 8) : total;
}
static uint16_t fold(uint32_t it) { while (it >> 16) it = (it & 0xffff) + (it >> 16); return ~it; }

static uint32_t window(void) {
  double left = o.wnd - c.unread;
  if (left < 0) left = 0;
  uint32_t open = left;
  if (!o.silly) {
    /* RFC 9293: no edge moves by less than a segment or half of the buffer. */
    uint32_t edge = c.told - c.next;
    if (c.state >= 2 && (int32_t)(c.told - c.next) >= 0 && open < edge + (o.mss < o.wnd / 2 ? o.mss : o.wnd / 2)) open = edge;
  }
  if (c.state >= 2 && (int32_t)(c.told - (c.next + open)) > 0) open = c.told - c.next;
  return open;
}

static void emit(int flags, uint32_t sequence, int payload) {
  static uint8_t p[2048];
  memset(p, 0, 64);
  int options = 0;
  uint8_t *t = p + 20;
  if (flags & 2) {
    if (o.mss) { t[20] = 2; t[21] = 4; t[22] = (int)o.mss >> 8; t[23] = (int)o.mss; options = 4; }
    if (o.scale >= 0 && c.peer_scale >= 0) { t[20 + options] = 1; t[21 + options] = 3; t[22 + options] = 3; t[23 + options] = o.scale; options += 4; }
  }
  int total = 40 + options + payload;
  p[0] = 0x45; p[2] = total >> 8; p[3] = total; p[4] = number >> 8; p[5] = number; number++;
  p[8] = o.ttl; p[9] = 6;
  memcpy(p + 12, &me, 4); memcpy(p + 16, &c.peer, 4);
  uint16_t check = fold(sum(p, 20, 0));
  p[10] = check >> 8; p[11] = check;
  t[0] = (int)o.port >> 8; t[1] = (int)o.port; t[2] = c.port >> 8; t[3] = c.port;
  for (int i = 0; i < 4; i++) { t[4 + i] = sequence >> (24 - 8 * i); t[8 + i] = c.next >> (24 - 8 * i); }
  t[12] = (20 + options) / 4 << 4; t[13] = flags;
  uint32_t open = window();
  if (!(flags & 2) && o.scale > 0 && c.peer_scale >= 0) { open >>= (int)o.scale; c.told = c.next + (open << (int)o.scale); }
  else { if (open > 65535) open = 65535; c.told = c.next + open; }
  t[14] = open >> 8; t[15] = open;
  for (int i = 0; i < payload; i++) t[20 + options + i] = (sequence + i) * 131 >> 3;
  uint32_t s = sum(p + 12, 8, 0) + 6 + total - 20;
  check = fold(sum(t, total - 20, s));
  t[16] = check >> 8; t[17] = check;
  if (flags & 16) { c.full = 0; c.ack_at = 0; if (!payload) acks++; }
  if (write(tun, p, total) < 0) dropped++;
}

static void arm(ns t) { c.rto_at = c.una == c.sent ? 0 : t + c.rto; }

static void send_more(ns t) {
  if (c.state != 2) return;
  uint32_t end = c.iss + 1 + (uint32_t)c.to_send;
  int mss = c.peer_mss < o.mss || !o.mss ? c.peer_mss : o.mss;
  while ((int32_t)(end - c.sent) > 0) {
    uint32_t flight = c.sent - c.una, left = end - c.sent;
    int payload = left < (uint32_t)mss ? (int)left : mss;
    if (flight + payload > c.peer_window || (flight && flight + payload > (uint32_t)(o.buffer ? o.buffer : o.flight * mss))) break;
    emit(0x10 | (left == (uint32_t)payload ? 8 : 0), c.sent, payload);
    c.sent += payload;
    if (!c.rto_at) arm(t);
  }
  if (c.fin_in && c.sent == end && c.state == 2) { emit(0x11, c.sent, 0); c.sent++; c.state = 3; arm(t); }
  if (o.role == 1 && c.sent == end && c.una == end && c.state == 2) { emit(0x11, c.sent, 0); c.sent++; c.state = 3; arm(t); }
}

static void repeat(ns t) {
  uint32_t end = c.iss + 1 + (uint32_t)c.to_send, left = end - c.una;
  int mss = c.peer_mss < o.mss || !o.mss ? c.peer_mss : o.mss;
  repeated++;
  if (c.state == 1) emit(0x12, c.iss, 0);
  else if ((int32_t)left <= 0) emit(0x11, c.una, 0);
  else emit(0x18, c.una, left < (uint32_t)mss ? (int)left : mss);
  (void)t;
}

static void request(ns t) { served++; if (o.think_ms) c.think_at = t + (ns)(o.think_ms * 1e6); else c.to_send += o.octets; }

static void packet(uint8_t *p, int octets, ns t) {
  if (octets < 40 || p[0] != 0x45) return;
  if (p[9] == 1) {
    if (p[20] != 8) return;
    p[20] = 0; p[22] = p[23] = 0; memcpy(p + 16, p + 12, 4); memcpy(p + 12, &me, 4);
    uint16_t check = fold(sum(p + 20, octets - 20, 0)); p[22] = check >> 8; p[23] = check; p[10] = p[11] = 0; check = fold(sum(p, 20, 0)); p[10] = check >> 8; p[11] = check;
    if (write(tun, p, octets) < 0) dropped++;
    return;
  }
  if (p[9] != 6) return;
  uint8_t *h = p + 20;
  uint32_t peer, sequence = h[4] << 24 | h[5] << 16 | h[6] << 8 | h[7], acknowledged = h[8] << 24 | h[9] << 16 | h[10] << 8 | h[11];
  memcpy(&peer, p + 12, 4);
  uint16_t port = h[0] << 8 | h[1];
  int at = (h[12] >> 4) * 4, total = (p[2] << 8 | p[3]) - 20, payload = total - at, flags = h[13];
  if ((h[2] << 8 | h[3]) != (int)o.port) return;
  if (fold(sum(h, total, sum(p + 12, 8, 0) + 6 + total)) != 0) { dropped++; return; }
  if (flags & 2) {
    if (c.state == 1 && c.peer == peer && c.port == port) { if (!c.opens_at) emit(0x12, c.iss, 0); return; }
    if (c.state == 2 && o.backlog < 2) return;
    memset(&c, 0, sizeof c);
    c.peer = peer; c.port = port; c.state = 1; c.next = sequence + 1; c.peer_scale = -1; c.peer_mss = 536;
    for (int i = 20; i < at;) {
      if (h[i] == 0) break;
      if (h[i] == 1) { i++; continue; }
      if (h[i] == 2) c.peer_mss = h[i + 2] << 8 | h[i + 3];
      if (h[i] == 3) c.peer_scale = h[i + 2];
      if (h[i + 1] < 2) break;
      i += h[i + 1];
    }
    c.iss = c.una = (uint32_t)(lrand48() * 2654435761u);
    c.sent = c.iss + 1;
    c.peer_window = h[14] << 8 | h[15];
    c.rto = (ns)(o.rto_ms * 1e6);
    c.told = c.next;
    if (o.opens_ms) { c.opens_at = t + (ns)(o.opens_ms * 1e6); return; }
    emit(0x12, c.iss, 0);
    c.rto_at = t + c.rto;
    return;
  }
  if (!c.state || peer != c.peer || port != c.port) return;
  if (flags & 4) { c.state = 0; return; }
  if (flags & 16) {
    uint32_t open = (h[14] << 8 | h[15]);
    if (c.peer_scale >= 0 && o.scale >= 0) open <<= c.peer_scale;
    if (c.state == 1) {
      c.state = 2; c.una = acknowledged; c.rto_at = 0; c.peer_window = open;
      c.read_at = t;
      if (o.role == 1) c.to_send = o.octets;
    } else if ((int32_t)(acknowledged - c.una) > 0 && (int32_t)(acknowledged - c.sent) <= 0) {
      c.una = acknowledged; c.dups = 0; c.rto = (ns)(o.rto_ms * 1e6); c.rto_at = 0; arm(t);
      if (c.state == 3 && c.una == c.sent) { if (c.fin_in) { emit(0x10, c.sent, 0); c.state = 0; return; } }
    } else if (acknowledged == c.una && !payload && c.una != c.sent && open == c.peer_window && ++c.dups == 3) { repeat(t); arm(t); }
    c.peer_window = open;
  }
  if (payload > 0 || flags & 1) {
    if (sequence != c.next) {
      if ((int32_t)(sequence - c.next) > 0) dropped++;
      emit(0x10, c.sent, 0);
    } else {
      int room = (int)(c.told - c.next);
      if (payload > room && payload > 0) { if (payload <= room + 1 && room <= 0) { dropped++; emit(0x10, c.sent, 0); return; } if (room <= 0) { emit(0x10, c.sent, 0); return; } payload = room; flags &= ~1; }
      c.next += payload; received += payload;
      if (o.read_bps) c.unread += payload;
      if (o.role == 2)
        for (int i = 0; i < payload; i++) { memmove(c.tail, c.tail + 1, 3); c.tail[3] = h[at + i]; if (!memcmp(c.tail, "\r\n\r\n", 4)) request(t); }
      if (o.role == 3) { c.requested += payload; while (c.requested >= (uint64_t)o.request) { c.requested -= o.request; request(t); } }
      if (flags & 1) { c.next++; c.fin_in = 1; emit(0x10, c.sent, 0); if (c.state == 3 && c.una == c.sent) c.state = 0; }
      else if (payload) {
        c.full++;
        if (c.full >= o.every) emit(0x10, c.sent, 0);
        else if (!c.ack_at) c.ack_at = t + (ns)(o.late_ms * 1e6);
      }
    }
  }
  send_more(t);
}

static void on_end(int it) { (void)it; ends = 1; }

int main(int count, char **words) {
  char path[128];
  snprintf(path, sizeof path, "/run/netns/%s", words[1]);
  int fd = open(path, O_RDONLY);
  if (fd < 0 || setns(fd, 0)) { perror(path); return 1; }
  inet_pton(AF_INET, words[2], &me);
  struct ifreq request_ = {.ifr_flags = IFF_TUN | IFF_NO_PI};
  strcpy(request_.ifr_name, "small0");
  if ((tun = open("/dev/net/tun", O_RDWR | O_NONBLOCK)) < 0 || ioctl(tun, TUNSETIFF, &request_)) { perror("tun"); return 1; }
  for (int i = 3; i < count; i++) {
    char *value = strchr(words[i], '=');
    *value++ = 0;
    int found = 0;
    for (size_t k = 0; k < sizeof KEYS / sizeof *KEYS; k++) if (!strcmp(KEYS[k].name, words[i])) { *KEYS[k].at = atof(value); found = 1; }
    if (!strcmp(words[i], "seed")) { srand48(atol(value)); number = lrand48(); found = 1; }
    if (!found) { fprintf(stderr, "no key %s\n", words[i]); return 1; }
  }
  struct sched_param first = {.sched_priority = 15};
  sched_setscheduler(0, SCHED_FIFO, &first);
  signal(SIGTERM, on_end);
  printf("ready\n");
  fflush(stdout);
  static uint8_t data[65536];
  ns tick = (ns)(o.tick_ms * 1e6), next_tick = now() + tick, stall_at = 0, stall_end = 0;
  while (!ends) {
    ns t = now(), wake = t + 200000000;
    if (o.stall_every_ms && c.state == 2) {
      if (!stall_at) stall_at = t + (ns)(o.stall_every_ms * 1e6);
      if (t >= stall_at) {
        stalls++;
        stall_end = t + (ns)(o.stall_ms * 1e6);
        stall_at = stall_end + (ns)(o.stall_every_ms * 1e6);
        struct timespec left = {(stall_end - t) / 1000000000, (stall_end - t) % 1000000000};
        nanosleep(&left, NULL);
        /* What its queue does not hold is gone. */
        static uint8_t kept[64][2048]; static int octets[64];
        int n = 0;
        for (ssize_t k; (k = read(tun, data, sizeof data)) > 0;) if (n < (int)o.backlog && n < 64 && k <= 2048) { memcpy(kept[n], data, k); octets[n++] = k; } else dropped++;
        t = now();
        for (int i = 0; i < n; i++) packet(kept[i], octets[i], t);
        continue;
      }
      if (stall_at < wake) wake = stall_at;
    }
    if (c.state && c.rto_at && t >= c.rto_at) { timeouts++; repeat(t); c.rto *= 2; c.rto_at = t + c.rto; }
    if (c.state && c.ack_at && t >= c.ack_at) emit(0x10, c.sent, 0);
    if (c.opens_at && t >= c.opens_at) { c.opens_at = 0; emit(0x12, c.iss, 0); c.rto_at = t + c.rto; }
    if (c.think_at && t >= c.think_at) { c.think_at = 0; c.to_send += o.octets; send_more(t); }
    if (c.state == 2 && o.read_bps && c.unread > 0) {
      double step = o.read_octets * 8e9 / o.read_bps;
      if (t - c.read_at >= step) {
        double read_ = o.read_octets < c.unread ? o.read_octets : c.unread;
        c.unread -= read_;
        c.read_at = c.read_at + (ns)step < t - (ns)step ? t : c.read_at + (ns)step;
        uint32_t edge = c.next + window();
        if ((int32_t)(edge - c.told) > 0 && (o.silly || (int32_t)(c.told - c.next) < o.mss)) { tells++; emit(0x10, c.sent, 0); }
      }
      if (c.read_at + (ns)step < wake) wake = c.read_at + (ns)step;
    } else c.read_at = t;
    if (c.rto_at && c.rto_at < wake) wake = c.rto_at;
    if (c.ack_at && c.ack_at < wake) wake = c.ack_at;
    if (c.think_at && c.think_at < wake) wake = c.think_at;
    if (c.opens_at && c.opens_at < wake) wake = c.opens_at;
    if (tick) {
      if (next_tick < wake) wake = next_tick;
      ns left_ = wake - now();
      if (left_ > 0) { struct timespec left = {left_ / 1000000000, left_ % 1000000000}; nanosleep(&left, NULL); }
      t = now();
      if (t < next_tick) continue;
      while (next_tick <= t) next_tick += tick;
      for (ssize_t k; (k = read(tun, data, sizeof data)) > 0;) packet(data, k, t);
      continue;
    }
    struct pollfd polled = {tun, POLLIN, 0};
    ns left_ = wake - now();
    if (left_ < 0) left_ = 0;
    struct timespec left = {left_ / 1000000000, left_ % 1000000000};
    if (ppoll(&polled, 1, &left, NULL) > 0)
      for (ssize_t k; (k = read(tun, data, sizeof data)) > 0;) packet(data, k, now());
  }
  printf("{\"small_received\": %llu, \"small_acks\": %llu, \"small_repeated\": %llu, \"small_timeouts\": %llu, \"small_dropped\": %llu, \"small_served\": %llu, \"small_stalls\": %llu, \"small_tells\": %llu}\n",
         (unsigned long long)received, (unsigned long long)acks, (unsigned long long)repeated, (unsigned long long)timeouts, (unsigned long long)dropped, (unsigned long long)served, (unsigned long long)stalls, (unsigned long long)tells);
  return 0;
}
