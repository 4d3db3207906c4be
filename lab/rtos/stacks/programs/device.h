/* The device's programs use these calls; each stack provides them. A handle is not negative; what fails returns -1. */
#ifndef DEVICE_H
#define DEVICE_H

#include <stdint.h>

typedef intptr_t handle;

handle stream_listen(int port);
handle stream_accept(handle listening);
/* Connects to `peer`. */
handle stream_connect(int port);
/* Octets taken, which may be fewer. */
int stream_send(handle it, const void *octets, int size);
/* Octets received, 0 at the end. */
int stream_receive(handle it, void *octets, int size);
void stream_no_delay(handle it);
/* Only whole segments are sent, if the stack has an option for it. */
void stream_whole_segments(handle it, int on);
void stream_close(handle it);

handle datagram_open(int port);
int datagram_send(handle it, const void *octets, int size, int port);
/* Waits for a datagram, 0 after `patience_ms`; datagram_answer sends one back to where it came from. */
int datagram_receive(handle it, void *octets, int size, int patience_ms);
int datagram_answer(handle it, const void *octets, int size);

/* The program does nothing for a time; the stack goes on. */
void rest(int ms);
/* The whole device does nothing for a time, as with interrupts off or code in a flash chip that is erased. */
void stand_still(int ms);
uint32_t now_ms(void);

/* What the command line states. */
long number(const char *key, long otherwise);
const char *word(const char *key, const char *otherwise);
/* An address of the command line, in the octets' order of the network. */
uint32_t address(const char *key);
void read_words(int count, char **words);

/* A TAP interface that exists; reads do not block. Before a frame, the device may take its time (`frame_us`) or sleep (`wakes`). */
int open_tap(void);
int wait_for_frame(int tap, int most_ms);
int read_frame(int tap, void *frame, int size);
void write_frame(int tap, void *frame, int size);

/* The programs: returns when they have ended. */
void run_programs(void);

#endif
