#include "lwip_path.h"

#include <string.h>

#include "FreeRTOS.h"
#include "board.h"
#include "frame.h"
#include "lwip/etharp.h"
#include "lwip/netif.h"
#include "lwip/sockets.h"
#include "lwip/tcpip.h"
#include "netif/ethernet.h"
#include "ring.h"
#include "semphr.h"

static struct netif interface;
static SemaphoreHandle_t room;
static void (*when_started)(void);

static void on_interrupt(void)
{
    BaseType_t must_switch = pdFALSE;
    ring_acknowledge();
    xSemaphoreGiveFromISR(room, &must_switch);
    if (must_switch)
        board_yield_from_interrupt();
}

/* Copies the packet's parts into the ring; waits for room in it. */
static err_t send(struct netif *netif, struct pbuf *packet)
{
    (void)netif;
    uint8_t *frame;
    while ((frame = ring_buffer()) == NULL)
        xSemaphoreTake(room, portMAX_DELAY);
    /* With the two bytes before the frame, so that words stay words. */
    uint8_t *at = frame - ETH_PAD_SIZE;
    for (struct pbuf *part = packet; part != NULL; part = part->next) {
        memcpy(at, part->payload, part->len);
        at += part->len;
    }
    ring_submit((uint32_t)(at - frame));
    return ERR_OK;
}

static err_t initialise(struct netif *netif)
{
    netif->name[0] = 'e';
    netif->name[1] = 'n';
    netif->mtu = 1500;
    netif->hwaddr_len = 6;
    netif->flags = NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHERNET | NETIF_FLAG_LINK_UP;
    memcpy(netif->hwaddr, own_mac, 6);
    netif->output = etharp_output;
    netif->linkoutput = send;
    ring_start(own_mac, true);
    board_on_interrupt(RING_INTERRUPT_LINE, on_interrupt);
    return ERR_OK;
}

/* Not `start`: its section would be that of the program's entry, and its address 0, which lwIP takes for no function. */
static void start_interface(void *unused)
{
    (void)unused;
    ip4_addr_t address, mask, gateway, peer;
    struct eth_addr mac;
    ip4_addr_set_u32(&address, lwip_htonl(OWN_ADDRESS));
    IP4_ADDR(&mask, 255, 255, 255, 0);
    IP4_ADDR(&gateway, 0, 0, 0, 0);
    ip4_addr_set_u32(&peer, lwip_htonl(PEER_ADDRESS));
    netif_add(&interface, &address, &mask, &gateway, NULL, initialise, ethernet_input);
    netif_set_default(&interface);
    netif_set_up(&interface);
    /* Only now: it announces its address while the line is down otherwise. */
    interface.flags |= NETIF_FLAG_ETHARP;
    memcpy(mac.addr, peer_mac, 6);
    if (etharp_add_static_entry(&peer, &mac) != ERR_OK)
        board_fail(__FILE__, __LINE__);
    when_started();
}

void lwip_path_start(void (*started)(void))
{
    when_started = started;
    room = xSemaphoreCreateBinary();
    tcpip_init(start_interface, NULL);
}

int lwip_path_open(void)
{
    int s = lwip_socket(AF_INET, SOCK_DGRAM, 0);
    if (s < 0)
        board_fail(__FILE__, __LINE__);
    return s;
}

void lwip_path_send(int s, const uint8_t *data, uint32_t len)
{
    struct sockaddr_in peer = {0};
    peer.sin_len = sizeof(peer);
    peer.sin_family = AF_INET;
    peer.sin_port = lwip_htons(PEER_PORT);
    peer.sin_addr.s_addr = lwip_htonl(PEER_ADDRESS);
    if (lwip_sendto(s, data, len, 0, (struct sockaddr *)&peer, sizeof(peer)) != (ssize_t)len)
        board_fail(__FILE__, __LINE__);
}
