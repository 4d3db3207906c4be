/*
 * A device with uIP: its web server at port 80, with a file of `octets`, and at `port` a program that reads, or that answers each
 * `request` octets by `answer`. Arguments are key=value: ip, gate, tap, port, octets, request, answer.
 */
#include "timer.h"
#include "uip.h"

#include "httpd-fs.h"
#include "uip_arp.h"

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static int tap, port, request, answer;
static long octets;
static char *body;
static long left, got, in_flight;

clock_time_t clock_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (clock_time_t)(now.tv_sec * 1000 + now.tv_nsec / 1000000);
}

void httpd_fs_init(void) {}

u16_t httpd_fs_count(char *name) { return (u16_t)(name != NULL); }

int httpd_fs_open(const char *name, struct httpd_fs_file *file)
{
    (void)name;
    file->data = body;
    file->len = (int)octets;
    return 1;
}

void device_appcall(void)
{
    if (uip_conn->lport == htons(80)) {
        httpd_appcall();
        return;
    }
    if (uip_connected()) {
        left = got = in_flight = 0;
    }
    if (uip_acked()) {
        left -= in_flight;
    }
    if (uip_newdata()) {
        got += uip_datalen();
        if (request && got >= request) {
            got -= request;
            left += answer;
        }
    }
    if (left > 0 && (uip_acked() || uip_newdata() || uip_rexmit())) {
        in_flight = left < uip_mss() ? left : uip_mss();
        uip_send(body, (int)in_flight);
    }
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

static void address(const char *text, u16_t *to)
{
    unsigned p[4] = {0};
    sscanf(text, "%u.%u.%u.%u", p, p + 1, p + 2, p + 3);
    uip_ipaddr(to, p[0], p[1], p[2], p[3]);
}

static void transmit(void)
{
    if (uip_len > 0 && write(tap, uip_buf, uip_len) < 0) {
        perror("tap");
    }
}

static void receive(void)
{
    struct uip_eth_hdr *head = (struct uip_eth_hdr *)uip_buf;
    ssize_t length = read(tap, uip_buf, UIP_BUFSIZE);
    uip_len = length > 0 ? (u16_t)length : 0;
    if (!uip_len) {
        return;
    }
    if (head->type == htons(UIP_ETHTYPE_IP)) {
        uip_arp_ipin();
        uip_input();
        if (uip_len > 0) {
            uip_arp_out();
            transmit();
        }
    } else if (head->type == htons(UIP_ETHTYPE_ARP)) {
        uip_arp_arpin();
        transmit();
    }
}

int main(int n, char **arguments)
{
    struct timer periodic;
    struct ifreq name = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    struct uip_eth_addr mac = {{2, 0x75, 0x49, 0x50, 0, 1}};
    uip_ipaddr_t ip;
    strncpy(name.ifr_name, value(n, arguments, "tap", "tap0"), IFNAMSIZ - 1);
    tap = open("/dev/net/tun", O_RDWR);
    if (tap < 0 || ioctl(tap, TUNSETIFF, &name) < 0) {
        perror("tap");
        return 1;
    }
    octets = atol(value(n, arguments, "octets", "40000"));
    port = atoi(value(n, arguments, "port", "7"));
    request = atoi(value(n, arguments, "request", "0"));
    answer = atoi(value(n, arguments, "answer", "0"));
    body = malloc((size_t)octets + 2000);
    memset(body, 'u', (size_t)octets + 2000);
    uip_init();
    uip_setethaddr(mac);
    address(value(n, arguments, "ip", "10.0.0.2"), ip);
    uip_sethostaddr(ip);
    address(value(n, arguments, "gate", "10.0.0.1"), ip);
    uip_setdraddr(ip);
    address("255.255.255.0", ip);
    uip_setnetmask(ip);
    httpd_init();
    uip_listen(htons((u16_t)port));
    timer_set(&periodic, 500);
    for (;;) {
        struct pollfd wait = {.fd = tap, .events = POLLIN};
        if (poll(&wait, 1, 20) > 0) {
            receive();
        }
        if (timer_expired(&periodic)) {
            timer_reset(&periodic);
            for (int i = 0; i < UIP_CONNS; i++) {
                uip_periodic(i);
                if (uip_len > 0) {
                    uip_arp_out();
                    transmit();
                }
            }
        }
    }
}
