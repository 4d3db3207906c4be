/*
 * A device with Mongoose and the TCP/IP stack that is built into it. Arguments are key=value.
 *
 *   role             web, sink, answer (these listen at `port`); fetch, mqtt (these connect to it at `peer`)
 *   octets           of a page; think: ms before an answer
 *   request answer   octets of an exchange
 *   chunk count      octets of a value that is published, how many; pause: ms between two
 *   works stops      the whole device stands still at intervals
 */
#include "device.h"

#include "mongoose.h"

#include <stdio.h>
#include <stdlib.h>

static int tap;
static char body[65536];
static struct mg_mgr manager;

static int is(const char *role) { return !strcmp(word("role", "sink"), role); }

static void say(const char *key, long count)
{
    printf("{\"%s\": %ld}\n", key, count);
    fflush(stdout);
}

static bool initialise(struct mg_tcpip_if *it) { return it != NULL; }

static bool is_up(struct mg_tcpip_if *it, bool each_second) { return it != NULL || each_second; }

static size_t output(const void *frame, size_t size, struct mg_tcpip_if *it)
{
    (void)it;
    write_frame(tap, (void *)frame, (int)size);
    return size;
}

static size_t input(void *frame, size_t size, struct mg_tcpip_if *it)
{
    (void)it;
    return (size_t)read_frame(tap, frame, (int)size);
}

static void write_body(struct mg_connection *it, long octets)
{
    for (long left = octets; left > 0; left -= (long)sizeof body) {
        mg_send(it, body, left < (long)sizeof body ? (size_t)left : sizeof body);
    }
}

static void write_answer(struct mg_connection *it)
{
    if (is("web")) {
        mg_printf(it, "HTTP/1.1 200 OK\r\nServer: device\r\nContent-Length: %ld\r\n\r\n", number("octets", 1000));
        write_body(it, number("octets", 1000));
        it->is_resp = 0;
    } else {
        write_body(it, number("answer", 1));
    }
}

/* What is asked, and what is due: the connection's own data. */
struct exchange {
    long got;
    uint64_t due;
};

static void take_request(struct mg_connection *it)
{
    struct exchange *exchange = (struct exchange *)it->data;
    exchange->due = mg_millis() + (uint64_t)number("think", 0);
    if (!number("think", 0)) {
        write_answer(it);
        exchange->due = 0;
    }
}

static void event(struct mg_connection *it, int what, void *data)
{
    struct exchange *exchange = (struct exchange *)it->data;
    if (what == MG_EV_HTTP_MSG) {
        struct mg_http_message *message = data;
        if (message->body.len) {
            say("stored", (long)message->body.len);
            mg_http_reply(it, 200, "", "stored\n");
        } else {
            take_request(it);
        }
    } else if (what == MG_EV_READ && !is("web")) {
        exchange->got += (long)it->recv.len;
        it->recv.len = 0;
        if (is("answer")) {
            for (; exchange->got >= number("request", 1); exchange->got -= number("request", 1)) {
                take_request(it);
            }
        }
    } else if (what == MG_EV_POLL && exchange->due && mg_millis() >= exchange->due) {
        exchange->due = 0;
        write_answer(it);
    } else if (what == MG_EV_CLOSE && is("sink") && !it->is_listening) {
        say("taken", exchange->got);
    }
}

static void fetched(struct mg_connection *it, int what, void *data)
{
    static long got;
    (void)data;
    if (what == MG_EV_CONNECT) {
        mg_printf(it, "GET /data HTTP/1.0\r\nHost: server\r\nUser-Agent: device\r\n\r\n");
    } else if (what == MG_EV_READ) {
        got += (long)it->recv.len;
        it->recv.len = 0;
    } else if (what == MG_EV_CLOSE) {
        say("fetched", got);
        exit(0);
    }
}

static struct mg_connection *broker;

static void published(struct mg_connection *it, int what, void *data)
{
    (void)data;
    if (what == MG_EV_MQTT_OPEN) {
        broker = it;
    }
}

static void publish(void *nothing)
{
    static long done;
    (void)nothing;
    if (!broker) {
        return;
    }
    if (done >= number("count", 10)) {
        say("published", done);
        exit(0);
    }
    struct mg_mqtt_opts value = {.topic = mg_str("device/value"), .message = mg_str_n(body, (size_t)number("chunk", 20)), .qos = 1};
    mg_mqtt_pub(broker, &value);
    done++;
}

static void begin(void)
{
    char url[64];
    mg_snprintf(url, sizeof url, "%s://%s:%ld", is("mqtt") ? "mqtt" : is("web") ? "http" : "tcp", is("mqtt") || is("fetch") ? word("peer", "") : "0.0.0.0",
                number("port", 5001));
    if (is("web")) {
        mg_http_listen(&manager, url, event, NULL);
    } else if (is("mqtt")) {
        mg_mqtt_connect(&manager, url, &(struct mg_mqtt_opts){.clean = true, .keepalive = 60}, published, NULL);
        mg_timer_add(&manager, (uint64_t)number("pause", 100), MG_TIMER_REPEAT, publish, NULL);
    } else if (is("fetch")) {
        mg_connect(&manager, url, fetched, NULL);
    } else {
        mg_listen(&manager, url, event, NULL);
    }
}

int main(int count, char **words)
{
    static struct mg_tcpip_driver driver = {initialise, output, input, is_up};
    static struct mg_tcpip_if interface = {.mac = {2, 0x6d, 0x6f, 0x6e, 0x67, 1}, .driver = &driver};
    read_words(count, words);
    tap = open_tap();
    interface.ip = address("ip"), interface.gw = address("gate"), interface.mask = MG_IPV4(255, 255, 255, 0);
    mg_log_set(MG_LL_ERROR);
    mg_mgr_init(&manager);
    mg_tcpip_init(&manager, &interface);
    uint32_t turn = now_ms(), sent = 0;
    int is_begun = 0;
    for (;;) {
        wait_for_frame(tap, interface.nsent != sent ? 0 : 1);
        sent = interface.nsent;
        mg_mgr_poll(&manager, 0);
        if (!is_begun && interface.state == MG_TCPIP_STATE_READY) {
            is_begun = 1;
            begin();
        }
        if (number("works", 0) && now_ms() - turn > (uint32_t)number("works", 0)) {
            usleep((useconds_t)number("stops", 0) * 1000);
            turn = now_ms();
        }
    }
}
