/*
 * The limit of this machine: the least code that sends and receives over an interface, without waiting for the
 * scheduler. `cargo xtask bench --load` compares linerate with it.
 *
 *   limit reflect ADDRESS PORT SECONDS       sends each datagram back
 *   limit ping ADDRESS PORT ROUND_TRIPS      median round trip of 64 octets: {"p50_ns": ...}
 *   limit blast INTERFACE MAC SECONDS        frames of 60 octets from a ring shared with the kernel
 *   limit sink ADDRESS PORT                  reads one TCP connection to its end: {"bits_per_s": ...}
 *   limit pour ADDRESS PORT SECONDS          writes one TCP connection
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { DATAGRAM = 64, FRAME = 60, SLOT = 256, SLOTS = 512, PER_CALL = 64, PIECE = 128 << 10 };

static long now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void check(long result, const char *what)
{
	if (result < 0) {
		perror(what);
		exit(1);
	}
}

static struct sockaddr_in address(char **argv)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(atoi(argv[3])) };
	check(inet_pton(AF_INET, argv[2], &to.sin_addr) - 1, "address");
	return to;
}

static void listening(const char *where)
{
	fprintf(stderr, "listening on %s\n", where);
}

static void reflect(char **argv)
{
	struct sockaddr_in own = address(argv), from;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	char octets[2048];
	check(bind(fd, (struct sockaddr *)&own, sizeof own), "bind");
	listening(argv[2]);
	for (long end = now_ns() + atol(argv[4]) * 1000000000L; now_ns() < end;) {
		socklen_t len = sizeof from;
		ssize_t got = recvfrom(fd, octets, sizeof octets, 0, (struct sockaddr *)&from, &len);
		if (got >= 0)
			sendto(fd, octets, got, 0, (struct sockaddr *)&from, len);
	}
}

static int by_value(const void *a, const void *b)
{
	long left = *(const long *)a, right = *(const long *)b;
	return (left > right) - (left < right);
}

static void ping(char **argv)
{
	struct sockaddr_in to = address(argv);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	long count = atol(argv[4]), answered = 0, *times = calloc(count, sizeof *times);
	char octets[DATAGRAM] = { 0 };
	check(connect(fd, (struct sockaddr *)&to, sizeof to), "connect");
	for (long trip = 0; trip < count; trip++) {
		long start = now_ns();
		send(fd, octets, sizeof octets, 0);
		/* A lost one is given up after 100 ms. */
		while (now_ns() - start < 100000000L)
			if (recv(fd, octets, sizeof octets, 0) >= 0) {
				times[answered++] = now_ns() - start;
				break;
			}
	}
	qsort(times, answered, sizeof *times, by_value);
	printf("{\"p50_ns\": %ld, \"answered\": %ld}\n", answered ? times[answered / 2] : -1, answered);
}

static void blast(char **argv)
{
	unsigned mac[6];
	int version = TPACKET_V2, one = 1, buffer = 16 << 20;
	struct tpacket_req ring = { .tp_block_size = SLOT * SLOTS, .tp_block_nr = 1,
				    .tp_frame_size = SLOT, .tp_frame_nr = SLOTS };
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_ifindex = if_nametoindex(argv[2]) };
	int fd = socket(AF_PACKET, SOCK_RAW, 0);
	check(fd, "socket");
	check(sscanf(argv[3], "%x:%x:%x:%x:%x:%x", mac, mac + 1, mac + 2, mac + 3, mac + 4, mac + 5) - 6, "address");
	check(setsockopt(fd, SOL_PACKET, PACKET_VERSION, &version, sizeof version), "PACKET_VERSION");
	setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof one);
	setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &buffer, sizeof buffer);
	check(setsockopt(fd, SOL_PACKET, PACKET_TX_RING, &ring, sizeof ring), "PACKET_TX_RING");
	char *slots = mmap(NULL, SLOT * SLOTS, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	check(slots == MAP_FAILED ? -1 : 0, "mmap");
	check(bind(fd, (struct sockaddr *)&at, sizeof at), "bind");
	for (int slot = 0; slot < SLOTS; slot++) {
		struct tpacket2_hdr *head = (void *)(slots + slot * SLOT);
		unsigned char *frame = (unsigned char *)head + TPACKET2_HDRLEN - sizeof(struct sockaddr_ll);
		for (int octet = 0; octet < 6; octet++)
			frame[octet] = mac[octet];
		frame[6] = 2;
		frame[11] = 1;
		frame[12] = 0x88;
		frame[13] = 0xb5;
		head->tp_len = FRAME;
		head->tp_snaplen = FRAME;
	}
	unsigned next = 0;
	for (long end = now_ns() + atol(argv[4]) * 1000000000L; now_ns() < end;) {
		for (int frame = 0; frame < PER_CALL; frame++) {
			struct tpacket2_hdr *head = (void *)(slots + next * SLOT);
			if (__atomic_load_n(&head->tp_status, __ATOMIC_ACQUIRE) != TP_STATUS_AVAILABLE)
				break;
			__atomic_store_n(&head->tp_status, TP_STATUS_SEND_REQUEST, __ATOMIC_RELEASE);
			next = (next + 1) % SLOTS;
		}
		send(fd, NULL, 0, MSG_DONTWAIT);
	}
}

static void sink(char **argv)
{
	static char octets[PIECE];
	struct sockaddr_in own = address(argv);
	int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
	long total = 0, start = 0, last = 0;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	check(bind(fd, (struct sockaddr *)&own, sizeof own), "bind");
	check(listen(fd, 1), "listen");
	listening(argv[2]);
	int peer = accept4(fd, NULL, NULL, SOCK_NONBLOCK);
	check(peer, "accept");
	for (;;) {
		ssize_t got = recv(peer, octets, sizeof octets, 0);
		if (got == 0 || (got < 0 && errno != EAGAIN))
			break;
		if (got > 0) {
			last = now_ns();
			start = start ? start : last;
			total += got;
		}
	}
	printf("{\"bits_per_s\": %.0f}\n", last > start ? total * 8e9 / (last - start) : 0.0);
}

static void pour(char **argv)
{
	static char octets[PIECE];
	struct sockaddr_in to = address(argv);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	check(connect(fd, (struct sockaddr *)&to, sizeof to), "connect");
	for (long end = now_ns() + atol(argv[4]) * 1000000000L; now_ns() < end;)
		check(send(fd, octets, sizeof octets, 0), "send");
	puts("{}");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int arguments;
		void (*run)(char **);
	} modes[] = { { "reflect", 5, reflect }, { "ping", 5, ping }, { "blast", 5, blast },
		      { "sink", 4, sink },       { "pour", 5, pour } };
	for (size_t mode = 0; argc > 1 && mode < sizeof modes / sizeof *modes; mode++)
		if (!strcmp(argv[1], modes[mode].name) && argc == modes[mode].arguments) {
			modes[mode].run(argv);
			return 0;
		}
	fputs("usage: limit reflect|ping|blast|sink|pour ...\n", stderr);
	return 2;
}
