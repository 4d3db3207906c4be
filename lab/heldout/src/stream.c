/* A sender and a receiver of one stream. */
#define _GNU_SOURCE
#include "app.h"
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BLOCK = 1 << 18 };

/* One connection of the sink: read= octets at a time, every= so often. */
static void drain(int it)
{
    char *block = malloc(BLOCK);
    double every = number("every", 0), from = 0, total = 0, next = 0;
    size_t most = number("read", BLOCK);
    ssize_t octets;
    while ((octets = read(it, block, most < BLOCK ? most : BLOCK)) > 0) {
        if (!from)
            from = next = seconds();
        total += octets;
        if (every) {
            next += every / 1e6;
            if (next < seconds())
                next = seconds();
            wait_us((next - seconds()) * 1e6);
        }
    }
    printf("{\"octets\": %.0f, ", total);
    print_info(it);
    printf("\"seconds\": %.6f}\n", seconds() - from);
    close(it);
    exit(0);
}

int sink(void)
{
    int listener = listening();
    for (;;) {
        int it = accept(listener, 0, 0);
        if (it < 0)
            die("accept");
        if (!fork())
            drain(it);
        close(it);
    }
}

/* Sends octets= in blocks of write= every= so often, for at most for= seconds. gap= and gap_after=: waits so long after
 * each so many octets. Connected as a client, or with answer=1 after a client has connected. */
int send_stream(void)
{
    int it = number("answer", 0) ? accept(listening(), 0, 0) : connected();
    double octets = number("octets", 1e6), longest = number("for", 60), every = number("every", 0);
    double gap = number("gap", 0), gap_after = number("gap_after", 0), sent = 0, since_gap = 0;
    size_t size = number("write", 65536);
    char *block = malloc(size), end[64];
    memset(block, 'h', size);
    double from = seconds(), next = from;
    while (sent < octets && seconds() - from < longest) {
        size_t now = octets - sent < size ? octets - sent : size;
        ssize_t written = write(it, block, now);
        if (written <= 0)
            break;
        sent += written;
        since_gap += written;
        if (every) {
            next += every / 1e6;
            wait_us((next - seconds()) * 1e6);
        }
        if (gap_after && since_gap >= gap_after) {
            since_gap = 0;
            int unsent = 1;
            while (unsent > 0 && ioctl(it, 0x894B /* SIOCOUTQNSD */, &unsent) == 0 && unsent > 0)
                wait_us(200);
            wait_us(gap);
        }
    }
    shutdown(it, SHUT_WR);
    while (read(it, end, sizeof end) > 0)
        ;
    double took = seconds() - from;
    printf("{\"octets\": %.0f, ", sent);
    print_info(it);
    printf("\"seconds\": %.6f}\n", took);
    return 0;
}
