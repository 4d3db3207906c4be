/* uIP with one buffer: it sends one segment and waits for its acknowledgment; its window is one segment. */

#ifndef UIP_CONF_H
#define UIP_CONF_H

#include <inttypes.h>

typedef uint8_t u8_t;
typedef uint16_t u16_t;
typedef unsigned short uip_stats_t;

#ifndef UIP_CONF_BUFFER_SIZE
#define UIP_CONF_BUFFER_SIZE 590
#endif
#define UIP_CONF_MAX_CONNECTIONS 4
#define UIP_CONF_MAX_LISTENPORTS 4
#define UIP_CONF_BYTE_ORDER UIP_LITTLE_ENDIAN
#define UIP_CONF_LOGGING 0
#define UIP_CONF_UDP 0
#define UIP_CONF_STATISTICS 0

typedef struct {
    unsigned long last;
    unsigned char has_seen;
} uip_tcp_appstate_t;

void board(void);
#define UIP_APPCALL board

#endif
