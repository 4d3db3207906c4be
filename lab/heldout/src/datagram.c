/* Programs over UDP: a name server, TFTP (RFC 1350, RFC 2348), broadcasts, telemetry. */
#define _GNU_SOURCE
#include "app.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static int bound(int port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    int it = socket(AF_INET, SOCK_DGRAM, 0);
    if (bind(it, (void *)&at, sizeof at) < 0)
        die("bind");
    return it;
}

/* Answers A queries with host= after late=, others empty. silent=N: ignores the first N of each name's queries. */
int names(void)
{
    int it = bound(53);
    static struct { char name[256]; int queries; } seen[256];
    for (;;) {
        unsigned char query[600];
        struct sockaddr_in from;
        socklen_t size = sizeof from;
        ssize_t octets = recvfrom(it, query, 512, 0, (void *)&from, &size);
        if (octets < 17)
            continue;
        unsigned end = 12;
        while (end < octets && query[end])
            end += query[end] + 1;
        if (end + 5 > (unsigned)octets)
            continue;
        int type = query[end + 2], i = 0;
        while (i < 255 && seen[i].queries && memcmp(seen[i].name, query + 12, end + 2 - 12))
            i++;
        memcpy(seen[i].name, query + 12, end + 3 - 12);
        if (++seen[i].queries <= number("silent", 0))
            continue;
        if (fork())
            continue;
        wait_us(number("late", 0) * (0.9 + 0.2 * rand() / RAND_MAX));
        unsigned length = end + 5;
        memset(query + 6, 0, 6);
        query[2] |= 0x80;
        query[3] = 0x80;
        if (type == 1) {
            query[7] = 1;
            memcpy(query + length, "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4", 12);
            inet_pton(AF_INET, word("host", "127.0.0.1"), query + length + 12);
            length += 16;
        }
        sendto(it, query, length, 0, (void *)&from, size);
        exit(0);
    }
}

/* One file of file= octets; blksize as the client asks. think= before each block. */
int tftp_serve(void)
{
    int listener = bound(69);
    unsigned char packet[2048];
    struct sockaddr_in peer;
    socklen_t size = sizeof peer;
    for (;;) {
        ssize_t octets = recvfrom(listener, packet, sizeof packet - 1, 0, (void *)&peer, &size);
        if (octets < 4 || packet[1] != 1)
            continue;
        if (fork())
            continue;
        packet[octets] = 0;
        unsigned block = 512;
        for (char *at = (char *)packet + 2; at < (char *)packet + octets; at += strlen(at) + 1)
            if (!strcmp(at, "blksize"))
                block = atoi(at + 8);
        int it = bound(0);
        struct timeval wait = {1, 0};
        setsockopt(it, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
        connect(it, (void *)&peer, size);
        double left = number("file", 1e5);
        for (unsigned number_ = 0;; number_++) {
            unsigned length = left < block ? left : block;
            unsigned char data[2048] = {0, 3, number_ >> 8, number_}, answer[600];
            if (!number_)
                length = sprintf((char *)data, "%c%cblksize%c%u", 0, 6, 0, block) + 1 - 4;
            for (int attempt = 0; attempt < 5; attempt++) {
                wait_us(number("think", 0));
                send(it, data, length + 4, 0);
                if (recv(it, answer, sizeof answer, 0) >= 4 && answer[3] == (number_ & 255))
                    break;
            }
            if (!number_)
                continue;
            left -= length;
            if (length < block)
                exit(0);
        }
    }
}

/* Gets the file, with blocks of block= octets. */
int tftp_get(void)
{
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons(69)};
    inet_pton(AF_INET, word("host", "127.0.0.1"), &peer.sin_addr);
    int it = bound(0), block = number("block", 512);
    struct timeval wait = {2, 0};
    setsockopt(it, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    unsigned char packet[2048];
    int length = 2 + sprintf((char *)packet + 2, "image.bin%coctet%cblksize%c%d", 0, 0, 0, block) + 1;
    packet[0] = 0;
    packet[1] = 1;
    double from = seconds(), total = 0;
    unsigned expected = 1;
    sendto(it, packet, length, 0, (void *)&peer, sizeof peer);
    for (;;) {
        socklen_t size = sizeof peer;
        ssize_t octets = recvfrom(it, packet, sizeof packet, 0, (void *)&peer, &size);
        if (octets < 0)
            break;
        unsigned number_ = packet[1] == 6 ? 0 : packet[2] << 8 | packet[3];
        unsigned char acknowledgment[4] = {0, 4, number_ >> 8, number_};
        wait_us(number("think", 0));
        sendto(it, acknowledgment, 4, 0, (void *)&peer, size);
        if (packet[1] == 3 && number_ == (expected & 65535)) {
            expected++;
            total += octets - 4;
            if (octets < block + 4 || seconds() - from > number("for", 60))
                break;
        }
    }
    printf("{\"octets\": %.0f, \"seconds\": %.6f}\n", total, seconds() - from);
    return 0;
}

/* rate= broadcasts a second of size= octets. */
int broadcast(void)
{
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons(number("port", 9999))};
    inet_pton(AF_INET, word("host", "255.255.255.255"), &peer.sin_addr);
    int it = bound(0), yes = 1;
    setsockopt(it, SOL_SOCKET, SO_BROADCAST, &yes, sizeof yes);
    static char data[1500];
    double from = seconds(), rate = number("rate", 1000);
    for (double sent = 0; seconds() - from < number("for", 60); sent++) {
        sendto(it, data, number("size", 100), 0, (void *)&peer, sizeof peer);
        wait_us((from + (sent + 1) / rate - seconds()) * 1e6);
    }
    return 0;
}

/* Datagrams of size= octets every= so often, in bursts of burst=, to host= port=. reply=1: begins when the first
 * datagram has arrived. */
int telemetry(void)
{
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons(number("port", 9000))};
    inet_pton(AF_INET, word("host", "127.0.0.1"), &peer.sin_addr);
    int it = bound(number("from", 0));
    static char data[1500];
    if (number("reply", 0) && recv(it, data, sizeof data, 0) < 0)
        die("recv");
    double from = seconds(), every = number("every", 20000);
    for (double sent = 0; seconds() - from < number("for", 5); sent++) {
        for (int i = 0; i < number("burst", 1); i++)
            sendto(it, data, number("size", 160), 0, (void *)&peer, sizeof peer);
        wait_us((from + (sent + 1) * every / 1e6 - seconds()) * 1e6);
    }
    printf("{\"seconds\": %.6f}\n", seconds() - from);
    return 0;
}
