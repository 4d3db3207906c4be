/* The interface of a device, with what its processor does before it takes a frame. */
#include "device.h"

#include <fcntl.h>
#include <net/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int open_tap(void)
{
    struct ifreq name = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    strncpy(name.ifr_name, word("tap", "tap0"), IFNAMSIZ - 1);
    int tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    if (tap < 0 || ioctl(tap, TUNSETIFF, &name) < 0) {
        perror("tap");
        exit(1);
    }
    return tap;
}

static int is_readable(int tap, int most_ms)
{
    struct pollfd wait = {.fd = tap, .events = POLLIN};
    return poll(&wait, 1, most_ms) > 0;
}

/* A device that sleeps when idle for `after` ms looks for frames only each `wakes` ms. */
static void sleep_if_idle(uint32_t last)
{
    uint32_t wakes = (uint32_t)number("wakes", 0);
    if (wakes && now_ms() - last > (uint32_t)number("after", 0)) {
        usleep((useconds_t)(wakes - now_ms() % wakes) * 1000);
    }
}

int wait_for_frame(int tap, int most_ms)
{
    static uint32_t last;
    sleep_if_idle(last);
    if (!is_readable(tap, most_ms)) {
        return 0;
    }
    last = now_ms();
    return 1;
}

int read_frame(int tap, void *frame, int size)
{
    int got = (int)read(tap, frame, (size_t)size);
    if (got > 0 && number("frame_us", 0)) {
        usleep((useconds_t)number("frame_us", 0));
    }
    return got > 0 ? got : 0;
}

/* A driver that reuses a buffer too early: in each `spoils`-th long frame, octets that the checksum covers are others. */
static void spoil(void *frame, int size)
{
    static long sent;
    if (size > 600 && ++sent % number("spoils", 0) == 0) {
        memset((char *)frame + size - 40, '!', 4);
    }
}

void write_frame(int tap, void *frame, int size)
{
    if (number("spoils", 0)) {
        spoil(frame, size);
    }
    if (write(tap, frame, (size_t)size) < 0) {
        perror("tap");
    }
}
