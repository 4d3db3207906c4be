/* Data to send are written once, to a ring of the connection, from which lwIP sends without a copy; the driver copies them
 * into its frame. Received data are passed where they are. */
#include "linerate_agent_lwip.h"

#include <string.h>

#include "lwip/ip.h"
#include "lwip/netif.h"
#include "lwip/pbuf.h"
#include "lwip/tcp.h"
#include "lwip/udp.h"

/* Interval of tcp_poll, in lwIP's coarse timer of 500 ms, and the number of intervals without an acknowledgment after
 * which a connection is reset whose agent has finished. */
#define POLL_TICKS 4
#define SILENT_POLLS 15
/* Longest datagram, and the number sent before more frames are received. */
#define DATAGRAM 1472
#define BURST 16
/* Retry after an error of memory. */
#define RETRY_NS 1000000u

struct connection {
    linerate_agent *agent;
    struct tcp_pcb *pcb;
    uint8_t token;
    bool peer_ended, finished;
    uint8_t silent_polls;
    /* Octets so far, modulo 2^32: written by the agent, accepted by lwIP, acknowledged by the peer. */
    uint32_t filled, queued, acknowledged;
    /* Place of `filled` in the ring, and of `queued`. */
    uint32_t fill_at, queue_at;
    uint32_t words[LINERATE_LWIP_SEND_OCTETS / 4 + 1];
};

struct socket {
    linerate_agent *agent;
    struct udp_pcb *pcb;
    uint8_t number;
};

static linerate_agent *agents[LINERATE_LWIP_AGENTS];
static size_t agent_count;
static struct connection connections[LINERATE_LWIP_CONNECTIONS];
static struct socket sockets[LINERATE_LWIP_SOCKETS];
static uint64_t (*clock_ns)(void);
/* The next datagram, or one that could not be sent yet. */
static struct pbuf *datagram;
static linerate_datagram_out pending;
static linerate_agent *pending_agent;
static uint8_t scratch[DATAGRAM];

static uint8_t number_of(const struct connection *it)
{
    return (uint8_t)(it - connections);
}

static uint8_t *ring_of(struct connection *it)
{
    return (uint8_t *)it->words + LINERATE_LWIP_SKEW;
}

static linerate_address address_of(const ip_addr_t *ip, u16_t port)
{
    linerate_address it;
    memset(&it, 0, sizeof it);
    memcpy(it.ip, ip_2_ip4(ip), 4);
    it.family = 4;
    it.port = port;
    return it;
}

static ip_addr_t ip_of(const linerate_address *address)
{
    ip_addr_t it;
    ip_addr_set_zero_ip4(&it);
    memcpy(ip_2_ip4(&it), address->ip, 4);
    return it;
}

static struct connection *unused_connection(void)
{
    for (size_t i = 0; i < LINERATE_LWIP_CONNECTIONS; i++)
        if (connections[i].agent == NULL)
            return &connections[i];
    return NULL;
}

/* ---- TCP ---- */

static void on_error(void *argument, err_t error)
{
    struct connection *it = argument;
    (void)error;
    linerate_agent *agent = it->agent;
    bool was_connecting = it->pcb == NULL;
    it->agent = NULL;
    it->pcb = NULL;
    if (was_connecting)
        linerate_failed(agent, it->token, clock_ns());
    else
        linerate_closed(agent, number_of(it), clock_ns());
}

static err_t on_received(void *argument, struct tcp_pcb *pcb, struct pbuf *data, err_t error)
{
    struct connection *it = argument;
    (void)error;
    if (data == NULL) {
        it->peer_ended = true;
        linerate_ended(it->agent, number_of(it), clock_ns());
        return ERR_OK;
    }
    uint64_t now = clock_ns();
    for (struct pbuf *part = data; part != NULL; part = part->next)
        linerate_received(it->agent, number_of(it), part->payload, part->len, now);
    tcp_recved(pcb, data->tot_len);
    pbuf_free(data);
    return ERR_OK;
}

static err_t on_sent(void *argument, struct tcp_pcb *pcb, u16_t octets)
{
    struct connection *it = argument;
    (void)pcb;
    it->acknowledged += octets;
    it->silent_polls = 0;
    return ERR_OK;
}

static err_t on_poll(void *argument, struct tcp_pcb *pcb)
{
    struct connection *it = argument;
    if (it->finished && ++it->silent_polls > SILENT_POLLS) {
        tcp_abort(pcb);
        return ERR_ABRT;
    }
    return ERR_OK;
}

static void open_connection(struct connection *it, linerate_agent *agent, struct tcp_pcb *pcb)
{
    it->agent = agent;
    it->pcb = pcb;
    it->peer_ended = it->finished = false;
    it->silent_polls = 0;
    it->filled = it->queued = it->acknowledged = 0;
    it->fill_at = it->queue_at = 0;
    tcp_arg(pcb, it);
    tcp_err(pcb, on_error);
    tcp_recv(pcb, on_received);
    tcp_sent(pcb, on_sent);
    tcp_poll(pcb, on_poll, POLL_TICKS);
}

static err_t on_accept(void *argument, struct tcp_pcb *pcb, err_t error)
{
    linerate_agent *agent = argument;
    if (error != ERR_OK || pcb == NULL)
        return ERR_VAL;
    struct connection *it = unused_connection();
    linerate_address from = address_of(&pcb->remote_ip, pcb->remote_port);
    if (it == NULL || !linerate_accepted(agent, number_of(it), pcb->local_port, &from, clock_ns())) {
        tcp_abort(pcb);
        return ERR_ABRT;
    }
    open_connection(it, agent, pcb);
    return ERR_OK;
}

static err_t on_connected(void *argument, struct tcp_pcb *pcb, err_t error)
{
    struct connection *it = argument;
    (void)error;
    it->pcb = pcb;
    if (!linerate_connected(it->agent, number_of(it), it->token, clock_ns())) {
        it->agent = NULL;
        tcp_arg(pcb, NULL);
        tcp_err(pcb, NULL);
        tcp_abort(pcb);
        return ERR_ABRT;
    }
    return ERR_OK;
}

static bool listen_on(linerate_agent *agent, u16_t port)
{
    struct tcp_pcb *pcb = tcp_new_ip_type(IPADDR_TYPE_V4);
    if (pcb == NULL)
        return false;
    if (tcp_bind(pcb, IP4_ADDR_ANY, port) != ERR_OK) {
        tcp_close(pcb);
        return false;
    }
    struct tcp_pcb *listener = tcp_listen(pcb);
    if (listener == NULL) {
        tcp_close(pcb);
        return false;
    }
    tcp_arg(listener, agent);
    tcp_accept(listener, on_accept);
    return true;
}

static void connect_to(linerate_agent *agent, const linerate_address *to, uint8_t token)
{
    struct connection *it = unused_connection();
    struct tcp_pcb *pcb = it == NULL ? NULL : tcp_new_ip_type(IPADDR_TYPE_V4);
    if (pcb == NULL) {
        linerate_failed(agent, token, clock_ns());
        return;
    }
    ip_addr_t ip = ip_of(to);
    open_connection(it, agent, pcb);
    it->token = token;
    it->pcb = NULL;
    if (tcp_connect(pcb, &ip, to->port, on_connected) != ERR_OK) {
        it->agent = NULL;
        tcp_arg(pcb, NULL);
        tcp_err(pcb, NULL);
        tcp_abort(pcb);
        linerate_failed(agent, token, clock_ns());
    }
}

/* Passes data of the ring to lwIP, as far as it accepts them. */
static bool queue(struct connection *it)
{
    while (it->queued != it->filled) {
        uint32_t octets = it->filled - it->queued;
        uint32_t to_end = LINERATE_LWIP_SEND_OCTETS - it->queue_at;
        if (octets > to_end)
            octets = to_end;
        if (octets > tcp_sndbuf(it->pcb))
            octets = tcp_sndbuf(it->pcb);
        if (octets > UINT16_MAX)
            octets = UINT16_MAX;
        if (octets == 0 || tcp_write(it->pcb, ring_of(it) + it->queue_at, (u16_t)octets, 0) != ERR_OK)
            return false;
        it->queued += octets;
        it->queue_at = octets == to_end ? 0 : it->queue_at + octets;
    }
    return true;
}

/* Lets the agent write to the ring, one segment at a time: a segment then has one part. */
static void fill(struct connection *it)
{
    u16_t segment = tcp_mss(it->pcb);
    while (queue(it)) {
        uint32_t room = LINERATE_LWIP_SEND_OCTETS - (it->filled - it->acknowledged);
        uint32_t to_end = LINERATE_LWIP_SEND_OCTETS - it->fill_at;
        uint32_t octets = to_end < segment ? to_end : segment;
        /* Acknowledged in small pieces, it waits for a whole segment. */
        if (room < octets)
            return;
        size_t written = linerate_fill(it->agent, number_of(it), ring_of(it) + it->fill_at, octets, clock_ns());
        if (written == 0)
            return;
        it->filled += (uint32_t)written;
        it->fill_at = written == to_end ? 0 : it->fill_at + (uint32_t)written;
    }
}

/* Forgets a connection without a callback; the caller closes or aborts its pcb. */
static void forget(struct connection *it)
{
    linerate_agent *agent = it->agent;
    tcp_arg(it->pcb, NULL);
    tcp_err(it->pcb, NULL);
    tcp_recv(it->pcb, NULL);
    tcp_sent(it->pcb, NULL);
    tcp_poll(it->pcb, NULL, 0);
    it->agent = NULL;
    it->pcb = NULL;
    linerate_closed(agent, number_of(it), clock_ns());
}

static void run_connection(struct connection *it)
{
    struct tcp_pcb *pcb = it->pcb;
    if (!it->finished) {
        uint32_t before = it->queued;
        fill(it);
        if (it->queued != before)
            tcp_output(pcb);
    }
    switch (linerate_close_wanted(it->agent, number_of(it))) {
    case LINERATE_RESET:
        forget(it);
        tcp_abort(pcb);
        return;
    case LINERATE_FINISH:
        if (!it->finished && it->queued == it->filled)
            it->finished = tcp_shutdown(pcb, 0, 1) == ERR_OK;
        break;
    default:
        break;
    }
    /* Until they are acknowledged, lwIP sends from the ring. */
    if (it->finished && it->peer_ended && it->acknowledged == it->filled && tcp_close(pcb) == ERR_OK)
        forget(it);
}

/* ---- UDP ---- */

static void on_datagram(void *argument, struct udp_pcb *pcb, struct pbuf *data, const ip_addr_t *ip, u16_t port)
{
    struct socket *it = argument;
    const ip_addr_t *to = ip_current_dest_addr();
    (void)pcb;
    if (!ip_addr_isbroadcast(to, ip_current_netif()) && !ip_addr_ismulticast(to)) {
        linerate_address from = address_of(ip, port);
        const void *octets = data->payload;
        if (data->next != NULL) {
            pbuf_copy_partial(data, scratch, sizeof scratch, 0);
            octets = scratch;
        }
        size_t length = data->next != NULL && data->tot_len > sizeof scratch ? sizeof scratch : data->tot_len;
        linerate_datagram(it->agent, it->number, &from, octets, length, clock_ns());
    }
    pbuf_free(data);
}

static struct socket *socket_of(const linerate_agent *agent, uint8_t number)
{
    for (size_t i = 0; i < LINERATE_LWIP_SOCKETS; i++)
        if (sockets[i].pcb != NULL && sockets[i].agent == agent && sockets[i].number == number)
            return &sockets[i];
    return NULL;
}

static bool bind_to(linerate_agent *agent, uint8_t number, u16_t port)
{
    for (size_t i = 0; i < LINERATE_LWIP_SOCKETS; i++) {
        struct socket *it = &sockets[i];
        if (it->pcb != NULL)
            continue;
        struct udp_pcb *pcb = udp_new_ip_type(IPADDR_TYPE_V4);
        if (pcb == NULL)
            return false;
        if (udp_bind(pcb, IP4_ADDR_ANY, port) != ERR_OK) {
            udp_remove(pcb);
            return false;
        }
        it->agent = agent;
        it->pcb = pcb;
        it->number = number;
        udp_recv(pcb, on_datagram, it);
        return true;
    }
    return false;
}

static void unbind(linerate_agent *agent, uint8_t number)
{
    struct socket *it = socket_of(agent, number);
    if (it == NULL)
        return;
    udp_remove(it->pcb);
    it->pcb = NULL;
}

/* Sends the pending datagram; false: there is no room for it now. */
static bool send_datagram(void)
{
    struct socket *from = socket_of(pending_agent, pending.socket);
    void *payload = datagram->payload;
    ip_addr_t to = ip_of(&pending.to);
    err_t result = from == NULL ? ERR_OK : udp_sendto(from->pcb, datagram, &to, pending.to.port);
    if (result == ERR_MEM || result == ERR_BUF) {
        /* lwIP leaves its headers in front. */
        pbuf_remove_header(datagram, (size_t)((uint8_t *)payload - (uint8_t *)datagram->payload));
        return false;
    }
    pbuf_free(datagram);
    datagram = NULL;
    pending_agent = NULL;
    return true;
}

/* Sends due datagrams of an agent; false: some may be left. */
static bool send_datagrams(linerate_agent *agent)
{
    for (int sent = 0; sent < BURST; sent++) {
        if (datagram == NULL)
            datagram = pbuf_alloc(PBUF_TRANSPORT, DATAGRAM, PBUF_RAM);
        if (datagram == NULL)
            return false;
        if (!linerate_next_datagram(agent, datagram->payload, DATAGRAM, clock_ns(), &pending))
            return true;
        pbuf_realloc(datagram, (u16_t)pending.length);
        pending_agent = agent;
        if (!send_datagram())
            return false;
    }
    return false;
}

/* ---- All ---- */

bool linerate_lwip_add(linerate_agent *agent, uint64_t (*now_ns)(void))
{
    if (agent == NULL || agent_count == LINERATE_LWIP_AGENTS)
        return false;
    clock_ns = now_ns;
    agents[agent_count++] = agent;
    return true;
}

static void open_sockets(linerate_agent *agent)
{
    linerate_request it;
    while (linerate_next_request(agent, &it)) {
        switch (it.kind) {
        case LINERATE_LISTEN:
            listen_on(agent, it.port);
            break;
        case LINERATE_BIND:
            bind_to(agent, it.socket, it.port);
            break;
        case LINERATE_UNBIND:
            unbind(agent, it.socket);
            break;
        case LINERATE_CONNECT:
            connect_to(agent, &it.to, it.token);
            break;
        }
    }
}

uint64_t linerate_lwip_run(void)
{
    uint64_t wake = UINT64_MAX;
    bool is_done = pending_agent == NULL || send_datagram();
    for (size_t i = 0; i < LINERATE_LWIP_CONNECTIONS; i++)
        if (connections[i].pcb != NULL)
            run_connection(&connections[i]);
    for (size_t i = 0; i < agent_count; i++) {
        open_sockets(agents[i]);
        /* Only one datagram waits. */
        if (pending_agent == NULL)
            is_done &= send_datagrams(agents[i]);
        uint64_t at;
        if (linerate_wake_at(agents[i], &at) && at < wake)
            wake = at;
    }
    for (size_t i = 0; i < LINERATE_LWIP_CONNECTIONS; i++)
        is_done &= connections[i].pcb == NULL || connections[i].queued == connections[i].filled;
    if (!is_done) {
        uint64_t retry = clock_ns() + RETRY_NS;
        /* The agent of a datagram without room has more to send at once: only the wait makes room. */
        wake = pending_agent != NULL || retry < wake ? retry : wake;
    }
    return wake;
}
