/* A port of the kernel: tasks are contexts of one thread, and the idle task looks for time and frames. */
#ifndef PORTMACRO_H
#define PORTMACRO_H

#include <stddef.h>
#include <stdint.h>

typedef uintptr_t StackType_t;
typedef long BaseType_t;
typedef unsigned long UBaseType_t;
typedef uint32_t TickType_t;
#define portSTACK_TYPE StackType_t
#define portBASE_TYPE BaseType_t
#define portPOINTER_SIZE_TYPE uintptr_t
#define portMAX_DELAY ((TickType_t)0xffffffffU)
#define portTICK_TYPE_IS_ATOMIC 1
#define portTICK_PERIOD_MS ((TickType_t)1)
#define portSTACK_GROWTH (-1)
#define portBYTE_ALIGNMENT 16

void port_yield(void);
#define portYIELD() port_yield()
#define portYIELD_WITHIN_API() port_yield()
#define portEND_SWITCHING_ISR(wanted) do { if (wanted) { port_yield(); } } while (0)
#define portYIELD_FROM_ISR(wanted) portEND_SWITCHING_ISR(wanted)
/* Nothing interrupts a task. */
#define portDISABLE_INTERRUPTS() do { } while (0)
#define portENABLE_INTERRUPTS() do { } while (0)
#define portENTER_CRITICAL() do { } while (0)
#define portEXIT_CRITICAL() do { } while (0)
#define portSET_INTERRUPT_MASK_FROM_ISR() 0
#define portCLEAR_INTERRUPT_MASK_FROM_ISR(mask) ((void)(mask))
#define portTASK_FUNCTION_PROTO(function, parameters) void function(void *parameters)
#define portTASK_FUNCTION(function, parameters) void function(void *parameters)
#define portNOP() do { } while (0)
#define portMEMORY_BARRIER() __asm volatile("" ::: "memory")
#define portINLINE __inline

#endif
