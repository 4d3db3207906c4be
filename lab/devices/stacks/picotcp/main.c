/*
 * A device with picoTCP on its TAP driver. Arguments are key=value: tap, ip, gate, role (sink, source, answer),
 * port, octets, request, answer, receive and send (buffers in octets; picoTCP's own are 16 KB).
 */
#include <pico_dev_tap.h>
#include <pico_ipv4.h>
#include <pico_socket.h>
#include <pico_stack.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static const char *role;
static long octets, left, got;
static int request, answer, receive, transmit;
static char body[65536];

static int is(const char *text) { return !strcmp(role, text); }

static void feed(struct pico_socket *s)
{
    while (left > 0) {
        int done = pico_socket_write(s, body, left < (long)sizeof body ? (int)left : (int)sizeof body);
        if (done <= 0) {
            return;
        }
        left -= done;
        if (!left && is("source")) {
            printf("{\"written\": %ld}\n", octets);
            fflush(stdout);
            pico_socket_shutdown(s, PICO_SHUT_RDWR);
        }
    }
}

static void event(uint16_t what, struct pico_socket *s)
{
    if (what & PICO_SOCK_EV_CONN) {
        uint32_t peer;
        uint16_t port;
        s = pico_socket_accept(s, &peer, &port);
        if (!s) {
            return;
        }
        int no_delay = 1;
        pico_socket_setoption(s, PICO_TCP_NODELAY, &no_delay);
        if (receive) {
            pico_socket_setoption(s, PICO_SOCKET_OPT_RCVBUF, &receive);
        }
        if (transmit) {
            pico_socket_setoption(s, PICO_SOCKET_OPT_SNDBUF, &transmit);
        }
        got = 0;
        left = is("source") ? octets : 0;
        feed(s);
    }
    if (what & PICO_SOCK_EV_RD) {
        static char input[2048];
        int n;
        while ((n = pico_socket_read(s, input, sizeof input)) > 0) {
            got += n;
            for (; request && got >= request; got -= request) {
                left += answer;
            }
        }
        feed(s);
    }
    if (what & PICO_SOCK_EV_WR) {
        feed(s);
    }
    if (what & PICO_SOCK_EV_CLOSE) {
        printf("{\"taken\": %ld}\n", got);
        fflush(stdout);
        pico_socket_close(s);
    }
}

static const char *value(int n, char **arguments, const char *key, const char *otherwise)
{
    size_t length = strlen(key);
    for (int i = 1; i < n; i++) {
        if (!strncmp(arguments[i], key, length) && arguments[i][length] == '=') {
            return arguments[i] + length + 1;
        }
    }
    return otherwise;
}

int main(int n, char **arguments)
{
    struct pico_ip4 ip, mask, gate, any = {0};
    char name[16];
    prctl(PR_SET_TIMERSLACK, 1);
    role = value(n, arguments, "role", "sink");
    octets = atol(value(n, arguments, "octets", "100000"));
    request = atoi(value(n, arguments, "request", "0"));
    answer = atoi(value(n, arguments, "answer", "0"));
    receive = atoi(value(n, arguments, "receive", "0"));
    transmit = atoi(value(n, arguments, "send", "0"));
    memset(body, 'p', sizeof body);
    pico_stack_init();
    snprintf(name, sizeof name, "%s", value(n, arguments, "tap", "tap0"));
    struct pico_device *device = pico_tap_create(name);
    if (!device) {
        fprintf(stderr, "no %s\n", name);
        return 1;
    }
    pico_string_to_ipv4(value(n, arguments, "ip", "10.0.0.2"), &ip.addr);
    pico_string_to_ipv4(value(n, arguments, "gate", "10.0.0.1"), &gate.addr);
    pico_string_to_ipv4("255.255.255.0", &mask.addr);
    pico_ipv4_link_add(device, ip, mask);
    pico_ipv4_route_add(any, any, gate, 1, NULL);
    struct pico_socket *s = pico_socket_open(PICO_PROTO_IPV4, PICO_PROTO_TCP, event);
    uint16_t port = short_be((uint16_t)atoi(value(n, arguments, "port", "5001")));
    if (receive) {
        pico_socket_setoption(s, PICO_SOCKET_OPT_RCVBUF, &receive);
    }
    if (transmit) {
        pico_socket_setoption(s, PICO_SOCKET_OPT_SNDBUF, &transmit);
    }
    pico_socket_bind(s, &any, &port);
    pico_socket_listen(s, 8);
    /* The descriptor follows the device in the driver's structure. */
    int tap = *(int *)((char *)device + sizeof *device);
    for (;;) {
        pico_stack_tick();
        struct pollfd wait = {.fd = tap, .events = POLLIN};
        poll(&wait, 1, 1);
    }
}
