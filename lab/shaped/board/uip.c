/* A board: uIP as it comes, on a TAP interface. Arguments: interface, address, gateway, source or sink, key=value (octets, lasts). */

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "uip.h"
#include "uip_arp.h"

static int tap, is_source;
static unsigned long octets, sent, got;
static char data[1500];

static volatile sig_atomic_t is_over;

static void end(int number) { is_over = 1; }

static double now(void) {
    struct timespec it;
    clock_gettime(CLOCK_MONOTONIC, &it);
    return it.tv_sec + it.tv_nsec * 1e-9;
}

static void next(void) {
    unsigned long size = octets < (unsigned long)uip_mss() ? octets : (unsigned long)uip_mss();
    uip_conn->appstate.last = size;
    if (size) uip_send(data, size);
    else uip_close();
}

void board(void) {
    if (uip_newdata()) got += uip_datalen();
    if (!is_source) return;
    if (uip_acked()) octets -= uip_conn->appstate.last, sent += uip_conn->appstate.last, uip_conn->appstate.last = 0;
    if (uip_rexmit()) next();
    else if ((uip_connected() || uip_acked()) && !uip_conn->appstate.last) next();
}

void uip_log(char *text) {}

static void out(void) {
    if (write(tap, uip_buf, uip_len) < 0) return;
}

int main(int argc, char **argv) {
    struct ifreq wanted = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    struct uip_eth_addr hardware = {{2, 0x80, 0xe1, 0, 0x42, 0}};
    unsigned a[4], g[4];
    uip_ipaddr_t it;
    double lasts = 60;
    for (int i = 5; i < argc; i++) {
        if (!strncmp(argv[i], "octets=", 7)) octets = atol(argv[i] + 7);
        if (!strncmp(argv[i], "lasts=", 6)) lasts = atof(argv[i] + 6);
    }
    signal(SIGTERM, end);
    is_source = !strcmp(argv[4], "source");
    strncpy(wanted.ifr_name, argv[1], IFNAMSIZ - 1);
    if ((tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK)) < 0 || ioctl(tap, TUNSETIFF, &wanted)) return perror("tap"), 1;
    sscanf(argv[2], "%u.%u.%u.%u", a, a + 1, a + 2, a + 3), sscanf(argv[3], "%u.%u.%u.%u", g, g + 1, g + 2, g + 3);
    hardware.addr[5] = a[3];
    uip_setethaddr(hardware);
    uip_init();
    uip_arp_init();
    uip_ipaddr(it, a[0], a[1], a[2], a[3]);
    uip_sethostaddr(it);
    uip_ipaddr(it, g[0], g[1], g[2], g[3]);
    uip_setdraddr(it);
    uip_ipaddr(it, 255, 255, 255, 0);
    uip_setnetmask(it);
    uip_listen(HTONS(7000));
    double began = now(), periodic = began + 0.5;
    while (!is_over && now() < began + lasts) {
        struct pollfd one = {.fd = tap, .events = POLLIN};
        poll(&one, 1, 5);
        ssize_t length;
        while ((length = read(tap, uip_buf, UIP_BUFSIZE)) > 0) {
            uip_len = length;
            unsigned type = uip_buf[12] << 8 | uip_buf[13];
            if (type == UIP_ETHTYPE_IP) {
                uip_arp_ipin();
                uip_input();
                if (uip_len > 0) uip_arp_out(), out();
            } else if (type == UIP_ETHTYPE_ARP) {
                uip_arp_arpin();
                if (uip_len > 0) out();
            }
        }
        if (now() >= periodic) {
            periodic += 0.5;
            for (int i = 0; i < UIP_CONNS; i++) {
                uip_periodic(i);
                if (uip_len > 0) uip_arp_out(), out();
            }
        }
    }
    printf("{\"read\": %lu, \"sent\": %lu}\n", got, sent);
    return 0;
}
