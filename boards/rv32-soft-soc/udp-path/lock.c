/* The network lock. */
#include "FreeRTOS.h"
#include "device.h"
#include "semphr.h"
#include "task.h"

static SemaphoreHandle_t lock;

void network_lock_start(void)
{
    lock = xSemaphoreCreateRecursiveMutex();
}

void network_lock(void)
{
    xSemaphoreTakeRecursive(lock, portMAX_DELAY);
}

void network_unlock(void)
{
    xSemaphoreGiveRecursive(lock);
}

/* As the article describes it: interrupts off and no task scheduled between the release of the lock and the wait. This
 * kernel does not wait while its scheduler is locked, so that lock ends just before; interrupts stay off, and each task
 * that runs meanwhile has its own state of them. */
void network_wait(void *semaphore)
{
    taskENTER_CRITICAL();
    vTaskSuspendAll();
    xSemaphoreGiveRecursive(lock);
    xTaskResumeAll();
    xSemaphoreTake((SemaphoreHandle_t)semaphore, portMAX_DELAY);
    xSemaphoreTakeRecursive(lock, portMAX_DELAY);
    taskEXIT_CRITICAL();
}
