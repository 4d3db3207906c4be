/* One direction of the forwarder's path: what happens to a frame between the two ends. */
#ifndef PATH_H
#define PATH_H

#include "frame.h"
#include <stdint.h>

typedef int64_t ns_t;

#define QUEUE 16384

struct frame {
    ns_t due;
    uint64_t serial;
    unsigned octets;
    int to;              /* end that it goes to: 0 is A, 1 is B */
    uint8_t *data;
};

/* Settings of a direction. Times in microseconds, 0 switches a setting off. */
struct settings {
    double rate;             /* bit/s of the slowest link */
    double overhead;         /* octets that a frame takes there besides its own: FCS, preamble, gap */
    double queue;            /* frames in the queue before it */
    double queue_octets;
    double before, after;    /* delay before and behind the middle of the path */
    double jitter;           /* uniform, keeps the order */
    double loss;             /* share of the frames */
    double reorder, reorder_by;
    double duplicate;
    double corrupt;          /* share of the frames with payload */
    double police, bucket;   /* bit/s and octets of a token bucket */
    double busy_min, busy_max; /* the receiver is busy with a frame for so long; it has no other buffer */
    double mtu;              /* IP octets; larger packets vanish */
    double drop_syn, syn_every; /* how many SYNs of each n-th connection vanish */
    double syn_late;
    double drop_port;        /* TCP segments to this port vanish */
    double mss;              /* MSS options are lowered to this */
    double strip;            /* TCP options that are removed */
    double idle, beacon;     /* the station there sleeps after `idle`, and wakes at each beacon */
};

struct counters {
    uint64_t in, out, octets, lost, overflowed, policed, busy, outage, black_hole, syn, port, corrupted, duplicated,
        reordered, collisions, late_collisions, destroyed, beaconed, queued_ns;
};

struct direction {
    struct settings set;
    struct counters count;
    int to;
    ns_t *free_at;           /* when the slowest link is free; shared by both directions of a half-duplex medium */
    ns_t own_free;
    ns_t last_due, busy_until;
    ns_t departures[QUEUE];  /* of what is in the queue */
    unsigned sizes[QUEUE];
    unsigned first, used;
    double queued_octets;
    double tokens;
    ns_t tokens_at;
};

/* Uniform in [0, 1). */
double uniform(void);
uint32_t random32(void);
void seed_random(uint64_t seed);

ns_t now_ns(void);
/* Hands a frame over to the other end at `due`; takes the data. */
void deliver(int to, ns_t due, uint8_t *data, unsigned octets);
/* True if the path is interrupted at this time. */
int interrupted(ns_t at);
/* The last time at which the station that may sleep sent or received. */
extern ns_t awake_until;

/* Lets a frame that arrived at `at` pass in this direction. */
void pass(struct direction *dir, ns_t at, const uint8_t *data, unsigned octets);
/* The part behind the slowest link: delay, jitter, disorder, duplicates, a busy or sleeping station. */
void pass_behind(struct direction *dir, ns_t departed, const uint8_t *data, unsigned octets);
void pass_middle(ns_t at, const uint8_t *data, unsigned octets);

#endif
