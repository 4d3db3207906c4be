/* A device with lwIP's sockets, and its thread for TCP/IP. */
#include "device.h"

#include "lwip/etharp.h"
#include "lwip/netif.h"
#include "lwip/sockets.h"
#include "lwip/tcpip.h"
#include "netif/ethernet.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int tap;
static struct netif interface;
static struct sockaddr_in last;

static err_t output(struct netif *it, struct pbuf *p)
{
    char frame[1600];
    (void)it;
    write_frame(tap, frame, pbuf_copy_partial(p, frame, sizeof frame, 0));
    return ERR_OK;
}

static void *input(void *nothing)
{
    static char frame[1600];
    for (;;) {
        int size = wait_for_frame(tap, number("wakes", 0) ? 2 : 1000) ? read_frame(tap, frame, sizeof frame) : 0;
        struct pbuf *p = size > 0 ? pbuf_alloc(PBUF_RAW, (u16_t)size, PBUF_POOL) : NULL;
        if (p) {
            pbuf_take(p, frame, (u16_t)size);
            if (interface.input(p, &interface) != ERR_OK) {
                pbuf_free(p);
            }
        }
    }
    return nothing;
}

static err_t initialise(struct netif *it)
{
    static const u8_t mac[6] = {2, 0x6c, 0x77, 0x69, 0x70, 1};
    memcpy(it->hwaddr, mac, sizeof mac);
    it->hwaddr_len = sizeof mac;
    it->mtu = 1500;
    it->name[0] = 't', it->name[1] = 'p';
    it->flags = NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP | NETIF_FLAG_LINK_UP;
    it->output = etharp_output;
    it->linkoutput = output;
    return ERR_OK;
}

void rest(int ms)
{
    if (ms > 0) {
        usleep((useconds_t)ms * 1000);
    }
}

/* The lock of the stack is held meanwhile. */
void stand_still(int ms)
{
    LOCK_TCPIP_CORE();
    usleep((useconds_t)ms * 1000);
    UNLOCK_TCPIP_CORE();
}

static struct sockaddr_in at(uint32_t ip, int port)
{
    struct sockaddr_in it = {.sin_family = AF_INET, .sin_port = lwip_htons((u16_t)port)};
    it.sin_addr.s_addr = ip;
    return it;
}

static handle bound(int type, int port)
{
    int it = lwip_socket(AF_INET, type, 0);
    struct sockaddr_in own = at(0, port);
    lwip_bind(it, (struct sockaddr *)&own, sizeof own);
    return it;
}

handle stream_listen(int port)
{
    handle it = bound(SOCK_STREAM, port);
    lwip_listen((int)it, 8);
    return it;
}

handle stream_accept(handle listening) { return lwip_accept((int)listening, NULL, NULL); }

handle stream_connect(int port)
{
    int it = lwip_socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in to = at(address("peer"), port);
    return lwip_connect(it, (struct sockaddr *)&to, sizeof to) ? -1 : it;
}

int stream_send(handle it, const void *octets, int size) { return (int)lwip_send((int)it, octets, (size_t)size, 0); }

int stream_receive(handle it, void *octets, int size) { return (int)lwip_recv((int)it, octets, (size_t)size, 0); }

void stream_no_delay(handle it)
{
    int on = 1;
    lwip_setsockopt((int)it, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void stream_whole_segments(handle it, int on) { (void)it, (void)on; }

void stream_close(handle it) { lwip_close((int)it); }

handle datagram_open(int port) { return bound(SOCK_DGRAM, port); }

int datagram_send(handle it, const void *octets, int size, int port)
{
    struct sockaddr_in to = at(address("peer"), port);
    return (int)lwip_sendto((int)it, octets, (size_t)size, 0, (struct sockaddr *)&to, sizeof to);
}

int datagram_receive(handle it, void *octets, int size, int patience_ms)
{
    struct timeval patience = {.tv_sec = patience_ms / 1000, .tv_usec = patience_ms % 1000 * 1000};
    socklen_t from = sizeof last;
    lwip_setsockopt((int)it, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    int got = (int)lwip_recvfrom((int)it, octets, (size_t)size, 0, (struct sockaddr *)&last, &from);
    return got > 0 ? got : 0;
}

int datagram_answer(handle it, const void *octets, int size)
{
    return (int)lwip_sendto((int)it, octets, (size_t)size, 0, (struct sockaddr *)&last, sizeof last);
}

int main(int count, char **words)
{
    pthread_t thread;
    ip4_addr_t ip, mask, gate;
    read_words(count, words);
    srandom((unsigned)now_ms() ^ (unsigned)getpid());
    tap = open_tap();
    tcpip_init(NULL, NULL);
    ip.addr = address("ip"), gate.addr = address("gate");
    IP4_ADDR(&mask, 255, 255, 255, 0);
    LOCK_TCPIP_CORE();
    netif_add(&interface, &ip, &mask, &gate, NULL, initialise, tcpip_input);
    netif_set_default(&interface);
    netif_set_up(&interface);
    UNLOCK_TCPIP_CORE();
    pthread_create(&thread, NULL, input, NULL);
    run_programs();
    exit(0);
}
