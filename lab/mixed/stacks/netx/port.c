/* ThreadX's port: its threads are contexts of one thread. Interrupts (ticks of 1 ms, frames) happen while no thread runs. */
#include "device.h"

#include "tx_api.h"
#include "tx_initialize.h"
#include "tx_thread.h"
#include "tx_timer.h"

#include <stdlib.h>
#include <ucontext.h>

enum { STACK_OCTETS = 1 << 18 };

void take_frames(int most_ms);

static ucontext_t scheduler;
static uint32_t ticks_done;

VOID _tx_initialize_low_level(VOID)
{
    _tx_initialize_unused_memory = malloc(1 << 16);
    ticks_done = now_ms();
}

VOID _tx_thread_stack_build(TX_THREAD *it, VOID (*entry)(VOID))
{
    ucontext_t *context = calloc(1, sizeof *context);
    getcontext(context);
    context->uc_stack.ss_sp = malloc(STACK_OCTETS);
    context->uc_stack.ss_size = STACK_OCTETS;
    makecontext(context, entry, 0);
    it->tx_thread_extension_ptr = context;
    it->tx_thread_stack_ptr = (VOID *)((CHAR *)it->tx_thread_stack_end - 8);
}

VOID _tx_thread_system_return(VOID)
{
    ucontext_t *own = _tx_thread_current_ptr->tx_thread_extension_ptr;
    _tx_thread_current_ptr = TX_NULL;
    swapcontext(own, &scheduler);
}

UINT _tx_thread_interrupt_control(UINT posture) { return posture; }

UINT _tx_thread_interrupt_disable(void) { return 0; }

VOID _tx_thread_interrupt_restore(UINT posture) { (void)posture; }

VOID _tx_thread_context_save(VOID) {}

VOID _tx_thread_context_restore(VOID) {}

static void tick(void)
{
    _tx_timer_system_clock++;
    if (*_tx_timer_current_ptr) {
        _tx_timer_expired = TX_TRUE;
        _tx_timer_expiration_process();
    } else if (++_tx_timer_current_ptr == _tx_timer_list_end) {
        _tx_timer_current_ptr = _tx_timer_list_start;
    }
}

static void interrupts(int most_ms)
{
    _tx_thread_system_state++;
    take_frames(most_ms);
    for (uint32_t now = now_ms(); ticks_done != now; ticks_done++) {
        tick();
    }
    _tx_thread_system_state--;
}

VOID _tx_thread_schedule(VOID)
{
    for (;;) {
        interrupts(0);
        while (!_tx_thread_execute_ptr) {
            interrupts(1);
        }
        TX_THREAD *it = _tx_thread_current_ptr = _tx_thread_execute_ptr;
        it->tx_thread_run_count++;
        swapcontext(&scheduler, it->tx_thread_extension_ptr);
    }
}
