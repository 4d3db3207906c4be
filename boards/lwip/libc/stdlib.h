/* Nothing is converted by the C library. */
#ifndef STDLIB_H
#define STDLIB_H

#include <stddef.h>

int atoi(const char *text);

#endif
