/*
 * A device with NetX Duo on ThreadX: the programs are a thread. Beyond those of the programs, arguments are
 * window (octets of a socket's receive window), depth (packets that wait for acknowledgments at most), mss, timer (ms until data
 * is sent again).
 */
#include "device.h"

#include "nx_api.h"
#include "nx_arp.h"
#include "nx_ip.h"
#include "tx_api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FRAME = 1514, PACKET = 1600, PACKETS = 1500, STACK = 65536, HEADER = 14 };

struct stream {
    NX_TCP_SOCKET socket;
    NX_PACKET *packet;
    ULONG at;
};

static const UCHAR mac[6] = {2, 0x6e, 0x65, 0x74, 0x78, 1};
static int tap;
static NX_PACKET_POOL pool;
static NX_IP ip;
static TX_THREAD thread;
static ALIGN_TYPE memory[(PACKET + sizeof(NX_PACKET)) * PACKETS / sizeof(ALIGN_TYPE)];
static ALIGN_TYPE ip_stack[STACK / 8], thread_stack[STACK / 8], arp[512];

void take_frames(int most_ms)
{
    static UCHAR frame[FRAME];
    int got;
    if (!wait_for_frame(tap, most_ms)) {
        return;
    }
    while ((got = read_frame(tap, frame, FRAME)) > 0) {
        NX_PACKET *it;
        if (!ip.nx_ip_interface[0].nx_interface_link_up || nx_packet_allocate(&pool, &it, NX_RECEIVE_PACKET, NX_NO_WAIT)) {
            continue;
        }
        it->nx_packet_prepend_ptr += 2;
        memcpy(it->nx_packet_prepend_ptr, frame, (size_t)got);
        it->nx_packet_append_ptr = it->nx_packet_prepend_ptr + got;
        it->nx_packet_length = (ULONG)got - HEADER;
        it->nx_packet_prepend_ptr += HEADER;
        it->nx_packet_address.nx_packet_interface_ptr = &ip.nx_ip_interface[0];
        if (frame[12] == 8 && frame[13] == 0) {
            _nx_ip_packet_deferred_receive(&ip, it);
        } else if (frame[12] == 8 && frame[13] == 6) {
            _nx_arp_packet_deferred_receive(&ip, it);
        } else {
            nx_packet_release(it);
        }
    }
}

static void output(NX_IP_DRIVER *request, int type)
{
    UCHAR frame[FRAME + 64];
    NX_PACKET *it = request->nx_ip_driver_packet;
    ULONG octets = 0, high = request->nx_ip_driver_physical_address_msw, low = request->nx_ip_driver_physical_address_lsw;
    UCHAR to[6] = {(UCHAR)(high >> 8), (UCHAR)high, (UCHAR)(low >> 24), (UCHAR)(low >> 16), (UCHAR)(low >> 8), (UCHAR)low};
    memcpy(frame, to, 6);
    memcpy(frame + 6, mac, 6);
    frame[12] = 8, frame[13] = (UCHAR)type;
    if (it->nx_packet_length <= FRAME - HEADER) {
        nx_packet_data_retrieve(it, frame + HEADER, &octets);
        write_frame(tap, frame, (int)octets + HEADER);
    }
    nx_packet_transmit_release(it);
}

static VOID driver(NX_IP_DRIVER *request)
{
    NX_INTERFACE *it = request->nx_ip_driver_interface;
    request->nx_ip_driver_status = NX_SUCCESS;
    switch (request->nx_ip_driver_command) {
    case NX_LINK_INITIALIZE:
        it->nx_interface_ip_mtu_size = 1500;
        it->nx_interface_physical_address_msw = (ULONG)(mac[0] << 8 | mac[1]);
        it->nx_interface_physical_address_lsw = (ULONG)mac[2] << 24 | (ULONG)mac[3] << 16 | (ULONG)mac[4] << 8 | mac[5];
        it->nx_interface_address_mapping_needed = NX_TRUE;
        break;
    case NX_LINK_ENABLE:
        it->nx_interface_link_up = NX_TRUE;
        break;
    case NX_LINK_DISABLE:
        it->nx_interface_link_up = NX_FALSE;
        break;
    case NX_LINK_PACKET_SEND:
    case NX_LINK_PACKET_BROADCAST:
        output(request, 0);
        break;
    case NX_LINK_ARP_SEND:
    case NX_LINK_ARP_RESPONSE_SEND:
        output(request, 6);
        break;
    case NX_LINK_GET_STATUS:
        *request->nx_ip_driver_return_ptr = it->nx_interface_link_up;
        break;
    default:
        request->nx_ip_driver_status = NX_UNHANDLED_COMMAND;
    }
}

void rest(int ms)
{
    if (ms > 0) {
        tx_thread_sleep((ULONG)ms);
    }
}

void stand_still(int ms) { usleep((useconds_t)ms * 1000); }

static struct stream *open_stream(void)
{
    static struct stream streams[8];
    static int count;
    struct stream *it = &streams[count++ % 8];
    nx_tcp_socket_create(&ip, &it->socket, "stream", NX_IP_NORMAL, NX_DONT_FRAGMENT, 64, (ULONG)number("window", 5840), NX_NULL, NX_NULL);
    nx_tcp_socket_transmit_configure(&it->socket, (ULONG)number("depth", 20), (ULONG)number("timer", 1000), 12, 1);
    if (number("mss", 0)) {
        nx_tcp_socket_mss_set(&it->socket, (ULONG)number("mss", 0));
    }
    return it;
}

static int served;

handle stream_listen(int port)
{
    struct stream *it = open_stream();
    return nx_tcp_server_socket_listen(&ip, (UINT)port, &it->socket, 5, NX_NULL) ? -1 : (handle)it;
}

handle stream_accept(handle listening)
{
    struct stream *it = (struct stream *)listening;
    if (served++) {
        nx_tcp_server_socket_unaccept(&it->socket);
        nx_tcp_server_socket_relisten(&ip, (UINT)number("port", 5001), &it->socket);
    }
    return nx_tcp_server_socket_accept(&it->socket, NX_WAIT_FOREVER) ? -1 : listening;
}

handle stream_connect(int port)
{
    struct stream *it = open_stream();
    nx_tcp_client_socket_bind(&it->socket, NX_ANY_PORT, NX_WAIT_FOREVER);
    return nx_tcp_client_socket_connect(&it->socket, __builtin_bswap32(address("peer")), (UINT)port, 20000) ? -1 : (handle)it;
}

static NX_PACKET *filled(ULONG type, const void *octets, int size)
{
    NX_PACKET *packet;
    if (nx_packet_allocate(&pool, &packet, type, NX_WAIT_FOREVER)) {
        return NULL;
    }
    nx_packet_data_append(packet, (void *)octets, (ULONG)size, &pool, NX_WAIT_FOREVER);
    return packet;
}

int stream_send(handle to, const void *octets, int size)
{
    struct stream *it = (struct stream *)to;
    ULONG most = 0;
    nx_tcp_socket_mss_get(&it->socket, &most);
    if (number("packet", 0) && (ULONG)number("packet", 0) < most) {
        most = (ULONG)number("packet", 0);
    }
    if ((ULONG)size > most) {
        size = (int)most;
    }
    NX_PACKET *packet = filled(NX_TCP_PACKET, octets, size);
    if (!packet || nx_tcp_socket_send(&it->socket, packet, NX_WAIT_FOREVER)) {
        return -1;
    }
    return size;
}

int stream_receive(handle from, void *octets, int size)
{
    struct stream *it = (struct stream *)from;
    ULONG got = 0;
    if (!it->packet) {
        if (nx_tcp_socket_receive(&it->socket, &it->packet, NX_WAIT_FOREVER)) {
            it->packet = NULL;
            return 0;
        }
        it->at = 0;
    }
    nx_packet_data_extract_offset(it->packet, it->at, octets, (ULONG)size, &got);
    it->at += got;
    if (it->at >= it->packet->nx_packet_length) {
        nx_packet_release(it->packet);
        it->packet = NULL;
    }
    return (int)got;
}

void stream_no_delay(handle it) { (void)it; }

void stream_whole_segments(handle it, int on) { (void)it, (void)on; }

void stream_close(handle which)
{
    struct stream *it = (struct stream *)which;
    if (it->packet) {
        nx_packet_release(it->packet);
        it->packet = NULL;
    }
    nx_tcp_socket_disconnect(&it->socket, 3000);
}

handle datagram_open(int port)
{
    NX_UDP_SOCKET *it = calloc(1, sizeof *it);
    nx_udp_socket_create(&ip, it, "datagrams", NX_IP_NORMAL, NX_FRAGMENT_OKAY, 64, 100);
    nx_udp_socket_bind(it, port ? (UINT)port : NX_ANY_PORT, NX_WAIT_FOREVER);
    return (handle)it;
}

int datagram_send(handle it, const void *octets, int size, int port)
{
    NX_PACKET *packet = filled(NX_UDP_PACKET, octets, size);
    if (nx_udp_socket_send((NX_UDP_SOCKET *)it, packet, __builtin_bswap32(address("peer")), (UINT)port)) {
        nx_packet_release(packet);
        return -1;
    }
    return size;
}

static ULONG from;
static UINT from_port;

int datagram_receive(handle it, void *octets, int size, int patience_ms)
{
    NX_PACKET *packet;
    ULONG got = 0;
    if (nx_udp_socket_receive((NX_UDP_SOCKET *)it, &packet, (ULONG)patience_ms)) {
        return 0;
    }
    nx_udp_source_extract(packet, &from, &from_port);
    nx_packet_data_extract_offset(packet, 0, octets, (ULONG)size, &got);
    nx_packet_release(packet);
    return (int)got;
}

int datagram_answer(handle it, const void *octets, int size)
{
    NX_PACKET *packet = filled(NX_UDP_PACKET, octets, size);
    return nx_udp_socket_send((NX_UDP_SOCKET *)it, packet, from, from_port) ? -1 : size;
}

static VOID play(ULONG argument)
{
    (void)argument;
    run_programs();
    exit(0);
}

VOID tx_application_define(void *unused)
{
    (void)unused;
    nx_system_initialize();
    nx_packet_pool_create(&pool, "packets", PACKET, memory, sizeof memory);
    nx_ip_create(&ip, "ip", __builtin_bswap32(address("ip")), 0xffffff00, &pool, driver, ip_stack, sizeof ip_stack, 1);
    nx_arp_enable(&ip, arp, sizeof arp);
    nx_icmp_enable(&ip);
    nx_udp_enable(&ip);
    nx_tcp_enable(&ip);
    nx_ip_gateway_address_set(&ip, __builtin_bswap32(address("gate")));
    tx_thread_create(&thread, "programs", play, 0, thread_stack, sizeof thread_stack, 8, 8, TX_NO_TIME_SLICE, TX_AUTO_START);
}

int main(int count, char **words)
{
    read_words(count, words);
    tap = open_tap();
    tx_kernel_enter();
}
