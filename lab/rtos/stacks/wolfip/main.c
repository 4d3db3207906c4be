/* A device with wolfIP: calls that wait run its loop. */
#include "device.h"

#include "config.h"
#include "wolfip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static int tap;
static struct wolfIP *stack;
static struct wolfIP_sockaddr_in last;

uint32_t wolfIP_getrandom(void)
{
    uint32_t it;
    return getrandom(&it, sizeof it, 0) == sizeof it ? it : 1;
}

static int poll_interface(struct wolfIP_ll_dev *it, void *frame, uint32_t size)
{
    (void)it;
    return read_frame(tap, frame, (int)size);
}

static int output(struct wolfIP_ll_dev *it, void *frame, uint32_t size)
{
    (void)it;
    write_frame(tap, frame, (int)size);
    return (int)size;
}

static void turn(void)
{
    wolfIP_poll(stack, now_ms());
    wait_for_frame(tap, 1);
    wolfIP_poll(stack, now_ms());
}

void rest(int ms)
{
    for (uint32_t begun = now_ms(); ms > 0 && now_ms() - begun < (uint32_t)ms;) {
        turn();
    }
}

void stand_still(int ms) { usleep((useconds_t)ms * 1000); }

static struct wolfIP_sockaddr_in at(uint32_t ip, int port)
{
    struct wolfIP_sockaddr_in it = {.sin_family = AF_INET, .sin_port = __builtin_bswap16((uint16_t)port)};
    it.sin_addr.s_addr = ip;
    return it;
}

static handle bound(int type, int port)
{
    int it = wolfIP_sock_socket(stack, AF_INET, type, 0);
    struct wolfIP_sockaddr_in own = at(address("ip"), port);
    wolfIP_sock_bind(stack, it, (struct wolfIP_sockaddr *)&own, sizeof own);
    return it;
}

handle stream_listen(int port)
{
    handle it = bound(IPSTACK_SOCK_STREAM, port);
    wolfIP_sock_listen(stack, (int)it, 4);
    return it;
}

static void opened(int it, uint16_t events, void *is_open)
{
    (void)it;
    if (events & (CB_EVENT_WRITABLE | CB_EVENT_READABLE)) {
        *(int *)is_open = 1;
    }
}

handle stream_accept(handle listening)
{
    socklen_t size = sizeof last;
    int it;
    while ((it = wolfIP_sock_accept(stack, (int)listening, (struct wolfIP_sockaddr *)&last, &size)) < 0) {
        turn();
    }
    /* What is accepted has answered a SYN; its handshake ends later. */
    int is_open = 0;
    wolfIP_register_callback(stack, it, opened, &is_open);
    for (uint32_t begun = now_ms(); !is_open && now_ms() - begun < 3000;) {
        turn();
    }
    wolfIP_register_callback(stack, it, NULL, NULL);
    return it;
}

handle stream_connect(int port)
{
    int it = wolfIP_sock_socket(stack, AF_INET, IPSTACK_SOCK_STREAM, 0), done;
    struct wolfIP_sockaddr_in to = at(address("peer"), port);
    while ((done = wolfIP_sock_connect(stack, it, (struct wolfIP_sockaddr *)&to, sizeof to)) == -WOLFIP_EAGAIN) {
        turn();
    }
    return done ? -1 : it;
}

int stream_send(handle it, const void *octets, int size)
{
    int done;
    while ((done = wolfIP_sock_send(stack, (int)it, octets, (size_t)size, 0)) == -WOLFIP_EAGAIN) {
        turn();
    }
    return done;
}

int stream_receive(handle it, void *octets, int size)
{
    int got;
    while ((got = wolfIP_sock_recv(stack, (int)it, octets, (size_t)size, 0)) == -WOLFIP_EAGAIN) {
        turn();
    }
    return got;
}

void stream_no_delay(handle it) { (void)it; }

void stream_whole_segments(handle it, int on) { (void)it, (void)on; }

void stream_close(handle it)
{
    for (uint32_t begun = now_ms(); wolfIP_sock_close(stack, (int)it) == -WOLFIP_EAGAIN && now_ms() - begun < 3000;) {
        turn();
    }
}

handle datagram_open(int port) { return bound(IPSTACK_SOCK_DGRAM, port ? port : 40404); }

int datagram_send(handle it, const void *octets, int size, int port)
{
    struct wolfIP_sockaddr_in to = at(address("peer"), port);
    int done = wolfIP_sock_sendto(stack, (int)it, octets, (size_t)size, 0, (struct wolfIP_sockaddr *)&to, sizeof to);
    wolfIP_poll(stack, now_ms());
    return done;
}

int datagram_receive(handle it, void *octets, int size, int patience_ms)
{
    socklen_t from = sizeof last;
    int got = 0;
    for (uint32_t begun = now_ms(); now_ms() - begun < (uint32_t)patience_ms; turn()) {
        got = wolfIP_sock_recvfrom(stack, (int)it, octets, (size_t)size, 0, (struct wolfIP_sockaddr *)&last, &from);
        if (got > 0) {
            return got;
        }
    }
    return 0;
}

int datagram_answer(handle it, const void *octets, int size)
{
    return wolfIP_sock_sendto(stack, (int)it, octets, (size_t)size, 0, (struct wolfIP_sockaddr *)&last, sizeof last);
}

int main(int count, char **words)
{
    static const uint8_t mac[6] = {2, 0x77, 0x6f, 0x6c, 0x66, 1};
    read_words(count, words);
    tap = open_tap();
    wolfIP_init_static(&stack);
    struct wolfIP_ll_dev *it = wolfIP_getdev(stack);
    memcpy(it->mac, mac, sizeof mac);
    strcpy(it->ifname, "tap0");
    it->poll = poll_interface;
    it->send = output;
    wolfIP_ipconfig_set(stack, __builtin_bswap32(address("ip")), 0xffffff00, __builtin_bswap32(address("gate")));
    run_programs();
    exit(0);
}
