/* lwIP without an operating system; what differs between the boards comes from `build`. */

#define NO_SYS 1
#define SYS_LIGHTWEIGHT_PROT 0
#define LWIP_NETCONN 0
#define LWIP_SOCKET 0
#define LWIP_IPV6 0
#define MEM_LIBC_MALLOC 1
#define MEMP_MEM_MALLOC 1
#define LWIP_DISABLE_TCP_SANITY_CHECKS 1
#define TCP_LISTEN_BACKLOG 1
