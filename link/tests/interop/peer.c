/* An end for the interoperation test: sends messages over the socket that is its standard input and checks those of
 * its peer. Arguments: session number, messages to send, messages to expect, largest fragment. */
#define _POSIX_C_SOURCE 200809L
#include "linerate_link.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static uint32_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint32_t)((uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u);
}

static unsigned channel_of(unsigned number)
{
    return number % 10 == 9 ? 0 : 1;
}

static size_t message_of(unsigned number, uint8_t *to)
{
    size_t len = channel_of(number) == 0 ? number % 40 : number * 37 % 500, i;
    for (i = 0; i < len; i++)
        to[i] = (uint8_t)(number % 7 == 0 ? 1 + i % 255 : (number + i * i) % (number % 300 + 1));
    return len;
}

static struct ll_link l;

int main(int argc, char **argv)
{
    static uint8_t memory[4][600];
    static struct ll_channel channels[2];
    unsigned sent = 0, next[2] = {9, 0}, received = 0, done = 0, i;
    unsigned to_send, to_expect;
    if (argc != 5)
        return 2;
    to_send = (unsigned)atoi(argv[2]);
    to_expect = (unsigned)atoi(argv[3]);
    for (i = 0; i < 2; i++) {
        channels[i].tx = memory[2 * i];
        channels[i].rx = memory[2 * i + 1];
        channels[i].tx_size = channels[i].rx_size = i ? 600 : 100;
        channels[i].reliable = 1;
    }
    ll_init(&l, (uint32_t)strtoul(argv[1], NULL, 10), channels, 2);
    l.max_fragment = (uint16_t)atoi(argv[4]);
    for (;;) {
        uint8_t octets[512], expected[512];
        struct pollfd in = {0, POLLIN, 0};
        uint32_t at;
        int wait = -1, len;
        size_t count;
        while (sent < to_send) {
            size_t size = message_of(sent, octets);
            if (ll_send(&l, channel_of(sent), octets, size) != LL_OK)
                break;
            sent++;
        }
        for (i = 0; i < 2; i++) {
            while ((len = ll_read(&l, i, octets, sizeof octets)) != LL_EMPTY) {
                size_t size = message_of(next[i], expected), k;
                for (k = 0; k < size && (size_t)len == size && octets[k] == expected[k];)
                    k++;
                if ((size_t)len != size || k != size) {
                    fprintf(stderr, "wrong message %u on channel %u\n", next[i], i);
                    return 1;
                }
                next[i] += i == 0 ? 10 : next[i] % 10 == 8 ? 2 : 1;
                received++;
            }
        }
        while ((count = ll_transmit(&l, now_us(), octets, sizeof octets)) > 0)
            if (write(0, octets, count) != (ssize_t)count)
                return 0;
        if (!done && l.up && sent == to_send && received == to_expect && !channels[0].tx_used && !channels[1].tx_used) {
            done = 1;
            printf("done\n");
            fflush(stdout);
        }
        if (ll_timeout(&l, &at)) {
            int32_t us = (int32_t)(at - now_us());
            wait = us > 0 ? us / 1000 + 1 : 0;
        }
        if (poll(&in, 1, wait) > 0) {
            ssize_t got = read(0, octets, sizeof octets);
            if (got <= 0)
                return done ? 0 : 1;
            ll_receive(&l, now_us(), octets, (size_t)got);
        }
    }
}
