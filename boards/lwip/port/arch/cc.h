/* The compiler: gcc without a C library. */
#ifndef ARCH_CC_H
#define ARCH_CC_H

#include <stddef.h>
#include <stdint.h>

#define LWIP_NO_INTTYPES_H 1
#define LWIP_NO_CTYPE_H 1
#define LWIP_NO_UNISTD_H 1
#define SSIZE_MAX INT32_MAX
typedef int32_t ssize_t;
#define X8_F "02x"
#define U16_F "u"
#define S16_F "d"
#define X16_F "x"
#define U32_F "u"
#define S32_F "d"
#define X32_F "x"
#define SZT_F "u"
#define BYTE_ORDER LITTLE_ENDIAN

_Noreturn void failed_at(const char *file, int line);
uint32_t random_number(void);
#define LWIP_PLATFORM_DIAG(message) do { } while (0)
#define LWIP_PLATFORM_ASSERT(message) failed_at(__FILE__, __LINE__)
#define LWIP_RAND() random_number()

#endif
