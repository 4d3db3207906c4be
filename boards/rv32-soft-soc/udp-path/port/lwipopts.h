/* lwIP for datagrams. CORE_LOCKING comes from the compiler's command line: 1, the caller does the stack's work under
 * its lock; 0, the stack's thread does it, and the caller waits. */
#ifndef LWIPOPTS_H
#define LWIPOPTS_H

#define NO_SYS 0
#define SYS_LIGHTWEIGHT_PROT 1
#define LWIP_TCPIP_CORE_LOCKING CORE_LOCKING
/* Above the application. */
#define TCPIP_THREAD_PRIO 5
#define TCPIP_THREAD_STACKSIZE 4096
#define TCPIP_MBOX_SIZE 16
#define DEFAULT_TCP_RECVMBOX_SIZE 8
#define DEFAULT_UDP_RECVMBOX_SIZE 8
#define DEFAULT_ACCEPTMBOX_SIZE 4

#define LWIP_SOCKET 1
#define LWIP_NETCONN 1
#define LWIP_COMPAT_SOCKETS 0
#define LWIP_TIMEVAL_PRIVATE 1
#define LWIP_IPV4 1
#define LWIP_IPV6 0
#define LWIP_TCP 0
#define LWIP_DHCP 0
#define LWIP_DNS 0
#define LWIP_IGMP 0
#define LWIP_RAW 0
#define LWIP_STATS 0
#define IP_REASSEMBLY 0
#define IP_FRAG 0
#define ETHARP_SUPPORT_STATIC_ENTRIES 1
/* The IP header is on a word boundary. */
#define ETH_PAD_SIZE 2

#define MEM_ALIGNMENT 4
#define MEM_SIZE (16 * 1024)
#define MEMP_NUM_NETBUF 8
#define MEMP_NUM_NETCONN 8
#define MEMP_NUM_UDP_PCB 8
#define PBUF_POOL_SIZE 4

#endif
