#include "path.h"
#include "duplex.h"
#include <stdlib.h>
#include <string.h>

#define US 1000

static uint64_t state = 88172645463325252u;

void seed_random(uint64_t seed)
{
    state = seed * 6364136223846793005u + 1442695040888963407u;
    for (int i = 0; i < 8; i++)
        random32();
}

uint32_t random32(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state >> 16;
}

double uniform(void)
{
    return random32() / 4294967296.0;
}

static int happens(double share)
{
    return share > 0 && uniform() < share;
}

/* SYNs of a connection so far, by its place in a table: few connections, no removal. */
static unsigned *syns_of(struct direction *dir, uint64_t connection, unsigned *number)
{
    static struct { uint64_t connection; unsigned syns, number; } table[2][4096];
    static unsigned connections[2];
    unsigned at = (connection * 2654435761u >> 7) % 4096;
    while (table[dir->to][at].number && table[dir->to][at].connection != connection)
        at = (at + 1) % 4096;
    if (!table[dir->to][at].number) {
        table[dir->to][at].connection = connection;
        table[dir->to][at].number = ++connections[dir->to];
    }
    *number = table[dir->to][at].number;
    return &table[dir->to][at].syns;
}

static int syn_vanishes(struct direction *dir, const struct parsed *it)
{
    if (!(it->flags & SYN) || !dir->set.drop_syn)
        return 0;
    unsigned number;
    unsigned *syns = syns_of(dir, it->connection, &number);
    unsigned every = dir->set.syn_every ? dir->set.syn_every : 1;
    return number % every == 0 && (*syns)++ < dir->set.drop_syn;
}

static int policed(struct direction *dir, ns_t at, unsigned octets)
{
    if (!dir->set.police)
        return 0;
    if (!dir->tokens_at)
        dir->tokens = dir->set.bucket;
    else
        dir->tokens += (at - dir->tokens_at) * dir->set.police / 8e9;
    dir->tokens_at = at;
    if (dir->tokens > dir->set.bucket)
        dir->tokens = dir->set.bucket;
    if (dir->tokens < octets)
        return 1;
    dir->tokens -= octets;
    return 0;
}

/* The time at which the frame has left the slowest link, or -1 if the queue is full. */
static ns_t queued(struct direction *dir, ns_t at, unsigned octets)
{
    while (dir->used && dir->departures[dir->first] <= at) {
        dir->queued_octets -= dir->sizes[dir->first];
        dir->first = (dir->first + 1) % QUEUE;
        dir->used--;
    }
    double frames = dir->set.queue ? dir->set.queue : QUEUE - 1;
    if (dir->used >= frames || (dir->set.queue_octets && dir->queued_octets + octets > dir->set.queue_octets))
        return -1;
    ns_t start = *dir->free_at > at ? *dir->free_at : at;
    ns_t left = start + (ns_t)((octets + dir->set.overhead) * 8e9 / dir->set.rate);
    *dir->free_at = left;
    unsigned last = (dir->first + dir->used++) % QUEUE;
    dir->departures[last] = left;
    dir->sizes[last] = octets;
    dir->queued_octets += octets;
    dir->count.queued_ns += left - at;
    return left;
}

void pass(struct direction *dir, ns_t arrived, const uint8_t *data, unsigned octets)
{
    const struct settings *set = &dir->set;
    struct parsed it;
    uint8_t copy[65600];
    memcpy(copy, data, octets);
    parse(copy, octets, &it);
    ns_t at = arrived + (ns_t)(set->before * US);
    dir->count.in++;
    pass_middle(at, copy, octets);
    if (it.tcp && it.flags & SYN && (set->mss || set->strip))
        rewrite_syn(copy, &it, set->mss, set->strip);
    if (interrupted(at)) {
        dir->count.outage++;
        return;
    }
    if (set->mtu && it.ip_octets > set->mtu) {
        dir->count.black_hole++;
        return;
    }
    if (it.tcp && set->drop_port && it.destination == set->drop_port) {
        dir->count.port++;
        return;
    }
    if (it.tcp && syn_vanishes(dir, &it)) {
        dir->count.syn++;
        return;
    }
    if (happens(set->loss)) {
        dir->count.lost++;
        return;
    }
    if (policed(dir, at, octets)) {
        dir->count.policed++;
        return;
    }
    if (it.payload && happens(set->corrupt)) {
        dir->count.corrupted++;
        flip_bit(copy, octets, &it, random32());
    }
    if (it.tcp && it.flags & SYN)
        at += (ns_t)(set->syn_late * US);
    int copies = 1;
    if (happens(set->duplicate)) {
        dir->count.duplicated++;
        copies = 2;
    }
    while (copies--) {
        if (duplex_link(dir, at, copy, octets))
            continue;
        ns_t left = set->rate ? queued(dir, at, octets) : at;
        if (left < 0)
            dir->count.overflowed++;
        else
            pass_behind(dir, left, copy, octets);
    }
}

/* A station that sleeps when idle receives at its next beacon. */
static ns_t awake(struct direction *dir, ns_t due)
{
    if (!dir->set.beacon)
        return due;
    if (due > awake_until) {
        ns_t beacon = (ns_t)(dir->set.beacon * US);
        due += beacon - due % beacon;
        dir->count.beaconed++;
    }
    awake_until = due + (ns_t)(dir->set.idle * US);
    return due;
}

void pass_behind(struct direction *dir, ns_t left, const uint8_t *data, unsigned octets)
{
    const struct settings *set = &dir->set;
    ns_t due = left + (ns_t)((set->after + set->jitter * uniform()) * US);
    if (happens(set->reorder)) {
        dir->count.reordered++;
        due += (ns_t)(set->reorder_by * US);
    } else {
        due = awake(dir, due);
        if (due < dir->last_due)
            due = dir->last_due;
        dir->last_due = due;
    }
    if (set->busy_max) {
        if (due < dir->busy_until) {
            dir->count.busy++;
            return;
        }
        dir->busy_until = due + (ns_t)((set->busy_min + (set->busy_max - set->busy_min) * uniform()) * US);
    }
    dir->count.out++;
    dir->count.octets += octets;
    uint8_t *copy = malloc(octets);
    memcpy(copy, data, octets);
    deliver(dir->to, due, copy, octets);
}
