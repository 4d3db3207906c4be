/* Callbacks: taken from a pool, entered at the end of the device's and the connection's list. */
#include <string.h>

#include "board.h"
#include "device.h"

#define CALLBACKS 16

static struct callback callbacks[CALLBACKS];
static struct callback *free_callbacks;

void callback_start(void)
{
    for (int i = 0; i < CALLBACKS; i++) {
        callbacks[i].next_of_connection = free_callbacks;
        free_callbacks = &callbacks[i];
    }
}

struct callback *callback_allocate(struct device *device, struct callback **list)
{
    network_lock();
    struct callback *callback = free_callbacks;
    if (callback == NULL || !device->is_up)
        board_fail(__FILE__, __LINE__);
    free_callbacks = callback->next_of_connection;
    memset(callback, 0, sizeof(*callback));
    struct callback **end = &device->callbacks;
    while (*end != NULL)
        end = &(*end)->next_of_device;
    *end = callback;
    for (end = list; *end != NULL;)
        end = &(*end)->next_of_connection;
    *end = callback;
    network_unlock();
    return callback;
}

void callback_free(struct device *device, struct callback *callback, struct callback **list)
{
    network_lock();
    struct callback **at = &device->callbacks;
    while (*at != NULL && *at != callback)
        at = &(*at)->next_of_device;
    if (*at != NULL)
        *at = callback->next_of_device;
    for (at = list; *at != NULL && *at != callback;)
        at = &(*at)->next_of_connection;
    if (*at != NULL)
        *at = callback->next_of_connection;
    callback->next_of_connection = free_callbacks;
    free_callbacks = callback;
    network_unlock();
}
