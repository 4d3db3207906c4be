/* linerate's agents over lwIP's raw API: lwIP 2.2, NO_SYS or in the stack's thread, IPv4. */
#ifndef LINERATE_AGENT_LWIP_H
#define LINERATE_AGENT_LWIP_H

#include "linerate_agent.h"

/* Agents, and TCP connections of all agents together: each takes LINERATE_LWIP_SEND_OCTETS of memory. */
#ifndef LINERATE_LWIP_AGENTS
#define LINERATE_LWIP_AGENTS 6
#endif
#ifndef LINERATE_LWIP_CONNECTIONS
#define LINERATE_LWIP_CONNECTIONS 8
#endif
/* Data of a connection that are not acknowledged yet: they stay here, and lwIP does not copy them. A multiple of 4. */
#ifndef LINERATE_LWIP_SEND_OCTETS
#define LINERATE_LWIP_SEND_OCTETS TCP_SND_BUF
#endif
/* UDP sockets of all agents together. */
#ifndef LINERATE_LWIP_SOCKETS
#define LINERATE_LWIP_SOCKETS 8
#endif
/* Data to send begin this many octets behind a word, 0 to 3. If that is where TCP's data are in the driver's buffer, its
 * copy moves whole words. */
#ifndef LINERATE_LWIP_SKEW
#define LINERATE_LWIP_SKEW 0
#endif

/* Adds an agent; false: there is no room for it, or it is NULL. `now_ns` is a monotonic clock, the same for all agents. */
bool linerate_lwip_add(linerate_agent *agent, uint64_t (*now_ns)(void));

/* Opens requested sockets, sends data, closes connections. Call it after received frames were passed to the stack, and at
 * the time that it returns, at the latest; UINT64_MAX: at none. */
uint64_t linerate_lwip_run(void);

#endif
