/* lwIP with its raw API in a main loop. Buffers of TCP are as in agent/firmware, for comparison with smoltcp; numbers
 * without a reason are large enough. */
#ifndef LWIPOPTS_H
#define LWIPOPTS_H

#define NO_SYS 1
#define SYS_LIGHTWEIGHT_PROT 0
#define LWIP_SOCKET 0
#define LWIP_NETCONN 0
#define LWIP_IPV6 0
#define LWIP_STATS 0

/* Required by nic/c/lwip. */
#define LWIP_SUPPORT_CUSTOM_PBUF 1
#define LWIP_CHECKSUM_CTRL_PER_NETIF 1
#define ETH_PAD_SIZE 2

#define MEM_ALIGNMENT 4
#define MEM_SIZE (128 * 1024)
#define MEMP_NUM_PBUF 256
#define MEMP_NUM_TCP_PCB 16
#define MEMP_NUM_TCP_PCB_LISTEN 8
#define MEMP_NUM_UDP_PCB 10
#define MEMP_NUM_TCP_SEG 256
#define PBUF_POOL_SIZE 64
/* A full frame is one pbuf. */
#define PBUF_POOL_BUFSIZE 1536

#define TCP_MSS 1460
/* As many segments as the device buffers, if it buffers fewer than the window has: linerate_nic_describe. */
#ifndef WINDOW_SEGMENTS
#define WINDOW_SEGMENTS 44
#endif
#define TCP_WND (WINDOW_SEGMENTS * TCP_MSS)
#define TCP_SND_BUF (22 * TCP_MSS)
#define TCP_SND_QUEUELEN 128

/* lwIP's fastest routine in C. */
#define LWIP_CHKSUM_ALGORITHM 3

#endif
