/* Options of the lwIP station; each build sets the ones that matter with -D. */
#ifndef LWIPOPTS_H
#define LWIPOPTS_H

#define NO_SYS 1
#define SYS_LIGHTWEIGHT_PROT 0
#define LWIP_SOCKET 0
#define LWIP_NETCONN 0
#define MEM_LIBC_MALLOC 1
#define MEMP_MEM_MALLOC 1
#define MEM_ALIGNMENT 8
#define LWIP_IPV4 1
#define LWIP_IPV6 0
#define LWIP_ICMP 1
#define LWIP_UDP 1
#define LWIP_TCP 1
#define LWIP_STATS 0
#define LWIP_DHCP 0
#define LWIP_ACD 0
#define LWIP_AUTOIP 0
#define LWIP_IGMP 0
#define LWIP_DNS 0
#define ARP_QUEUEING 1
#define ETHARP_TABLE_SIZE 10
#define PBUF_POOL_SIZE 1024
#define LWIP_DISABLE_TCP_SANITY_CHECKS 1
#ifndef TCP_MSS
#define TCP_MSS 536
#endif
#ifndef TCP_WND
#define TCP_WND (4 * TCP_MSS)
#endif
#ifndef TCP_SND_BUF
#define TCP_SND_BUF (2 * TCP_MSS)
#endif
#ifndef TCP_SND_QUEUELEN
#define TCP_SND_QUEUELEN (((4 * (TCP_SND_BUF) + (TCP_MSS - 1)) / (TCP_MSS)) + 4)
#endif
#define TCP_SNDLOWAT 1
#define MEMP_NUM_TCP_SEG 4096

#endif
