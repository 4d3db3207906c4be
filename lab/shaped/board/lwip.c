/* A board: lwIP as it comes, on a TAP interface, with one program. Arguments: interface, address, gateway, program, key=value. */

#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "lwip/etharp.h"
#include "lwip/init.h"
#include "lwip/tcp.h"
#include "lwip/timeouts.h"
#include "netif/ethernet.h"

static int tap, count_of_options;
static char **options;
static struct netif interface;
static struct tcp_pcb *connection;
static double octets_left, unread, got, sent, since, answers, stops, frames, awake_until, next_write;
static double rate, every, pause_s, think, times, ask, answer, chunk, tick_s, frame_s, beacon_s, idle;
static int is_done, is_source, is_server_of_answers, is_asking;
static unsigned char head[8];
static unsigned long request_octets, request_wanted, answer_left;
static double answer_due, ask_due, last_read, read_due;

static volatile sig_atomic_t is_over;

static void end(int number) { is_over = 1; }

static double now(void) {
    struct timespec it;
    clock_gettime(CLOCK_MONOTONIC, &it);
    return it.tv_sec + it.tv_nsec * 1e-9;
}

unsigned lwip_port_rand(void) { return (unsigned)rand(); }

u32_t sys_now(void) { return (u32_t)(now() * 1000); }

static double option(const char *name, double otherwise) {
    size_t length = strlen(name);
    for (int i = 0; i < count_of_options; i++)
        if (!strncmp(options[i], name, length) && options[i][length] == '=') return atof(options[i] + length + 1);
    return otherwise;
}

/* The whole board stops: flash is erased, or a card is read. */
static void stop_for(double seconds) {
    stops++;
    usleep((useconds_t)(seconds * 1e6 * (0.95 + 0.1 * (rand() % 1000) / 1000.0)));
}

static void push(void) {
    static unsigned char data[65536];
    while (connection && octets_left > 0 && tcp_sndbuf(connection) > 0 && now() >= next_write) {
        double size = chunk < octets_left ? chunk : octets_left;
        if (size > tcp_sndbuf(connection)) size = tcp_sndbuf(connection);
        int more = octets_left > size;
        if (tcp_write(connection, data, (u16_t)size, TCP_WRITE_FLAG_COPY | (more && is_source ? TCP_WRITE_FLAG_MORE : 0)) != ERR_OK) break;
        octets_left -= size, sent += size, since += size;
        tcp_output(connection);
        if (every && since >= every && octets_left > 0) {
            since = 0;
            if (idle) stops++, next_write = now() + pause_s;
            else stop_for(pause_s);
        }
    }
    if (connection && is_source && sent && octets_left <= 0 && !connection->unsent && !connection->unacked) {
        tcp_recv(connection, NULL);
        tcp_close(connection);
        connection = NULL, is_done = 1;
    }
}

static void request(void) {
    unsigned char data[1460] = {0};
    unsigned long size = (unsigned long)ask, wanted = (unsigned long)answer;
    for (int i = 0; i < 4; i++) data[i] = size >> (24 - 8 * i), data[4 + i] = wanted >> (24 - 8 * i);
    tcp_write(connection, data, (u16_t)size, TCP_WRITE_FLAG_COPY);
    tcp_output(connection);
    answer_left = wanted;
}

static err_t acknowledged(void *arg, struct tcp_pcb *pcb, u16_t octets) {
    push();
    return ERR_OK;
}

static void take(const unsigned char *data, unsigned long octets) {
    if (is_asking) {
        answer_left -= octets < answer_left ? octets : answer_left;
        if (!answer_left && ++answers < times) {
            if (every) stop_for(pause_s);
            ask_due = now() + think * (0.9 + 0.2 * (rand() % 1000) / 1000.0);
        } else if (!answer_left) is_done = 1;
    } else if (is_server_of_answers) {
        for (unsigned long i = 0; i < octets; i++) {
            if (request_octets < 8) head[request_octets] = data[i];
            if (++request_octets == 8) request_wanted = head[2] << 8 | head[3];
            if (request_octets >= 8 && request_octets == request_wanted) {
                octets_left = (head[4] << 24 | head[5] << 16 | head[6] << 8 | head[7]), request_octets = 0, answers++;
                answer_due = next_write = now() + think * (0.9 + 0.2 * (rand() % 1000) / 1000.0);
            }
        }
    }
}

static err_t received(void *arg, struct tcp_pcb *pcb, struct pbuf *data, err_t error) {
    if (!data) {
        if (!is_source) tcp_close(pcb), connection = NULL, is_done = 1;
        return ERR_OK;
    }
    got += data->tot_len, since += is_source ? 0 : data->tot_len;
    for (struct pbuf *it = data; it; it = it->next) take(it->payload, it->len);
    if (rate) unread += data->tot_len;
    else tcp_recved(pcb, data->tot_len);
    pbuf_free(data);
    if (every && !is_source && !is_asking && since >= every) {
        since = 0;
        if (idle) stops++, unread += 0, read_due = now() + pause_s;
        else stop_for(pause_s);
    }
    return ERR_OK;
}

static void failed(void *arg, err_t error) {
    printf("{\"error\": %d}\n", error);
    connection = NULL, is_done = 1;
}

static err_t ready(void *arg, struct tcp_pcb *pcb, err_t error) {
    connection = pcb;
    tcp_recv(pcb, received), tcp_sent(pcb, acknowledged), tcp_err(pcb, failed);
    if (option("nodelay", 0)) tcp_nagle_disable(pcb);
    if (is_source) octets_left = option("octets", 0), push();
    if (is_asking) request();
    return ERR_OK;
}

static err_t transmit(struct netif *it, struct pbuf *data) {
    unsigned char frame[1600];
    u16_t length = pbuf_copy_partial(data, frame, sizeof frame, 0);
    if (write(tap, frame, length) < 0) return ERR_IF;
    awake_until = now() + 0.05;
    return ERR_OK;
}

static err_t begin(struct netif *it) {
    it->name[0] = 't', it->name[1] = 'p', it->output = etharp_output, it->linkoutput = transmit, it->mtu = 1500;
    it->hwaddr_len = 6;
    memcpy(it->hwaddr, "\x02\x80\xe1\0\0\0", 6);
    it->hwaddr[4] = getpid() >> 8, it->hwaddr[5] = getpid();
    it->flags = NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP | NETIF_FLAG_LINK_UP;
    return ERR_OK;
}

static void read_frames(void) {
    unsigned char frame[1600];
    ssize_t length;
    while ((length = read(tap, frame, sizeof frame)) > 0) {
        struct pbuf *it = pbuf_alloc(PBUF_RAW, length, PBUF_POOL);
        frames++;
        if (frame_s) usleep((useconds_t)(frame_s * 1e6));
        if (!it) continue;
        pbuf_take(it, frame, length);
        if (interface.input(it, &interface) != ERR_OK) pbuf_free(it);
        awake_until = now() + 0.05;
        push();
    }
}

int main(int argc, char **argv) {
    ip4_addr_t address, mask, gateway, peer;
    struct ifreq wanted = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    options = argv + 5, count_of_options = argc - 5;
    strncpy(wanted.ifr_name, argv[1], IFNAMSIZ - 1);
    if ((tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK)) < 0 || ioctl(tap, TUNSETIFF, &wanted)) return perror("tap"), 1;
    rate = option("rate", 0), every = option("every", 0), pause_s = option("pause", 0), think = option("think", 0), times = option("times", 1);
    ask = option("ask", 32), answer = option("answer", 512), chunk = option("chunk", 8192), tick_s = option("tick", 0), frame_s = option("frame", 0);
    beacon_s = option("beacon", 0), idle = option("idle", 0);
    is_source = !strcmp(argv[4], "source"), is_server_of_answers = !strcmp(argv[4], "answer"), is_asking = !strcmp(argv[4], "ask");
    signal(SIGTERM, end);
    srand(getpid());
    lwip_init();
    ip4addr_aton(argv[2], &address), ip4addr_aton(argv[3], &gateway), IP4_ADDR(&mask, 255, 255, 255, 0);
    netif_add(&interface, &address, &mask, &gateway, NULL, begin, ethernet_input);
    netif_set_default(&interface), netif_set_up(&interface);
    int port = (int)option("port", 7000);
    struct tcp_pcb *it = tcp_new();
    const char *to = NULL;
    for (int i = 0; i < count_of_options; i++)
        if (!strncmp(options[i], "to=", 3)) to = options[i] + 3;
    double began = now(), dial_at = began + option("after", 0.3), ends = began + option("lasts", 60), next_look = began;
    if (!to && strcmp(argv[4], "none")) {
        tcp_bind(it, IP_ADDR_ANY, port);
        it = tcp_listen(it);
        tcp_accept(it, ready);
    }
    for (double at; (at = now()) < ends && !is_over && !(is_done && !connection && to && at > awake_until + 0.5);) {
        if (to && dial_at && at >= dial_at) ip4addr_aton(to, &peer), tcp_err(it, failed), tcp_connect(it, &peer, port, ready), dial_at = 0;
        if (tick_s) {
            double rest = next_look - at;
            if (rest > 0) usleep((useconds_t)(rest * 1e6) + 1);
            next_look += tick_s * (rest < -1 ? 1 - rest / tick_s : 1);
        } else {
            struct pollfd one = {.fd = tap, .events = POLLIN};
            poll(&one, 1, 2);
        }
        /* Its radio sleeps after 50 ms without traffic, and fetches what waits at the next beacon. */
        if (beacon_s && now() > awake_until) {
            double rest = beacon_s - (now() - (long)(now() / beacon_s) * beacon_s);
            usleep((useconds_t)(rest * 1e6) + 1);
        }
        read_frames();
        sys_check_timeouts();
        at = now();
        if (is_asking && ask_due && at >= ask_due) ask_due = 0, request();
        if (rate && connection && unread && at >= read_due) {
            double size = chunk < unread ? chunk : unread;
            if (at >= last_read + size / rate) tcp_recved(connection, (u16_t)size), unread -= size, last_read = at;
        }
        push();
        if (is_asking && is_done && connection) tcp_close(connection), connection = NULL;
        if (is_done && !to && !is_server_of_answers) is_done = 2;
    }
    printf("{\"read\": %.0f, \"sent\": %.0f, \"answers\": %.0f, \"stops\": %.0f, \"frames\": %.0f, \"seconds\": %.3f}\n", got, sent, answers, stops, frames, now() - began);
    return 0;
}
