/* bench_agent with lwIP: the services of linerate's agents and lwIP's own iperf server, over a driver of linerate, in a
 * main loop without interrupts. */
#include <string.h>

#include "console.h"
#include "linerate_agent_lwip.h"
#include "linerate_netif.h"
#include "lwip/apps/lwiperf.h"
#include "lwip/init.h"
#include "lwip/timeouts.h"
#include "machine.h"
#include "netif/ethernet.h"
#include "report.h"

/* Frames received before the services run. */
#define BUDGET 16
/* Maximum sleep, as a console may have no interrupt; interval of looking at the link. */
#define LONGEST_SLEEP_NS 10000000u
#define LINK_NS 100000000u
/* Longest test of a server, timeout in the middle of a request. */
#define LONGEST_TEST_NS (3600ull * 1000000000)
#define TIMEOUT_NS (30ull * 1000000000)

#define IPERF2_PORT 5001
#define LWIPERF_PORT 5002
#define IPERF3_PORT 5201
#define HTTP_PORT 80
#define STAMP_PORT 862
#define ECHO_PORT 7

#define AGENT(name, octets) static uint64_t name##_memory[(octets) / 8]
AGENT(iperf2, LINERATE_IPERF2_SERVER_OCTETS);
AGENT(iperf3, LINERATE_IPERF3_SERVER_OCTETS);
AGENT(http, LINERATE_HTTP_SERVER_OCTETS);
AGENT(stamp, LINERATE_STAMP_REFLECTOR_OCTETS);
AGENT(echo, LINERATE_ECHO_OCTETS);

static linerate_nic *nic;
static struct netif interface;
static linerate_agent *iperf2, *iperf3, *http;

static _Noreturn void fail(const char *what)
{
    console_event("error");
    console_member_text("what", what);
    console_end();
    machine_stop();
}

_Noreturn void failed_at(const char *file, int line)
{
    console_event("error");
    console_member_text("what", "assertion");
    console_member_text("file", file);
    console_member_number("line", (uint64_t)line);
    console_end();
    machine_stop();
}

_Noreturn void machine_trapped(uint32_t cause, uint32_t address)
{
    console_event("error");
    console_member_text("what", "trap");
    console_member_number("cause", cause);
    console_member_number("address", address);
    console_end();
    machine_stop();
}

/* xorshift32 (Marsaglia 2003): ports and sequence numbers need not be secret here. */
uint32_t random_number(void)
{
    static uint32_t state;
    if (state == 0)
        state = machine_seed() | 1;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

/* lwIP's clock: milliseconds, without a division of 64 bits in most calls. */
u32_t sys_now(void)
{
    static uint64_t next_ns = 1000000;
    static u32_t ms;
    uint64_t now = machine_now_ns();
    while (now >= next_ns) {
        u32_t passed = now - next_ns < 8000000 ? 1 : (u32_t)((now - next_ns) / 1000000);
        ms += passed;
        next_ns += (uint64_t)passed * 1000000;
    }
    return ms;
}

static void on_lwiperf(void *unused, enum lwiperf_report_type type, const ip_addr_t *own, u16_t own_port,
                       const ip_addr_t *peer, u16_t peer_port, u32_t octets, u32_t ms, u32_t kbit_per_s)
{
    (void)unused, (void)own, (void)own_port, (void)peer, (void)peer_port, (void)kbit_per_s;
    bool is_done = type == LWIPERF_TCP_DONE_SERVER || type == LWIPERF_TCP_DONE_CLIENT;
    console_event("lwiperf");
    console_member_text("direction", type == LWIPERF_TCP_DONE_CLIENT ? "sent" : "received");
    console_member_text("result", is_done ? "done" : "aborted");
    console_member_number("octets", octets);
    console_member_number("span_ms", ms);
    console_end();
}

static void start_network(void)
{
    ip4_addr_t address, mask, gateway;
    IP4_ADDR(&address, 10, 0, 0, 2);
    IP4_ADDR(&mask, 255, 255, 255, 0);
    IP4_ADDR(&gateway, 10, 0, 0, 1);
    lwip_init();
    if (netif_add(&interface, &address, &mask, &gateway, nic, linerate_netif_init, ethernet_input) == NULL)
        fail("no network interface");
    netif_set_default(&interface);
    netif_set_up(&interface);
}

static void start_services(void)
{
    iperf2 = linerate_iperf2_server(iperf2_memory, sizeof iperf2_memory, IPERF2_PORT, true, LONGEST_TEST_NS);
    iperf3 = linerate_iperf3_server(iperf3_memory, sizeof iperf3_memory, IPERF3_PORT, true, LONGEST_TEST_NS);
    http = linerate_http_server(http_memory, sizeof http_memory, HTTP_PORT, TIMEOUT_NS);
    linerate_agent *stamp =
        linerate_stamp_reflector(stamp_memory, sizeof stamp_memory, STAMP_PORT, machine_clock_error_ns);
    linerate_agent *echo = linerate_echo(echo_memory, sizeof echo_memory, ECHO_PORT);
    linerate_agent *all[] = {iperf2, iperf3, http, stamp, echo};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (!linerate_lwip_add(all[i], machine_now_ns))
            fail("no memory for an agent");
    if (lwiperf_start_tcp_server(IP4_ADDR_ANY, LWIPERF_PORT, on_lwiperf, NULL) == NULL)
        fail("no memory for lwiperf");
}

static void announce(void)
{
    linerate_nic_capabilities found;
    linerate_nic_describe(nic, &found);
    console_event("boot");
    console_member_text("program", "bench_agent");
    console_member_text("stack", "lwIP " LWIP_VERSION_STRING);
    console_member_text("board", machine_board);
    console_member_text("driver", machine_driver);
    console_member_text("ipv4", "10.0.0.2");
    console_member_number("burst", found.burst_frames > 0 ? found.burst_frames : 1);
    console_end();
    console_event("listening");
    console_member_number("iperf2", IPERF2_PORT);
    console_member_number("lwiperf", LWIPERF_PORT);
    console_member_number("iperf3", IPERF3_PORT);
    console_member_number("http", HTTP_PORT);
    console_member_number("stamp", STAMP_PORT);
    console_member_number("echo", ECHO_PORT);
    console_end();
}

static void obey(const char *line)
{
    if (memcmp(line, "counters", sizeof "counters") == 0) {
        report_counters(nic);
        return;
    }
    console_event("error");
    console_member_text("what", "unknown command");
    console_end();
}

/* Sleeps until a frame arrives, or until `due`. */
static void rest(uint64_t now, uint64_t due)
{
    uint64_t latest = now + LONGEST_SLEEP_NS;
    uint64_t timer = now + (uint64_t)sys_timeouts_sleeptime() * 1000000;
    latest = timer < latest ? timer : latest;
    latest = due < latest ? due : latest;
    if (linerate_nic_unmask(nic) && latest > now)
        machine_sleep(latest);
    linerate_nic_mask(nic);
}

int main(void)
{
    uint64_t link_due = 0;
    machine_start();
    if (!machine_start_nic(&nic))
        fail("no network device");
    start_network();
    start_services();
    /* Listen before announcing it. */
    uint64_t due = linerate_lwip_run();
    announce();
    for (;;) {
        bool has_received = linerate_netif_poll(&interface, BUDGET) > 0;
        sys_check_timeouts();
        uint64_t now = machine_now_ns();
        if (has_received || now >= due) {
            due = linerate_lwip_run();
            report_served(iperf2, iperf3, http);
        }
        const char *line = console_line();
        if (line != NULL)
            obey(line);
        if (now >= link_due) {
            link_due = now + LINK_NS;
            linerate_netif_poll_link(&interface);
        }
        if (!has_received)
            rest(now, due);
    }
}
