/* See board.h: the port of CycloneTCP to no system, its interface, and what a program may do. */
#include "board.h"

#include <stdlib.h>

#include "core/net.h"
#include "core/socket.h"

static NetContext net;
static NetInterface interface;
static uint32_t now;
static void *whose;
static void (*transmit)(void *whose, const uint8_t *frame, size_t octets);
static Socket *sockets[64];
static int count;

/* ---- the system: none */

const OsTaskParameters OS_TASK_DEFAULT_PARAMS;
volatile systime_t systemTicks;

void osInitKernel(void) {}
void osStartKernel(void) {}
OsTaskId osCreateTask(const char_t *name, OsTaskCode code, void *arg, const OsTaskParameters *params) { return 1; }
void osDeleteTask(OsTaskId task) {}
void osDelayTask(systime_t delay) {}
void osSwitchTask(void) {}
void osSuspendAllTasks(void) {}
void osResumeAllTasks(void) {}
bool_t osCreateEvent(OsEvent *event) { *event = FALSE; return TRUE; }
void osDeleteEvent(OsEvent *event) {}
void osSetEvent(OsEvent *event) { *event = TRUE; }
void osResetEvent(OsEvent *event) { *event = FALSE; }
bool_t osWaitForEvent(OsEvent *event, systime_t timeout) { bool_t was = *event; *event = FALSE; return was; }
bool_t osSetEventFromIsr(OsEvent *event) { *event = TRUE; return FALSE; }
bool_t osCreateSemaphore(OsSemaphore *semaphore, uint_t number) { *semaphore = number; return TRUE; }
void osDeleteSemaphore(OsSemaphore *semaphore) {}
bool_t osWaitForSemaphore(OsSemaphore *semaphore, systime_t timeout) { return *semaphore ? (*semaphore)--, TRUE : FALSE; }
void osReleaseSemaphore(OsSemaphore *semaphore) { (*semaphore)++; }
bool_t osCreateMutex(OsMutex *mutex) { return TRUE; }
void osDeleteMutex(OsMutex *mutex) {}
void osAcquireMutex(OsMutex *mutex) {}
void osReleaseMutex(OsMutex *mutex) {}
systime_t osGetSystemTime(void) { return now; }
void *osAllocMem(size_t size) { return malloc(size); }
void osFreeMem(void *p) { free(p); }

/* ---- the interface */

static error_t nic_init(NetInterface *it) { it->phyEvent = FALSE; osSetEvent(&it->nicTxEvent); return NO_ERROR; }
static void nic_none(NetInterface *it) {}
static error_t nic_filter(NetInterface *it) { return NO_ERROR; }

static error_t nic_send(NetInterface *it, const NetBuffer *buffer, size_t offset, NetTxAncillary *ancillary)
{
    static uint8_t frame[1600];
    size_t octets = netBufferGetLength(buffer) - offset;
    if (octets > sizeof frame) {
        return ERROR_INVALID_LENGTH;
    }
    netBufferRead(frame, buffer, offset, octets);
    osSetEvent(&it->nicTxEvent);
    transmit(whose, frame, octets);
    return NO_ERROR;
}

static const NicDriver driver = {NIC_TYPE_ETHERNET, ETH_MTU, nic_init, nic_none, nic_none, nic_none, nic_none, nic_send, nic_filter,
                                 NULL, NULL, NULL, TRUE, TRUE, TRUE, TRUE};

/* ---- what board.h has */

static void start(void *owner, void (*send)(void *, const uint8_t *, size_t), const uint8_t mac[6], const char *address, const char *mask,
                  const char *gate, uint32_t seed)
{
    NetSettings settings;
    Ipv4Addr addr;
    MacAddr own;
    uint8_t seeds[32];
    whose = owner;
    transmit = send;
    netGetDefaultSettings(&settings);
    settings.interfaces = &interface;
    settings.numInterfaces = 1;
    netInit(&net, &settings);
    for (int i = 0; i < 32; i++) {
        seeds[i] = (uint8_t)(seed >> i % 4 * 8) ^ (uint8_t)(i * 37);
    }
    netSeedRand(&net, seeds, sizeof seeds);
    netStart(&net);
    NetInterface *it = &net.interfaces[0];
    netSetInterfaceName(it, "eth0");
    memcpy(&own, mac, 6);
    netSetMacAddr(it, &own);
    netSetDriver(it, &driver);
    netConfigInterface(it);
    ipv4StringToAddr(address, &addr);
    ipv4SetHostAddr(it, addr);
    ipv4StringToAddr(mask, &addr);
    ipv4SetSubnetMask(it, addr);
    ipv4StringToAddr(gate, &addr);
    ipv4SetDefaultGateway(it, addr);
    it->linkState = TRUE;
    nicNotifyLinkChange(it);
}

static void tick(uint32_t ms)
{
    now = ms;
    if (transmit) {
        netTask(&net);
    }
}

static void take(const uint8_t *frame, size_t octets)
{
    static uint8_t copy[1600];
    NetRxAncillary ancillary = NET_DEFAULT_RX_ANCILLARY;
    memcpy(copy, frame, octets);
    nicProcessPacket(&net.interfaces[0], copy, octets, &ancillary);
    netTask(&net);
}

static int new_socket(unsigned mss, unsigned sends, unsigned receives)
{
    Socket *it = socketOpenEx(&net, SOCKET_TYPE_STREAM, SOCKET_IP_PROTO_TCP);
    if (it == NULL || count == 64) {
        return -1;
    }
    socketSetTimeout(it, 0);
    socketSetMaxSegmentSize(it, mss);
    socketSetTxBufferSize(it, sends);
    socketSetRxBufferSize(it, receives);
    sockets[count] = it;
    return count++;
}

static int listen_at(uint16_t port, unsigned mss, unsigned sends, unsigned receives)
{
    int it = new_socket(mss, sends, receives);
    if (it < 0 || socketBind(sockets[it], &IP_ADDR_ANY, port) || socketListen(sockets[it], 4)) {
        return -1;
    }
    return it;
}

static int accept_one(int listener)
{
    Socket *it = count < 64 ? socketAccept(sockets[listener], NULL, NULL) : NULL;
    if (it == NULL) {
        return -1;
    }
    socketSetTimeout(it, 0);
    sockets[count] = it;
    return count++;
}

static int connect_to(const char *address, uint16_t port, unsigned mss, unsigned sends, unsigned receives)
{
    IpAddr to;
    int it = new_socket(mss, sends, receives);
    if (it >= 0) {
        ipStringToAddr(address, &to);
        socketConnect(sockets[it], &to, port);
    }
    return it;
}

static int is_open(int it)
{
    return sockets[it]->state == TCP_STATE_ESTABLISHED || sockets[it]->state == TCP_STATE_CLOSE_WAIT;
}

static int write_to(int it, const void *data, unsigned octets, int no_delay)
{
    size_t written = 0;
    socketSend(sockets[it], data, octets, &written, no_delay ? SOCKET_FLAG_NO_DELAY : 0);
    return (int)written;
}

static int read_from(int it, void *data, unsigned octets)
{
    size_t got = 0;
    error_t error = socketReceive(sockets[it], data, octets, &got, 0);
    return got ? (int)got : error == ERROR_TIMEOUT ? 0 : -1;
}

static void close_it(int it) { socketShutdown(sockets[it], SOCKET_SD_SEND); }

const struct board_functions board = {start, tick, take, listen_at, accept_one, connect_to, is_open, write_to, read_from, close_it};
