/* lwIP's network interface on a driver: frames to send go to it in the caller's thread, received ones to the
 * stack's thread through one queued callback. */
#include "netif.h"

#include <string.h>

#include "board.h"
#include "device.h"
#include "lwip/etharp.h"
#include "lwip/netif.h"
#include "lwip/sys.h"
#include "lwip/tcpip.h"
#include "netif/ethernet.h"
#include "work.h"

static struct netif interface;
static const struct device *device;
static struct pbuf *first, **last = &first;
static struct tcpip_callback_msg *drain_message;
static bool is_draining;

static const uint8_t MAC[6] = {2, 0, 0, 0, 0, 2};

void device_received(struct pbuf *frame)
{
    /* A packet buffer is one pbuf, so `next` is free. */
    frame->next = NULL;
    *last = frame;
    last = &frame->next;
    if (!is_draining) {
        err_t result = tcpip_callbackmsg_trycallback_fromisr(drain_message);
        is_draining = result == ERR_OK || result == ERR_NEED_SCHED;
        if (result == ERR_NEED_SCHED)
            board_yield_from_interrupt();
    }
}

static struct pbuf *next_received(void)
{
    SYS_ARCH_DECL_PROTECT(level);
    SYS_ARCH_PROTECT(level);
    struct pbuf *frame = first;
    if (frame != NULL) {
        first = frame->next;
        if (first == NULL)
            last = &first;
        frame->next = NULL;
    } else {
        is_draining = false;
    }
    SYS_ARCH_UNPROTECT(level);
    return frame;
}

/* A copy of a frame that a DMA controller wrote: software that touches packets once more than this stack. */
static struct pbuf *copied(struct pbuf *frame)
{
    struct pbuf *copy = pbuf_alloc(PBUF_RAW, frame->tot_len, PBUF_RAM);
    if (copy == NULL)
        return frame;
    memcpy(copy->payload, frame->payload, frame->len);
    pbuf_free(frame);
    return copy;
}

/* In the stack's thread. */
static void drain(void *unused)
{
    (void)unused;
    for (struct pbuf *frame; (frame = next_received()) != NULL;) {
        if (device->has_dma) {
            work_received(frame->tot_len);
            if (work_copies_received)
                frame = copied(frame);
        }
        if (interface.input(frame, &interface) != ERR_OK)
            pbuf_free(frame);
    }
}

static err_t send(struct netif *netif, struct pbuf *frame)
{
    (void)netif;
    if (device->has_dma)
        work_sent(frame->tot_len);
    const uint8_t *octets = (const uint8_t *)frame->payload + ETH_PAD_SIZE;
    bool sent = frame->next == NULL && device->send(octets, (uint32_t)frame->len - ETH_PAD_SIZE);
    return sent ? ERR_OK : ERR_IF;
}

static err_t initialise(struct netif *netif)
{
    netif->name[0] = 'e';
    netif->name[1] = 'n';
    netif->mtu = 1500;
    netif->hwaddr_len = 6;
    netif->flags = NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP | NETIF_FLAG_ETHERNET | NETIF_FLAG_LINK_UP;
    memcpy(netif->hwaddr, MAC, sizeof(MAC));
    netif->output = etharp_output;
    netif->linkoutput = send;
    device->start(MAC);
    board_on_interrupt(device->interrupt_line, device->on_interrupt);
    return ERR_OK;
}

void netif_start(const struct device *used)
{
    ip4_addr_t address, mask, gateway;
    IP4_ADDR(&address, 10, 0, 0, 2);
    IP4_ADDR(&mask, 255, 255, 255, 0);
    IP4_ADDR(&gateway, 0, 0, 0, 0);
    device = used;
    drain_message = tcpip_callbackmsg_new(drain, NULL);
    netif_add(&interface, &address, &mask, &gateway, NULL, initialise, ethernet_input);
    netif_set_default(&interface);
    netif_set_up(&interface);
}
