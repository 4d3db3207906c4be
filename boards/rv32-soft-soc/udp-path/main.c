/* Datagrams of 1000 bytes to one peer, as fast as the chosen path takes them. Each begins with its number. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "FreeRTOS.h"
#include "board.h"
#include "frame.h"
#include "log.h"
#include "lwip_path.h"
#include "ring.h"
#include "settings.h"
#include "stack.h"
#include "task.h"
#include "worker.h"

/* In .data: the simulator writes it before the program starts. */
volatile struct settings settings = {.timer_hertz = 80000000, .senders = 1, .worker_priority = 2};
uint32_t board_hertz;

static uint8_t datagrams[4][DATAGRAM_BYTES] __attribute__((aligned(4)));

static void put_number(uint8_t *at, uint32_t number)
{
    at[0] = (uint8_t)(number >> 24);
    at[1] = (uint8_t)(number >> 16);
    at[2] = (uint8_t)(number >> 8);
    at[3] = (uint8_t)number;
}

static void sender(void *argument)
{
    uint32_t which = (uint32_t)(uintptr_t)argument;
    uint8_t *datagram = datagrams[which];
    struct connection *connection = settings.path == PATH_LWIP ? NULL : stack_connect(which);
    int s = settings.path == PATH_LWIP ? lwip_path_open() : 0;
    /* The link is up by then. */
    vTaskDelay(2);
    for (uint32_t number = 0;; number++) {
        put_number(datagram, number);
        if (settings.path == PATH_WAITING)
            stack_send_waiting(connection, datagram, DATAGRAM_BYTES);
        else if (settings.path == PATH_BUFFERED)
            stack_send_buffered(connection, datagram, DATAGRAM_BYTES);
        else
            lwip_path_send(s, datagram, DATAGRAM_BYTES);
    }
}

/* The time in which the processor waits for the line. */
static uint8_t *__attribute__((noinline)) wait_for_ring(void)
{
    uint8_t *frame;
    while ((frame = ring_buffer()) == NULL)
        ;
    return frame;
}

/* Frames that are built once; only the number changes. UDP permits a checksum of 0. */
static void blaster(void *unused)
{
    (void)unused;
    neighbour_start();
    for (int i = 0; i < RING_FRAMES; i++) {
        uint8_t *frame = ring_frame(i);
        frame_build_ip(frame, 6184, PEER_ADDRESS, PEER_PORT, DATAGRAM_BYTES);
        frame_build_ethernet(frame, PEER_ADDRESS);
        frame[40] = frame[41] = 0;
    }
    ring_start(own_mac, false);
    vTaskDelay(2);
    for (uint32_t number = 0;; number++) {
        put_number(wait_for_ring() + FRAME_HEADERS, number);
        ring_submit(FRAME_HEADERS + DATAGRAM_BYTES);
    }
}

static void start_senders(void)
{
    for (uint32_t i = 0; i < settings.senders; i++)
        xTaskCreate(sender, "sender", 1024, (void *)(uintptr_t)i, SENDER_PRIORITY, NULL);
}

int main(void)
{
    board_hertz = settings.timer_hertz;
    log_start(settings.uart_divider);
    if (settings.path == PATH_RING) {
        xTaskCreate(blaster, "blaster", 1024, NULL, SENDER_PRIORITY, NULL);
    } else if (settings.path == PATH_LWIP) {
        lwip_path_start(start_senders);
    } else {
        worker_start(settings.worker_priority);
        stack_start();
        start_senders();
    }
    vTaskStartScheduler();
    return 0;
}
