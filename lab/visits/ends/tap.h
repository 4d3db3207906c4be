/* TAP interfaces, time, settings. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static int argc_;
static char **argv_;

static inline const char *text(const char *key, const char *other) {
    size_t n = strlen(key);
    for (int i = 1; i < argc_; i++)
        if (!strncmp(argv_[i], key, n) && argv_[i][n] == '=') return argv_[i] + n + 1;
    return other;
}
static inline double number(const char *key, double other) { const char *it = text(key, NULL); return it ? atof(it) : other; }
static inline int64_t now_us(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000; }

/* A TAP interface in a namespace of `ip netns`. */
static inline int tap(const char *space, const char *name) {
    char path[64];
    snprintf(path, sizeof path, "/run/netns/%s", space);
    int ns = open(path, O_RDONLY);
    if (ns < 0 || setns(ns, CLONE_NEWNET)) { perror(path); exit(1); }
    close(ns);
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    if (fd < 0) { perror("tun"); exit(1); }
    struct ifreq it = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    strncpy(it.ifr_name, name, IFNAMSIZ - 1);
    if (ioctl(fd, TUNSETIFF, &it)) { perror(name); exit(1); }
    return fd;
}
static inline void wait_until(struct pollfd *fds, int n, int64_t until) {
    int64_t left = until < 0 ? 3600000000 : until - now_us();
    if (left < 0) left = 0;
    struct timespec t = {left / 1000000, left % 1000000 * 1000};
    ppoll(fds, n, &t, NULL);
}
