/* Results of the services, as events on the console. */
#ifndef REPORT_H
#define REPORT_H

#include "linerate_agent.h"
#include "linerate_nic.h"

/* Prints completed tests of the servers. */
void report_served(linerate_agent *iperf2, linerate_agent *iperf3, linerate_agent *http);
/* Prints all counters of the driver that are not zero. */
void report_counters(const linerate_nic *nic);

#endif
