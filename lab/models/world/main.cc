/*
 * A path, two ends and their programs, simulated as a whole: hosts have the TCP of ns-3, boards CycloneTCP.
 * Writes A.pcap, B.pcap and R.pcap (the router next to the sender of the data), and prints what it counted as JSON.
 */
#include "path.h"
#include "programs.h"

#include "ns3/core-module.h"

#include <unistd.h>

using namespace ns3;

Settings settings;
Counts counts;

static Capture captures[3];

static void sniff(int which, Ptr<const Packet> packet) { captures[which].write(packet); }

/* ---- datagrams between hosts */

static void send_datagrams(Ptr<Socket> socket, Time until)
{
    if (Simulator::Now() < until) {
        socket->Send(Create<Packet>((uint32_t)settings.chunk));
        counts.sent++;
        Simulator::Schedule(NanoSeconds((int64_t)(settings.pause * 1e6)), &send_datagrams, socket, until);
    }
}

static void take_datagrams(Ptr<Socket> socket)
{
    while (socket->Recv()) {
        counts.arrived++;
    }
}

static void add_values(CommandLine &cmd)
{
    Settings &s = settings;
#define TAKE(name) cmd.AddValue(#name, #name, s.name);
    TAKE(out) TAKE(sender) TAKE(opens) TAKE(boards) TAKE(library) TAKE(kind) TAKE(slow) TAKE(rate) TAKE(back) TAKE(access) TAKE(lan) TAKE(delay) TAKE(queue)
    TAKE(back_queue) TAKE(disc) TAKE(medium) TAKE(loss) TAKE(back_loss) TAKE(bursts) TAKE(burst_length) TAKE(police) TAKE(bucket) TAKE(down_at)
    TAKE(down_for) TAKE(longest_packet) TAKE(storm) TAKE(lost_opening) TAKE(tcp) TAKE(host_receives) TAKE(host_sends) TAKE(host_mss) TAKE(acks_each)
    TAKE(acks_after) TAKE(first_window) TAKE(listens) TAKE(sack) TAKE(scaling) TAKE(stamps) TAKE(nagle) TAKE(board_mss) TAKE(board_sends)
    TAKE(board_receives) TAKE(ring) TAKE(frame_us) TAKE(poll_ms) TAKE(wakes_ms) TAKE(awake_ms) TAKE(still_each) TAKE(still_works) TAKE(still_ms)
    TAKE(no_delay) TAKE(octets) TAKE(chunk) TAKE(pause) TAKE(works) TAKE(stops) TAKE(read_chunk) TAKE(read_pause) TAKE(seconds) TAKE(request)
    TAKE(answer) TAKE(think) TAKE(client_pause) TAKE(split) TAKE(asks) TAKE(first_think) TAKE(seed)
#undef TAKE
}

static void set_hosts()
{
    Settings &s = settings;
    GlobalValue::Bind("ChecksumEnabled", BooleanValue(true));
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::" + s.tcp)));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(s.host_receives));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(s.host_sends));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(s.host_mss));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(s.acks_each));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(s.acks_after)));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(s.first_window));
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(Seconds(1)));
    Config::SetDefault("ns3::TcpSocket::TcpNoDelay", BooleanValue(!s.nagle));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(s.sack));
    Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(s.scaling));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(s.stamps));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::ArpCache::PendingQueueSize", UintegerValue(64));
}

int main(int argc, char *argv[])
{
    CommandLine cmd;
    add_values(cmd);
    cmd.Parse(argc, argv);
    RngSeedManager::SetSeed(settings.seed);
    set_hosts();
    Path path;
    path.build();
    path.finish();
    captures[0].open(settings.out + "/A.pcap");
    captures[1].open(settings.out + "/B.pcap");
    captures[2].open(settings.out + "/R.pcap");
    bool is_a = settings.sender == "A";
    path.links[0].Get(0)->TraceConnectWithoutContext("PromiscSniffer", MakeBoundCallback(&sniff, 0));
    path.links[2].Get(1)->TraceConnectWithoutContext("PromiscSniffer", MakeBoundCallback(&sniff, 1));
    (is_a ? path.links[0].Get(1) : path.links[2].Get(0))->TraceConnectWithoutContext("PromiscSniffer", MakeBoundCallback(&sniff, 2));

    const std::string own[2] = {"10.61.1.1", "10.61.3.2"}, gates[2] = {"10.61.1.2", "10.61.3.1"};
    std::unique_ptr<End> ends[2];
    for (int i = 0; i < 2; i++) {
        bool is_board = settings.boards.find(i ? 'B' : 'A') != std::string::npos;
        Ptr<NetDevice> device = i ? path.links[2].Get(1) : path.links[0].Get(0);
        ends[i] = is_board ? board(DynamicCast<CsmaNetDevice>(device), own[i], gates[i], settings.slow.find(i ? 'B' : 'A') != std::string::npos) : host(path.nodes.Get(i ? 3 : 0));
    }
    int sender = is_a ? 0 : 1, opener = settings.opens == "A" ? 0 : 1;
    if (settings.kind == "datagrams") {
        TypeId type = TypeId::LookupByName("ns3::UdpSocketFactory");
        Ptr<Socket> from = Socket::CreateSocket(path.nodes.Get(sender ? 3 : 0), type), to = Socket::CreateSocket(path.nodes.Get(sender ? 0 : 3), type);
        to->Bind(InetSocketAddress(Ipv4Address::GetAny(), 5004));
        to->SetRecvCallback(MakeCallback(&take_datagrams));
        from->Connect(InetSocketAddress(own[1 - sender].c_str(), 5004));
        Simulator::Schedule(Seconds(1), &send_datagrams, from, Seconds(1 + settings.seconds));
        Simulator::Stop(Seconds(2.5 + settings.seconds));
    } else {
        if (settings.kind == "stream") {
            send_stream(*ends[sender]);
            read_stream(*ends[1 - sender]);
        } else {
            /* The server sends the data. */
            serve(*ends[sender]);
            ask(*ends[1 - sender]);
        }
        uint16_t port = settings.kind == "stream" ? 4242 : 502;
        if (settings.listens) {
            ends[1 - opener]->listen(port);
        }
        End *it = ends[opener].get();
        std::string to = own[1 - opener];
        Simulator::Schedule(Seconds(1), [it, to, port] { it->connect(to, port); it->step(); });
        Simulator::Stop(Seconds(1 + settings.seconds));
    }
    Simulator::Run();
    Counts &c = counts;
    printf("{\"damaged\": %lu, \"queue_full\": %lu, \"back_queue_full\": %lu, \"policed\": %lu, \"too_long\": %lu, \"ring_full\": %lu, \"written\": %lu, "
           "\"taken\": %lu, \"served\": %lu, \"answers\": %lu, \"sent\": %lu, \"arrived\": %lu, \"broadcasts\": %lu, \"still\": %lu, "
           "\"queue_ms_max\": %.1f, \"back_queue_ms_max\": %.1f}\n",
           c.damaged, c.queue_full, c.back_queue_full, c.policed, c.too_long, c.ring_full, c.written, c.taken, c.served, c.answers, c.sent, c.arrived,
           c.broadcasts, c.still, c.queue_ms_max, c.back_queue_ms_max);
    for (Capture &it : captures) {
        fclose(it.file);
    }
    fflush(stdout);
    _exit(0);
}
