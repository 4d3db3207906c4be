/* linerate's agents for firmware in C.
 *
 * An agent is one end of a protocol: a server of iperf 2 or HTTP, a reflector of STAMP, an echo, a client.
 * It opens no socket, reads no clock, allocates nothing, has no callbacks and never blocks. A driver, which
 * you write, passes in received data and the current time, and asks which data to send:
 *
 *     static uint64_t storage[LINERATE_STAMP_REFLECTOR_OCTETS / 8];
 *     linerate_agent *agent = linerate_stamp_reflector(storage, sizeof storage, 862, 1000);
 *
 *     for (;;) {
 *         while (linerate_next_request(agent, ...)) ...    open the requested sockets
 *         ...                                              pass in received data: linerate_received, linerate_datagram
 *         while (linerate_next_datagram(agent, ...)) ...   send it
 *         for each connection: linerate_fill, send; linerate_close_wanted
 *         sleep until something arrives or linerate_wake_at
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
 * Drop datagrams to a broadcast address, or from a subnet's broadcast address, first: an agent does not know
 * the subnet. The driver numbers connections, the agent numbers UDP sockets. Times are nanoseconds of any
 * monotonic clock. An agent may be used from one thread at a time. A buffer passed in must be initialized
 * with any value (static, calloc, memset): the agent treats it as initialized octets.
 */
#ifndef LINERATE_AGENT_H
#define LINERATE_AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Size of an agent in octets; aligned to 8. An agent must not be moved or modified, and needs no cleanup.
 * Creating it needs as much stack. */
#define LINERATE_IPERF2_SERVER_OCTETS 4096
#define LINERATE_IPERF2_CLIENT_OCTETS 1024
#define LINERATE_IPERF3_SERVER_OCTETS 4096
#define LINERATE_STAMP_REFLECTOR_OCTETS 2048
#define LINERATE_STAMP_SENDER_OCTETS 2560
#define LINERATE_HTTP_SERVER_OCTETS 2560
#define LINERATE_ECHO_OCTETS 3328

typedef struct linerate_agent linerate_agent;

/* An address and a port. Octets of ip that the family does not use, and reserved, are 0. */
typedef struct {
    uint8_t ip[16];  /* IPv4: the first four, in network order */
    uint16_t port;   /* in host byte order */
    uint8_t family;  /* 4 or 6 */
    uint8_t reserved;
} linerate_address;

/* Request of an agent to its driver. */
#define LINERATE_LISTEN 1   /* accept TCP connections on port from now on */
#define LINERATE_BIND 2     /* open the UDP socket on port; 0: on any */
#define LINERATE_UNBIND 3   /* close the UDP socket */
#define LINERATE_CONNECT 4  /* connect by TCP; pass token when it succeeds or fails */

typedef struct {
    uint8_t kind;
    uint8_t socket;
    uint8_t token;
    uint8_t reserved;
    uint16_t port;
    linerate_address to;
} linerate_request;

/* Action on a connection after the data from linerate_fill have been sent. */
#define LINERATE_KEEP 0
#define LINERATE_FINISH 1  /* send FIN: no more data */
#define LINERATE_RESET 2   /* send RST: close immediately */

/* A datagram to send. */
typedef struct {
    linerate_address to;
    uint8_t socket;
    size_t length;
} linerate_datagram_out;

/* ---- Creating agents. NULL: the storage is too small or not aligned to 8, or the plan is invalid. ---- */

/* iperf 2: four tests at a time, TCP and UDP. Without sends_datagrams it does not send UDP on
 * request (-R, -r, -d), which a forged address could turn against a third party. */
linerate_agent *linerate_iperf2_server(void *storage, size_t octets, uint16_t port,
                                       bool sends_datagrams, uint64_t longest_ns);

typedef struct {
    linerate_address to;
    uint64_t span_ns;           /* duration; 0: see octets */
    uint32_t octets;            /* amount */
    uint32_t buffer_octets;     /* size of a datagram; 0: iperf's default */
    uint64_t rate_bits_per_s;   /* UDP: 0: iperf's default; TCP: 0: unlimited */
    uint64_t timeout_ns;       /* timeout without received data */
    bool udp;
    bool reverse;               /* the server sends */
} linerate_iperf2_plan;

linerate_agent *linerate_iperf2_client(void *storage, size_t octets, const linerate_iperf2_plan *plan);

/* iperf 3: one test at a time, of up to four streams; the limits are as for the iperf 2 server. */
linerate_agent *linerate_iperf3_server(void *storage, size_t octets, uint16_t port,
                                       bool sends_datagrams, uint64_t longest_ns);

/* STAMP (RFC 8762), stateful, eight sessions, packets of up to 128 octets; resolution_ns: clock
 * error over a round trip. */
linerate_agent *linerate_stamp_reflector(void *storage, size_t octets, uint16_t port,
                                         uint64_t resolution_ns);

typedef struct {
    linerate_address to;
    uint64_t interval_ns;
    uint64_t timeout_ns;    /* maximum wait for the last answer */
    uint64_t resolution_ns;  /* of the local clock */
    uint32_t count;
    uint16_t octets;         /* minimum 44 */
    bool stateful;           /* the reflector is known to be stateful */
} linerate_stamp_plan;

linerate_agent *linerate_stamp_sender(void *storage, size_t octets, const linerate_stamp_plan *plan);

/* HTTP: GET /N returns N octets, PUT and POST are counted. Four connections. */
linerate_agent *linerate_http_server(void *storage, size_t octets, uint16_t port, uint64_t timeout_ns);

/* UDP echo (RFC 862): two datagrams of up to 1472 octets at a time. */
linerate_agent *linerate_echo(void *storage, size_t octets, uint16_t port);

/* ---- Driving agents. A NULL agent does nothing. ---- */

/* The agent's next request; false: none. */
bool linerate_next_request(linerate_agent *agent, linerate_request *request);

/* A peer has connected to the port; false: the agent has no capacity, reset the connection. */
bool linerate_accepted(linerate_agent *agent, uint8_t connection, uint16_t port,
                       const linerate_address *from, uint64_t now_ns);
/* A requested connection is established; false: reset it. */
bool linerate_connected(linerate_agent *agent, uint8_t connection, uint8_t token, uint64_t now_ns);
/* A requested connection has failed. */
void linerate_failed(linerate_agent *agent, uint8_t token, uint64_t now_ns);
/* Octets arrived on a connection; all of them are consumed. */
void linerate_received(linerate_agent *agent, uint8_t connection, const void *octets, size_t length,
                       uint64_t now_ns);
/* Writes data to send on a connection to buffer; returns their length. */
size_t linerate_fill(linerate_agent *agent, uint8_t connection, void *buffer, size_t length,
                     uint64_t now_ns);
/* The peer has no more data to send (FIN). */
void linerate_ended(linerate_agent *agent, uint8_t connection, uint64_t now_ns);
/* The connection is gone, for whatever reason. */
void linerate_closed(linerate_agent *agent, uint8_t connection, uint64_t now_ns);
/* LINERATE_KEEP, LINERATE_FINISH or LINERATE_RESET. */
uint8_t linerate_close_wanted(const linerate_agent *agent, uint8_t connection);

/* A datagram arrived. */
void linerate_datagram(linerate_agent *agent, uint8_t socket, const linerate_address *from,
                       const void *octets, size_t length, uint64_t now_ns);
/* Writes the next due datagram to buffer; false: none is due. */
bool linerate_next_datagram(linerate_agent *agent, void *buffer, size_t length, uint64_t now_ns,
                            linerate_datagram_out *out);
/* Time at which the agent must run without any event; false: never. */
bool linerate_wake_at(const linerate_agent *agent, uint64_t *at_ns);

/* ---- Results. ---- */

#define LINERATE_RUNNING 0
#define LINERATE_DONE 1
#define LINERATE_NOT_REACHED 2
#define LINERATE_BROKEN 3
#define LINERATE_NO_ANSWER 4

/* Counters of one end of a test; datagrams and the following ones with UDP only. */
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

/* Returns each completed test of the server once; false: none. */
bool linerate_iperf2_take_finished(linerate_agent *server, linerate_iperf2_report *report);
/* Progress of the client, and its counters so far: of sent data (as reported by the server, if available),
 * or with reverse of received data. */
uint8_t linerate_iperf2_progress(linerate_agent *client, uint64_t now_ns,
                                 linerate_iperf2_report *report);

/* A test of iperf 3; 0 for a direction without streams. */
typedef struct {
    uint64_t sent_octets;
    uint64_t sent_ns;
    uint64_t received_octets;
    uint64_t received_ns;
    /* UDP: datagrams sent to the server, and their fate; if there are none, datagrams sent by the server, as
     * reported by the client. */
    uint64_t datagrams;
    uint64_t lost;
    uint64_t out_of_order;
    bool udp;
    bool complete;  /* both ends have exchanged their results */
    linerate_address peer;
} linerate_iperf3_report;

/* Returns each completed test of the server once; false: none. */
bool linerate_iperf3_take_finished(linerate_agent *server, linerate_iperf3_report *report);

/* A download from, or an upload to, the HTTP server: octets of the body. */
typedef struct {
    uint64_t octets;
    uint64_t span_ns;
    bool sent;
    linerate_address peer;
} linerate_http_report;

/* Returns each completed request of the server once; false: none. */
bool linerate_http_take_finished(linerate_agent *server, linerate_http_report *report);

typedef struct {
    uint64_t round_trip_ns;
    uint64_t reflector_ns;  /* processing time of the reflector, by its clock */
    uint32_t number;
    uint8_t ttl;
} linerate_stamp_sample;

typedef struct {
    uint64_t sent;
    uint64_t answered;
    uint64_t lost_forward;
    uint64_t lost_backward;
    uint64_t lost_unknown;       /* direction unknown */
    uint64_t out_of_order;
    uint64_t invalid;            /* packets of the reflector that are no valid answers */
    uint64_t discarded_samples;  /* samples discarded because they were not taken in time */
} linerate_stamp_outcome;

/* Returns each sample of the sender once; false: none. */
bool linerate_stamp_take_sample(linerate_agent *sender, linerate_stamp_sample *sample);
/* Results of the sender so far; true: it is done. */
bool linerate_stamp_result(const linerate_agent *sender, uint64_t now_ns,
                           linerate_stamp_outcome *outcome);

/* ---- Frames. ---- */

/* Turns a received frame (without FCS) into the one to send back, if it is one of linerate's test frames for
 * own, an address of six octets: swaps its addresses and marks it. False: it is not, and is unchanged. */
bool linerate_reflect_frame(void *frame, size_t length, const uint8_t *own);

#ifdef __cplusplus
}
#endif

#endif
