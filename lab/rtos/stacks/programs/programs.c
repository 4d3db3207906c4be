/*
 * The device's programs, on the calls of a stack. Arguments are key=value.
 *
 *   role             sink, source, web, answer (these listen at `port`); push, fetch, ask (these connect to it); stream, take (datagrams)
 *   octets           of a transfer or a page; chunk: of a call; pause: ms after each call
 *   works stops      the program rests at intervals (ms); still=1: the whole device does
 *   flash stops      after so many octets received, it rests for `stops` ms; still=1: the whole device does
 *   request answer   octets of an exchange; count of them; split: octets that are written first; nodelay=1: no Nagle; think: ms before an answer
 *   seconds          of a stream: `count` datagrams of `chunk` octets each `pause` ms; echo=1: `take` sends them back
 */
#include "device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BODY = 65536 };
static char body[BODY];

static void say(const char *key, long count)
{
    printf("{\"%s\": %ld}\n", key, count);
    fflush(stdout);
}

static int is(const char *role) { return !strcmp(word("role", "sink"), role); }

static void pause_for(int ms)
{
    if (ms > 0) {
        (number("still", 0) ? stand_still : rest)(ms);
    }
}

/* Works for a time, then stops for a time. */
static void take_turns(uint32_t *begun)
{
    if (number("works", 0) && now_ms() - *begun > (uint32_t)number("works", 0)) {
        pause_for((int)number("stops", 0));
        *begun = now_ms();
    }
}

static int send_all(handle it, long octets)
{
    while (octets > 0) {
        int done = stream_send(it, body, octets < BODY ? (int)octets : BODY);
        if (done <= 0) {
            return 0;
        }
        octets -= done;
    }
    return 1;
}

static int receive_all(handle it, long octets)
{
    while (octets > 0) {
        int got = stream_receive(it, body, octets < BODY ? (int)octets : BODY);
        if (got <= 0) {
            return 0;
        }
        octets -= got;
    }
    return 1;
}

static long feed(handle it)
{
    long octets = number("octets", 100000), chunk = number("chunk", 4096), left = octets;
    uint32_t begun = now_ms();
    stream_whole_segments(it, !number("pause", 0));
    while (left > 0) {
        long size = left < chunk ? left : chunk;
        if (size == left) {
            stream_whole_segments(it, 0);
        }
        if (!send_all(it, size)) {
            break;
        }
        left -= size;
        rest((int)number("pause", 0));
        take_turns(&begun);
    }
    return octets - left;
}

/* Reads `most` octets, or to the end. */
static long drain(handle it, long most)
{
    long total = 0, flash = number("flash", 0), chunk = number("chunk", 4096);
    uint32_t begun = now_ms();
    while (total < most) {
        int got = stream_receive(it, body, (int)(most - total < chunk ? most - total : chunk));
        if (got <= 0) {
            break;
        }
        total += got;
        if (flash && total / flash > (total - got) / flash) {
            pause_for((int)number("stops", 0));
        }
        rest((int)number("pause", 0));
        take_turns(&begun);
    }
    return total;
}

/* The head of a request, and what came behind it: octets in `head`. */
static int receive_head(handle it, char *head, int size)
{
    int got = 0;
    head[0] = 0;
    while (!strstr(head, "\r\n\r\n")) {
        int more = stream_receive(it, head + got, size - 1 - got);
        if (more <= 0) {
            return 0;
        }
        head[got += more] = 0;
    }
    return got;
}

static void serve_page(handle it)
{
    static char head[4096];
    int got = receive_head(it, head, sizeof head);
    if (!got) {
        return;
    }
    const char *length = strstr(head, "Content-Length: ");
    long octets = number("octets", 100000);
    if (length && head[0] == 'P') {
        long behind = got - (strstr(head, "\r\n\r\n") + 4 - head);
        say("stored", behind + drain(it, atol(length + 16) - behind));
        octets = 0;
    }
    rest((int)number("think", 0));
    int size = snprintf(head, sizeof head, "HTTP/1.0 200 OK\r\nServer: device\r\nContent-Length: %ld\r\n\r\n", octets);
    if (stream_send(it, head, size) == size && octets) {
        say("written", feed(it));
    }
}

static void answer(handle it)
{
    long answers = 0;
    while (receive_all(it, number("request", 1))) {
        rest((int)number("think", 0));
        if (!send_all(it, number("answer", 1))) {
            break;
        }
        answers++;
    }
    say("served", answers);
}

static void ask(handle it)
{
    long answers = 0, split = number("split", 0);
    while (answers < number("count", 1)) {
        if (split) {
            send_all(it, split);
        }
        if (!send_all(it, number("request", 1) - split) || !receive_all(it, number("answer", 1))) {
            break;
        }
        answers++;
        rest((int)number("pause", 0));
    }
    say("answers", answers);
}

static void fetch(handle it)
{
    static const char request[] = "GET /data HTTP/1.0\r\nHost: server\r\nUser-Agent: device\r\n\r\n";
    stream_send(it, request, sizeof request - 1);
    say("fetched", drain(it, 1L << 40));
}

static void play(handle it)
{
    if (number("nodelay", 0)) {
        stream_no_delay(it);
    }
    if (is("sink")) {
        say("taken", drain(it, 1L << 40));
    } else if (is("source") || is("push")) {
        say("written", feed(it));
    } else if (is("web")) {
        serve_page(it);
    } else if (is("answer")) {
        answer(it);
    } else if (is("ask")) {
        ask(it);
    } else if (is("fetch")) {
        fetch(it);
    }
    stream_close(it);
}

static void stream(void)
{
    handle it = datagram_open(0);
    uint32_t begun = now_ms(), turns = 0, sent = 0, pause = (uint32_t)number("pause", 10);
    while (now_ms() - begun < (uint32_t)number("seconds", 3) * 1000) {
        for (long i = 0; i < number("count", 1); i++) {
            memcpy(body, &(uint32_t){__builtin_bswap32(sent++)}, 4);
            datagram_send(it, body, (int)number("chunk", 500), (int)number("port", 4000));
        }
        int left = (int)(begun + ++turns * pause - now_ms());
        rest(left > 0 ? left : 0);
    }
    say("sent", sent);
}

static void take(void)
{
    handle it = datagram_open((int)number("port", 4000));
    long taken = 0;
    int got;
    while ((got = datagram_receive(it, body, BODY, taken ? 1500 : 30000)) > 0) {
        taken++;
        if (number("echo", 0)) {
            datagram_answer(it, body, got);
        }
    }
    say("received", taken);
}

void run_programs(void)
{
    if (is("stream") || is("take")) {
        rest(300);
        (is("stream") ? stream : take)();
        return;
    }
    if (is("push") || is("fetch") || is("ask")) {
        rest(300);
        handle it = stream_connect((int)number("port", 5001));
        if (it == -1) {
            printf("no connection\n");
            return;
        }
        play(it);
        rest(400);
        return;
    }
    handle listening = stream_listen((int)number("port", 5001));
    for (;;) {
        handle it = stream_accept(listening);
        if (it != -1) {
            play(it);
        }
    }
}
