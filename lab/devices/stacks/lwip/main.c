/*
 * A device with lwIP: the unix port's TAP interface (the one that PRECONFIGURED_TAPIF names). Arguments are key=value.
 *
 *   role             lwiperf, lwiperf-client, httpd, tftpd, tftpc, mqtt, echo (those of lwIP); sink, source, answer, ask, fetch, stream, take
 *   ip gate peer     addresses; port
 *   octets           of a file or a transfer; chunk every pause ms (source, stream, mqtt, ask), think ms before an answer
 *   request answer   octets of an exchange; count of them; split: octets that are written first; nodelay=1: no Nagle
 *   flash stops      after each `flash` octets written it erases for `stops` ms; stack=1: the whole device stands still meanwhile
 *   works stops      the whole device stands still at intervals
 *   frame_us         it takes so long for each frame
 *   wakes after      it sleeps when idle for `after` ms, and looks for frames only each `wakes` ms
 */
#include "device.h"
#include "lwip/dns.h"
#include "lwip/init.h"
#include "lwip/timeouts.h"
#include "netif/ethernet.h"
#include "netif/tapif.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

struct settings set;

unsigned int lwip_port_rand(void) { return (unsigned int)random(); }

u32_t sys_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (u32_t)(now.tv_sec * 1000 + now.tv_nsec / 1000000);
}

u32_t sys_jiffies(void) { return sys_now(); }

int is(const char *role) { return !strcmp(set.role, role); }

void stand_still(int ms) { usleep((useconds_t)ms * 1000); }

int erase_due(long octets)
{
    static long written;
    if (!set.flash) {
        return 0;
    }
    long before = written / set.flash;
    written += octets;
    int ms = (int)(written / set.flash - before) * set.stops;
    if (ms && set.stack) {
        stand_still(ms);
        return 0;
    }
    return ms;
}

static const char *value(int n, char **arguments, const char *key, const char *otherwise)
{
    size_t length = strlen(key);
    for (int i = 1; i < n; i++) {
        if (!strncmp(arguments[i], key, length) && arguments[i][length] == '=') {
            return arguments[i] + length + 1;
        }
    }
    return otherwise;
}

/* The timer of the loop: without one, the interface would be waited for without end. A device that sleeps looks, and sleeps again. */
static void again(void *argument)
{
    sys_timeout(set.wakes ? 2 : 1000, again, argument);
}

int main(int n, char **arguments)
{
    struct netif netif;
    struct { const char *key; int *to; } numbers[] = {
        {"port", &set.port}, {"request", &set.request}, {"answer", &set.answer}, {"chunk", &set.chunk}, {"pause", &set.pause},
        {"think", &set.think}, {"count", &set.count}, {"nodelay", &set.nodelay}, {"split", &set.split}, {"works", &set.works},
        {"stops", &set.stops}, {"frame_us", &set.frame_us}, {"wakes", &set.wakes}, {"after", &set.after}, {"seconds", &set.seconds},
        {"stack", &set.stack}};
    prctl(PR_SET_TIMERSLACK, 1);
    srandom((unsigned)time(NULL) ^ (unsigned)getpid());
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        *numbers[i].to = atoi(value(n, arguments, numbers[i].key, "0"));
    }
    set.role = value(n, arguments, "role", "echo");
    set.octets = atol(value(n, arguments, "octets", "100000"));
    set.flash = atol(value(n, arguments, "flash", "0"));
    ipaddr_aton(value(n, arguments, "ip", "10.0.0.2"), &set.ip);
    ipaddr_aton(value(n, arguments, "mask", "255.255.255.0"), &set.mask);
    ipaddr_aton(value(n, arguments, "gate", "10.0.0.1"), &set.gate);
    ipaddr_aton(value(n, arguments, "peer", "10.0.0.1"), &set.peer);
    lwip_init();
    netif_add(&netif, ip_2_ip4(&set.ip), ip_2_ip4(&set.mask), ip_2_ip4(&set.gate), NULL, tapif_init, ethernet_input);
    netif_set_default(&netif);
    netif_set_up(&netif);
    dns_setserver(0, &set.peer);
    again(NULL);
    begin_servers();
    begin_applications();
    u32_t begun = sys_now(), last = begun;
    for (;;) {
        if (set.wakes && sys_now() - last > (u32_t)set.after) {
            stand_still(set.wakes - (int)(sys_now() % (u32_t)set.wakes));
        }
        if (set.works && !set.flash && sys_now() - begun > (u32_t)set.works) {
            stand_still(set.stops);
            begun = sys_now();
        }
        if (tapif_select(&netif) > 0) {
            last = sys_now();
            if (set.frame_us) {
                usleep((useconds_t)set.frame_us);
            }
        }
        sys_check_timeouts();
    }
}
