/* Properties of the C end with what a hostile line or peer may send, under the sanitizers of the compiler: no octet outside its
 * memory, no undefined behaviour, and messages arrive whole and in order. Argument: number of cases of each property. */
#include "linerate_link.c"

#include <stdio.h>
#include <stdlib.h>

enum { SIZE = 300, CHANNELS = 2, MESSAGES = 12 };

struct end {
    struct ll_link link;
    struct ll_channel channels[CHANNELS];
};

static uint64_t state;

static uint32_t below(uint32_t bound)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32) % bound;
}

static void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    abort();
}

/* Each memory is an allocation of its own, so a sanitizer finds an octet behind its end. */
static struct end *new_end(uint32_t session)
{
    struct end *end = calloc(1, sizeof *end);
    unsigned i;
    for (i = 0; i < CHANNELS; i++) {
        end->channels[i].tx = malloc(SIZE);
        end->channels[i].rx = malloc(SIZE);
        end->channels[i].tx_size = end->channels[i].rx_size = SIZE;
        end->channels[i].reliable = i == 0;
    }
    ll_init(&end->link, session, end->channels, CHANNELS);
    end->link.max_fragment = 100;
    return end;
}

static void free_end(struct end *end)
{
    unsigned i;
    for (i = 0; i < CHANNELS; i++) {
        free(end->channels[i].tx);
        free(end->channels[i].rx);
    }
    free(end);
}

/* The FIFOs hold no more than their memory. */
static void expect_bounded(const struct end *end)
{
    unsigned i;
    for (i = 0; i < CHANNELS; i++)
        if (end->channels[i].rx_used + end->channels[i].rx_partial > SIZE)
            fail("a FIFO holds more than its memory");
}

/* Octets with zeros and runs, or any; returns their number. */
static size_t any_octets(uint8_t *to, uint32_t longest)
{
    static const uint8_t few[4] = {0, 0, 1, 255};
    size_t len = below(longest + 1), i;
    int is_any = below(2) == 0;
    for (i = 0; i < len; i++)
        to[i] = is_any ? (uint8_t)below(256) : few[below(4)];
    return len;
}

/* Passes octets until neither end has more to send; damages one in `damage`, none if that is 0. */
static void exchange(struct end *one, struct end *two, uint32_t now, uint32_t damage)
{
    struct end *ends[2] = {one, two};
    uint8_t octets[64];
    size_t total = 0, count;
    do {
        unsigned n;
        count = 0;
        for (n = 0; n < 2; n++) {
            size_t len = ll_transmit(&ends[n]->link, now, octets, sizeof octets), i;
            for (i = 0; i < len; i++) {
                uint8_t octet = octets[i];
                uint32_t what = damage && below(damage) == 0 ? below(3) : 3;
                if (what == 0)
                    octet ^= (uint8_t)(1u << below(8));
                if (what != 1)
                    ll_receive(&ends[1 - n]->link, now, &octet, 1);
                if (what == 2)
                    ll_receive(&ends[1 - n]->link, now, &octet, 1);
            }
            count += len;
        }
        total += count;
        if (total > 50000)
            fail("an end sends endlessly");
    } while (count > 0);
}

static void any_octets_are_harmless(void)
{
    struct end *one = new_end(1), *two = new_end(2);
    uint8_t octets[2000];
    uint32_t i, rounds = below(8);
    if (below(2))
        exchange(one, two, 0, 0);
    for (i = 0; i < rounds; i++) {
        ll_receive(&one->link, 0, octets, any_octets(octets, sizeof octets));
        if (ll_read(&one->link, below(CHANNELS), octets, sizeof octets) != LL_EMPTY)
            fail("octets that are no frame became a message");
    }
    exchange(one, two, 0, 0);
    free_end(one);
    free_end(two);
}

/* Encodes octets with COBS, a check and a delimiter; returns the length. */
static size_t frame_of(const uint8_t *octets, size_t len, uint32_t key, uint8_t *to)
{
    size_t code = 0, at = 1, i;
    uint32_t check;
    for (i = 0; i < len; i++) {
        if (at - code == 255) {
            to[code] = 255;
            code = at++;
        }
        if (octets[i] == 0) {
            to[code] = (uint8_t)(at - code);
            code = at++;
        } else {
            to[at++] = octets[i];
        }
    }
    to[code] = (uint8_t)(at - code);
    check = ~crc_of(to, at) ^ key;
    for (i = 0; i < 5; i++)
        to[at++] = (uint8_t)(0x80 | (check >> (7 * i) & 0x7F));
    to[at++] = 0;
    return at;
}

static void frames_with_a_good_check_and_any_content_are_harmless(void)
{
    struct end *one = new_end(1), *two = new_end(2);
    uint8_t octets[400], frame[500];
    uint32_t now = 0, i, rounds = below(20);
    exchange(one, two, 0, 0);
    for (i = 0; i < rounds; i++) {
        size_t len = any_octets(octets, below(8) ? 120 : sizeof octets);
        uint32_t key = one->link.key_in, at, turns;
        if (len >= 14 && below(3) == 0) {
            octets[0] = (uint8_t)(0xC1 | below(4) << 4);
            octets[1] = (uint8_t)below(18);
        }
        if (len >= 4 && below(3) == 0) {
            /* Data with the right number, whatever the credit. */
            unsigned channel = below(CHANNELS);
            octets[0] = (uint8_t)(below(4) << 4 | channel);
            octets[1] = one->channels[channel].expected;
        }
        if (len > 0 && octets[0] >> 6 == 3)
            key = 0;
        at = one->link.damaged;
        ll_receive(&one->link, now, frame, frame_of(octets, len, key, frame));
        if (len >= 4 && len <= LL_MAX_FRAGMENT && at != one->link.damaged)
            fail("a good frame was dropped");
        expect_bounded(one);
        now += below(1u << below(24));
        for (turns = 0; ll_transmit(&one->link, now, frame, sizeof frame) > 0; turns++)
            if (turns > 300)
                fail("an end sends endlessly");
        ll_timeout(&one->link, &at);
        if (below(2))
            ll_read(&one->link, below(CHANNELS), octets, sizeof octets);
        ll_send(&one->link, below(CHANNELS), octets, below(200));
        if (below(4) == 0)
            ll_probe(&one->link);
    }
    free_end(one);
    free_end(two);
}

static void messages_pass_damage_whole_and_in_order(void)
{
    struct end *one = new_end(1), *two = new_end(2);
    static uint8_t sent[MESSAGES][200];
    size_t lengths[MESSAGES];
    uint32_t now = 0, count = 0, got = 0, rounds;
    for (rounds = 0; rounds < 10000 && got < MESSAGES; rounds++) {
        uint8_t octets[SIZE];
        uint32_t at[2], n;
        int len;
        if (count < MESSAGES && one->link.up) {
            lengths[count] = any_octets(sent[count], sizeof sent[count]);
            if (ll_send(&one->link, 0, sent[count], lengths[count]) == LL_OK)
                count++;
        }
        exchange(one, two, now, 300);
        while ((len = ll_read(&two->link, 0, octets, sizeof octets)) != LL_EMPTY) {
            if (got >= count || (size_t)len != lengths[got] || memcmp(octets, sent[got], (size_t)len) != 0)
                fail("a message is wrong");
            got++;
        }
        if (one->link.overruns || two->link.overruns)
            fail("the credit was not kept");
        now += 5000;
        for (n = 0; n < 2; n++)
            if (!ll_timeout(n ? &two->link : &one->link, &at[n]))
                at[n] = now + 1000000;
        at[0] = (int32_t)(at[0] - at[1]) < 0 ? at[0] : at[1];
        if ((int32_t)(at[0] - now) > 0)
            now = at[0];
    }
    if (got < MESSAGES)
        fail("messages are missing");
    free_end(one);
    free_end(two);
}

int main(int argc, char **argv)
{
    static void (*const properties[])(void) = {
        any_octets_are_harmless,
        frames_with_a_good_check_and_any_content_are_harmless,
        messages_pass_damage_whole_and_in_order,
    };
    unsigned long cases = argc > 1 ? strtoul(argv[1], NULL, 10) : 0, i;
    unsigned n;
    for (n = 0; n < 3; n++)
        for (i = 0; i < cases; i++) {
            state = (i * 3 + n + 1) * 0x9E3779B97F4A7C15u;
            properties[n]();
        }
    printf("3 properties, %lu cases of each\n", cases);
    return cases == 0;
}
