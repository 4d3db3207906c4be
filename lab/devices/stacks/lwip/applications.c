/* Programs of the device that lwIP has none of, by its callbacks. */
#include "device.h"
#include "lwip/tcp.h"
#include "lwip/timeouts.h"
#include "lwip/udp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct connection {
    struct tcp_pcb *pcb;
    long left, got, held;
    int done, is_holding;
};

static char body[65536];

static void say(const char *key, long number)
{
    printf("{\"%s\": %ld}\n", key, number);
    fflush(stdout);
}

static void leave(void *argument)
{
    (void)argument;
    exit(0);
}

static void finish(struct connection *it)
{
    struct tcp_pcb *pcb = it->pcb;
    it->pcb = NULL;
    if (pcb) {
        tcp_arg(pcb, NULL);
        tcp_recv(pcb, NULL);
        tcp_sent(pcb, NULL);
        tcp_err(pcb, NULL);
        tcp_close(pcb);
    }
}

static long write_most(struct connection *it, long octets)
{
    long done = 0;
    while (it->pcb && done < octets) {
        long size = octets - done, room = tcp_sndbuf(it->pcb);
        size = size < room ? size : room;
        size = size < 60000 ? size : 60000;
        if (size <= 0 || tcp_write(it->pcb, body, (u16_t)size, 0) != ERR_OK) {
            break;
        }
        done += size;
    }
    if (it->pcb) {
        tcp_output(it->pcb);
    }
    return done;
}

/* source: as much as the buffer takes, or `chunk` octets each `pause` ms. */
static void feed(void *argument)
{
    struct connection *it = argument;
    if (!it->pcb || it->left <= 0) {
        return;
    }
    long wanted = set.pause && set.chunk < it->left ? set.chunk : it->left;
    it->left -= write_most(it, wanted);
    if (it->left <= 0) {
        say("written", set.octets);
        finish(it);
        if (set.seconds) {
            sys_timeout(3000, leave, NULL);
        }
    } else if (set.pause) {
        sys_timeout((u32_t)set.pause, feed, it);
    }
}

static err_t acknowledged(void *argument, struct tcp_pcb *pcb, u16_t octets)
{
    (void)pcb, (void)octets;
    if (!set.pause) {
        feed(argument);
    }
    return ERR_OK;
}

static void reply(void *argument)
{
    struct connection *it = argument;
    write_most(it, set.answer);
    it->done++;
}

static void ask(void *argument)
{
    struct connection *it = argument;
    it->got = 0;
    if (set.split) {
        write_most(it, set.split);
    }
    write_most(it, set.request - set.split);
}

static void release(void *argument)
{
    struct connection *it = argument;
    it->is_holding = 0;
    while (it->pcb && it->held > 0) {
        u16_t size = (u16_t)(it->held > 60000 ? 60000 : it->held);
        it->held -= size;
        tcp_recved(it->pcb, size);
    }
}

static void taken(struct connection *it, u16_t octets)
{
    int ms = erase_due(octets);
    it->held += octets;
    if (ms && !it->is_holding) {
        it->is_holding = 1;
        sys_timeout((u32_t)ms, release, it);
    } else if (!it->is_holding) {
        release(it);
    }
}

static err_t received(void *argument, struct tcp_pcb *pcb, struct pbuf *p, err_t error)
{
    struct connection *it = argument;
    (void)pcb, (void)error;
    if (!p) {
        say(is("ask") ? "answers" : is("answer") ? "served" : "taken", is("sink") ? it->got : it->done);
        finish(it);
        return ERR_OK;
    }
    u16_t octets = p->tot_len;
    pbuf_free(p);
    it->got += octets;
    taken(it, octets);
    if (is("answer")) {
        for (; it->got >= set.request; it->got -= set.request) {
            if (set.think) {
                sys_timeout((u32_t)set.think, reply, it);
            } else {
                reply(it);
            }
        }
    } else if (is("ask") && it->got >= set.answer) {
        it->done++;
        if (it->done >= set.count) {
            say("answers", it->done);
            finish(it);
            sys_timeout(400, leave, NULL);
        } else if (set.pause) {
            sys_timeout((u32_t)set.pause, ask, it);
        } else {
            ask(it);
        }
    }
    return ERR_OK;
}

static void failed(void *argument, err_t error)
{
    struct connection *it = argument;
    printf("lwIP error %d\n", error);
    if (it) {
        it->pcb = NULL;
    }
}

static err_t opened(void *argument, struct tcp_pcb *pcb, err_t error)
{
    struct connection *it = calloc(1, sizeof *it);
    (void)argument;
    if (error != ERR_OK) {
        return error;
    }
    it->pcb = pcb;
    it->left = set.octets;
    tcp_arg(pcb, it);
    tcp_recv(pcb, received);
    tcp_err(pcb, failed);
    if (set.nodelay) {
        tcp_nagle_disable(pcb);
    }
    if (is("source")) {
        tcp_sent(pcb, acknowledged);
        feed(it);
    } else if (is("ask")) {
        ask(it);
    }
    return ERR_OK;
}

/* stream: `count` datagrams of `chunk` octets each `pause` ms; take: counts them. */
static struct udp_pcb *udp;
static long datagrams;

static void stream(void *argument)
{
    static u32_t begun, turns;
    (void)argument;
    begun = begun ? begun : sys_now();
    if (sys_now() - begun > (u32_t)set.seconds * 1000) {
        say("sent", datagrams);
        exit(0);
    }
    for (int i = 0; i < set.count; i++) {
        struct pbuf *p = pbuf_alloc(PBUF_TRANSPORT, (u16_t)set.chunk, PBUF_RAM);
        memset(p->payload, 0, p->len);
        u32_t number = lwip_htonl((u32_t)datagrams++);
        memcpy(p->payload, &number, 4);
        udp_sendto(udp, p, &set.peer, (u16_t)set.port);
        pbuf_free(p);
    }
    u32_t due = begun + ++turns * (u32_t)set.pause, now = sys_now();
    sys_timeout((s32_t)(due - now) > 0 ? due - now : 0, stream, NULL);
}

static void report(void *argument)
{
    static long before;
    (void)argument;
    if (datagrams && datagrams == before) {
        say("received", datagrams);
        return;
    }
    before = datagrams;
    sys_timeout(900, report, NULL);
}

static void take(void *argument, struct udp_pcb *pcb, struct pbuf *p, const ip_addr_t *from, u16_t port)
{
    (void)argument;
    if (!datagrams++) {
        sys_timeout(900, report, NULL);
    }
    if (set.answer) {
        udp_sendto(pcb, p, from, port);
    }
    pbuf_free(p);
}

static void connect_to(void *argument)
{
    struct tcp_pcb *pcb = tcp_new();
    tcp_err(pcb, failed);
    tcp_connect(pcb, &set.peer, (u16_t)set.port, opened);
    (void)argument;
}

void begin_applications(void)
{
    memset(body, 'd', sizeof body);
    if (is("stream") || is("take")) {
        udp = udp_new();
        udp_bind(udp, IP_ADDR_ANY, (u16_t)(is("take") ? set.port : 0));
        udp_recv(udp, take, NULL);
        if (is("stream")) {
            sys_timeout(300, stream, NULL);
        }
    } else if (is("ask") || (is("source") && set.seconds)) {
        sys_timeout(300, connect_to, NULL);
    } else if (is("sink") || is("source") || is("answer")) {
        struct tcp_pcb *pcb = tcp_new();
        tcp_bind(pcb, IP_ADDR_ANY, (u16_t)set.port);
        pcb = tcp_listen(pcb);
        tcp_accept(pcb, opened);
    }
}
