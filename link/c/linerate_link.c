/* See linerate_link.h and docs/link-protocol.md. */
#include "linerate_link.h"

#include <string.h>

enum { DATA = 0x00, ACK = 0x40, PROBE = 0x80, HELLO = 0xC0, KIND = 0xC0 };
enum { FIRST = 0x20, LAST = 0x10, POLL = 0x20, REJECT = 0x10, REPLY = 0x20, WANTED = 0x20 };
enum { VERSION = 1, MAX_TIMEOUT_US = 2000000 };

/* ---- octets ---- */

static uint32_t crc_octet(uint32_t crc, uint8_t octet)
{
    int bit;
    crc ^= octet;
    for (bit = 0; bit < 8; bit++)
        crc = (crc >> 1) ^ ((crc & 1) ? 0x82F63B78u : 0);
    return crc;
}

static uint32_t crc_of(const uint8_t *octets, size_t len)
{
    uint32_t crc = 0xFFFFFFFFu;
    while (len--)
        crc = crc_octet(crc, *octets++);
    return crc;
}

static void put32(uint8_t *to, uint32_t value)
{
    int i;
    for (i = 0; i < 4; i++)
        to[i] = (uint8_t)(value >> (8 * i));
}

static uint32_t get32(const uint8_t *from)
{
    return from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

static uint32_t key(uint32_t from, uint32_t to)
{
    uint8_t both[8];
    put32(both, from);
    put32(both + 4, to);
    return ~crc_of(both, 8);
}

static int reached(uint32_t now, uint32_t at)
{
    return (int32_t)(now - at) >= 0;
}

static uint8_t ring_get(const uint8_t *memory, uint16_t size, uint16_t at)
{
    return memory[at % size];
}

static uint16_t ring_len(const uint8_t *memory, uint16_t size, uint16_t at)
{
    return (uint16_t)(ring_get(memory, size, at) | ring_get(memory, size, (uint16_t)(at + 1)) << 8);
}

static uint8_t shift_of(uint16_t capacity)
{
    uint8_t shift = 0;
    while (capacity >> shift > 255)
        shift++;
    return shift;
}

static uint16_t longest_message(uint16_t capacity)
{
    uint8_t shift = shift_of(capacity);
    int len = ((capacity >> shift) << shift) - 2 - (1 << shift) + 1;
    return (uint16_t)(len > 0 ? len : 0);
}

/* ---- transmit queue ---- */

struct fragment {
    uint16_t at, len, cost;
    uint8_t first, last;
};

static struct fragment cut(const struct ll_channel *c, uint16_t message, uint16_t done)
{
    struct fragment f;
    uint16_t len = ring_len(c->tx, c->tx_size, (uint16_t)(c->tx_head + message));
    uint16_t rest = (uint16_t)(len - done);
    f.len = rest < c->max_fragment ? rest : c->max_fragment;
    f.at = (uint16_t)(c->tx_head + message + 2 + done);
    f.first = done == 0;
    f.last = f.len == rest;
    f.cost = (uint16_t)(f.len + (f.first ? 2 : 0));
    return f;
}

static void drop_oldest(struct ll_channel *c)
{
    uint16_t taken = (uint16_t)(2 + ring_len(c->tx, c->tx_size, c->tx_head));
    c->tx_head = (uint16_t)((c->tx_head + taken) % c->tx_size);
    c->tx_used = (uint16_t)(c->tx_used - taken);
    c->acked = 0;
    if (c->next_at >= taken) {
        c->next_at = (uint16_t)(c->next_at - taken);
    } else {
        c->next_at = 0;
        c->next_done = 0;
    }
}

static int may_send(const struct ll_channel *c)
{
    struct fragment f = cut(c, c->next_at, c->next_done);
    return (uint8_t)(c->next - c->una) < 127 && (uint32_t)c->flying + f.cost <= c->credit;
}

static int waits(const struct ll_channel *c)
{
    return c->una != c->newest || (c->next_at < c->tx_used && !may_send(c));
}

static void rewind_queue(struct ll_channel *c)
{
    c->next = c->una;
    c->flying = 0;
    c->next_at = 0;
    c->next_done = c->acked;
}

/* ---- timers ---- */

static uint32_t timeout_of(const struct ll_link *l)
{
    uint32_t t;
    if (!l->smoothed_us)
        return l->initial_timeout_us;
    t = l->smoothed_us + 4 * l->variation_us;
    if (t < l->min_timeout_us)
        t = l->min_timeout_us;
    return t > MAX_TIMEOUT_US ? MAX_TIMEOUT_US : t;
}

static void measured(struct ll_link *l, uint32_t us)
{
    uint32_t off;
    if (us < 1)
        us = 1;
    if (us > MAX_TIMEOUT_US)
        us = MAX_TIMEOUT_US;
    if (!l->smoothed_us) {
        l->smoothed_us = us;
        l->variation_us = us / 2;
        return;
    }
    off = us > l->smoothed_us ? us - l->smoothed_us : l->smoothed_us - us;
    l->variation_us = (3 * l->variation_us + off) / 4;
    l->smoothed_us = (7 * l->smoothed_us + us) / 8;
}

static void start_timer(const struct ll_link *l, struct ll_channel *c, uint32_t now)
{
    uint32_t t;
    if (c->timer_on || !waits(c))
        return;
    t = timeout_of(l) << c->backoff;
    c->timer = now + (t > MAX_TIMEOUT_US ? MAX_TIMEOUT_US : t);
    c->timer_on = 1;
}

static void check_timer(struct ll_link *l, struct ll_channel *c, uint32_t now)
{
    if (!c->timer_on || !reached(now, c->timer))
        return;
    c->timer_on = 0;
    if (!waits(c))
        return;
    if (l->out_at < l->out_len && (uint8_t)(c->next - c->una) == 1 && l->out_channel == c - l->channels) {
        start_timer(l, c, now); /* the only frame is still being sent */
        return;
    }
    c->poll_due = 1;
    c->polling = c->una != c->newest;
    if (c->backoff < 6)
        c->backoff++;
    l->polls++;
    start_timer(l, c, now);
}

/* ---- sessions ---- */

void ll_init(struct ll_link *l, uint32_t session, struct ll_channel *channels, uint8_t count)
{
    uint8_t i;
    memset(l, 0, sizeof *l);
    l->session = session;
    l->channels = channels;
    l->count = count;
    l->max_fragment = LL_MAX_FRAGMENT;
    l->initial_timeout_us = 100000;
    l->min_timeout_us = 2000;
    l->hello_due = 1;
    for (i = 0; i < count; i++) {
        struct ll_channel c = channels[i];
        memset(&channels[i], 0, sizeof c);
        channels[i].tx = c.tx;
        channels[i].tx_size = c.tx_size;
        channels[i].rx = c.rx;
        channels[i].rx_size = c.rx_size;
        channels[i].reliable = c.reliable;
    }
}

static uint8_t credit_of(struct ll_channel *c)
{
    uint8_t shift = shift_of(c->rx_size);
    uint16_t units = (uint16_t)((c->rx_size - c->rx_used - c->rx_partial) >> shift);
    c->granted = (uint16_t)(units << shift);
    return (uint8_t)units;
}

static void come_up(struct ll_link *l)
{
    if (l->peer) {
        l->up = 1;
        l->hello_timer_on = 0;
    }
}

static void begin_session(struct ll_link *l, const uint8_t *frame, uint32_t peer)
{
    const uint8_t *payload = frame + 4;
    uint16_t theirs = (uint16_t)(frame[2] | frame[3] << 8);
    uint16_t reliable = (uint16_t)(payload[8] | payload[9] << 8);
    uint16_t max_fragment = theirs < l->max_fragment ? theirs : l->max_fragment;
    uint8_t i;
    if (max_fragment == 0)
        max_fragment = 1;
    if (l->up)
        l->peer_restarts++;
    l->up = 0;
    l->peer = peer;
    l->key_in = key(peer, l->session);
    l->key_out = key(l->session, peer);
    l->open = frame[1] < l->count ? frame[1] : l->count;
    l->timing = 0;
    l->reply_due = 0;
    /* What is left of the frame in progress belongs to the old session. */
    if (l->out_at < l->out_len) {
        l->out[0] = 1;
        l->out[1] = 0;
        l->out_at = 0;
        l->out_len = 2;
        l->out_is_new = 0;
    }
    for (i = 0; i < l->count; i++) {
        struct ll_channel *c = &l->channels[i];
        const uint8_t *size = payload + 10 + 3 * i;
        uint16_t capacity = i < l->open ? (uint16_t)(size[0] | size[1] << 8) : 0;
        c->shift = shift_of(capacity);
        c->credit = i < l->open ? (uint16_t)(size[2] << c->shift) : 0;
        c->max_message = longest_message(capacity);
        c->max_fragment = c->max_message < max_fragment ? c->max_message : max_fragment;
        c->una = c->next = c->newest = 0;
        c->timer_on = c->polling = c->poll_due = c->backoff = 0;
        while (c->tx_used
               && (!c->max_message || (!c->reliable && (c->next_at > 0 || c->next_done > 0)))) {
            drop_oldest(c);
            l->dropped++;
        }
        c->acked = 0;
        rewind_queue(c);
        c->rx_partial = 0;
        c->expected = c->rejected = c->ack_due = c->reject_due = 0;
        c->peer_reliable = (reliable >> i) & 1;
        credit_of(c);
    }
}

static void on_hello(struct ll_link *l, const uint8_t *frame, size_t len)
{
    uint32_t session, echo;
    if (len < 14 || (frame[0] & 15) != VERSION || frame[1] > 16 || len < 14u + 3u * frame[1])
        return;
    session = get32(frame + 4);
    echo = get32(frame + 8);
    if (session == 0 || session == l->session)
        return;
    if (session != l->peer || (l->up && echo != l->session))
        begin_session(l, frame, session);
    if (echo == l->session)
        come_up(l);
    if (frame[0] & WANTED)
        l->hello_due = 1;
}

/* ---- receiving ---- */

static void on_acknowledged(struct ll_link *l, unsigned channel, uint8_t acked, uint8_t units, uint32_t now)
{
    struct ll_channel *c = &l->channels[channel];
    uint8_t count = (uint8_t)(acked - c->una), first = c->una, i;
    uint16_t credit = (uint16_t)(units << c->shift);
    if (count > (uint8_t)(c->newest - c->una))
        return;
    for (i = 0; i < count; i++) {
        struct fragment f = cut(c, 0, c->acked);
        int was_flying = c->next != c->una;
        c->acked = (uint16_t)(c->acked + f.len);
        if (f.last)
            drop_oldest(c);
        c->una++;
        if (was_flying)
            c->flying = (uint16_t)(c->flying > f.cost ? c->flying - f.cost : 0);
        else
            rewind_queue(c);
    }
    if (count || credit > c->credit) {
        c->backoff = 0;
        c->timer_on = 0;
    }
    c->credit = credit;
    if (c->una == c->newest)
        c->polling = 0;
    start_timer(l, c, now);
    if (l->timing && l->timed_channel == channel && (uint8_t)(l->timed_seq - first) < count) {
        l->timing = 0;
        measured(l, now - l->timed_at);
    }
}

static void store(struct ll_channel *c, const uint8_t *octets, uint16_t len, int first, int last)
{
    uint16_t i;
    if (first)
        c->rx_partial = 2;
    else if (!c->rx_partial)
        return;
    for (i = 0; i < len; i++)
        c->rx[(c->rx_head + c->rx_used + c->rx_partial + i) % c->rx_size] = octets[i];
    c->rx_partial = (uint16_t)(c->rx_partial + len);
    if (last) {
        uint16_t size = (uint16_t)(c->rx_partial - 2), at = (uint16_t)(c->rx_head + c->rx_used);
        c->rx[at % c->rx_size] = (uint8_t)size;
        c->rx[(at + 1) % c->rx_size] = (uint8_t)(size >> 8);
        c->rx_used = (uint16_t)(c->rx_used + c->rx_partial);
        c->rx_partial = 0;
    }
}

static void on_data(struct ll_link *l, struct ll_channel *c, const uint8_t *frame, uint16_t len)
{
    uint8_t ahead = (uint8_t)(frame[1] - c->expected);
    int first = frame[0] & FIRST;
    uint16_t cost = (uint16_t)(len + (first ? 2 : 0));
    if (ahead >= 128) {
        l->duplicates++;
        c->ack_due = 1;
        return;
    }
    if (ahead && c->peer_reliable) {
        if (!c->rejected)
            c->reject_due = 1;
        c->rejected = 1;
        return;
    }
    if (c->rx_used + c->rx_partial + cost > c->rx_size) {
        l->overruns++;
        return;
    }
    if (ahead) {
        c->lost += ahead;
        c->rx_partial = 0;
    }
    store(c, frame + 4, len, first, frame[0] & LAST);
    c->granted = (uint16_t)(c->granted > cost ? c->granted - cost : 0);
    c->expected = (uint8_t)(frame[1] + 1);
    c->rejected = 0;
    c->ack_due = 1;
}

static void on_poll(struct ll_channel *c, uint8_t newest)
{
    uint8_t ahead = (uint8_t)(newest - c->expected);
    c->ack_due = 1;
    if (c->peer_reliable) {
        c->reject_due = ahead != 0;
        return;
    }
    if (ahead && ahead < 128) {
        c->lost += ahead;
        c->rx_partial = 0;
        c->expected = newest;
    }
}

static void on_probe(struct ll_link *l, const uint8_t *frame, size_t len, uint32_t now)
{
    if (len < 16)
        return;
    if (frame[0] & REPLY) {
        l->probe.number = frame[1];
        l->probe.sent = get32(frame + 4);
        l->probe.peer_received = get32(frame + 8);
        l->probe.peer_sent = get32(frame + 12);
        l->probe.received = now;
        l->probe_done = 1;
    } else {
        l->reply_sent = get32(frame + 4);
        l->reply_received = now;
        l->reply_number = frame[1];
        l->reply_due = 1;
    }
}

static void on_frame(struct ll_link *l, const uint8_t *frame, size_t len, uint32_t now)
{
    uint8_t channel = frame[0] & 15, kind = frame[0] & KIND;
    struct ll_channel *c;
    l->frames++;
    if (kind == HELLO) {
        on_hello(l, frame, len);
        return;
    }
    come_up(l);
    if (kind == PROBE) {
        on_probe(l, frame, len, now);
        return;
    }
    if (channel >= l->open)
        return;
    c = &l->channels[channel];
    on_acknowledged(l, channel, frame[2], frame[3], now);
    if (kind == DATA) {
        on_data(l, c, frame, (uint16_t)(len - 4));
        return;
    }
    if (frame[0] & POLL)
        on_poll(c, frame[1]);
    if (frame[0] & REJECT) {
        c->polling = 0;
        if (c->reliable)
            rewind_queue(c);
        c->timer_on = 0;
        start_timer(l, c, now);
        if (l->timing && l->timed_channel == channel)
            l->timing = 0;
    }
}

/* Decodes COBS in place; returns the number of octets or -1. */
static int uncobs(uint8_t *octets, int len)
{
    int from = 0, to = 0;
    while (from < len) {
        int code = octets[from++], i;
        if (from + code - 1 > len)
            return -1;
        for (i = 1; i < code; i++)
            octets[to++] = octets[from++];
        if (code != 255 && from < len)
            octets[to++] = 0;
    }
    return to;
}

static void on_delimiter(struct ll_link *l, uint32_t now)
{
    int body = (int)l->in_len - 5, len, i, good = 1;
    uint32_t check;
    if (!l->in_len)
        return;
    if (!l->in_overflow && l->in[l->in_len - 1] == 1) {
        l->aborted++;
        return;
    }
    if (l->in_overflow || body < 5) {
        l->damaged++;
        return;
    }
    check = ~crc_of(l->in, (size_t)body);
    /* A hello has the key 0: the first octet of the header is behind the first code. */
    if ((l->in[1] & KIND) != HELLO || l->in[0] == 1)
        check ^= l->key_in;
    for (i = 0; i < 5; i++)
        good &= l->in[body + i] == (0x80 | ((check >> (7 * i)) & 0x7F));
    len = good ? uncobs(l->in, body) : -1;
    if (len < 4 || (!l->peer && (l->in[0] & KIND) != HELLO)) {
        l->damaged++;
        return;
    }
    on_frame(l, l->in, (size_t)len, now);
}

void ll_receive(struct ll_link *l, uint32_t now, const uint8_t *octets, size_t len)
{
    for (; len--; octets++) {
        if (*octets == 0) {
            on_delimiter(l, now);
            l->in_len = 0;
            l->in_overflow = 0;
        } else if (l->in_len < sizeof l->in) {
            l->in[l->in_len++] = *octets;
        } else {
            l->in_overflow = 1;
        }
    }
}

/* ---- transmitting ---- */

/* Encodes a frame whose header and payload are `len` octets at `frame` into l->out. */
static void encode(struct ll_link *l, const uint8_t *frame, uint16_t len, uint32_t key_of_frame, int lead)
{
    uint16_t at = 0, code, begin;
    uint32_t check;
    uint8_t *out = l->out;
    int i;
    if (lead)
        out[at++] = 0;
    begin = code = at;
    out[at++] = 1;
    for (i = 0; i < len; i++) {
        if (frame[i]) {
            out[at++] = frame[i];
            out[code]++;
        }
        if (frame[i] == 0 || (out[code] == 255 && i + 1 < len)) {
            code = at;
            out[at++] = 1;
        }
    }
    check = ~crc_of(out + begin, (size_t)(at - begin)) ^ key_of_frame;
    for (i = 0; i < 5; i++)
        out[at++] = (uint8_t)(0x80 | ((check >> (7 * i)) & 0x7F));
    out[at++] = 0;
    l->out_len = at;
    l->out_at = 0;
    l->out_is_new = 0;
}

static void begin_hello(struct ll_link *l, uint32_t now)
{
    uint8_t frame[4 + 10 + 3 * LL_MAX_CHANNELS];
    uint16_t reliable = 0;
    uint8_t i;
    frame[0] = (uint8_t)(HELLO | VERSION | (l->up ? 0 : WANTED));
    frame[1] = l->count;
    frame[2] = (uint8_t)l->max_fragment;
    frame[3] = (uint8_t)(l->max_fragment >> 8);
    put32(frame + 4, l->session);
    put32(frame + 8, l->peer);
    for (i = 0; i < l->count; i++) {
        struct ll_channel *c = &l->channels[i];
        reliable = (uint16_t)(reliable | (c->reliable ? 1 << i : 0));
        frame[14 + 3 * i] = (uint8_t)c->rx_size;
        frame[15 + 3 * i] = (uint8_t)(c->rx_size >> 8);
        frame[16 + 3 * i] = credit_of(c);
    }
    frame[12] = (uint8_t)reliable;
    frame[13] = (uint8_t)(reliable >> 8);
    l->hello_due = 0;
    if (!l->up) {
        l->hello_timer_on = 1;
        /* Up to 4 ms more, by no rhythm: a disturbance with a period would meet each hello, or none. */
        l->hello_timer = now + l->initial_timeout_us + ((uint32_t)(now * 0x9E3779B1u) >> 20);
    }
    encode(l, frame, (uint16_t)(14 + 3 * l->count), 0, 1);
}

static void begin_ack(struct ll_link *l, uint8_t channel)
{
    struct ll_channel *c = &l->channels[channel];
    uint8_t frame[4];
    int poll = c->poll_due;
    frame[0] = (uint8_t)(ACK | channel | (poll ? POLL : 0) | (c->reject_due ? REJECT : 0));
    frame[1] = c->newest;
    frame[2] = c->expected;
    frame[3] = credit_of(c);
    c->poll_due = c->reject_due = c->ack_due = 0;
    encode(l, frame, 4, l->key_out, poll);
}

static void begin_data(struct ll_link *l, uint8_t channel)
{
    struct ll_channel *c = &l->channels[channel];
    struct fragment f = cut(c, c->next_at, c->next_done);
    uint8_t frame[4 + LL_MAX_FRAGMENT];
    uint16_t i;
    frame[0] = (uint8_t)(DATA | channel | (f.first ? FIRST : 0) | (f.last ? LAST : 0));
    frame[1] = c->next;
    frame[2] = c->expected;
    frame[3] = credit_of(c);
    for (i = 0; i < f.len; i++)
        frame[4 + i] = ring_get(c->tx, c->tx_size, (uint16_t)(f.at + i));
    c->ack_due = 0;
    encode(l, frame, (uint16_t)(4 + f.len), l->key_out, 0);
    l->out_is_new = c->next == c->newest;
    l->out_channel = channel;
    l->out_seq = c->next;
    if (!l->out_is_new)
        l->retransmitted++;
    c->next_done = (uint16_t)(c->next_done + f.len);
    if (f.last) {
        c->next_at = (uint16_t)(c->next_at + 2 + c->next_done);
        c->next_done = 0;
    }
    c->flying = (uint16_t)(c->flying + f.cost);
    c->next++;
    if (l->out_is_new)
        c->newest = c->next;
}

static int begin_channel(struct ll_link *l, uint8_t channel)
{
    struct ll_channel *c = &l->channels[channel];
    /* A message that a new peer cannot take. */
    if (c->una == c->newest && c->tx_used && c->next_at == 0 && c->next_done == 0
        && ring_len(c->tx, c->tx_size, c->tx_head) > c->max_message) {
        drop_oldest(c);
        l->dropped++;
    }
    if (c->poll_due || c->reject_due)
        begin_ack(l, channel);
    else if (!c->polling && c->next_at < c->tx_used && may_send(c))
        begin_data(l, channel);
    else if (c->ack_due)
        begin_ack(l, channel);
    else
        return 0;
    return 1;
}

static int begin_probe(struct ll_link *l, uint32_t now)
{
    uint8_t frame[16];
    if (!l->reply_due && !l->probe_due)
        return 0;
    memset(frame, 0, sizeof frame);
    if (l->reply_due) {
        l->reply_due = 0;
        frame[0] = PROBE | REPLY;
        frame[1] = l->reply_number;
        put32(frame + 4, l->reply_sent);
        put32(frame + 8, l->reply_received);
        put32(frame + 12, now);
    } else {
        l->probe_due = 0;
        frame[0] = PROBE;
        frame[1] = l->probe_number;
        put32(frame + 4, now);
    }
    encode(l, frame, 16, l->key_out, 0);
    return 1;
}

static int begin_frame(struct ll_link *l, uint32_t now)
{
    uint8_t i;
    if (l->hello_due) {
        begin_hello(l, now);
        return 1;
    }
    for (i = 0; l->up && i < l->open; i++)
        if (begin_channel(l, i) || (i == 0 && begin_probe(l, now)))
            return 1;
    return 0;
}

size_t ll_transmit(struct ll_link *l, uint32_t now, uint8_t *octets, size_t room)
{
    size_t count = 0;
    uint8_t i;
    if (l->hello_timer_on && reached(now, l->hello_timer)) {
        l->hello_timer_on = 0;
        l->hello_due = 1;
    }
    for (i = 0; l->up && i < l->open; i++)
        check_timer(l, &l->channels[i], now);
    while (count < room && (l->out_at < l->out_len || begin_frame(l, now))) {
        octets[count++] = l->out[l->out_at++];
        if (l->out_at == l->out_len && l->out_is_new && !l->timing) {
            l->timing = 1;
            l->timed_channel = l->out_channel;
            l->timed_seq = l->out_seq;
            l->timed_at = now;
        }
    }
    for (i = 0; l->up && i < l->open; i++)
        start_timer(l, &l->channels[i], now);
    return count;
}

int ll_timeout(const struct ll_link *l, uint32_t *at)
{
    int found = l->hello_timer_on;
    uint8_t i;
    *at = l->hello_timer;
    for (i = 0; l->up && i < l->open; i++) {
        const struct ll_channel *c = &l->channels[i];
        if (c->timer_on && (!found || !reached(c->timer, *at))) {
            *at = c->timer;
            found = 1;
        }
    }
    return found;
}

/* ---- messages ---- */

int ll_send(struct ll_link *l, unsigned channel, const void *message, size_t len)
{
    const uint8_t *from = message;
    struct ll_channel *c;
    size_t i;
    if (!l->up)
        return LL_NOT_UP;
    if (channel >= l->open || !l->channels[channel].max_message)
        return LL_NO_CHANNEL;
    c = &l->channels[channel];
    if (len > c->max_message)
        return LL_TOO_LONG;
    if (c->tx_used + 2 + len > c->tx_size)
        return LL_FULL;
    for (i = 0; i < len + 2; i++) {
        uint8_t octet = i == 0 ? (uint8_t)len : i == 1 ? (uint8_t)(len >> 8) : from[i - 2];
        c->tx[(c->tx_head + c->tx_used + i) % c->tx_size] = octet;
    }
    c->tx_used = (uint16_t)(c->tx_used + 2 + len);
    return LL_OK;
}

int ll_read(struct ll_link *l, unsigned channel, void *message, size_t room)
{
    uint8_t *to = message;
    struct ll_channel *c;
    uint16_t len, i, free_now, fragment;
    if (channel >= l->count || !l->channels[channel].rx_used)
        return LL_EMPTY;
    c = &l->channels[channel];
    len = ring_len(c->rx, c->rx_size, c->rx_head);
    for (i = 0; i < len && i < room; i++)
        to[i] = ring_get(c->rx, c->rx_size, (uint16_t)(c->rx_head + 2 + i));
    c->rx_head = (uint16_t)((c->rx_head + 2 + len) % c->rx_size);
    c->rx_used = (uint16_t)(c->rx_used - 2 - len);
    /* The peer is told if it may wait for this. */
    free_now = (uint16_t)(c->rx_size - c->rx_used - c->rx_partial);
    fragment = (uint16_t)(2 + (l->max_fragment < longest_message(c->rx_size) ? l->max_fragment
                                                                            : longest_message(c->rx_size)));
    if ((c->granted < fragment && free_now >= fragment) || free_now - c->granted >= c->rx_size / 2)
        c->ack_due = 1;
    return len;
}

void ll_probe(struct ll_link *l)
{
    l->probe_due = 1;
    l->probe_number++;
}
