/* The console: lines with one JSON object each for a program, as in agent/firmware. */
#ifndef CONSOLE_H
#define CONSOLE_H

#include <stdbool.h>
#include <stdint.h>

void console_text(const char *text);
void console_number(uint64_t number);
/* Begins an event, and adds a member; `console_end` completes it. */
void console_event(const char *name);
void console_member_text(const char *name, const char *text);
void console_member_number(const char *name, uint64_t number);
void console_end(void);
/* A complete line of the console without its end; NULL: there is none yet. */
const char *console_line(void);

#endif
