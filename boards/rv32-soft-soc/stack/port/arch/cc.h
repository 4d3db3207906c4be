/* The compiler: gcc without a C library. */
#ifndef ARCH_CC_H
#define ARCH_CC_H

#include <stddef.h>
#include <stdint.h>

#define LWIP_NO_INTTYPES_H 1
#define LWIP_NO_CTYPE_H 1
#define LWIP_NO_LIMITS_H 0
#define LWIP_NO_UNISTD_H 1
#define LWIP_ERR_T int
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

void board_fail(const char *file, int line);
uint32_t board_random(void);
#define LWIP_PLATFORM_DIAG(message) do { } while (0)
#define LWIP_PLATFORM_ASSERT(message) board_fail(__FILE__, __LINE__)
#define LWIP_RAND() board_random()
#define LWIP_PROVIDE_ERRNO 1

#endif
