/* A log on the UART. */
#ifndef LOG_H
#define LOG_H

#include <stdint.h>

void log_start(uint32_t divider);
/* Writes "<what>: socket S datagram N bytes B" and waits for room in the UART. */
void log_datagram(const char *what, uint32_t socket, uint32_t number, uint32_t bytes);

#endif
