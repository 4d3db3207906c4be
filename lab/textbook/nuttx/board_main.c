/* The program of a board with NuttX: reads what it shall do from board.txt in the simulator's folder, then sends, receives,
 * asks or answers over TCP as lab/textbook's other ends do. */

#include <nuttx/config.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "netutils/netlib.h"

static char words[1024];
static uint8_t data[65536];

static const char *word(const char *key, const char *otherwise)
{
  static char found[4][64];
  static int turn;
  char sought[32];
  snprintf(sought, sizeof(sought), "%s=", key);
  for (char *at = strstr(words, sought); at; at = strstr(at + 1, sought)) {
    if (at != words && at[-1] != ' ') continue;
    char *to = found[turn++ & 3];
    at += strlen(sought);
    size_t octets = strcspn(at, " \n");
    memcpy(to, at, octets);
    to[octets] = 0;
    return to;
  }
  return otherwise;
}

static long number(const char *key, long otherwise)
{
  const char *text = word(key, NULL);
  return text ? atol(text) : otherwise;
}

static long now(void) /* in ms */
{
  struct timespec it;
  clock_gettime(CLOCK_MONOTONIC, &it);
  return it.tv_sec * 1000 + it.tv_nsec / 1000000;
}

static void rest(long ms)
{
  if (ms > 0) usleep(ms * 1000);
}

static int opened(void)
{
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(number("port", 5201))};
  int file = socket(AF_INET, SOCK_STREAM, 0), one = 1;
  int received = number("rcvbuf", 0), sent = number("sndbuf", 0);
  if (received) setsockopt(file, SOL_SOCKET, SO_RCVBUF, &received, sizeof(received));
  if (sent) setsockopt(file, SOL_SOCKET, SO_SNDBUF, &sent, sizeof(sent));
  if (number("listens", 0)) {
    to.sin_addr.s_addr = INADDR_ANY;
    setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(file, (struct sockaddr *)&to, sizeof(to)) || listen(file, 4)) printf("listen: %d\n", errno);
    file = accept(file, NULL, NULL);
  } else {
    inet_pton(AF_INET, word("host", ""), &to.sin_addr);
    rest(number("wait", 1500));
    if (connect(file, (struct sockaddr *)&to, sizeof(to))) printf("connect: %d\n", errno);
  }
  if (number("nodelay", 0)) setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
  return file;
}

static int all(int file, size_t octets)
{
  for (size_t at = 0; at < octets;) {
    ssize_t part = send(file, data + at, octets - at, 0);
    if (part <= 0) return -1;
    at += part;
  }
  return 0;
}

static int taken(int file, size_t octets)
{
  for (size_t at = 0; at < octets;) {
    ssize_t part = recv(file, data, octets - at < sizeof(data) ? octets - at : sizeof(data), 0);
    if (part <= 0) return -1;
    at += part;
  }
  return 0;
}

static void source(int file)
{
  long octets = number("octets", 100000), size = number("write", 1460), every = number("every", 0), since = 0, sent = 0;
  long begun = now();
  while (sent < octets) {
    long part = octets - sent < size ? octets - sent : size;
    if (all(file, part)) break;
    sent += part;
    since += part;
    if (every && since >= every) {
      since = 0;
      rest(number("pause", 0));
    }
  }
  printf("{\"sent\": %ld, \"ms\": %ld}\n", sent, now() - begun);
  shutdown(file, SHUT_WR);
  close(file);
}

static void sink(int file)
{
  long size = number("chunk", 4096), every = number("every", 0), since = 0, got = 0;
  long begun = now();
  for (;;) {
    ssize_t part = recv(file, data, size, 0);
    if (part <= 0) break;
    got += part;
    since += part;
    if (every && since >= every) {
      since = 0;
      rest(number("pause", 0));
    }
  }
  printf("{\"read\": %ld, \"ms\": %ld}\n", got, now() - begun);
  close(file);
}

static void answers(int file)
{
  uint32_t head[3];
  long count = 0;
  while (taken(file, 12) == 0) {
    memcpy(head, data, 12);
    if (taken(file, ntohl(head[0]))) break;
    rest(ntohl(head[2]));
    if (all(file, ntohl(head[1]))) break;
    count++;
  }
  printf("{\"served\": %ld}\n", count);
  close(file);
}

static void ask(int file)
{
  long count = number("count", 20), size = number("size", 40), answer = number("answer", 100), split = number("split", 1), done = 0;
  long begun = now();
  for (; done < count; done++) {
    uint32_t head[3] = {htonl(size - 12), htonl(answer), 0};
    memcpy(data, head, 12);
    if (split > 1) {
      if (all(file, 12)) break;
      if (all(file, size - 12)) break;
    } else if (all(file, size)) break;
    if (taken(file, answer)) break;
    rest(number("think", 0));
  }
  printf("{\"answered\": %ld, \"ms\": %ld}\n", done, now() - begun);
  close(file);
}

int main(int argc, char *argv[])
{
  struct in_addr it;
  mkdir("/host", 0777);
  int mounted = mount(NULL, "/host", "hostfs", 0, "fs=.");
  int file = open("/host/board.txt", O_RDONLY);
  if (mounted || file < 0 || read(file, words, sizeof(words) - 1) <= 0) printf("no board.txt: %d %d\n", mounted, errno);
  close(file);
  uint8_t mac[6] = {0x42, 0xe1, 0xc4, 0x3f, number("seed", 1) >> 8, number("seed", 1)};
  netlib_setmacaddr("eth0", mac);
  inet_pton(AF_INET, word("address", ""), &it);
  netlib_set_ipv4addr("eth0", &it);
  inet_pton(AF_INET, word("gateway", ""), &it);
  if (it.s_addr) netlib_set_dripv4addr("eth0", &it);
  inet_pton(AF_INET, "255.255.255.0", &it);
  netlib_set_ipv4netmask("eth0", &it);
  if (number("mtu", 0)) netlib_set_mtu("eth0", number("mtu", 0));
  netlib_ifup("eth0");
  printf("board ready\n");
  fflush(stdout);
  file = opened();
  const char *does = word("does", "");
  if (!strcmp(does, "source")) source(file);
  if (!strcmp(does, "sink")) sink(file);
  if (!strcmp(does, "answer")) answers(file);
  if (!strcmp(does, "ask")) ask(file);
  fflush(stdout);
  for (;;) sleep(1);
  return 0;
}
