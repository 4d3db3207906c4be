// Programs at the ends, with sockets: ends MODE key=value …. Each prints a line of JSON when it ends.
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "settings.h"

static char block[1 << 20];

static void wait_s(double seconds) {
    if (seconds <= 0) return;
    struct timespec it = {(time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9)};
    nanosleep(&it, NULL);
}
static double around(double mean, double share) { return mean * (1 + share * (2.0 * rand() / RAND_MAX - 1)); }
static void fail(const char *what) {
    printf("{\"failed\": \"%s: %s\"}\n", what, strerror(errno));
    exit(1);
}
static void set(int fd, int level, int name, double value) {
    int it = (int)value;
    if (setsockopt(fd, level, name, &it, sizeof it)) fail("setsockopt");
}
static struct sockaddr_in address(const char *host, int port) {
    struct sockaddr_in it = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, host, &it.sin_addr);
    return it;
}
static void options(int fd) {
    if (text("sndbuf", NULL)) set(fd, SOL_SOCKET, SO_SNDBUF, number("sndbuf", 0));
    if (text("rcvbuf", NULL)) set(fd, SOL_SOCKET, SO_RCVBUF, number("rcvbuf", 0));
    if (text("mss", NULL)) set(fd, IPPROTO_TCP, TCP_MAXSEG, number("mss", 0));
    if (text("clamp", NULL)) set(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, number("clamp", 0));
    if (number("nodelay", 0)) set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    if (text("pace", NULL)) set(fd, SOL_SOCKET, SO_MAX_PACING_RATE, number("pace", 0) / 8);
    const char *congestion = text("cc", NULL);
    if (congestion && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, congestion, strlen(congestion))) fail("congestion");
}
static int listening(void) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in it = address("0.0.0.0", (int)number("listen", 0));
    set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    options(fd);
    if (bind(fd, (void *)&it, sizeof it) || listen(fd, (int)number("backlog", 64))) fail("listen");
    return fd;
}
static int connected(void) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in it = address(text("host", ""), (int)number("port", 0));
    options(fd);
    if (connect(fd, (void *)&it, sizeof it)) fail("connect");
    return fd;
}
static int opened(void) { return text("listen", NULL) ? accept(listening(), NULL, NULL) : connected(); }
static int all(int fd, char *data, size_t octets, int flags) {
    while (octets) {
        ssize_t done = send(fd, data, octets, flags | MSG_NOSIGNAL);
        if (done <= 0) return 0;
        data += done;
        octets -= done;
    }
    return 1;
}
static int take(int fd, size_t octets) {
    while (octets) {
        ssize_t done = recv(fd, block, octets < sizeof block ? octets : sizeof block, 0);
        if (done <= 0) return 0;
        octets -= done;
    }
    return 1;
}

// Sends a stream: in writes, at a rate, with a gap behind each write, with a pause behind so many octets.
static void stream_out(void) {
    int fd = opened();
    size_t octets = (size_t)number("octets", 1e6), size = (size_t)number("write", 16384), every = (size_t)number("every", 0), part = 0, done = 0;
    double rate = number("rate", 0), gap = number("gap_ms", 0) / 1e3, pause = number("pause_ms", 0) / 1e3, paused = 0, start = now(), next = start;
    int flags = number("eor", 0) ? MSG_EOR : 0;
    while (done < octets && !is_over) {
        size_t it = octets - done < size ? octets - done : size;
        if (!all(fd, block, it, flags)) break;
        done += it;
        part += it;
        if (gap) wait_s((next += around(gap, number("varies", 0))) - now());
        if (rate) wait_s(start + done * 8 / rate - now());
        if (every && part >= every && done < octets) {
            double it = around(pause, number("varies", 0));
            wait_s(it);
            paused += it;
            part = 0;
        }
    }
    shutdown(fd, SHUT_WR);
    while (recv(fd, block, sizeof block, 0) > 0) {}
    struct tcp_info info;
    socklen_t octets_of_info = sizeof info;
    memset(&info, 0, sizeof info);
    getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &octets_of_info);
    printf("{\"sent\": %zu, \"paused_s\": %.3f, \"retransmitted\": %u, \"seconds\": %.3f}\n", done, paused, info.tcpi_total_retrans, now() - start);
}

// Reads a stream: in chunks, at a rate, with a pause behind so many octets; it may break off.
static void stream_in(void) {
    int fd = opened();
    size_t chunk = (size_t)number("chunk", 65536), every = (size_t)number("every", 0), part = 0, done = 0, most = (size_t)number("abort_after", 0);
    double rate = number("rate", 0), pause = number("pause_ms", 0) / 1e3, gap = number("gap_ms", 0) / 1e3, paused = 0, start = now();
    for (;;) {
        ssize_t it = recv(fd, block, chunk, 0);
        if (it <= 0) break;
        done += it;
        part += it;
        if (most && done >= most) {
            struct linger at_once = {1, 0};
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
            break;
        }
        if (gap) wait_s(gap);
        if (rate) wait_s(start + done * 8 / rate - now());
        if (every && part >= every) {
            double it = around(pause, number("varies", 0));
            wait_s(it);
            paused += it;
            part = 0;
        }
    }
    close(fd);
    printf("{\"received\": %zu, \"paused_s\": %.3f, \"seconds\": %.3f}\n", done, paused, now() - start);
}

static void answer_one(int fd) {
    size_t size = (size_t)number("size", 64), answer = (size_t)number("answer", 64), write = (size_t)number("write", sizeof block), unasked = (size_t)number("events", 0);
    double work = number("work_ms", 0) / 1e3;
    set(fd, IPPROTO_TCP, TCP_NODELAY, number("nodelay", 1));
    if (unasked)
        for (size_t i = 0; i < unasked; i++) {
            wait_s(around(number("each_ms", 500) / 1e3, 0.7));
            if (!all(fd, block, answer, 0)) break;
        }
    else
        while (take(fd, size)) {
            if (work) wait_s(around(work, number("varies", 0.1)));
            for (size_t left = answer; left;) {
                size_t it = left < write ? left : write;
                if (!all(fd, block, it, 0)) return;
                left -= it;
            }
            if (number("once", 0)) break;
        }
}
// Answers requests of a size: a child for each connection, or one after the other.
static void answer(void) {
    int fd = listening();
    signal(SIGCHLD, SIG_IGN);
    for (;;) {
        wait_s(number("accepts_each_ms", 0) / 1e3);
        int it = accept(fd, NULL, NULL);
        if (it < 0) continue;
        if (number("single", 0) || !fork()) {
            srand(7);
            answer_one(it);
            close(it);
            if (!number("single", 0)) exit(0);
        } else
            close(it);
    }
}

// Asks: `count` requests, `group` of them one after the other, then a think time, or one request each so many milliseconds.
static void ask(void) {
    size_t count = (size_t)number("count", 10), group = (size_t)number("group", 1), size = (size_t)number("size", 64), answer = (size_t)number("answer", 64), split = (size_t)number("split", 1);
    double think = number("think_ms", 0) / 1e3, each = number("each_ms", 0) / 1e3, thought = 0, waited = 0, worst = 0, start = now();
    int fd = -1;
    size_t asked = 0;
    for (size_t i = 0; i < count; i++) {
        if (fd < 0) fd = connected();
        double since = now();
        int is_sent = 1;
        for (size_t j = 0; j < split; j++) is_sent &= all(fd, block, size / split + (j ? 0 : size % split), 0);
        if (!is_sent || !take(fd, answer)) break;
        double it = now() - since;
        waited += it;
        worst = it > worst ? it : worst;
        asked++;
        if (number("reconnect", 0)) {
            close(fd);
            fd = -1;
        }
        if (i + 1 < count && (i + 1) % group == 0) {
            double it = each ? start + (i + 1) * each / group - now() : around(think, number("varies", 0.2));
            wait_s(it);
            thought += it > 0 ? it : 0;
        }
    }
    if (fd >= 0) close(fd);
    printf("{\"asked\": %zu, \"thought_s\": %.3f, \"waited_s\": %.3f, \"longest_s\": %.4f, \"seconds\": %.3f}\n", asked, thought, waited, worst, now() - start);
}

// Datagrams: at a rate, or each after the answer to the one before. The first octets are those of RTP.
static void datagrams_out(void) {
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in it = address(text("host", ""), (int)number("port", 0)), own = address("0.0.0.0", (int)number("from", 0));
    size_t size = (size_t)number("size", 1000), octets = (size_t)number("octets", 1e5), done = 0, resent = 0, burst = (size_t)number("burst", 1);
    double gap = text("gap_ms", NULL) ? number("gap_ms", 0) / 1e3 : size * 8 / number("rate", 1e6), start = now();
    if (number("broadcast", 0)) set(fd, SOL_SOCKET, SO_BROADCAST, 1);
    bind(fd, (void *)&own, sizeof own);
    connect(fd, (void *)&it, sizeof it);
    for (uint32_t i = 0; done < octets && !is_over; i++) {
        uint32_t fields[3] = {htonl(0x80000000u | (i & 0xffff)), htonl((uint32_t)((now() - start) * 8000)), htonl(0x4c414201)};
        memcpy(block, fields, sizeof fields);
        while (send(fd, block, size, 0) < 0 && errno == ECONNREFUSED) {}
        if (number("waits", 0)) {
            struct pollfd ready = {fd, POLLIN, 0};
            while (poll(&ready, 1, 1000) == 0) {
                send(fd, block, size, 0);
                if (++resent > 8) goto end;
            }
            recv(fd, block, sizeof block, 0);
        } else if ((i + 1) % burst == 0)
            wait_s(start + (i + 1) * gap - now());
        done += size;
    }
end:
    printf("{\"sent\": %zu, \"resent\": %zu, \"seconds\": %.3f}\n", done, resent, now() - start);
}
static void datagrams_in(void) {
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in own = address("0.0.0.0", (int)number("listen", 0)), from;
    size_t done = 0, datagrams = 0, back = (size_t)number("answer", 0);
    set(fd, SOL_SOCKET, SO_RCVBUF, 4e6);
    if (bind(fd, (void *)&own, sizeof own)) fail("bind");
    while (!is_over) {
        struct pollfd ready = {fd, POLLIN, 0};
        if (poll(&ready, 1, 200) <= 0) continue;
        socklen_t length = sizeof from;
        ssize_t it = recvfrom(fd, block, sizeof block, 0, (void *)&from, &length);
        if (it < 0) continue;
        done += it;
        datagrams++;
        wait_s(number("work_ms", 0) / 1e3);
        if (back) sendto(fd, block, back, 0, (void *)&from, length);
    }
    printf("{\"received\": %zu, \"datagrams\": %zu}\n", done, datagrams);
}

// A name server that gives one address for every name, after a while.
static void names(void) {
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in own = address("0.0.0.0", 53), from;
    unsigned char query[512], tail[16] = {0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 30, 0, 4};
    inet_pton(AF_INET, text("gives", "127.0.0.1"), tail + 12);
    if (bind(fd, (void *)&own, sizeof own)) fail("bind");
    signal(SIGCHLD, SIG_IGN);
    for (;;) {
        socklen_t length = sizeof from;
        ssize_t octets = recvfrom(fd, query, 480, 0, (void *)&from, &length);
        if (octets < 17 || fork()) continue;
        wait_s(around(number("delay_ms", 0) / 1e3, 0.15));
        int is_ipv4 = 0, at = 12;
        while (at < octets && query[at]) at += query[at] + 1;
        at += 5;
        is_ipv4 = query[at - 3] == 1;
        memset(query + 6, 0, 6);
        query[2] = 0x81;
        query[3] = 0x80;
        query[7] = is_ipv4;
        if (is_ipv4) memcpy(query + at, tail, 16);
        sendto(fd, query, at + (is_ipv4 ? 16 : 0), 0, (void *)&from, length);
        exit(0);
    }
}

int main(int given, char **arguments) {
    static const struct { const char *name; void (*run)(void); } modes[] = {
        {"send", stream_out}, {"recv", stream_in}, {"answer", answer}, {"ask", ask}, {"dsend", datagrams_out}, {"drecv", datagrams_in}, {"names", names}};
    if (given < 2) return 2;
    words = arguments + 2;
    count_of_words = given - 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    srand((unsigned)number("seed", 3));
    struct sigaction it = {.sa_handler = over};
    sigaction(SIGTERM, &it, NULL);
    if (!strcmp(arguments[1], "answer") || !strcmp(arguments[1], "names")) signal(SIGTERM, SIG_DFL);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (!strcmp(arguments[1], modes[i].name)) {
            modes[i].run();
            return 0;
        }
    return 2;
}
