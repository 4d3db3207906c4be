/* Options of FreeRTOS+TCP; each build sets with -D what matters. What is not set is the stack's own default. */
#ifndef FREERTOS_IP_CONFIG_H
#define FREERTOS_IP_CONFIG_H

#include <stdint.h>

#define ipconfigBYTE_ORDER pdFREERTOS_LITTLE_ENDIAN
#define ipconfigUSE_IPv4 1
#define ipconfigUSE_IPv6 0
#define ipconfigIPv4_BACKWARD_COMPATIBLE 0
#define ipconfigUSE_TCP 1
#ifndef ipconfigUSE_TCP_WIN
#define ipconfigUSE_TCP_WIN 1
#endif
#define ipconfigTCP_WIN_SEG_COUNT 512
#define ipconfigUSE_DHCP 0
#define ipconfigUSE_DNS 0
#define ipconfigUSE_LLMNR 0
#define ipconfigUSE_NBNS 0
#define ipconfigUSE_MDNS 0
#define ipconfigUSE_NETWORK_EVENT_HOOK 1
#define ipconfigSUPPORT_SELECT_FUNCTION 0
#define ipconfigREPLY_TO_INCOMING_PINGS 1
#define ipconfigNUM_NETWORK_BUFFER_DESCRIPTORS 128
#define ipconfigEVENT_QUEUE_LENGTH 160
#define ipconfigIP_TASK_PRIORITY (configMAX_PRIORITIES - 2)
#define ipconfigIP_TASK_STACK_SIZE_WORDS configMINIMAL_STACK_SIZE
#define ipconfigARP_CACHE_ENTRIES 8
#define ipconfigMAX_ARP_AGE 150
#define ipconfigETHERNET_DRIVER_FILTERS_FRAME_TYPES 1
#define ipconfigFILTER_OUT_NON_ETHERNET_II_FRAMES 1
#define ipconfigPACKET_FILLER_SIZE 2U
#define ipconfigDRIVER_INCLUDED_RX_IP_CHECKSUM 0
#define ipconfigDRIVER_INCLUDED_TX_IP_CHECKSUM 0
#define ipconfigZERO_COPY_TX_DRIVER 0
#define ipconfigZERO_COPY_RX_DRIVER 0
#define ipconfigALLOW_SOCKET_SEND_WITHOUT_BIND 1
#define ipconfigNETWORK_MTU 1500
#define ipconfigHAS_PRINTF 0
#define ipconfigHAS_DEBUG_PRINTF 0

#endif
