/* Two agents on a simulated network in virtual time: iperf 2 over TCP and UDP, STAMP, HTTP, echo. */

#include "linerate_agent.h"

#include <stdio.h>
#include <string.h>

#define CHECK(condition)                                                   \
    do {                                                                   \
        if (!(condition)) {                                                \
            printf("line %d: %s\n", __LINE__, #condition);                 \
            return 1;                                                      \
        }                                                                  \
    } while (0)

#define DELAY_NS 50000u
#define MOST 64
#define PIPE 20000

typedef struct {
    bool used;
    int to_end;
    uint16_t from_port;
    linerate_address to;
    uint64_t at;
    size_t length;
    uint8_t octets[2048];
} flying;

typedef struct {
    uint8_t octets[PIPE];
    size_t length;
    bool ended, end_delivered;
} pipe;

static linerate_agent *agents[2];
static uint16_t ports[2][16];
static uint16_t listens[2];
static flying flights[MOST];
static pipe pipes[2];
static bool connected;
static uint64_t now;
static unsigned carried, drop_every;

static linerate_address address(int end, uint16_t port)
{
    linerate_address it;
    memset(&it, 0, sizeof it);
    it.ip[0] = 192;
    it.ip[2] = 2;
    it.ip[3] = (uint8_t)(end + 1);
    it.family = 4;
    it.port = port;
    return it;
}

static void start(linerate_agent *first, linerate_agent *second)
{
    agents[0] = first;
    agents[1] = second;
    memset(ports, 0, sizeof ports);
    memset(listens, 0, sizeof listens);
    memset(flights, 0, sizeof flights);
    memset(pipes, 0, sizeof pipes);
    connected = false;
    now = 1;
    carried = drop_every = 0;
}

static bool open_sockets(int end)
{
    linerate_request request;
    bool moved = false;
    while (linerate_next_request(agents[end], &request)) {
        moved = true;
        switch (request.kind) {
        case LINERATE_LISTEN:
            listens[end] = request.port;
            break;
        case LINERATE_BIND:
            ports[end][request.socket] = request.port ? request.port : (uint16_t)(50000 + request.socket);
            break;
        case LINERATE_UNBIND:
            ports[end][request.socket] = 0;
            break;
        default: {
            linerate_address from = address(end, 51000);
            if (request.to.port != listens[1 - end] ||
                !linerate_accepted(agents[1 - end], 1, request.to.port, &from, now))
                linerate_failed(agents[end], request.token, now);
            else
                connected = linerate_connected(agents[end], 1, request.token, now);
        }
        }
    }
    return moved;
}

static bool send_datagrams(int end)
{
    bool moved = false;
    for (;;) {
        linerate_datagram_out out;
        flying *it = NULL;
        for (int i = 0; i < MOST && it == NULL; i++)
            if (!flights[i].used)
                it = &flights[i];
        if (it == NULL || !linerate_next_datagram(agents[end], it->octets, sizeof it->octets, now, &out))
            return moved;
        moved = true;
        carried++;
        if (end == 0 && drop_every && carried % drop_every == 0)
            continue;
        it->used = true;
        it->to_end = 1 - end;
        it->from_port = ports[end][out.socket];
        it->to = out.to;
        it->at = now + DELAY_NS;
        it->length = out.length;
    }
}

static bool deliver(void)
{
    bool moved = false;
    for (int i = 0; i < MOST; i++) {
        flying *it = &flights[i];
        if (!it->used || it->at > now)
            continue;
        it->used = false;
        moved = true;
        for (uint8_t socket = 0; socket < 16; socket++) {
            linerate_address from = address(1 - it->to_end, it->from_port);
            if (ports[it->to_end][socket] == it->to.port)
                linerate_datagram(agents[it->to_end], socket, &from, it->octets, it->length, now);
        }
    }
    return moved;
}

static bool stream(int end)
{
    bool moved = false;
    pipe *out = &pipes[end], *in = &pipes[1 - end];
    if (!connected)
        return false;
    if (!out->ended) {
        size_t room = PIPE - out->length, length;
        if (room > 1460)
            room = 1460;
        length = linerate_fill(agents[end], 1, out->octets + out->length, room, now);
        out->length += length;
        moved = length > 0;
        uint8_t wanted = linerate_close_wanted(agents[end], 1);
        if (wanted == LINERATE_RESET)
            in->ended = in->end_delivered = out->end_delivered = true;
        if (wanted != LINERATE_KEEP)
            moved = out->ended = true;
    }
    if (in->length > 0) {
        linerate_received(agents[end], 1, in->octets, in->length, now);
        in->length = 0;
        moved = true;
    } else if (in->ended && !in->end_delivered) {
        in->end_delivered = true;
        linerate_ended(agents[end], 1, now);
        moved = true;
    }
    if (pipes[0].end_delivered && pipes[1].end_delivered) {
        connected = false;
        linerate_closed(agents[0], 1, now);
        linerate_closed(agents[1], 1, now);
    }
    return moved;
}

/* One turn of everything; then time advances to the next event. */
static void turn(void)
{
    bool moved = false;
    for (int end = 1; end >= 0; end--) {
        moved |= open_sockets(end);
        moved |= send_datagrams(end);
    }
    moved |= deliver();
    for (int end = 0; end < 2; end++)
        moved |= stream(end);
    if (moved) {
        now += 1000;
        return;
    }
    uint64_t next = now + 1000000000u, at;
    for (int end = 0; end < 2; end++)
        if (linerate_wake_at(agents[end], &at) && at < next)
            next = at;
    for (int i = 0; i < MOST; i++)
        if (flights[i].used && flights[i].at < next)
            next = flights[i].at;
    now = next > now ? next : now + 1;
}

static uint64_t first[LINERATE_IPERF2_SERVER_OCTETS / 8];
static uint64_t second[LINERATE_IPERF2_SERVER_OCTETS / 8];

static int iperf2(bool udp, bool reverse)
{
    linerate_iperf2_plan plan;
    memset(&plan, 0, sizeof plan);
    plan.to = address(1, 5001);
    plan.octets = 1000000;
    plan.udp = udp;
    plan.reverse = reverse;
    plan.buffer_octets = udp ? 1000 : 0;
    plan.rate_bits_per_s = udp ? 10000000 : 0;
    plan.timeout_ns = 5000000000u;
    start(linerate_iperf2_client(first, sizeof first, &plan),
          linerate_iperf2_server(second, sizeof second, 5001, true, 60000000000u));
    CHECK(agents[0] != NULL && agents[1] != NULL);
    CHECK(agents[0] == (linerate_agent *)first);

    linerate_iperf2_report report, server;
    memset(&report, 0, sizeof report);
    bool finished = false;
    uint8_t progress = LINERATE_RUNNING;
    for (int i = 0; i < 100000 && (progress == LINERATE_RUNNING || !finished); i++) {
        turn();
        progress = linerate_iperf2_progress(agents[0], now, &report);
        CHECK(report.udp == udp);
        finished |= linerate_iperf2_take_finished(agents[1], &server);
    }
    CHECK(progress == LINERATE_DONE);
    CHECK(finished);
    CHECK(report.sent == !reverse && server.sent == reverse);
    CHECK(report.udp == udp && server.udp == udp);
    CHECK(server.peer.family == 4 && server.peer.ip[3] == 1);
    if (udp) {
        /* A thousand datagrams, and the one that ends the test. */
        CHECK(report.datagrams == 1001 && report.lost == 0);
        CHECK(report.octets == 1001000);
    } else {
        CHECK(report.octets == 1000000 && server.octets == 1000000);
    }
    /* Agents of another type have no such results. */
    CHECK(!linerate_iperf2_take_finished(agents[0], &server));
    CHECK(linerate_iperf2_progress(agents[1], now, &report) == LINERATE_BROKEN);
    return 0;
}

static int stamp(unsigned every)
{
    linerate_stamp_plan plan;
    memset(&plan, 0, sizeof plan);
    plan.to = address(1, 862);
    plan.count = 100;
    plan.interval_ns = 1000000;
    plan.timeout_ns = 100000000;
    plan.resolution_ns = 1000;
    plan.octets = 44;
    plan.stateful = true;
    start(linerate_stamp_sender(first, sizeof first, &plan),
          linerate_stamp_reflector(second, sizeof second, 862, 1000));
    CHECK(agents[0] != NULL && agents[1] != NULL);
    drop_every = every;

    linerate_stamp_sample sample;
    linerate_stamp_outcome outcome;
    unsigned samples = 0;
    bool done = false;
    for (int i = 0; i < 100000 && !done; i++) {
        turn();
        while (linerate_stamp_take_sample(agents[0], &sample)) {
            samples++;
            /* 50 us each way, and a microsecond for each turn of the network. */
            CHECK(sample.round_trip_ns >= 100000 && sample.round_trip_ns <= 104000);
            CHECK(sample.ttl == 255 && sample.number < 100);
        }
        done = linerate_stamp_result(agents[0], now, &outcome);
    }
    CHECK(done);
    CHECK(outcome.sent == 100 && outcome.answered == samples);
    CHECK(outcome.invalid == 0 && outcome.discarded_samples == 0 && outcome.lost_backward == 0);
    CHECK(samples + outcome.lost_forward + outcome.lost_unknown == 100);
    CHECK(every ? outcome.lost_forward > 10 : samples == 100);
    return 0;
}

/* A reflector's answer on the wire, octet by octet: RFC 8762 section 4.3.1. */
static int stamp_on_the_wire(void)
{
    uint8_t probe[44] = {0, 0, 0, 9, 1, 2, 3, 4, 5, 6, 7, 8, 0x11, 0x12};
    uint8_t room[100];
    linerate_datagram_out out;
    linerate_address from = address(0, 40000), forged = address(0, 862);
    linerate_agent *it = linerate_stamp_reflector(first, sizeof first, 862, 1000);
    linerate_datagram(it, 0, &forged, probe, sizeof probe, 5);
    CHECK(!linerate_next_datagram(it, room, sizeof room, 5, &out));
    linerate_datagram(it, 0, &from, probe, sizeof probe, 500000000);
    CHECK(linerate_next_datagram(it, room, sizeof room, 500000000, &out));
    CHECK(out.length == 44 && out.to.port == 40000 && out.to.ip[3] == 1);
    const uint8_t time[8] = {0, 0, 0, 1, 0x80, 0, 0, 0};
    CHECK(memcmp(room, "\0\0\0\0", 4) == 0);
    CHECK(memcmp(room + 4, time, 8) == 0 && memcmp(room + 16, time, 8) == 0);
    CHECK(memcmp(room + 24, probe, 14) == 0);
    CHECK(room[40] == 255);
    return 0;
}

static int http(void)
{
    static const char get[] = "GET /3000 HTTP/1.1\r\nHost: x\r\n\r\n";
    uint8_t room[4000];
    linerate_request request;
    linerate_address from = address(0, 40000);
    linerate_agent *it = linerate_http_server(first, sizeof first, 80, 1000000000u);
    CHECK(linerate_next_request(it, &request) && request.kind == LINERATE_LISTEN && request.port == 80);
    CHECK(!linerate_next_request(it, &request));
    CHECK(linerate_accepted(it, 7, 80, &from, 5));
    linerate_received(it, 7, get, sizeof get - 1, 5);
    size_t length = linerate_fill(it, 7, room, sizeof room, 5);
    CHECK(length > 3000 && memcmp(room, "HTTP/1.1 200 OK\r\n", 17) == 0);
    CHECK(room[length - 3000] == 0xdf && room[length - 2999] == 0x45);
    CHECK(linerate_close_wanted(it, 7) == LINERATE_KEEP);
    linerate_http_report report;
    CHECK(linerate_http_take_finished(it, &report));
    CHECK(report.octets == 3000 && report.sent && report.peer.port == 40000);
    CHECK(!linerate_http_take_finished(it, &report));
    linerate_closed(it, 7, 6);
    CHECK(linerate_close_wanted(it, 7) == LINERATE_RESET);
    return 0;
}

/* The first steps of an iperf 3 client, by hand: a stream, some data, the end; then it disconnects. */
static int iperf3(void)
{
    static const char cookie[37] = "abcdefghijklmnopqrstuvwxyz0123456789";
    static const char parameters[] = "\0\0\0\x27{\"tcp\":true,\"num\":1000000,\"parallel\":1}";
    uint8_t room[100];
    linerate_request request;
    linerate_iperf3_report report;
    linerate_address from = address(0, 40000);
    linerate_agent *it = linerate_iperf3_server(second, sizeof second, 5201, true, 60000000000u);
    CHECK(it != NULL);
    CHECK(linerate_next_request(it, &request) && request.kind == LINERATE_LISTEN && request.port == 5201);
    CHECK(linerate_accepted(it, 2, 5201, &from, 5));
    linerate_received(it, 2, cookie, sizeof cookie, 5);
    CHECK(linerate_fill(it, 2, room, sizeof room, 5) == 1 && room[0] == 9);
    linerate_received(it, 2, parameters, sizeof parameters - 1, 6);
    CHECK(linerate_fill(it, 2, room, sizeof room, 6) == 1 && room[0] == 10);
    CHECK(linerate_accepted(it, 3, 5201, &from, 7));
    linerate_received(it, 3, cookie, sizeof cookie, 7);
    CHECK(linerate_fill(it, 2, room, sizeof room, 7) == 2 && room[0] == 1 && room[1] == 2);
    linerate_received(it, 3, room, sizeof room, 1000);
    linerate_received(it, 2, "\4", 1, 2000);
    CHECK(!linerate_iperf3_take_finished(it, &report));
    linerate_closed(it, 3, 3000);
    linerate_closed(it, 2, 3000);
    CHECK(linerate_iperf3_take_finished(it, &report));
    CHECK(!linerate_iperf3_take_finished(it, &report));
    CHECK(report.received_octets == sizeof room && report.sent_octets == 0);
    CHECK(!report.udp && !report.complete && report.peer.port == 40000);
    return 0;
}

static int echo(void)
{
    uint8_t room[100];
    linerate_datagram_out out;
    linerate_address from = address(0, 40000), six = from, none = from;
    linerate_agent *it = linerate_echo(first, sizeof first, 7);
    six.family = 6;
    none.family = 0;
    linerate_datagram(it, 0, &none, "abc", 3, 5);
    linerate_datagram(it, 0, NULL, "abc", 3, 5);
    CHECK(!linerate_next_datagram(it, room, sizeof room, 5, &out));
    linerate_datagram(it, 0, &six, "abc", 3, 5);
    CHECK(linerate_next_datagram(it, room, sizeof room, 5, &out));
    CHECK(out.length == 3 && memcmp(room, "abc", 3) == 0);
    CHECK(out.to.family == 6 && memcmp(out.to.ip, six.ip, 16) == 0);
    return 0;
}

static int misuse(void)
{
    uint8_t room[8];
    linerate_request request;
    linerate_datagram_out out;
    uint64_t at;
    linerate_iperf2_plan plan;
    memset(&plan, 0, sizeof plan);
    CHECK(linerate_echo(first, 100, 7) == NULL);
    CHECK(linerate_echo(NULL, sizeof first, 7) == NULL);
    CHECK(linerate_echo((uint8_t *)first + 1, sizeof first - 1, 7) == NULL);
    CHECK(linerate_iperf2_client(first, sizeof first, NULL) == NULL);
    CHECK(linerate_iperf2_client(first, sizeof first, &plan) == NULL);
    CHECK(!linerate_next_request(NULL, &request));
    CHECK(!linerate_next_datagram(NULL, room, sizeof room, 5, &out));
    CHECK(linerate_fill(NULL, 0, room, sizeof room, 5) == 0);
    CHECK(!linerate_wake_at(NULL, &at));
    CHECK(linerate_close_wanted(NULL, 0) == LINERATE_RESET);
    linerate_agent *it = linerate_echo(first, sizeof first, 7);
    CHECK(!linerate_accepted(it, 0, 7, NULL, 5));
    CHECK(!linerate_next_request(it, NULL) && !linerate_next_datagram(it, NULL, 0, 5, &out));
    linerate_received(it, 0, NULL, 9, 5);
    CHECK(!linerate_reflect_frame(NULL, 60, room));
    return 0;
}

int main(void)
{
    for (int i = 0; i < 4; i++)
        if (iperf2(i & 1, i & 2) != 0) {
            printf("iperf2: udp %d, reverse %d\n", i & 1, (i & 2) / 2);
            return 1;
        }
    if (stamp(0) || stamp(5) || stamp_on_the_wire() || iperf3() || http() || echo() || misuse())
        return 1;
    printf("all passed\n");
    return 0;
}
