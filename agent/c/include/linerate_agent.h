/* linerate's agents for firmware in C.
 *
 * An agent is one protocol's end: a server of iperf 2 or HTTP, a reflector of STAMP, an echo, a client.
 * It opens no socket, reads no clock, allocates nothing, calls nobody back and never waits. A driver, which
 * you write, tells it what has come in and what time it is, and asks what to send:
 *
 *     static uint64_t storage[LINERATE_STAMP_REFLECTOR_OCTETS / 8];
 *     linerate_agent *agent = linerate_stamp_reflector(storage, sizeof storage, 862, 1000);
 *
 *     for (;;) {
 *         while (linerate_ask(agent, &ask)) ...            open what it asks for
 *         ...                                              what has come: linerate_received, linerate_datagram
 *         while (linerate_next_datagram(agent, ...)) ...   send it
 *         for each connection: linerate_fill, send; linerate_close_wanted
 *         sleep until something comes or linerate_wake_at
 *     }
 *
 * With lwIP's raw API (NO_SYS or in the tcpip thread, so that nothing needs a lock):
 *
 *     LINERATE_LISTEN      tcp_new, tcp_bind, tcp_listen, tcp_accept
 *     LINERATE_BIND        udp_new, udp_bind, udp_recv
 *     LINERATE_UNBIND      udp_remove
 *     LINERATE_CONNECT     tcp_new, tcp_connect
 *     tcp_accept's callback    linerate_accepted; false: tcp_abort, return ERR_ABRT
 *     tcp_connect's callback   linerate_connected; tcp_err's before it: linerate_failed
 *     tcp_recv's callback      linerate_received for each pbuf of the chain, then tcp_recved, pbuf_free;
 *                              with p == NULL: linerate_ended
 *     tcp_sent's and tcp_poll's callback, and the main loop
 *                              while tcp_sndbuf > 0: linerate_fill to a buffer of TCP_MSS octets at most,
 *                              tcp_write with TCP_WRITE_FLAG_COPY; then tcp_output
 *     linerate_close_wanted    LINERATE_FINISH: tcp_shutdown(pcb, 0, 1), tcp_close once the peer has
 *                              ended as well; LINERATE_RESET: tcp_abort
 *     tcp_err's callback, and behind tcp_close and tcp_abort
 *                              linerate_closed
 *     udp_recv's callback      linerate_datagram (pbuf_copy_partial if the pbuf is a chain)
 *     linerate_next_datagram   pbuf_alloc(PBUF_TRANSPORT, length, PBUF_RAM), udp_sendto
 *     linerate_wake_at         sys_timeout, or the main loop's own
 *
 * Drop before what was sent to a broadcast address or came from one of a subnet: an agent doesn't know the
 * subnet. Numbers of connections are the driver's, those of UDP sockets the agent's. Times are nanoseconds
 * of any clock that runs forward. An agent is used from one thread at a time. Room that is passed in has
 * been written to once, whatever to (static, calloc, memset): the agent takes it for octets with a value.
 */
#ifndef LINERATE_AGENT_H
#define LINERATE_AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What an agent needs, in octets; on a boundary of 8. What is made there stays there: it may not be moved
 * or touched, and needs no end. It is also what its making takes of the stack. */
#define LINERATE_IPERF2_SERVER_OCTETS 4096
#define LINERATE_IPERF2_CLIENT_OCTETS 1024
#define LINERATE_IPERF3_SERVER_OCTETS 4096
#define LINERATE_STAMP_REFLECTOR_OCTETS 2048
#define LINERATE_STAMP_SENDER_OCTETS 2560
#define LINERATE_HTTP_SERVER_OCTETS 2560
#define LINERATE_ECHO_OCTETS 3328

typedef struct linerate_agent linerate_agent;

/* An address and a port. What of ip the family doesn't use, and reserved, is 0. */
typedef struct {
    uint8_t ip[16];  /* IPv4: the first four, as on the wire */
    uint16_t port;   /* as the machine has it, not as on the wire */
    uint8_t family;  /* 4 or 6 */
    uint8_t reserved;
} linerate_address;

/* What an agent wants of its driver. */
#define LINERATE_LISTEN 1   /* accept TCP connections on port from now on */
#define LINERATE_BIND 2     /* open the UDP socket on port, or with 0 on any */
#define LINERATE_UNBIND 3   /* close the UDP socket */
#define LINERATE_CONNECT 4  /* connect by TCP, say token when it has come true or failed */

typedef struct {
    uint8_t kind;
    uint8_t socket;
    uint8_t token;
    uint8_t reserved;
    uint16_t port;
    linerate_address to;
} linerate_asked;

/* What should become of a connection when what linerate_fill gave is sent. */
#define LINERATE_KEEP 0
#define LINERATE_FINISH 1  /* no more comes from here: FIN */
#define LINERATE_RESET 2   /* it is over at once: RST */

/* A datagram to be sent. */
typedef struct {
    linerate_address to;
    uint8_t socket;
    size_t length;
} linerate_datagram_out;

/* ---- Making agents. NULL: the storage is too small, or not on a boundary of 8; or a plan is none. ---- */

/* iperf 2: four tests at a time, TCP and UDP. Without sends_datagrams it doesn't send UDP on request (-R,
 * -r, -d), which somebody who forges his address could turn against others. */
linerate_agent *linerate_iperf2_server(void *storage, size_t octets, uint16_t port,
                                       bool sends_datagrams, uint64_t longest_ns);

typedef struct {
    linerate_address to;
    uint64_t span_ns;           /* how long; 0: see octets */
    uint32_t octets;            /* how much */
    uint32_t buffer_octets;     /* of a datagram; 0: as iperf */
    uint64_t rate_bits_per_s;   /* UDP: 0 as iperf; TCP: 0 without limit */
    uint64_t patience_ns;       /* how long nothing may come */
    bool udp;
    bool reverse;               /* the server sends */
} linerate_iperf2_plan;

linerate_agent *linerate_iperf2_client(void *storage, size_t octets, const linerate_iperf2_plan *plan);

/* iperf 3: one test at a time, of up to four streams; the limits are those of iperf 2's server. */
linerate_agent *linerate_iperf3_server(void *storage, size_t octets, uint16_t port,
                                       bool sends_datagrams, uint64_t longest_ns);

/* STAMP (RFC 8762), stateful, eight sessions, packets of up to 128 octets; what the clock is wrong by over a
 * round trip. */
linerate_agent *linerate_stamp_reflector(void *storage, size_t octets, uint16_t port,
                                         uint64_t resolution_ns);

typedef struct {
    linerate_address to;
    uint64_t interval_ns;
    uint64_t patience_ns;    /* for the last answer */
    uint64_t resolution_ns;  /* of our clock */
    uint32_t count;
    uint16_t octets;         /* 44 at least */
    bool stateful;           /* the reflector numbers its answers itself */
} linerate_stamp_plan;

linerate_agent *linerate_stamp_sender(void *storage, size_t octets, const linerate_stamp_plan *plan);

/* HTTP: GET /N gives N octets, PUT and POST are counted. Four connections. */
linerate_agent *linerate_http_server(void *storage, size_t octets, uint16_t port, uint64_t patience_ns);

/* UDP echo (RFC 862): two datagrams of up to 1472 octets at a time. */
linerate_agent *linerate_echo(void *storage, size_t octets, uint16_t port);

/* ---- Driving them. Of what is no agent (NULL) nothing comes. ---- */

/* What it wants next; false: nothing. */
bool linerate_ask(linerate_agent *agent, linerate_asked *asked);

/* Somebody has connected to the port; false: it has no room, reset the connection. */
bool linerate_accepted(linerate_agent *agent, uint8_t connection, uint16_t port,
                       const linerate_address *from, uint64_t now_ns);
/* A connection that it asked for exists; false: reset it. */
bool linerate_connected(linerate_agent *agent, uint8_t connection, uint8_t token, uint64_t now_ns);
/* It can't be had. */
void linerate_failed(linerate_agent *agent, uint8_t token, uint64_t now_ns);
/* Octets came on a connection; all of them are taken. */
void linerate_received(linerate_agent *agent, uint8_t connection, const void *octets, size_t length,
                       uint64_t now_ns);
/* What is to be sent on a connection: how much was written to room. */
size_t linerate_fill(linerate_agent *agent, uint8_t connection, void *room, size_t length,
                     uint64_t now_ns);
/* The peer has no more to send. */
void linerate_ended(linerate_agent *agent, uint8_t connection, uint64_t now_ns);
/* The connection is gone, however. */
void linerate_closed(linerate_agent *agent, uint8_t connection, uint64_t now_ns);
/* LINERATE_KEEP, LINERATE_FINISH or LINERATE_RESET. */
uint8_t linerate_close_wanted(const linerate_agent *agent, uint8_t connection);

/* A datagram came. */
void linerate_datagram(linerate_agent *agent, uint8_t socket, const linerate_address *from,
                       const void *octets, size_t length, uint64_t now_ns);
/* The next datagram that is due, in room; false: none is. */
bool linerate_next_datagram(linerate_agent *agent, void *room, size_t length, uint64_t now_ns,
                            linerate_datagram_out *out);
/* When it has something to do by itself; false: never. */
bool linerate_wake_at(const linerate_agent *agent, uint64_t *at_ns);

/* ---- Results. ---- */

#define LINERATE_RUNNING 0
#define LINERATE_DONE 1
#define LINERATE_NOT_REACHED 2
#define LINERATE_BROKEN 3
#define LINERATE_NO_ANSWER 4

/* What one end of a test counted; datagrams and what follows with UDP only. */
typedef struct {
    uint64_t octets;
    uint64_t span_ns;
    uint64_t jitter_ns;
    uint32_t datagrams;
    uint32_t lost;
    uint32_t out_of_order;
    bool udp;
    bool sent;
    linerate_address peer;
} linerate_iperf2_report;

/* A test that the server has ended, each once; false: none. */
bool linerate_iperf2_take_finished(linerate_agent *server, linerate_iperf2_report *report);
/* How far the client is, and what it has counted so far: what it sent (as the server reports it, if it
 * does), or with reverse what it received. */
uint8_t linerate_iperf2_progress(linerate_agent *client, uint64_t now_ns,
                                 linerate_iperf2_report *report);

/* A test of iperf 3; 0 for a direction that it had not. */
typedef struct {
    uint64_t sent_octets;
    uint64_t sent_ns;
    uint64_t received_octets;
    uint64_t received_ns;
    /* UDP: datagrams sent to the server, or if there are none by it as the client says, and what became of
     * them. */
    uint64_t datagrams;
    uint64_t lost;
    uint64_t out_of_order;
    bool udp;
    bool complete;  /* both ends have told each other what they had counted */
    linerate_address peer;
} linerate_iperf3_report;

/* A test that the server has ended, each once; false: none. */
bool linerate_iperf3_take_finished(linerate_agent *server, linerate_iperf3_report *report);

typedef struct {
    uint64_t round_trip_ns;
    uint64_t reflector_ns;  /* what the reflector took, by its clock */
    uint32_t number;
    uint8_t ttl;
} linerate_stamp_sample;

typedef struct {
    uint64_t sent;
    uint64_t answered;
    uint64_t lost_forward;
    uint64_t lost_back;
    uint64_t lost_either;  /* the direction isn't known */
    uint64_t out_of_order;
    uint64_t nonsense;
    uint64_t untaken;      /* samples that were not taken in time */
} linerate_stamp_outcome;

/* The sender's next sample, each once; false: none. */
bool linerate_stamp_take_sample(linerate_agent *sender, linerate_stamp_sample *sample);
/* What the sender has found so far; true: it is done. */
bool linerate_stamp_result(const linerate_agent *sender, uint64_t now_ns,
                           linerate_stamp_outcome *outcome);

/* ---- Frames. ---- */

/* Makes of a received frame (without FCS) the one to be sent back, if it is one of linerate's test frames for
 * own, an address of six octets: swaps its addresses and marks it. False: it is none, and as it was. */
bool linerate_reflect_frame(void *frame, size_t length, const uint8_t *own);

#ifdef __cplusplus
}
#endif

#endif
