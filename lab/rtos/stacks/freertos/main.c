/* A device with FreeRTOS+TCP: its interface, its sockets, its tasks. `receive` and `send` are buffers in octets, `window` and
   `window_out` those in segments that the stack uses of them. */
#include "device.h"

#include "FreeRTOS.h"
#include "FreeRTOS_IP.h"
#include "FreeRTOS_IP_Private.h"
#include "FreeRTOS_Routing.h"
#include "FreeRTOS_Sockets.h"
#include "NetworkBufferManagement.h"
#include "task.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void count_ticks(void);

static int tap;
static NetworkInterface_t interface;
static NetworkEndPoint_t endpoint;
static struct freertos_sockaddr last;

static BaseType_t initialise(NetworkInterface_t *it) { return it != NULL; }

static BaseType_t is_up(NetworkInterface_t *it) { return it != NULL; }

static BaseType_t output(NetworkInterface_t *it, NetworkBufferDescriptor_t *const buffer, BaseType_t is_released)
{
    (void)it;
    write_frame(tap, buffer->pucEthernetBuffer, (int)buffer->xDataLength);
    if (is_released) {
        vReleaseNetworkBufferAndDescriptor(buffer);
    }
    return pdTRUE;
}

/* One frame, to the task of the stack. */
static int input(void)
{
    static uint8_t frame[1600];
    int size = read_frame(tap, frame, sizeof frame);
    if (size <= 0) {
        return 0;
    }
    NetworkBufferDescriptor_t *buffer = NULL;
    if (eConsiderFrameForProcessing(frame) == eProcessBuffer) {
        buffer = pxGetNetworkBufferWithDescriptor((size_t)size, 0);
    }
    if (buffer) {
        memcpy(buffer->pucEthernetBuffer, frame, (size_t)size);
        buffer->xDataLength = (size_t)size;
        buffer->pxInterface = &interface;
        buffer->pxEndPoint = FreeRTOS_MatchingEndpoint(&interface, buffer->pucEthernetBuffer);
        IPStackEvent_t event = {.eEventType = eNetworkRxEvent, .pvData = buffer};
        if (!buffer->pxEndPoint || xSendEventStructToIPTask(&event, 0) == pdFAIL) {
            vReleaseNetworkBufferAndDescriptor(buffer);
        }
    }
    return 1;
}

/* The idle task waits for a frame, until the next tick at most. */
void vApplicationIdleHook(void)
{
    if (wait_for_frame(tap, 1)) {
        input();
    }
    count_ticks();
}

void rest(int ms)
{
    if (ms > 0) {
        vTaskDelay(pdMS_TO_TICKS(ms));
    }
}

void stand_still(int ms) { usleep((useconds_t)ms * 1000); }

static void set_buffers(Socket_t it)
{
    WinProperties_t wanted = {.lTxBufSize = (int32_t)number("send", 11680), .lTxWinSize = (int32_t)number("window_out", 8),
                              .lRxBufSize = (int32_t)number("receive", 11680), .lRxWinSize = (int32_t)number("window", 8)};
    FreeRTOS_setsockopt(it, 0, FREERTOS_SO_WIN_PROPERTIES, &wanted, sizeof wanted);
}

static Socket_t open_tcp(void)
{
    TickType_t patience = pdMS_TO_TICKS(30000);
    Socket_t it = FreeRTOS_socket(FREERTOS_AF_INET, FREERTOS_SOCK_STREAM, FREERTOS_IPPROTO_TCP);
    FreeRTOS_setsockopt(it, 0, FREERTOS_SO_RCVTIMEO, &patience, sizeof patience);
    FreeRTOS_setsockopt(it, 0, FREERTOS_SO_SNDTIMEO, &patience, sizeof patience);
    set_buffers(it);
    return it;
}

static struct freertos_sockaddr at(uint32_t ip, int port)
{
    struct freertos_sockaddr it = {.sin_len = sizeof it, .sin_family = FREERTOS_AF_INET, .sin_port = FreeRTOS_htons((uint16_t)port)};
    it.sin_address.ulIP_IPv4 = ip;
    return it;
}

handle stream_listen(int port)
{
    Socket_t it = open_tcp();
    struct freertos_sockaddr own = at(0, port);
    FreeRTOS_bind(it, &own, sizeof own);
    FreeRTOS_listen(it, 6);
    return (handle)it;
}

handle stream_accept(handle listening)
{
    socklen_t size = sizeof last;
    Socket_t it = FreeRTOS_accept((Socket_t)listening, &last, &size);
    return it == NULL || it == FREERTOS_INVALID_SOCKET ? -1 : (handle)it;
}

handle stream_connect(int port)
{
    Socket_t it = open_tcp();
    struct freertos_sockaddr to = at(address("peer"), port);
    return FreeRTOS_connect(it, &to, sizeof to) ? -1 : (handle)it;
}

int stream_send(handle it, const void *octets, int size) { return (int)FreeRTOS_send((Socket_t)it, octets, (size_t)size, 0); }

int stream_receive(handle it, void *octets, int size) { return (int)FreeRTOS_recv((Socket_t)it, octets, (size_t)size, 0); }

void stream_no_delay(handle it) { (void)it; }

void stream_whole_segments(handle it, int on)
{
    BaseType_t wanted = on;
    FreeRTOS_setsockopt((Socket_t)it, 0, FREERTOS_SO_SET_FULL_SIZE, &wanted, sizeof wanted);
}

void stream_close(handle it)
{
    static char rest_of_it[512];
    FreeRTOS_shutdown((Socket_t)it, FREERTOS_SHUT_RDWR);
    while (FreeRTOS_recv((Socket_t)it, rest_of_it, sizeof rest_of_it, 0) >= 0) {
    }
    FreeRTOS_closesocket((Socket_t)it);
}

handle datagram_open(int port)
{
    Socket_t it = FreeRTOS_socket(FREERTOS_AF_INET, FREERTOS_SOCK_DGRAM, FREERTOS_IPPROTO_UDP);
    struct freertos_sockaddr own = at(0, port);
    FreeRTOS_bind(it, port ? &own : NULL, sizeof own);
    return (handle)it;
}

int datagram_send(handle it, const void *octets, int size, int port)
{
    struct freertos_sockaddr to = at(address("peer"), port);
    return (int)FreeRTOS_sendto((Socket_t)it, octets, (size_t)size, 0, &to, sizeof to);
}

int datagram_receive(handle it, void *octets, int size, int patience_ms)
{
    TickType_t patience = pdMS_TO_TICKS(patience_ms);
    socklen_t from = sizeof last;
    FreeRTOS_setsockopt((Socket_t)it, 0, FREERTOS_SO_RCVTIMEO, &patience, sizeof patience);
    int got = (int)FreeRTOS_recvfrom((Socket_t)it, octets, (size_t)size, 0, &last, &from);
    return got > 0 ? got : 0;
}

int datagram_answer(handle it, const void *octets, int size) { return (int)FreeRTOS_sendto((Socket_t)it, octets, (size_t)size, 0, &last, sizeof last); }

static void program(void *parameters)
{
    (void)parameters;
    run_programs();
    exit(0);
}

void vApplicationIPNetworkEventHook_Multi(eIPCallbackEvent_t event, struct xNetworkEndPoint *it)
{
    static int is_begun;
    (void)it;
    if (event == eNetworkUp && !is_begun++) {
        xTaskCreate(program, "program", configMINIMAL_STACK_SIZE, NULL, 2, NULL);
    }
}

BaseType_t xApplicationGetRandomNumber(uint32_t *to)
{
    *to = (uint32_t)random() * 2654435761U;
    return pdTRUE;
}

uint32_t ulApplicationGetNextSequenceNumber(uint32_t source, uint16_t port, uint32_t destination, uint16_t to)
{
    (void)source, (void)port, (void)destination, (void)to;
    return (uint32_t)random() * 2654435761U;
}

int main(int count, char **words)
{
    static const uint8_t mac[6] = {2, 0x46, 0x52, 0x54, 0, 1}, mask[4] = {255, 255, 255, 0};
    uint32_t ip, gate;
    read_words(count, words);
    srandom((unsigned)now_ms() ^ (unsigned)getpid());
    ip = address("ip"), gate = address("gate");
    tap = open_tap();
    interface = (NetworkInterface_t){.pcName = "tap", .pfInitialise = initialise, .pfOutput = output, .pfGetPhyLinkStatus = is_up};
    FreeRTOS_AddNetworkInterface(&interface);
    FreeRTOS_FillEndPoint(&interface, &endpoint, (uint8_t *)&ip, mask, (uint8_t *)&gate, (uint8_t *)&gate, mac);
    FreeRTOS_IPInit_Multi();
    vTaskStartScheduler();
    return 0;
}
