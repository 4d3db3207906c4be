/* lwIP as AN 440 configures NicheStack: sockets, one thread for the stack, pools of packets. Numbers without
 * a reason are lwIP's defaults or large enough. */
#ifndef LWIPOPTS_H
#define LWIPOPTS_H

#include "packet.h"

#define NO_SYS 0
#define SYS_LIGHTWEIGHT_PROT 1
#define LWIP_TCPIP_CORE_LOCKING 1
/* Above the application, as tk_netmain (2) is above the benchmark (4). */
#define TCPIP_THREAD_PRIO 5
#define TCPIP_THREAD_STACKSIZE 4096
#define TCPIP_MBOX_SIZE 64
#define DEFAULT_TCP_RECVMBOX_SIZE 32
#define DEFAULT_UDP_RECVMBOX_SIZE 32
#define DEFAULT_ACCEPTMBOX_SIZE 4

#define LWIP_SOCKET 1
#define LWIP_NETCONN 1
#define LWIP_COMPAT_SOCKETS 0
#define LWIP_TIMEVAL_PRIVATE 1
#define LWIP_SO_RCVTIMEO 1
#define LWIP_IPV4 1
#define LWIP_IPV6 0
#define LWIP_DHCP 0
#define LWIP_DNS 0
#define LWIP_IGMP 0
#define LWIP_RAW 0
#define LWIP_STATS 0
#define IP_REASSEMBLY 0
#define IP_FRAG 0
#define ETHARP_SUPPORT_STATIC_ENTRIES 1
#define LWIP_NETIF_TX_SINGLE_PBUF 1
#define LWIP_SUPPORT_CUSTOM_PBUF 1
/* The IP header is on a word boundary. */
#define ETH_PAD_SIZE 2

#define MEM_ALIGNMENT 4
#define MEM_SIZE (64 * 1024)
/* One send of the benchmark is one segment. */
#define TCP_MSS 1458
/* Eight segments: a guess for NicheStack's default. */
#define TCP_WND (8 * TCP_MSS)
#define TCP_SND_BUF (8 * TCP_MSS)
#define TCP_SND_QUEUELEN 16
#define MEMP_NUM_TCP_SEG 32
/* The window is covered by the pools of packet.c, which lwIP does not know. */
#define LWIP_DISABLE_TCP_SANITY_CHECKS 1
#define MEMP_NUM_NETBUF 32
#define PBUF_POOL_SIZE 4
#define LWIP_TCP_SACK_OUT 0

/* In software: lwIP's fastest routine in C, in place of the assembly of the paper. */
#ifndef LWIP_CHKSUM_ALGORITHM
#define LWIP_CHKSUM_ALGORITHM 3
#endif
#define LWIP_CHKSUM packet_checksum

#endif
