/* lwIP's network interface on a driver of linerate: one, because lent frames return to one driver. lwipopts.h has
 * LWIP_SUPPORT_CUSTOM_PBUF 1, LWIP_CHECKSUM_CTRL_PER_NETIF 1, ETH_PAD_SIZE 2 (or 0 on a processor that reads unaligned
 * words), LWIP_NETIF_LINK_CALLBACK as wanted. */
#include "linerate_netif.h"

#include <string.h>

#include "lwip/etharp.h"
#include "lwip/pbuf.h"

/* Parts of a frame that are gathered without a copy before: TCP sends headers and data in two to four. */
#define PARTS 16
/* Received frames that the stack may keep: the device receives with the others. */
#define KEPT (LINERATE_NIC_FRAMES / 2)

/* A received frame in the driver's buffer. */
struct lent {
    struct pbuf_custom custom; /* first: pbuf_free passes its pbuf */
    uint8_t *frame;
    struct lent *next;
};

static linerate_nic *driver;
static struct lent pool[KEPT];
static struct lent *unused;

static void give_back(struct pbuf *pbuf)
{
    struct lent *lent = (struct lent *)pbuf;
    linerate_nic_give_back(driver, lent->frame);
    lent->next = unused;
    unused = lent;
}

/* The next frame in its buffer. */
static struct pbuf *lend(void)
{
    struct lent *lent = unused;
    size_t octets;
    uint8_t *frame = linerate_nic_lend(driver, &octets);
    if (frame == NULL)
        return NULL;
    unused = lent->next;
    lent->frame = frame;
    lent->custom.custom_free_function = give_back;
    u16_t length = (u16_t)(octets + ETH_PAD_SIZE);
    return pbuf_alloced_custom(PBUF_RAW, length, PBUF_REF, &lent->custom, frame - ETH_PAD_SIZE, length);
}

static bool copy(void *context, uint8_t *frame, size_t octets)
{
    struct pbuf *pbuf = pbuf_alloc(PBUF_RAW, (u16_t)(octets + ETH_PAD_SIZE), PBUF_POOL);
    *(struct pbuf **)context = pbuf;
    return pbuf != NULL && pbuf_take_at(pbuf, frame, (u16_t)octets, ETH_PAD_SIZE) == ERR_OK;
}

int linerate_netif_poll(struct netif *netif, int budget)
{
    int taken = 0;
    for (; taken < budget; taken++) {
        struct pbuf *pbuf = unused != NULL ? lend() : NULL;
        /* The driver does not lend, or the stack keeps too many: copied. */
        if (pbuf == NULL && !linerate_nic_receive(driver, copy, &pbuf))
            break;
        /* Without a pbuf it was counted as rejected by the stack. */
        if (pbuf != NULL && netif->input(pbuf, netif) != ERR_OK)
            pbuf_free(pbuf);
    }
    return taken;
}

static err_t output(struct netif *netif, struct pbuf *pbuf)
{
    linerate_nic_part parts[PARTS];
    size_t count = 0;
    u16_t pad = ETH_PAD_SIZE;
    (void)netif;
    for (struct pbuf *it = pbuf; it != NULL; it = it->next, pad = 0) {
        if (count == PARTS)
            return ERR_BUF;
        parts[count].octets = (uint8_t *)it->payload + pad;
        parts[count].length = (size_t)it->len - pad;
        count++;
    }
    switch (linerate_nic_transmit(driver, parts, count)) {
    case LINERATE_NIC_SENT:
        return ERR_OK;
    case LINERATE_NIC_NO_ROOM:
        return ERR_MEM;
    default:
        return ERR_ARG;
    }
}

void linerate_netif_poll_link(struct netif *netif)
{
    bool up = linerate_nic_poll_link(driver);
    if (up && !netif_is_link_up(netif))
        netif_set_link_up(netif);
    if (!up && netif_is_link_up(netif))
        netif_set_link_down(netif);
}

err_t linerate_netif_init(struct netif *netif)
{
    linerate_nic_capabilities found;
    driver = (linerate_nic *)netif->state;
    if (!linerate_nic_describe(driver, &found))
        return ERR_ARG;
    if (found.lends) {
        for (int i = 0; i < KEPT; i++) {
            pool[i].next = unused;
            unused = &pool[i];
        }
    }
    netif->name[0] = 'e';
    netif->name[1] = 'n';
    netif->mtu = found.mtu;
    netif->hwaddr_len = ETH_HWADDR_LEN;
    memcpy(netif->hwaddr, found.mac, ETH_HWADDR_LEN);
    netif->flags = NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP | NETIF_FLAG_ETHERNET;
    netif->output = etharp_output;
    netif->linkoutput = output;
    u16_t software = NETIF_CHECKSUM_ENABLE_ALL;
    if (found.checksums_verified & LINERATE_NIC_IPV4)
        software &= (u16_t)~NETIF_CHECKSUM_CHECK_IP;
    if (found.checksums_verified & LINERATE_NIC_TCP)
        software &= (u16_t)~NETIF_CHECKSUM_CHECK_TCP;
    if (found.checksums_verified & LINERATE_NIC_UDP)
        software &= (u16_t)~NETIF_CHECKSUM_CHECK_UDP;
    if (found.checksums_verified & LINERATE_NIC_ICMP)
        software &= (u16_t)~NETIF_CHECKSUM_CHECK_ICMP;
    if (found.checksums_inserted & LINERATE_NIC_IPV4)
        software &= (u16_t)~NETIF_CHECKSUM_GEN_IP;
    if (found.checksums_inserted & LINERATE_NIC_TCP)
        software &= (u16_t)~NETIF_CHECKSUM_GEN_TCP;
    if (found.checksums_inserted & LINERATE_NIC_UDP)
        software &= (u16_t)~NETIF_CHECKSUM_GEN_UDP;
    if (found.checksums_inserted & LINERATE_NIC_ICMP)
        software &= (u16_t)~NETIF_CHECKSUM_GEN_ICMP;
    NETIF_SET_CHECKSUM_CTRL(netif, software);
    linerate_netif_poll_link(netif);
    return ERR_OK;
}
