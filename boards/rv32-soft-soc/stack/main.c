/* The benchmark of AN 440: one thread sends or receives a number of bytes over TCP or UDP, 1458 at a time. The
 * first line on the console configures it:
 *     DEVICE tx|rx tcp|udp BYTES SKIPPED none|fm|hw|fm+hw HERTZ BLOCKS_SENT BLOCKS_RECEIVED COPIES_RECEIVED FLUSHED
 * FLUSHED is cache_bytes of packet_init.
 * The bytes before SKIPPED are not timed: slow start, empty caches. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "FreeRTOS.h"
#include "board.h"
#include "device.h"
#include "lwip/api.h"
#include "lwip/netif.h"
#include "lwip/sockets.h"
#include "lwip/tcpip.h"
#include "netif.h"
#include "packet.h"
#include "task.h"
#include "work.h"

/* The compiler's flags change one of these at a time (lab/src/an440/axes.rs). */
#ifndef SEND_BYTES
#define SEND_BYTES 1458
#endif
/* Below the stack's thread. */
#ifndef APPLICATION_PRIORITY
#define APPLICATION_PRIORITY 3
#endif
/* Defined: small sends wait for an acknowledgment, to be joined. */
#ifdef NAGLE
#define NO_DELAY 0
#else
#define NO_DELAY 1
#endif
#define PORT_TO_PEER 5001
#define PORT_FROM_PEER 5002

uint32_t board_hertz;

static const struct device *device;
static bool is_tx, is_udp;
static uint32_t total, skipped;
static uint8_t buffer[SEND_BYTES + 2] __attribute__((aligned(32)));

static void fail(const char *what)
{
    board_print("@ {\"event\":\"error\",\"what\":\"");
    board_print(what);
    board_print("\"}\n");
    vTaskSuspend(NULL);
}

static void report(const char *event, uint32_t bytes)
{
    board_print("@ {\"event\":\"");
    board_print(event);
    board_print("\",\"bytes\":");
    board_print_number(bytes);
    board_print(",\"cycle\":");
    board_print_number(board_cycles());
    board_print("}\n");
}

static int open_socket(void)
{
    int s = lwip_socket(AF_INET, is_udp ? SOCK_DGRAM : SOCK_STREAM, 0);
    struct sockaddr_in peer = {0};
    peer.sin_len = sizeof(peer);
    peer.sin_family = AF_INET;
    peer.sin_port = lwip_htons(is_tx ? PORT_TO_PEER : PORT_FROM_PEER);
    peer.sin_addr.s_addr = lwip_htonl(0x0a000001);
    if (s < 0 || lwip_connect(s, (struct sockaddr *)&peer, sizeof(peer)) != 0)
        fail("connect");
    int no_delay = NO_DELAY;
    if (!is_udp)
        lwip_setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &no_delay, sizeof(no_delay));
    return s;
}

#ifdef NO_COPY
/* Receives by lwIP's connections in place of sockets: the application reads data where the stack has them. */
static void receive_without_copies(void)
{
    ip_addr_t peer;
    IP_ADDR4(&peer, 10, 0, 0, 1);
    struct netconn *connection = netconn_new(NETCONN_TCP);
    if (connection == NULL || netconn_connect(connection, &peer, PORT_FROM_PEER) != ERR_OK)
        fail("connect");
    uint32_t done = 0;
    bool is_timed = false;
    while (done < total) {
        struct pbuf *data;
        if (netconn_recv_tcp_pbuf(connection, &data) != ERR_OK)
            fail("recv");
        done += data->tot_len;
        pbuf_free(data);
        if (!is_timed && done >= skipped) {
            is_timed = true;
            report("begin", done);
        }
    }
    report("end", done);
    vTaskSuspend(NULL);
}
#endif

static void benchmark(void *unused)
{
    (void)unused;
#ifdef NO_COPY
    if (!is_tx && !is_udp)
        receive_without_copies();
#endif
    int s = open_socket();
    uint32_t done = 0;
    bool is_timed = false;
    /* A receiver over UDP tells its address with a datagram. */
    if (is_udp && !is_tx)
        lwip_send(s, buffer, 4, 0);
    while (done < total) {
        uint32_t left = total - done;
        size_t len = left < SEND_BYTES ? left : SEND_BYTES;
#ifdef CALL_BLOCKS
        work_of_call(CALL_BLOCKS);
#endif
        int result = is_tx ? lwip_send(s, buffer, len, 0) : lwip_recv(s, buffer, len, 0);
        if (result <= 0)
            fail(is_tx ? "send" : "recv");
        done += (uint32_t)result;
        if (!is_timed && done >= skipped) {
            is_timed = true;
            report("begin", done);
        }
    }
    report("end", done);
    lwip_close(s);
    vTaskSuspend(NULL);
}

static void start_interface(void *unused)
{
    (void)unused;
    netif_start(device);
    xTaskCreate(benchmark, "bench", 1024, NULL, APPLICATION_PRIORITY, NULL);
}

/* The next word of the line, ended by a zero. */
static char *next_word(char **line)
{
    char *word = *line;
    char *end = word;
    while (*end != 0 && *end != ' ')
        end++;
    *line = *end == 0 ? end : end + 1;
    *end = 0;
    return word;
}

int main(void)
{
    static char line[128];
    board_print("@ {\"event\":\"ready\"}\n");
    board_read_line(line, sizeof(line));
    char *rest = line;
    device = strcmp(next_word(&rest), tse.name) == 0 ? &tse : &lan91c111;
    is_tx = strcmp(next_word(&rest), "tx") == 0;
    is_udp = strcmp(next_word(&rest), "udp") == 0;
    total = (uint32_t)atoi(next_word(&rest));
    skipped = (uint32_t)atoi(next_word(&rest));
    const char *optimisation = next_word(&rest);
    bool both = strcmp(optimisation, "fm+hw") == 0;
    board_hertz = (uint32_t)atoi(next_word(&rest));
    work_blocks_sent = (uint32_t)atoi(next_word(&rest));
    work_blocks_received = (uint32_t)atoi(next_word(&rest));
    work_copies_received = atoi(next_word(&rest)) != 0;
    packet_init(both || strcmp(optimisation, "fm") == 0, device->has_dma, both || strcmp(optimisation, "hw") == 0,
                (uint32_t)atoi(next_word(&rest)));
    tcpip_init(start_interface, NULL);
    vTaskStartScheduler();
    return 0;
}
