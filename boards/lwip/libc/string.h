/* The functions of C that stack and program use: boards/memory, and the library of nic/c. */
#ifndef STRING_H
#define STRING_H

#include <stddef.h>

void *memcpy(void *to, const void *from, size_t octets);
void *memmove(void *to, const void *from, size_t octets);
void *memset(void *to, int value, size_t octets);
int memcmp(const void *a, const void *b, size_t octets);
size_t strlen(const char *text);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t octets);

#endif
