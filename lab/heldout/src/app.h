/* Programs whose behaviour limits a transfer. `number` and `word` read `name=value` from the command line. */
#ifndef APP_H
#define APP_H

#include <stdint.h>

double number(const char *name, double otherwise);
const char *word(const char *name, const char *otherwise);
double seconds(void);
void wait_us(double us);
void die(const char *what);
/* A socket that listens on this port, and one that is connected to host= port=. */
int listening(void);
int connected(void);
/* Prints what TCP_INFO knows, as members of a JSON object. */
void print_info(int socket);

int sink(void), send_stream(void), serve(void), ask(void), web(void), reset(void);
int names(void), tftp_serve(void), tftp_get(void), broadcast(void), telemetry(void);

#endif
