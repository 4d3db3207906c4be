/* A board with CycloneTCP as a library: no thread, no clock. Whoever loads it gives it frames and the time. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct board_functions {
    /* Starts the stack. `send` gets each frame that the board transmits. */
    void (*start)(void *whose, void (*send)(void *whose, const uint8_t *frame, size_t octets), const uint8_t mac[6], const char *address,
                  const char *mask, const char *gate, uint32_t seed);
    /* The time is now; timers run. */
    void (*tick)(uint32_t ms);
    void (*take)(const uint8_t *frame, size_t octets);
    /* Sockets are numbers; -1 is none. */
    int (*listen)(uint16_t port, unsigned mss, unsigned sends, unsigned receives);
    int (*accept)(int listener);
    int (*connect)(const char *address, uint16_t port, unsigned mss, unsigned sends, unsigned receives);
    int (*is_open)(int socket);
    /* Octets that were taken. */
    int (*write)(int socket, const void *data, unsigned octets, int no_delay);
    /* Octets, 0 if there are none yet, or -1 if the peer has closed. */
    int (*read)(int socket, void *data, unsigned octets);
    void (*close)(int socket);
};
