/* The kernel's port: contexts of one thread. */
#include "device.h"

#include "FreeRTOS.h"
#include "task.h"

#include <stdlib.h>
#include <ucontext.h>

enum { STACK_OCTETS = 1 << 18 };

struct task {
    ucontext_t context;
    TaskFunction_t function;
    void *parameters;
};

static ucontext_t out;
static TickType_t ticks_done;
static uint32_t begun;

/* A task's control block begins with the top of its stack, which points to its context here. */
static struct task *current(void) { return **(struct task ***)xTaskGetCurrentTaskHandle(); }

static void enter(void)
{
    struct task *it = current();
    it->function(it->parameters);
    vTaskDelete(NULL);
}

StackType_t *pxPortInitialiseStack(StackType_t *top, TaskFunction_t function, void *parameters)
{
    struct task *it = calloc(1, sizeof *it);
    getcontext(&it->context);
    it->context.uc_stack.ss_sp = malloc(STACK_OCTETS);
    it->context.uc_stack.ss_size = STACK_OCTETS;
    it->function = function;
    it->parameters = parameters;
    makecontext(&it->context, enter, 0);
    *top = (StackType_t)it;
    return top;
}

void port_yield(void)
{
    struct task *before = current();
    vTaskSwitchContext();
    struct task *after = current();
    if (before != after) {
        swapcontext(&before->context, &after->context);
    }
}

BaseType_t xPortStartScheduler(void)
{
    begun = now_ms();
    swapcontext(&out, &current()->context);
    return pdTRUE;
}

void vPortEndScheduler(void) { setcontext(&out); }

/* Ticks that have passed since the last look at the clock; those that a device stood still for are behind it. */
void count_ticks(void)
{
    BaseType_t is_due = pdFALSE;
    for (TickType_t now = now_ms() - begun; ticks_done != now; ticks_done++) {
        is_due |= xTaskIncrementTick();
    }
    if (is_due) {
        port_yield();
    }
}
