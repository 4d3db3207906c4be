#include "report.h"

#include "console.h"

static void served(const char *protocol, bool is_udp, bool is_sent, uint64_t octets, uint64_t span_ns,
                   uint64_t datagrams, uint64_t lost)
{
    console_event("served");
    console_member_text("protocol", protocol);
    console_member_text("transport", is_udp ? "udp" : "tcp");
    console_member_text("direction", is_sent ? "sent" : "received");
    console_member_number("octets", octets);
    console_member_number("span_us", span_ns / 1000);
    console_member_number("datagrams", datagrams);
    console_member_number("lost", lost);
    console_end();
}

void report_served(linerate_agent *iperf2, linerate_agent *iperf3, linerate_agent *http)
{
    linerate_iperf2_report two;
    while (linerate_iperf2_take_finished(iperf2, &two))
        served("iperf2", two.udp, two.sent, two.octets, two.span_ns, two.datagrams, two.lost);
    linerate_iperf3_report three;
    while (linerate_iperf3_take_finished(iperf3, &three)) {
        bool has_both = three.received_ns > 0 && three.sent_ns > 0;
        /* With datagrams in both directions, the report counts those to this server. */
        if (three.received_ns > 0)
            served("iperf3", three.udp, false, three.received_octets, three.received_ns, three.datagrams, three.lost);
        if (three.sent_ns > 0)
            served("iperf3", three.udp, true, three.sent_octets, three.sent_ns, has_both ? 0 : three.datagrams,
                   has_both ? 0 : three.lost);
    }
    linerate_http_report web;
    while (linerate_http_take_finished(http, &web))
        served("http", false, web.sent, web.octets, web.span_ns, 0, 0);
}

void report_counters(const linerate_nic *nic)
{
    char name[48];
    uint32_t count;
    console_event("counters");
    for (size_t i = 0; linerate_nic_counter_at(nic, i, name, sizeof name, &count); i++)
        if (count > 0)
            console_member_number(name, count);
    console_end();
}
