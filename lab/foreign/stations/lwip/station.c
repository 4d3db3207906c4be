/*
 * A station with lwIP: frames come and go over a socket (descriptor 3), one datagram each. Arguments are key=value.
 *
 *   ip mask mac      its addresses
 *   role             sink (reads), source (writes), http (answers any request with octets), ask (asks and reads)
 *   port peer        listens at port, or connects to peer:port
 *   octets           that a source or http writes, or ask asks for
 *   every for        ms: reads or writes for a time, then stops for a time
 *   chunk interval   writes chunk octets every interval ms
 *   drain            octets/ms that a sink reads, 0 for all at once
 *   think            ms before an answer (http), between requests (ask)
 *   count            requests of ask
 *   nodelay          1: no Nagle
 */
#include "lwip/etharp.h"
#include "lwip/init.h"
#include "lwip/tcp.h"
#include "lwip/timeouts.h"
#include "netif/ethernet.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LINK 3

struct settings {
    const char *role;
    int port, every, stop, chunk, interval, drain, think, count, nodelay;
    long octets;
    int connects;
    ip4_addr_t ip, mask, peer;
};

struct connection {
    struct tcp_pcb *pcb;
    long left, unread;
    u32_t begun, written, answer_at;
    long allowance;
    int asked, is_answering, is_closing;
};

static struct settings set;
static struct connection all[64];
static u8_t body[65536];

u32_t sys_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (u32_t)(now.tv_sec * 1000 + now.tv_nsec / 1000000);
}

unsigned int lwip_port_rand(void) { return (unsigned int)random(); }

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

static int is_stopped(struct connection *it)
{
    if (!set.stop) {
        return 0;
    }
    return (int)((sys_now() - it->begun) % (u32_t)(set.every + set.stop)) >= set.every;
}

static int is(const char *role) { return !strcmp(set.role, role); }

static void finish(struct connection *it)
{
    if (it->pcb) {
        tcp_arg(it->pcb, NULL);
        tcp_recv(it->pcb, NULL);
        tcp_sent(it->pcb, NULL);
        tcp_err(it->pcb, NULL);
        if (tcp_close(it->pcb) != ERR_OK) {
            tcp_abort(it->pcb);
        }
        it->pcb = NULL;
    }
}

static void write_more(struct connection *it)
{
    if (!it->pcb || it->left <= 0 || is_stopped(it)) {
        return;
    }
    if (set.chunk && set.interval) {
        u32_t due = (sys_now() - it->begun) / (u32_t)set.interval;
        while (it->written < due) {
            it->written++;
            it->allowance += set.chunk;
        }
    } else {
        it->allowance = it->left;
    }
    while (it->left > 0 && it->allowance > 0) {
        long most = tcp_sndbuf(it->pcb);
        long size = it->left < most ? it->left : most;
        size = size < it->allowance ? size : it->allowance;
        size = size < (long)sizeof body ? size : (long)sizeof body;
        if (size <= 0 || tcp_write(it->pcb, body, (u16_t)(size > 60000 ? 60000 : size), 0) != ERR_OK) {
            break;
        }
        size = size > 60000 ? 60000 : size;
        it->left -= size;
        it->allowance -= size;
    }
    tcp_output(it->pcb);
    if (it->left <= 0 && (is("source") || is("http"))) {
        finish(it);
    }
}

static void ask(struct connection *it)
{
    char request[64];
    int length = snprintf(request, sizeof request, "GET /%ld HTTP/1.0\r\n\r\n", set.octets);
    it->asked++;
    tcp_write(it->pcb, request, (u16_t)length, TCP_WRITE_FLAG_COPY);
    tcp_output(it->pcb);
}

static void read_some(struct connection *it)
{
    long most = it->unread;
    if (set.drain && most > set.drain) {
        most = set.drain;
    }
    if (!it->pcb || !most || is_stopped(it)) {
        return;
    }
    it->unread -= most;
    while (most > 0) {
        u16_t size = (u16_t)(most > 60000 ? 60000 : most);
        tcp_recved(it->pcb, size);
        most -= size;
    }
}

static err_t received(void *argument, struct tcp_pcb *pcb, struct pbuf *p, err_t error)
{
    struct connection *it = argument;
    (void)error;
    if (!p) {
        if (is("sink") || is("ask")) {
            finish(it);
        }
        return ERR_OK;
    }
    it->unread += p->tot_len;
    if (is("http") && !it->is_answering) {
        it->is_answering = 1;
        it->answer_at = sys_now() + (u32_t)set.think;
    }
    pbuf_free(p);
    if (is("sink") && (set.drain || set.stop)) {
        return ERR_OK;
    }
    read_some(it);
    (void)pcb;
    return ERR_OK;
}

static err_t acknowledged(void *argument, struct tcp_pcb *pcb, u16_t size)
{
    (void)pcb;
    (void)size;
    if (!is("http") || ((struct connection *)argument)->is_answering == 2) {
        write_more(argument);
    }
    return ERR_OK;
}

static void failed(void *argument, err_t error)
{
    struct connection *it = argument;
    (void)error;
    if (it) {
        it->pcb = NULL;
    }
}

static err_t opened(void *argument, struct tcp_pcb *pcb, err_t error)
{
    struct connection *it = argument;
    if (error != ERR_OK) {
        return error;
    }
    if (!it) {
        for (unsigned i = 0; i < 64 && !it; i++) {
            it = all[i].pcb ? NULL : &all[i];
        }
        if (!it) {
            return ERR_MEM;
        }
    }
    memset(it, 0, sizeof *it);
    it->pcb = pcb;
    it->begun = sys_now();
    it->left = is("source") || is("http") ? set.octets : 0;
    tcp_arg(pcb, it);
    tcp_recv(pcb, received);
    tcp_sent(pcb, acknowledged);
    tcp_err(pcb, failed);
    if (set.nodelay) {
        tcp_nagle_disable(pcb);
    }
    if (is("source")) {
        write_more(it);
    }
    if (is("ask")) {
        ask(it);
    }
    return ERR_OK;
}

static void tick(void)
{
    u32_t now = sys_now();
    for (unsigned i = 0; i < 64; i++) {
        struct connection *it = &all[i];
        if (!it->pcb) {
            continue;
        }
        if (it->unread) {
            read_some(it);
        }
        if (is("source")) {
            write_more(it);
        }
        if (is("http") && it->is_answering && (s32_t)(now - it->answer_at) >= 0) {
            if (it->is_answering == 1) {
                char head[96];
                int length = snprintf(head, sizeof head, "HTTP/1.0 200 OK\r\nContent-Length: %ld\r\n\r\n", set.octets);
                it->is_answering = 2;
                tcp_write(it->pcb, head, (u16_t)length, TCP_WRITE_FLAG_COPY | TCP_WRITE_FLAG_MORE);
            }
            write_more(it);
        }
    }
}

static err_t transmit(struct netif *netif, struct pbuf *p)
{
    static u8_t frame[2048];
    (void)netif;
    u16_t length = pbuf_copy_partial(p, frame, sizeof frame, 0);
    return write(LINK, frame, length) == length ? ERR_OK : ERR_IF;
}

static err_t start(struct netif *netif)
{
    netif->name[0] = 'e';
    netif->name[1] = 'n';
    netif->output = etharp_output;
    netif->linkoutput = transmit;
    netif->mtu = 1500;
    netif->flags = NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP | NETIF_FLAG_LINK_UP | NETIF_FLAG_UP;
    return ERR_OK;
}

static void receive(struct netif *netif)
{
    static u8_t frame[2048];
    for (int i = 0; i < 16; i++) {
        ssize_t length = recv(LINK, frame, sizeof frame, MSG_DONTWAIT);
        if (length <= 0) {
            return;
        }
        struct pbuf *p = pbuf_alloc(PBUF_RAW, (u16_t)length, PBUF_POOL);
        if (!p) {
            return;
        }
        pbuf_take(p, frame, (u16_t)length);
        if (netif->input(p, netif) != ERR_OK) {
            pbuf_free(p);
        }
    }
}

int main(int n, char **arguments)
{
    struct netif netif;
    unsigned m[6];
    memset(&netif, 0, sizeof netif);
    srandom((unsigned)time(NULL) ^ (unsigned)getpid());
    for (unsigned i = 0; i < sizeof body; i++) {
        body[i] = (u8_t)(i * 31 + i / 251);
    }
    set.role = value(n, arguments, "role", "sink");
    set.port = atoi(value(n, arguments, "port", "5001"));
    set.octets = atol(value(n, arguments, "octets", "100000"));
    set.every = atoi(value(n, arguments, "every", "0"));
    set.stop = atoi(value(n, arguments, "for", "0"));
    set.chunk = atoi(value(n, arguments, "chunk", "0"));
    set.interval = atoi(value(n, arguments, "interval", "0"));
    set.drain = atoi(value(n, arguments, "drain", "0"));
    set.think = atoi(value(n, arguments, "think", "0"));
    set.nodelay = atoi(value(n, arguments, "nodelay", "0"));
    ip4addr_aton(value(n, arguments, "ip", "10.0.0.2"), &set.ip);
    ip4addr_aton(value(n, arguments, "mask", "255.255.255.0"), &set.mask);
    const char *peer = value(n, arguments, "peer", NULL);
    lwip_init();
    netif_add(&netif, &set.ip, &set.mask, IP4_ADDR_ANY4, NULL, start, ethernet_input);
    netif.hwaddr_len = 6;
    sscanf(value(n, arguments, "mac", "02:00:00:00:00:02"), "%x:%x:%x:%x:%x:%x", m, m + 1, m + 2, m + 3, m + 4, m + 5);
    for (int i = 0; i < 6; i++) {
        netif.hwaddr[i] = (u8_t)m[i];
    }
    netif_set_default(&netif);
    netif_set_up(&netif);
    struct tcp_pcb *pcb = tcp_new();
    if (peer) {
        ip4addr_aton(peer, &set.peer);
        tcp_arg(pcb, &all[0]);
        tcp_err(pcb, failed);
        tcp_connect(pcb, &set.peer, (u16_t)set.port, opened);
    } else if (!is("closed")) {
        tcp_bind(pcb, IP4_ADDR_ANY, (u16_t)set.port);
        pcb = tcp_listen(pcb);
        tcp_accept(pcb, opened);
    }
    for (;;) {
        u32_t wait = sys_timeouts_sleeptime();
        u32_t most = set.drain || set.stop || set.chunk || set.think ? 1 : 50;
        struct pollfd link = {.fd = LINK, .events = POLLIN};
        if (poll(&link, 1, (int)(wait < most ? wait : most)) > 0) {
            if (link.revents & (POLLHUP | POLLERR)) {
                return 0;
            }
            receive(&netif);
        }
        sys_check_timeouts();
        tick();
    }
}
