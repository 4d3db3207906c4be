#include "duplex.h"
#include <stdlib.h>
#include <string.h>

enum { HELD = 1024, ATTEMPTS = 16, SLOT = 512, JAM = 96, GAP = 96, EXTRA = 12 };

struct waiting {
    ns_t from;
    unsigned octets;
    uint8_t *data;
};

/* One end's transmitter. */
struct end {
    struct direction *dir;
    struct waiting queue[HELD];
    unsigned first, used;
    ns_t begun, until;      /* of the frame on the wire; `until` is 0 if there is none */
    ns_t free_at;           /* the gap after its last frame is over */
    ns_t back_off;
    unsigned attempts;
    int destroyed;          /* the frame on the wire was hit */
};

static struct end full, half;
static double bit_ns;
static int active;

void duplex_start(double rate, int half_duplex_end, struct direction *to_a, struct direction *to_b)
{
    bit_ns = 1e9 / rate;
    full.dir = half_duplex_end ? to_b : to_a;
    half.dir = half_duplex_end ? to_a : to_b;
    active = 1;
}

int duplex_link(struct direction *dir, ns_t at, const uint8_t *data, unsigned octets)
{
    if (!active)
        return 0;
    struct end *end = dir == full.dir ? &full : &half;
    unsigned limit = dir->set.queue && dir->set.queue < HELD ? dir->set.queue : HELD;
    if (end->used >= limit) {
        dir->count.overflowed++;
        return 1;
    }
    struct waiting *it = &end->queue[(end->first + end->used++) % HELD];
    *it = (struct waiting){at, octets, malloc(octets)};
    memcpy(it->data, data, octets);
    return 1;
}

static void drop_first(struct end *end)
{
    free(end->queue[end->first].data);
    end->first = (end->first + 1) % HELD;
    end->used--;
    end->attempts = 0;
    end->back_off = 0;
}

static ns_t duration(const struct end *end)
{
    unsigned octets = end->queue[end->first].octets;
    return (ns_t)(((octets < 60 ? 60 : octets) + EXTRA) * 8 * bit_ns);
}

static ns_t later(ns_t a, ns_t b)
{
    return a > b ? a : b;
}

/* When this end would begin its next frame, 0 if it has none. */
static ns_t begins(const struct end *end)
{
    if (!end->used || end->until)
        return 0;
    ns_t at = later(end->queue[end->first].from, end->free_at);
    if (end == &full)
        return at;
    at = later(at, end->back_off);
    /* Carrier sense: only the end with half duplex defers to the other. */
    if (full.until)
        at = later(at, full.until + (ns_t)(GAP * bit_ns));
    return later(at, full.free_at);
}

/* The frame of the full-duplex end hits that of the other, which notices. */
static void collide(ns_t at)
{
    full.destroyed = 1;
    half.free_at = at + (ns_t)((JAM + GAP) * bit_ns);
    if (at - half.begun >= (ns_t)(SLOT * bit_ns)) {
        half.dir->count.late_collisions++;
        drop_first(&half);
    } else if (++half.attempts >= ATTEMPTS) {
        half.dir->count.lost++;
        drop_first(&half);
    } else {
        unsigned exponent = half.attempts < 10 ? half.attempts : 10;
        half.dir->count.collisions++;
        half.back_off = half.free_at + (ns_t)((random32() % (1u << exponent)) * SLOT * bit_ns);
    }
    half.until = 0;
}

static void finish(struct end *end)
{
    struct waiting *it = &end->queue[end->first];
    if (end->destroyed)
        end->dir->count.destroyed++;
    else
        pass_behind(end->dir, end->until, it->data, it->octets);
    end->destroyed = 0;
    end->free_at = end->until + (ns_t)(GAP * bit_ns);
    end->until = 0;
    drop_first(end);
}

static ns_t earliest(ns_t a, ns_t b)
{
    return !a || (b && b < a) ? b : a;
}

ns_t duplex_advance(ns_t to)
{
    if (!active)
        return 0;
    for (;;) {
        ns_t full_begins = begins(&full), half_begins = begins(&half);
        ns_t at = earliest(earliest(full.until, half.until), earliest(full_begins, half_begins));
        if (!at || at > to)
            return at;
        if (at == full.until)
            finish(&full);
        else if (at == half.until)
            finish(&half);
        else if (at == half_begins) {
            half.begun = at;
            half.until = at + duration(&half);
        } else {
            full.begun = at;
            full.until = at + duration(&full);
            if (half.until)
                collide(at);
        }
    }
}
