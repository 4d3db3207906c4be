/* The stack's view of the network device: a buffer that connections fill when the worker polls them. */
#ifndef DEVICE_H
#define DEVICE_H

#include <stdbool.h>
#include <stdint.h>

/* Events of callbacks. */
#define EVENT_POLL 1u
#define EVENT_DOWN 2u

struct device;
typedef uint32_t event_handler(struct device *device, void *argument, uint32_t events);

struct callback {
    struct callback *next_of_connection;
    struct callback *next_of_device;
    event_handler *handler;
    void *argument;
    uint32_t events;
};

struct connection {
    struct connection *next;
    struct callback *callbacks;
    struct buffer *first, **last;
    struct callback *buffered;
    uint32_t number, destination, sent;
    uint16_t source_port, port;
};

struct device {
    struct device *next;
    struct callback *callbacks;
    struct connection *connections;
    uint32_t address, mask;
    bool is_up;
    /* The frame that a connection may fill; how much payload it has put there. */
    uint8_t *frame;
    uint32_t len;
};

extern struct device *devices;

void device_start(void);
/* The device that leads to `address`. */
struct device *device_for(uint32_t address);
/* With the network lock: something may be sent. */
void device_notify(struct device *device);

void callback_start(void);
struct callback *callback_allocate(struct device *device, struct callback **list);
void callback_free(struct device *device, struct callback *callback, struct callback **list);

/* The one lock of the network; it may be taken again by its owner. */
void network_lock_start(void);
void network_lock(void);
void network_unlock(void);
/* With the lock held once: waits for `semaphore` without it. */
void network_wait(void *semaphore);

#endif
