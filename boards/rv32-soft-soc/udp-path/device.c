/* The device's side: the worker polls the connections whenever something may be sent and a frame has left. */
#include "device.h"

#include <stddef.h>

#include "board.h"
#include "frame.h"
#include "ring.h"
#include "worker.h"

static struct device ethernet = {.address = OWN_ADDRESS, .mask = 0xffffff00u};
struct device *devices = &ethernet;
static struct work available, sent;

struct device *device_for(uint32_t address)
{
    network_lock();
    struct device *found = NULL;
    for (struct device *device = devices; device != NULL && found == NULL; device = device->next)
        if (device->is_up && ((device->address ^ address) & device->mask) == 0)
            found = device;
    network_unlock();
    return found;
}

/* The handlers of a connection may fill the frame. */
static void poll_connection(struct device *device, struct connection *connection)
{
    device->len = 0;
    struct callback *callback = connection->callbacks;
    while (callback != NULL) {
        struct callback *next = callback->next_of_connection;
        if (callback->handler != NULL && (callback->events & EVENT_POLL) != 0)
            callback->handler(device, callback->argument, EVENT_POLL);
        callback = next;
    }
    if (device->len > 0)
        frame_build_ip(device->frame, connection->source_port, connection->destination, connection->port, device->len);
}

static void transmit(struct device *device, struct connection *connection)
{
    if (!frame_build_ethernet(device->frame, connection->destination))
        board_fail(__FILE__, __LINE__);
    ring_submit(FRAME_HEADERS + device->len);
    device->frame = NULL;
}

static void poll_connections(void *argument)
{
    struct device *device = argument;
    network_lock();
    device->frame = ring_buffer();
    for (struct connection *it = device->connections; it != NULL && device->frame != NULL; it = it->next) {
        poll_connection(device, it);
        if (device->len > 0) {
            transmit(device, it);
            device->frame = ring_buffer();
        }
    }
    device->frame = NULL;
    network_unlock();
}

void device_notify(struct device *device)
{
    if (device->is_up)
        worker_queue(&available);
}

static void on_interrupt(void)
{
    ring_acknowledge();
    worker_queue_from_interrupt(&sent);
}

void device_start(void)
{
    available.function = poll_connections;
    sent.function = poll_connections;
    available.argument = sent.argument = &ethernet;
    ring_start(own_mac, true);
    board_on_interrupt(RING_INTERRUPT_LINE, on_interrupt);
    ethernet.is_up = true;
}
