/* A small UDP stack whose send is handed over to a worker thread under one network lock. */
#ifndef STACK_H
#define STACK_H

#include <stdint.h>

struct connection;

void stack_start(void);
/* A connection to the peer. */
struct connection *stack_connect(uint32_t number);
/* Sends a datagram and returns when the worker has put it into the ring. */
void stack_send_waiting(struct connection *connection, const uint8_t *data, uint32_t len);
/* Copies a datagram for the worker and returns; waits only if all buffers are taken. */
void stack_send_buffered(struct connection *connection, const uint8_t *data, uint32_t len);

#endif
