/* ThreadX's types for Linux, without its threads of Linux: see port.c. */
#pragma once
#include_next <tx_port.h>
#undef TX_DISABLE
#undef TX_RESTORE
#define TX_DISABLE tx_saved_posture = 0;
#define TX_RESTORE (void)tx_saved_posture;
#undef TX_PORT_SPECIFIC_PRE_SCHEDULER_INITIALIZATION
#define TX_PORT_SPECIFIC_PRE_SCHEDULER_INITIALIZATION
#undef TX_THREAD_DELETE_PORT_COMPLETION
#undef TX_THREAD_RESET_PORT_COMPLETION
#define TX_THREAD_DELETE_PORT_COMPLETION(thread_ptr)
#define TX_THREAD_RESET_PORT_COMPLETION(thread_ptr)
