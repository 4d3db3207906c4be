/* Requests and answers over TCP. */
#define _GNU_SOURCE
#include "app.h"
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST = 1 << 24 };

static int read_all(int it, double octets)
{
    static char block[65536];
    while (octets > 0) {
        ssize_t got = read(it, block, octets < sizeof block ? octets : sizeof block);
        if (got <= 0)
            return 0;
        octets -= got;
    }
    return 1;
}

/* Writes `octets` in `pieces` writes: all but the last have 1/pieces of them. */
static int write_all(int it, double octets, int pieces)
{
    static char *block;
    if (!block)
        block = memset(malloc(MOST), 'e', MOST);
    for (int i = 0; i < pieces; i++) {
        double each = (double)(long)(octets / pieces);
        double now = i < pieces - 1 ? each : octets - (pieces - 1) * each;
        for (double at = 0; at < now;) {
            ssize_t wrote = write(it, block, now - at < MOST ? now - at : MOST);
            if (wrote <= 0)
                return 0;
            at += wrote;
        }
    }
    return 1;
}

/* `think` and up to `spread` of it more or less. */
static void think(double us)
{
    double spread = number("spread", 0.1);
    wait_us(us * (1 + spread * (2.0 * rand() / RAND_MAX - 1)));
}

/* Answers each request= octets with answer= octets after think=. last=: only the last of so many is thought about. */
int serve(void)
{
    int listener = listening();
    for (int served = 0;; served++) {
        int it = accept(listener, 0, 0);
        if (it < 0)
            die("accept");
        if (!fork()) {
            srand(number("seed", 1) + served);
            for (int i = 1; read_all(it, number("request", 100)); i++) {
                if (!number("last", 0) || i % (int)number("last", 1) == 0)
                    think(number("think", 0));
                if (!write_all(it, number("answer", 1000), number("pieces", 1)))
                    break;
            }
            close(it);
            exit(0);
        }
        close(it);
    }
}

/* Asks count= times with think= in between, on a new connection after each each= requests. */
int ask(void)
{
    int it = -1, each = number("each", 1e9), done = 0, count = number("count", 10), last = number("last", 1);
    double from = seconds(), octets = 0;
    for (; done < count && seconds() - from < number("for", 60); done++) {
        if (done && done % last == 0)
            think(number("think", 0));
        if (it < 0)
            it = connected();
        if (!write_all(it, number("request", 100), number("pieces", 1)) || !read_all(it, number("answer", 1000)))
            break;
        octets += number("answer", 1000) + number("request", 100);
        if (done % each == each - 1) {
            close(it);
            it = -1;
        }
    }
    printf("{\"octets\": %.0f, \"exchanges\": %d, ", octets, done);
    if (it >= 0)
        print_info(it);
    printf("\"seconds\": %.6f}\n", seconds() - from);
    return 0;
}

/* HTTP/1.1 with connections kept open: answers each GET with a file of file= octets after think=. */
int web(void)
{
    int listener = listening();
    for (int served = 0;; served++) {
        int it = accept(listener, 0, 0);
        if (it < 0)
            die("accept");
        if (fork()) {
            close(it);
            continue;
        }
        char request[4096], head[128];
        size_t used = 0;
        ssize_t got;
        srand(number("seed", 1) + served);
        while ((got = read(it, request + used, sizeof request - 1 - used)) > 0) {
            request[used += got] = 0;
            if (!strstr(request, "\r\n\r\n"))
                continue;
            used = 0;
            think(number("think", 0));
            int length = snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Length: %.0f\r\n\r\n",
                                  number("file", 1000));
            if (number("pieces", 1) > 1) {
                if (write(it, head, length) < 0)
                    break;
            } else
                send(it, head, length, MSG_MORE);
            write_all(it, number("file", 1000), 1);
        }
        close(it);
        exit(0);
    }
}

/* Accepts and resets, after having read a request if read=1. */
int reset(void)
{
    int listener = listening();
    for (;;) {
        int it = accept(listener, 0, 0);
        struct linger none = {1, 0};
        char request[2048];
        if (number("read", 0) && read(it, request, sizeof request) < 0)
            perror("app");
        setsockopt(it, SOL_SOCKET, SO_LINGER, &none, sizeof none);
        close(it);
    }
}
