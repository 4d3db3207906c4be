/* Sends of datagrams, as an article describes them (docs/udp-path.md): look-up, lock, callback, notification of the device,
 * wait for the worker. */
#include "stack.h"

#include <string.h>

#include "FreeRTOS.h"
#include "board.h"
#include "device.h"
#include "frame.h"
#include "log.h"
#include "semphr.h"
#include "settings.h"

#define CONNECTIONS 4
#define BUFFERS 8

/* A send that waits. */
struct pending {
    StaticSemaphore_t semaphore;
    SemaphoreHandle_t done;
    struct connection *connection;
    struct device *device;
    const uint8_t *data;
    struct callback *callback;
    uint32_t len, sent;
};

struct buffer {
    struct buffer *next;
    uint32_t len;
    uint8_t data[DATAGRAM_BYTES] __attribute__((aligned(4)));
};

static struct connection connections[CONNECTIONS];
static struct buffer buffers[BUFFERS];
static struct buffer *free_buffers;
static SemaphoreHandle_t buffers_left;

void stack_start(void)
{
    network_lock_start();
    callback_start();
    neighbour_start();
    buffers_left = xSemaphoreCreateCounting(BUFFERS, BUFFERS);
    for (int i = 0; i < BUFFERS; i++) {
        buffers[i].next = free_buffers;
        free_buffers = &buffers[i];
    }
    device_start();
}

struct connection *stack_connect(uint32_t number)
{
    struct connection *connection = &connections[number];
    connection->number = number;
    connection->source_port = (uint16_t)(6184 + number);
    connection->port = PEER_PORT;
    connection->destination = PEER_ADDRESS;
    connection->last = &connection->first;
    network_lock();
    connection->next = devices->connections;
    devices->connections = connection;
    network_unlock();
    return connection;
}

/* A request would follow, and a wait for its answer, if the address were not known. The resources for that are taken
 * before the table is read. */
static void __attribute__((noinline)) resolve(uint32_t destination)
{
    static struct callback *list;
    StaticSemaphore_t memory;
    struct device *device = device_for(destination);
    if (device == NULL)
        board_fail(__FILE__, __LINE__);
    network_lock();
    struct callback *callback = callback_allocate(device, &list);
    SemaphoreHandle_t done = xSemaphoreCreateBinaryStatic(&memory);
    if (neighbour_find(destination) == NULL)
        board_fail(__FILE__, __LINE__);
    vSemaphoreDelete(done);
    callback_free(device, callback, &list);
    network_unlock();
}

/* The worker polls: the datagram goes into the device's frame, and the sender may return. */
static uint32_t on_poll_waiting(struct device *device, void *argument, uint32_t events)
{
    struct pending *pending = argument;
    /* Another one has the frame. */
    if (device->len > 0)
        return events;
    memcpy(device->frame + FRAME_HEADERS, pending->data, pending->len);
    device->len = pending->len;
    pending->sent = pending->len;
    pending->callback->events = 0;
    pending->callback->handler = NULL;
    pending->callback->argument = NULL;
    xSemaphoreGive(pending->done);
    return events;
}

void stack_send_waiting(struct connection *connection, const uint8_t *data, uint32_t len)
{
    if (settings.looks_up)
        resolve(connection->destination);
    struct pending pending;
    network_lock();
    memset(&pending, 0, sizeof(pending));
    pending.done = xSemaphoreCreateBinaryStatic(&pending.semaphore);
    pending.connection = connection;
    pending.data = data;
    pending.len = len;
    pending.device = device_for(connection->destination);
    pending.callback = callback_allocate(pending.device, &connection->callbacks);
    pending.callback->events = EVENT_POLL | EVENT_DOWN;
    pending.callback->argument = &pending;
    pending.callback->handler = on_poll_waiting;
    device_notify(pending.device);
    network_wait(pending.done);
    callback_free(pending.device, pending.callback, &connection->callbacks);
    vSemaphoreDelete(pending.done);
    network_unlock();
    if (pending.sent != len)
        board_fail(__FILE__, __LINE__);
    if (settings.logs)
        log_datagram("udp send", connection->number, connection->sent, len);
    connection->sent++;
}

static uint32_t on_poll_buffered(struct device *device, void *argument, uint32_t events)
{
    struct connection *connection = argument;
    struct buffer *buffer = connection->first;
    if (device->len > 0 || buffer == NULL)
        return events;
    memcpy(device->frame + FRAME_HEADERS, buffer->data, buffer->len);
    device->len = buffer->len;
    connection->first = buffer->next;
    if (connection->first == NULL) {
        connection->last = &connection->first;
        connection->buffered->events = 0;
    }
    buffer->next = free_buffers;
    free_buffers = buffer;
    xSemaphoreGive(buffers_left);
    return events;
}

void stack_send_buffered(struct connection *connection, const uint8_t *data, uint32_t len)
{
    if (settings.looks_up)
        resolve(connection->destination);
    xSemaphoreTake(buffers_left, portMAX_DELAY);
    network_lock();
    struct buffer *buffer = free_buffers;
    free_buffers = buffer->next;
    memcpy(buffer->data, data, len);
    buffer->len = len;
    buffer->next = NULL;
    *connection->last = buffer;
    connection->last = &buffer->next;
    struct device *device = device_for(connection->destination);
    if (connection->buffered == NULL)
        connection->buffered = callback_allocate(device, &connection->callbacks);
    connection->buffered->argument = connection;
    connection->buffered->handler = on_poll_buffered;
    connection->buffered->events = EVENT_POLL;
    device_notify(device);
    network_unlock();
    if (settings.logs)
        log_datagram("udp send", connection->number, connection->sent, len);
    connection->sent++;
}
