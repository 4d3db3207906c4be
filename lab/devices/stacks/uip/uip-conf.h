/* Configuration of the uIP device; UIP_CONF_BUFFER_SIZE comes from the build. */
#ifndef UIP_CONF_DEVICE_H
#define UIP_CONF_DEVICE_H

#include <inttypes.h>

typedef uint8_t u8_t;
typedef uint16_t u16_t;
typedef unsigned short uip_stats_t;

#define UIP_CONF_MAX_CONNECTIONS 10
#define UIP_CONF_MAX_LISTENPORTS 4
#define UIP_CONF_BYTE_ORDER LITTLE_ENDIAN
#define UIP_CONF_LOGGING 0
#define UIP_CONF_UDP 0
#define UIP_CONF_STATISTICS 1

#include "webserver.h"
#undef UIP_APPCALL
#define UIP_APPCALL device_appcall
void device_appcall(void);

#endif
