/* A link layer for byte links in C99, without allocation: docs/link-protocol.md.
 *
 * Written from that page, without the Rust code; a frame has a buffer here, for the sake of a shorter program. Time is
 * in microseconds modulo 2^32, passed in. One end per struct ll_link; not reentrant. */
#ifndef LINERATE_LINK_H
#define LINERATE_LINK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Largest fragment, at most 512 octets, and most channels, at most 16, of this program. */
#ifndef LL_MAX_FRAGMENT
#define LL_MAX_FRAGMENT 256
#endif
#ifndef LL_MAX_CHANNELS
#define LL_MAX_CHANNELS 4
#endif
/* Header, payload, COBS, check and two delimiters. */
#define LL_FRAME (4 + LL_MAX_FRAGMENT + 3 + 5 + 2)

enum ll_error {
    LL_OK = 0,
    LL_NOT_UP = -1,     /* no session yet */
    LL_NO_CHANNEL = -2, /* an end does not have this channel */
    LL_TOO_LONG = -3,   /* longer than the peer's FIFO takes */
    LL_FULL = -4,       /* no transmit memory now */
    LL_EMPTY = -5       /* no message */
};

/* A channel: set the first group before ll_init, leave the rest alone. */
struct ll_channel {
    uint8_t *tx;      /* memory for messages until they are acknowledged; each takes two octets more */
    uint16_t tx_size; /* octets, at most 32767 */
    uint8_t *rx;      /* memory for messages until they are read; each takes two octets more */
    uint16_t rx_size;
    uint8_t reliable;

    /* transmit queue: messages, each with its length */
    uint16_t tx_head, tx_used;
    uint16_t acked;            /* acknowledged octets of the oldest message */
    uint16_t next_at, next_done; /* message to send next, behind the oldest; its octets sent */
    uint8_t una, next, newest;
    uint16_t max_fragment, max_message;
    uint8_t shift;
    uint16_t credit, flying;
    uint8_t timer_on, polling, poll_due, backoff;
    uint32_t timer;

    /* receive FIFO */
    uint16_t rx_head, rx_used, rx_partial;
    uint8_t peer_reliable, expected, rejected, ack_due, reject_due;
    uint16_t granted;
    uint32_t lost; /* frames lost on a channel that the peer sends unreliably */
};

struct ll_probe {
    uint8_t number;
    uint32_t sent, peer_received, peer_sent, received;
};

struct ll_link {
    struct ll_channel *channels;
    uint8_t count;
    uint16_t max_fragment;
    uint32_t session;
    uint32_t initial_timeout_us, min_timeout_us;

    uint8_t up, open, hello_due, hello_timer_on;
    uint32_t hello_timer, peer, key_in, key_out;
    uint32_t smoothed_us, variation_us;
    uint8_t timing, timed_channel, timed_seq;
    uint32_t timed_at;

    uint8_t probe_due, reply_due, probe_number, reply_number, probe_done;
    uint32_t reply_sent, reply_received;
    struct ll_probe probe; /* the last answer, valid if probe_done is set */

    uint8_t in[LL_FRAME], out[LL_FRAME];
    uint16_t in_len, out_len, out_at;
    uint8_t out_is_new, out_channel, out_seq, in_overflow;

    uint32_t frames, damaged, aborted, retransmitted, duplicates, overruns, polls, dropped;
    uint32_t peer_restarts; /* sessions that ended because the peer restarted */
};

/* Prepares an end. `session` is not 0, differs from the last session of this end and from the peer's. */
void ll_init(struct ll_link *link, uint32_t session, struct ll_channel *channels, uint8_t count);
/* Handles received octets. */
void ll_receive(struct ll_link *link, uint32_t now, const uint8_t *octets, size_t len);
/* Writes up to `room` octets to send; returns their number. Call it after every other call, and at ll_timeout. */
size_t ll_transmit(struct ll_link *link, uint32_t now, uint8_t *octets, size_t room);
/* Returns 1 and the time at which ll_transmit is to be called, or 0. */
int ll_timeout(const struct ll_link *link, uint32_t *at);
/* Queues a message; returns LL_OK or an error. */
int ll_send(struct ll_link *link, unsigned channel, const void *message, size_t len);
/* Copies the oldest message and removes it; returns its length or LL_EMPTY. What exceeds `room` is cut off. */
int ll_read(struct ll_link *link, unsigned channel, void *message, size_t room);
/* Sends a probe; the answer is in link->probe when link->probe_done is set. */
void ll_probe(struct ll_link *link);

#ifdef __cplusplus
}
#endif
#endif
