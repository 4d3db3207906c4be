/* uIP's clock, in milliseconds. */
#ifndef CLOCK_ARCH_DEVICE_H
#define CLOCK_ARCH_DEVICE_H

typedef int clock_time_t;
#define CLOCK_CONF_SECOND 1000

#endif
