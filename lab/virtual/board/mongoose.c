/* The TCP/IP of Mongoose as a library that knows no time but what it is told: each call is answered with a result and the
 * packets to send. See board/smoltcp for the form of a call. */
#include "mongoose.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 256, FRAME = 1600, QUEUED = 256 };

static uint64_t now_us;
static struct mg_mgr manager;
static struct mg_tcpip_if interface;
static uint8_t arrived[FRAME];
static size_t arrived_octets;
static struct {
  uint16_t octets;
  uint8_t frame[FRAME];
} sent[QUEUED];
static unsigned sent_frames;
static unsigned buffer_octets;

/* What a caller knows by its number. */
static struct {
  struct mg_connection *connection;
  int is_open, is_closed, is_ended, owner, is_taken;
} known[MOST];
static int numbers;

uint64_t mg_millis(void) { return now_us / 1000; }

bool mg_random(void *buf, size_t len) {
  for (size_t i = 0; i < len; i++) ((uint8_t *) buf)[i] = (uint8_t) (rand() >> 7);
  return true;
}

static bool start(struct mg_tcpip_if *it) { return it != NULL; }
static bool is_up(struct mg_tcpip_if *it, bool each_second) {
  (void) it, (void) each_second;
  return true;
}

/* ARP of the gateway is answered here: the adapter of the simulation asks on the cable. */
static size_t transmit(const void *data, size_t octets, struct mg_tcpip_if *it) {
  const uint8_t *frame = data;
  (void) it;
  if (frame[12] == 8 && frame[13] == 6) {
    if (frame[21] != 1 || memcmp(&interface.gw, frame + 38, 4) != 0) return octets;
    memcpy(arrived, frame, 42);
    memcpy(arrived, frame + 6, 6);
    memset(arrived + 6, 2, 6);
    arrived[21] = 2;
    memset(arrived + 22, 2, 6);
    memcpy(arrived + 28, frame + 38, 4);
    memcpy(arrived + 32, frame + 22, 10);
    arrived_octets = 60;
    return octets;
  }
  if (sent_frames < QUEUED && octets <= FRAME && octets > 14) {
    uint16_t length = (uint16_t) (frame[16] << 8 | frame[17]);
    sent[sent_frames].octets = length;
    memcpy(sent[sent_frames++].frame, frame + 14, length);
  }
  return octets;
}

static size_t receive(void *buf, size_t room, struct mg_tcpip_if *it) {
  size_t octets = arrived_octets < room ? arrived_octets : room;
  (void) it;
  memcpy(buf, arrived, octets);
  arrived_octets = 0;
  return octets;
}

static int number_of(struct mg_connection *c) {
  for (int i = 0; i < numbers; i++)
    if (known[i].connection == c) return i;
  if (numbers == MOST) return -1;
  memset(&known[numbers], 0, sizeof(known[0]));
  known[numbers].connection = c;
  known[numbers].owner = -1;
  return numbers++;
}

static void happens(struct mg_connection *c, int what, void *data) {
  (void) data;
  if (what == MG_EV_POLL || c->is_listening) return;
  int i = number_of(c);
  if (i < 0) return;
  if (what == MG_EV_ACCEPT) {
    known[i].is_open = 1;
    for (int k = 0; k < numbers; k++)
      if (known[k].connection != NULL && known[k].connection->is_listening && known[k].connection->loc.port == c->loc.port) known[i].owner = k;
  }
  if (what == MG_EV_CONNECT) known[i].is_open = 1;
  if (what == MG_EV_CLOSE) known[i].is_closed = 1, known[i].connection = NULL;
}

static uint32_t number(const uint8_t *at) { return (uint32_t) at[0] | (uint32_t) at[1] << 8 | (uint32_t) at[2] << 16 | (uint32_t) at[3] << 24; }

static void configure(const uint8_t *data, uint32_t address) {
  static struct mg_tcpip_driver driver = {start, transmit, receive, is_up};
  static const uint8_t mac[6] = {2, 0, 0, 1, 2, 3};
  memcpy(interface.mac, mac, 6);
  interface.ip = mg_htonl(address);
  interface.mask = mg_htonl(0xffffff00);
  interface.gw = mg_htonl(number(data));
  interface.mtu = (uint16_t) number(data + 4);
  interface.driver = &driver;
  buffer_octets = number(data + 12);
  srand(number(data + 24));
  mg_log_set(MG_LL_NONE);
  mg_mgr_init(&manager);
  mg_tcpip_init(&manager, &interface);
  for (int i = 0; i < 2200; i++) {
    now_us += 1000;
    mg_mgr_poll(&manager, 0);
  }
  sent_frames = 0;
}

static void add(struct mg_connection *c, int32_t *result) { *result = c == NULL ? -1 : number_of(c); }

static void address_of(uint32_t a, uint32_t port, const char *scheme, char *url, size_t room) {
  snprintf(url, room, "%s://%u.%u.%u.%u:%u", scheme, a >> 24, a >> 16 & 255, a >> 8 & 255, a & 255, port & 0xffff);
}

/* Returns the octets of the answer. */
static uint32_t perform(uint8_t what, uint32_t a, uint32_t b, const uint8_t *data, uint32_t octets, int32_t *result, uint8_t *answer) {
  char url[64];
  *result = 0;
  if (what == 1 && octets + 14 <= FRAME) {
    memcpy(arrived, interface.mac, 6);
    memset(arrived + 6, 2, 6);
    arrived[12] = 8, arrived[13] = 0;
    memcpy(arrived + 14, data, octets);
    arrived_octets = octets + 14 < 60 ? 60 : octets + 14;
    return 0;
  }
  if (what == 2) return 0;
  if (what == 3) {
    address_of(0, a, "tcp", url, sizeof(url));
    add(mg_listen(&manager, url, happens, NULL), result);
    return 0;
  }
  if (what == 4) {
    address_of(a, b, "tcp", url, sizeof(url));
    add(mg_connect(&manager, url, happens, NULL), result);
    return 0;
  }
  *result = -1;
  if (what == 13) {
    for (int i = 0; i < numbers; i++)
      if (known[i].owner == (int) a && !known[i].is_taken) {
        known[i].is_taken = 1, *result = i;
        break;
      }
    return 0;
  }
  if (a >= (uint32_t) numbers) return 0;
  struct mg_connection *c = known[a].connection;
  switch (what) {
    case 5:
      if (c == NULL || known[a].is_closed) return 0;
      *result = 0;
      if (c->send.len < buffer_octets) {
        uint32_t room = buffer_octets - (uint32_t) c->send.len;
        *result = (int32_t) (octets < room ? octets : room);
        mg_send(c, data, (size_t) *result);
      }
      return 0;
    case 6:
      if (c == NULL || c->recv.len == 0) {
        *result = c == NULL || c->is_draining || c->is_closing ? -1 : 0;
        return 0;
      }
      *result = (int32_t) (c->recv.len < b ? c->recv.len : b);
      memcpy(answer, c->recv.buf, (size_t) *result);
      mg_iobuf_del(&c->recv, 0, (size_t) *result);
      return (uint32_t) *result;
    case 7:
      if (c != NULL) c->is_draining = 1;
      return 0;
    case 8:
      if (c != NULL) c->is_closing = 1;
      return 0;
    default:
      *result = known[a].is_closed ? 2 : known[a].is_open;
      memset(answer, 0, 10);
      if (c != NULL) {
        uint32_t left = (uint32_t) c->send.len;
        memcpy(answer, &left, 4);
        memcpy(answer + 4, &c->rem.addr.ip4, 4);
        uint16_t port = mg_ntohs(c->rem.port);
        memcpy(answer + 8, &port, 2);
      }
      return 10;
  }
}

static size_t put(uint8_t *answer, size_t at, const void *data, size_t octets) {
  memcpy(answer + at, data, octets);
  return at + octets;
}

/* Performs a call and writes its answer, for which there is room; returns its octets. */
size_t mongoose_call(const uint8_t *call, size_t octets, uint8_t *answer) {
  static uint8_t found[1 << 17];
  static int is_configured;
  uint32_t given = (uint32_t) octets - 21;
  if (!is_configured) {
    is_configured = 1;
    configure(call + 21, number(call + 1));
    return 0;
  }
  now_us = ((uint64_t) number(call + 13) << 32 | number(call + 9)) + 3000000;
  int32_t result;
  uint32_t length = perform(call[0], number(call + 1), number(call + 5), call + 21, given, &result, found);
  int64_t next = 1000 - (int64_t) (now_us % 1000);
  mg_mgr_poll(&manager, 0);
  size_t at = put(answer, 0, &result, 4);
  at = put(answer, at, &next, 8);
  at = put(answer, at, &length, 4);
  at = put(answer, at, found, length);
  at = put(answer, at, &sent_frames, 4);
  for (unsigned i = 0; i < sent_frames; i++) {
    uint32_t size = sent[i].octets;
    at = put(answer, at, &size, 4);
    at = put(answer, at, sent[i].frame, size);
  }
  sent_frames = 0;
  return at;
}
