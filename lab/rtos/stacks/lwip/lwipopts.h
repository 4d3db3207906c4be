/* Options of the lwIP device with sockets; each build sets with -D what matters. What is not set is lwIP's own default. */
#ifndef LWIPOPTS_H
#define LWIPOPTS_H

#define NO_SYS 0
#define LWIP_SOCKET 1
#define LWIP_NETCONN 1
#define LWIP_COMPAT_SOCKETS 0
#define LWIP_POSIX_SOCKETS_IO_NAMES 0
#define LWIP_SO_RCVTIMEO 1
#define LWIP_SO_RCVBUF 1
#define SO_REUSE 1
#define LWIP_TCPIP_CORE_LOCKING 1
#define MEM_LIBC_MALLOC 1
#define MEMP_MEM_MALLOC 1
#define MEM_ALIGNMENT 8
#define PBUF_POOL_SIZE 1024
#define MEMP_NUM_TCP_SEG 4096
#define MEMP_NUM_TCP_PCB 64
#define MEMP_NUM_NETCONN 64
#define TCPIP_MBOX_SIZE 256
#define DEFAULT_TCP_RECVMBOX_SIZE 256
#define DEFAULT_UDP_RECVMBOX_SIZE 256
#define DEFAULT_ACCEPTMBOX_SIZE 16
#define LWIP_DISABLE_TCP_SANITY_CHECKS 1
#ifndef TCP_SND_QUEUELEN
#define TCP_SND_QUEUELEN (((4 * (TCP_SND_BUF) + (TCP_MSS - 1)) / (TCP_MSS)) + 4)
#endif
#ifndef TCP_SNDLOWAT
#define TCP_SNDLOWAT 1
#endif

#endif
