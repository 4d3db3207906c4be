/* The functions of C that the protocol stack, the kernel and the compiler call. memcpy is as fast as a
 * usual C library's: words, four at a time, where both sides are aligned. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *memcpy(void *to, const void *from, size_t len)
{
    uint8_t *t = to;
    const uint8_t *f = from;
    if ((((uintptr_t)t ^ (uintptr_t)f) & 3) == 0) {
        while (len > 0 && ((uintptr_t)t & 3) != 0) {
            *t++ = *f++;
            len--;
        }
        uint32_t *tw = (uint32_t *)t;
        const uint32_t *fw = (const uint32_t *)f;
        for (; len >= 16; len -= 16) {
            uint32_t a = fw[0], b = fw[1], c = fw[2], d = fw[3];
            tw[0] = a;
            tw[1] = b;
            tw[2] = c;
            tw[3] = d;
            tw += 4;
            fw += 4;
        }
        for (; len >= 4; len -= 4)
            *tw++ = *fw++;
        t = (uint8_t *)tw;
        f = (const uint8_t *)fw;
    }
    for (; len > 0; len--)
        *t++ = *f++;
    return to;
}

void *memmove(void *to, const void *from, size_t len)
{
    uint8_t *t = to;
    const uint8_t *f = from;
    if (t <= f || t >= f + len)
        return memcpy(to, from, len);
    while (len-- > 0)
        t[len] = f[len];
    return to;
}

void *memset(void *to, int value, size_t len)
{
    uint8_t *t = to;
    uint32_t word = (uint8_t)value * 0x01010101u;
    for (; len > 0 && ((uintptr_t)t & 3) != 0; len--)
        *t++ = (uint8_t)value;
    for (; len >= 4; len -= 4, t += 4)
        *(uint32_t *)t = word;
    for (; len > 0; len--)
        *t++ = (uint8_t)value;
    return to;
}

int memcmp(const void *a, const void *b, size_t len)
{
    const uint8_t *x = a, *y = b;
    for (; len > 0; len--, x++, y++)
        if (*x != *y)
            return *x - *y;
    return 0;
}

size_t strlen(const char *text)
{
    size_t len = 0;
    while (text[len] != 0)
        len++;
    return len;
}

int strcmp(const char *a, const char *b)
{
    while (*a != 0 && *a == *b)
        a++, b++;
    return (uint8_t)*a - (uint8_t)*b;
}

int strncmp(const char *a, const char *b, size_t len)
{
    for (; len > 0; len--, a++, b++)
        if (*a != *b || *a == 0)
            return (uint8_t)*a - (uint8_t)*b;
    return 0;
}

int atoi(const char *text)
{
    int value = 0;
    for (; *text >= '0' && *text <= '9'; text++)
        value = 10 * value + (*text - '0');
    return value;
}

/* Of lwIP's sockets; one for all threads. */
int errno;
