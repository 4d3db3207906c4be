#ifndef _OS_PORT_CONFIG_H
#define _OS_PORT_CONFIG_H
#define USE_NO_RTOS
#endif
