/*
 *     app PROGRAM [name=value ...]
 *
 * stream.c and exchange.c have the programs over TCP, datagram.c those over UDP. Times are in microseconds.
 */
#define _GNU_SOURCE
#include "app.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <linux/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

static int count;
static char **arguments;

const char *word(const char *name, const char *otherwise)
{
    size_t length = strlen(name);
    for (int i = 2; i < count; i++)
        if (!strncmp(arguments[i], name, length) && arguments[i][length] == '=')
            return arguments[i] + length + 1;
    return otherwise;
}

double number(const char *name, double otherwise)
{
    const char *value = word(name, 0);
    return value ? atof(value) : otherwise;
}

double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

void wait_us(double us)
{
    struct timespec time = {us / 1e6, 0};
    time.tv_nsec = (us - time.tv_sec * 1e6) * 1e3;
    if (us > 0)
        nanosleep(&time, 0);
}

void die(const char *what)
{
    fprintf(stderr, "app: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void option(int socket, int level, int name, int value)
{
    if (setsockopt(socket, level, name, &value, sizeof value) < 0)
        die("setsockopt");
}

/* Buffers count twice in Linux, for its own use; the options here are in octets of payload. */
static int new_socket(void)
{
    int it = socket(AF_INET, SOCK_STREAM, 0);
    const char *algorithm = word("cc", 0);
    option(it, SOL_SOCKET, SO_REUSEADDR, 1);
    if (number("rcvbuf", 0))
        option(it, SOL_SOCKET, SO_RCVBUF, number("rcvbuf", 0));
    if (number("sndbuf", 0))
        option(it, SOL_SOCKET, SO_SNDBUF, number("sndbuf", 0));
    if (number("pacing", 0))
        option(it, SOL_SOCKET, SO_MAX_PACING_RATE, number("pacing", 0) / 8);
    if (number("nodelay", 0))
        option(it, IPPROTO_TCP, TCP_NODELAY, 1);
    if (number("clamp", 0))
        option(it, IPPROTO_TCP, TCP_WINDOW_CLAMP, number("clamp", 0));
    if (algorithm && setsockopt(it, IPPROTO_TCP, TCP_CONGESTION, algorithm, strlen(algorithm)) < 0)
        die(algorithm);
    return it;
}

int listening(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(number("port", 5001))};
    int it = new_socket();
    if (bind(it, (void *)&at, sizeof at) < 0 || listen(it, 64) < 0)
        die("listen");
    return it;
}

int connected(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(number("port", 5001))};
    int it = new_socket();
    inet_pton(AF_INET, word("host", "127.0.0.1"), &at.sin_addr);
    if (connect(it, (void *)&at, sizeof at) < 0)
        die("connect");
    return it;
}

void print_info(int socket)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) < 0)
        return;
    printf("\"busy_us\": %llu, \"window_limited_us\": %llu, \"buffer_limited_us\": %llu, \"retransmitted\": %u, "
           "\"rtt_us\": %u, \"min_rtt_us\": %u, \"cwnd\": %u, \"mss\": %u, ",
           (unsigned long long)info.tcpi_busy_time, (unsigned long long)info.tcpi_rwnd_limited,
           (unsigned long long)info.tcpi_sndbuf_limited, info.tcpi_total_retrans, info.tcpi_rtt, info.tcpi_min_rtt,
           info.tcpi_snd_cwnd, info.tcpi_snd_mss);
}

int main(int given, char **texts)
{
    static const struct { const char *name; int (*run)(void); } PROGRAMS[] = {
        {"sink", sink}, {"send", send_stream}, {"serve", serve}, {"ask", ask}, {"web", web}, {"reset", reset},
        {"names", names}, {"tftp-serve", tftp_serve}, {"tftp-get", tftp_get}, {"broadcast", broadcast},
        {"telemetry", telemetry}};
    count = given;
    arguments = texts;
    prctl(PR_SET_TIMERSLACK, 1);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_IGN);
    srand(number("seed", 1));
    setvbuf(stdout, 0, _IOLBF, 0);
    for (unsigned i = 0; given > 1 && i < sizeof PROGRAMS / sizeof *PROGRAMS; i++)
        if (!strcmp(texts[1], PROGRAMS[i].name))
            return PROGRAMS[i].run();
    fprintf(stderr, "app: no such program\n");
    return 2;
}
