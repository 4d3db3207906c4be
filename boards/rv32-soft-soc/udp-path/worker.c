#include "worker.h"

#include <stddef.h>

#include "FreeRTOS.h"
#include "board.h"
#include "semphr.h"
#include "task.h"

static SemaphoreHandle_t waiting;
static struct work *first, **last = &first;

static bool append(struct work *work)
{
    if (work->is_queued)
        return false;
    work->is_queued = true;
    work->next = NULL;
    *last = work;
    last = &work->next;
    return true;
}

void worker_queue(struct work *work)
{
    taskENTER_CRITICAL();
    bool is_new = append(work);
    taskEXIT_CRITICAL();
    if (is_new)
        xSemaphoreGive(waiting);
}

void worker_queue_from_interrupt(struct work *work)
{
    BaseType_t must_switch = pdFALSE;
    if (append(work))
        xSemaphoreGiveFromISR(waiting, &must_switch);
    if (must_switch)
        board_yield_from_interrupt();
}

static void run(void *unused)
{
    (void)unused;
    for (;;) {
        xSemaphoreTake(waiting, portMAX_DELAY);
        taskENTER_CRITICAL();
        struct work *work = first;
        if (work != NULL) {
            first = work->next;
            if (first == NULL)
                last = &first;
            work->is_queued = false;
        }
        taskEXIT_CRITICAL();
        if (work != NULL)
            work->function(work->argument);
    }
}

void worker_start(uint32_t priority)
{
    waiting = xSemaphoreCreateCounting(8, 0);
    xTaskCreate(run, "worker", 1024, NULL, priority, NULL);
}
