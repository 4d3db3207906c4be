/* Options of the lwIP device; each build sets with -D what matters. What is not set is lwIP's own default. */
#ifndef LWIPOPTS_H
#define LWIPOPTS_H

#define NO_SYS 1
#define SYS_LIGHTWEIGHT_PROT 0
#define LWIP_SOCKET 0
#define LWIP_NETCONN 0
#define MEM_LIBC_MALLOC 1
#define MEMP_MEM_MALLOC 1
#define MEM_ALIGNMENT 8
#define PBUF_POOL_SIZE 1024
#define MEMP_NUM_TCP_SEG 4096
#define MEMP_NUM_TCP_PCB 64
#define MEMP_NUM_SYS_TIMEOUT 64
#define LWIP_DISABLE_TCP_SANITY_CHECKS 1
#define LWIP_DNS 1
#define LWIP_ALTCP 0
#ifndef TCP_SND_QUEUELEN
#define TCP_SND_QUEUELEN (((4 * (TCP_SND_BUF) + (TCP_MSS - 1)) / (TCP_MSS)) + 4)
#endif
#define TCP_SNDLOWAT 1

#define LWIP_HTTPD_CUSTOM_FILES 1
#define LWIP_HTTPD_DYNAMIC_FILE_READ 1
#define LWIP_HTTPD_DYNAMIC_HEADERS 1
#define LWIP_HTTPD_FS_ASYNC_READ 1
#define LWIP_HTTPD_SUPPORT_POST 1
#define LWIP_HTTPD_FILE_EXTENSION 1
#define LWIP_HTTPD_POST_MANUAL_WND 1
#define LWIP_HTTPD_POST_MAX_RESPONSE_URI_LEN 63

#endif
