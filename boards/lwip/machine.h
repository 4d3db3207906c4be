/* The part of the program that differs from board to board: boards/NAME/lwip. */
#ifndef MACHINE_H
#define MACHINE_H

#include "linerate_nic.h"

/* Names of the board and of its driver. */
extern const char machine_board[], machine_driver[];
/* Clock error over a round trip. */
extern const uint64_t machine_clock_error_ns;

/* Starts clock and console, and lets timer and network device wake the processor. Interrupts are not taken. */
void machine_start(void);
/* Starts the driver; false: it failed. */
bool machine_start_nic(linerate_nic **nic);
/* Time since the start. */
uint64_t machine_now_ns(void);
/* The next octet of the console; -1: none. */
int machine_read(void);
void machine_write(char octet);
/* Sleeps until an interrupt is pending, or until this time, at the latest. */
void machine_sleep(uint64_t until_ns);
/* A number that differs from start to start. */
uint32_t machine_seed(void);
/* Ends the machine with an error. */
_Noreturn void machine_stop(void);

/* For exceptions, of which none is expected: reports a number and an address, and ends the machine. */
_Noreturn void machine_trapped(uint32_t cause, uint32_t address);

/* A register. */
static inline volatile uint32_t *reg32(uintptr_t address)
{
    return (volatile uint32_t *)address;
}

#endif
