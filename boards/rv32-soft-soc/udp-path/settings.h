/* What the program does. The simulator writes it before the program runs, as a boot loader passes arguments. */
#ifndef SETTINGS_H
#define SETTINGS_H

#include <stdint.h>

enum path { PATH_WAITING, PATH_BUFFERED, PATH_RING, PATH_LWIP };

struct settings {
    uint32_t timer_hertz;
    uint32_t path;
    /* Tasks that send. */
    uint32_t senders;
    /* Priority of the worker; that of the senders is SENDER_PRIORITY. */
    uint32_t worker_priority;
    /* Look the receiver's address up at each send, beside the look-up for the frame's header. */
    uint32_t looks_up;
    /* Log a line for each datagram. */
    uint32_t logs;
    /* The UART's divider: integer part in bits 11:0, sixteenths in 23:20. */
    uint32_t uart_divider;
};

extern volatile struct settings settings;

#define SENDER_PRIORITY 3
/* iperf's datagram in the published measurement: 32.2 Mbit/s at 4,023 a second. */
#define DATAGRAM_BYTES 1000

#endif
