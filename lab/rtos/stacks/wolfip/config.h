/* Options of the wolfIP device; buffers and sockets are wolfIP's own if the build does not set them. */
#ifndef WOLF_CONFIG_H
#define WOLF_CONFIG_H

#define ETHERNET
#define CONFIG_IPFILTER 0
#define LINK_MTU 1536
#define LINK_MTU_MIN 64U
#define MAX_TCPSOCKETS 4
#define MAX_UDPSOCKETS 2
#define MAX_ICMPSOCKETS 2
#ifndef RXBUF_SIZE
#define RXBUF_SIZE (20 * 1024)
#endif
#ifndef TXBUF_SIZE
#define TXBUF_SIZE (32 * 1024)
#endif
#define MAX_NEIGHBORS 16
#define WOLFIP_MAX_INTERFACES 1
#define WOLFIP_RAWSOCKETS 0
#define WOLFIP_PACKET_SOCKETS 0
#define WOLFIP_ENABLE_FORWARDING 0
#define WOLFIP_ENABLE_LOOPBACK 0
#define WOLFIP_ENABLE_TFTP 0
#define WOLFIP_VLAN 0
#define WOLFIP_IP "10.53.4.2"
#define HOST_STACK_IP "10.53.4.1"
#define WOLFIP_STATIC_DNS_IP "10.53.4.1"

#endif
