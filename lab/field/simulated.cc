/*
 * Stations and routers of ns-3 3.37: A - R1 - R2 - B, simulated as a whole, with the TCPs, queues, errors and Wi-Fi of ns-3.
 * A sends the data. It writes A.pcap, B.pcap and R.pcap (R1's side towards A) of raw IP, and prints what it counted as JSON.
 * Arguments: --name=value, see main().
 */
#include "capture.h"

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"
#include "ns3/wifi-module.h"

#include <cstdio>
#include <string>

using namespace ns3;

static Capture captures[3];
static const uint32_t PPP_OCTETS = 2;

static void sniff(int which, Ptr<const Packet> packet) { captures[which].write(packet, PPP_OCTETS); }
static void ip(int which, Ptr<const Packet> packet, Ptr<Ipv4>, uint32_t) { captures[which].write(packet, 0); }

static std::string role, standard;
static double seconds, chunk, every, think, pausing, works, stops, request_octets;
static uint64_t octets, written, taken;
static uint32_t requests, asked, served, sent, received;
static bool is_stopped;

/* ---- the sending program at A */

static void fill(Ptr<Socket> it, uint32_t)
{
    while (role == "bulk" && !is_stopped && written < octets && it->GetTxAvailable() > 0) {
        uint32_t size = std::min<uint64_t>({1460u * 4, octets - written, it->GetTxAvailable()});
        int done = it->Send(Create<Packet>(size));
        if (done <= 0) {
            return;
        }
        written += done;
    }
    if (role == "bulk" && written >= octets) {
        it->Close();
        role = "over";
    }
}

static void pieces(Ptr<Socket> it)
{
    if (Simulator::Now().GetSeconds() > seconds) {
        it->Close();
        return;
    }
    if (it->GetTxAvailable() >= chunk) {
        it->Send(Create<Packet>((uint32_t)chunk));
    }
    Simulator::Schedule(Seconds(every / 1e3), &pieces, it);
}

static void turn(Ptr<Socket> it)
{
    is_stopped = !is_stopped;
    fill(it, 0);
    Simulator::Schedule(Seconds((is_stopped ? stops : works) / 1e3), &turn, it);
}

static void begin(Ptr<Socket> it)
{
    it->SetSendCallback(MakeCallback(&fill));
    if (role == "pieces") {
        pieces(it);
    } else {
        fill(it, 0);
        if (stops > 0) {
            Simulator::Schedule(Seconds(works / 1e3), &turn, it);
        }
    }
}

static void answer(Ptr<Socket> it)
{
    it->Send(Create<Packet>((uint32_t)chunk));
    served++;
}

static uint64_t at_server;

static void serve(Ptr<Socket> it)
{
    while (Ptr<Packet> found = it->Recv()) {
        at_server += found->GetSize();
    }
    while (at_server >= request_octets) {
        at_server -= request_octets;
        Simulator::Schedule(Seconds(think / 1e3), &answer, it);
    }
}

/* ---- the receiving program at B */

static void take(Ptr<Socket> it)
{
    while (Ptr<Packet> found = it->Recv()) {
        taken += found->GetSize();
    }
}

static void ask(Ptr<Socket> it)
{
    if (asked < requests) {
        it->Send(Create<Packet>((uint32_t)request_octets));
        asked++;
    } else {
        Simulator::Stop(MilliSeconds(300)); /* a FIN would be taken for no acknowledgment of the last answer */
    }
}

static uint64_t of_answer;

static void answered(Ptr<Socket> it)
{
    while (Ptr<Packet> found = it->Recv()) {
        of_answer += found->GetSize();
    }
    if (of_answer >= chunk) {
        of_answer -= (uint64_t)chunk;
        Simulator::Schedule(Seconds(pausing / 1e3), &ask, it);
    }
}

static void accepted(Ptr<Socket> it, const Address &)
{
    if (role == "requests") {
        it->SetRecvCallback(MakeCallback(&serve));
    } else {
        begin(it);
    }
}

static void connected(Ptr<Socket> it)
{
    if (role == "requests") {
        it->SetRecvCallback(MakeCallback(&answered));
        ask(it);
    } else {
        it->SetRecvCallback(MakeCallback(&take));
    }
}

static void datagram(Ptr<Socket> it)
{
    if (Simulator::Now().GetSeconds() < seconds) {
        it->Send(Create<Packet>((uint32_t)chunk));
        sent++;
        Simulator::Schedule(Seconds(every / 1e3), &datagram, it);
    }
}

static void take_datagrams(Ptr<Socket> it)
{
    while (it->Recv()) {
        received++;
    }
}

/* ---- the path */

static uint64_t damaged, dropped_there, dropped_back;
static double queue_sum, queue_most, bottleneck;
static uint32_t queue_samples;

static void damage(Ptr<const Packet>) { damaged++; }
static void drop_there(Ptr<const QueueDiscItem>) { dropped_there++; }
static void drop_back(Ptr<const QueueDiscItem>) { dropped_back++; }

static void sample(Ptr<QueueDisc> queue)
{
    double ms = queue->GetNBytes() * 8e3 / bottleneck;
    if (ms > 0) {
        queue_sum += ms, queue_samples++;
    }
    queue_most = std::max(queue_most, ms);
    Simulator::Schedule(MilliSeconds(20), &sample, queue);
}

static double gap_every, gap_for;

static void cut_link(Ptr<RateErrorModel> model, bool is_cut)
{
    model->SetRate(is_cut ? 1.0 : 0.0);
}

int main(int argc, char *argv[])
{
    std::string out = ".", tcp = "TcpNewReno", disc = "fifo", open_by = "B";
    double rate = 10e6, back = 0, access = 100e6, delay = 10, loss = 0, bursts = 0, burst_length = 4, back_loss = 0, at = 0, lasts = 0;
    uint32_t queue = 100, back_queue = 100, rcvbuf = 1 << 20, sndbuf = 1 << 20, delack = 2, delackms = 40, iw = 10, seed = 1;
    bool sack = true, scaling = true, stamps = true;
    CommandLine cmd;
    role = "bulk";
    cmd.AddValue("out", "folder", out);
    cmd.AddValue("role", "bulk, pieces, requests or datagrams", role);
    cmd.AddValue("rate", "bit/s from R1 to R2", rate);
    cmd.AddValue("back", "bit/s from R2 to R1, 0: rate", back);
    cmd.AddValue("access", "bit/s of the other links", access);
    cmd.AddValue("delay", "ms of R1-R2, one way", delay);
    cmd.AddValue("queue", "packets before R1-R2", queue);
    cmd.AddValue("backqueue", "packets before R2-R1", back_queue);
    cmd.AddValue("disc", "fifo, codel, fqcodel, pie", disc);
    cmd.AddValue("loss", "share of data packets lost", loss);
    cmd.AddValue("backloss", "share of the packets back lost", back_loss);
    cmd.AddValue("bursts", "chance at a packet of losing some in a row", bursts);
    cmd.AddValue("burstlength", "packets that are lost in a row", burst_length);
    cmd.AddValue("at", "s: R1-R2 loses everything from here", at);
    cmd.AddValue("for", "s of that", lasts);
    cmd.AddValue("tcp", "type of the congestion control", tcp);
    cmd.AddValue("rcvbuf", "octets", rcvbuf);
    cmd.AddValue("sndbuf", "octets", sndbuf);
    cmd.AddValue("mss", "octets", mss);
    cmd.AddValue("delack", "segments that one acknowledgment covers", delack);
    cmd.AddValue("delackms", "ms that an acknowledgment waits", delackms);
    cmd.AddValue("iw", "segments of the first window", iw);
    cmd.AddValue("sack", "", sack);
    cmd.AddValue("scaling", "", scaling);
    cmd.AddValue("stamps", "", stamps);
    cmd.AddValue("octets", "to send (bulk)", octets);
    cmd.AddValue("seconds", "end of the simulation", seconds);
    cmd.AddValue("chunk", "octets of a piece, an answer, a datagram", chunk);
    cmd.AddValue("every", "ms between pieces or datagrams", every);
    cmd.AddValue("think", "ms before an answer", think);
    cmd.AddValue("pause", "ms before the next request", pausing);
    cmd.AddValue("requests", "how many", requests);
    cmd.AddValue("request", "octets", request_octets);
    cmd.AddValue("works", "ms that A writes", works);
    cmd.AddValue("stops", "ms that A then does not", stops);
    cmd.AddValue("wifi", "mode of 802.11g between R2 and B", standard);
    cmd.AddValue("seed", "", seed);
    cmd.Parse(argc, argv);
    RngSeedManager::SetSeed(seed);
    GlobalValue::Bind("ChecksumEnabled", BooleanValue(true));
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::" + tcp)));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(rcvbuf));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(sndbuf));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(mss));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(delack));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(delackms)));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(iw));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(sack));
    Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(scaling));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(stamps));
    /* As in Linux, packets wait in fair queues, not in the radio. */
    Config::SetDefault("ns3::WifiMacQueue::MaxSize", StringValue("10p"));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));

    NodeContainer nodes;
    nodes.Create(4);
    InternetStackHelper internet;
    internet.Install(nodes);
    NetDeviceContainer links[3];
    for (int i = 0; i < 3; i++) {
        if (i == 2 && !standard.empty()) {
            continue;
        }
        PointToPointHelper link;
        bool is_middle = i == 1;
        link.SetDeviceAttribute("DataRate", DataRateValue(DataRate((uint64_t)(is_middle ? rate : access))));
        link.SetChannelAttribute("Delay", TimeValue(MicroSeconds(is_middle ? (int64_t)(delay * 1e3) : 20)));
        link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));
        links[i] = link.Install(nodes.Get(i), nodes.Get(i + 1));
        TrafficControlHelper ends, there;
        ends.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue("20000p"));
        if (is_middle) {
            if (back > 0) {
                DynamicCast<PointToPointNetDevice>(links[1].Get(1))->SetDataRate(DataRate((uint64_t)back));
            }
            std::string most = std::to_string(queue) + "p";
            if (disc == "fifo") {
                there.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue(most));
            } else {
                there.SetRootQueueDisc(disc == "codel" ? "ns3::CoDelQueueDisc" : disc == "pie" ? "ns3::PieQueueDisc" : "ns3::FqCoDelQueueDisc", "MaxSize",
                                       StringValue(most));
            }
            Ptr<QueueDisc> first = there.Install(links[1].Get(0)).Get(0);
            first->TraceConnectWithoutContext("Drop", MakeCallback(&drop_there));
            bottleneck = rate;
            Simulator::Schedule(MilliSeconds(20), &sample, first);
            TrafficControlHelper other;
            other.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue(std::to_string(back_queue) + "p"));
            other.Install(links[1].Get(1)).Get(0)->TraceConnectWithoutContext("Drop", MakeCallback(&drop_back));
        } else {
            ends.Install(links[i]);
        }
    }
    if (!standard.empty()) {
        YansWifiChannelHelper channel = YansWifiChannelHelper::Default();
        YansWifiPhyHelper phy;
        phy.SetChannel(channel.Create());
        WifiHelper wifi;
        wifi.SetStandard(WIFI_STANDARD_80211g);
        wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager", "DataMode", StringValue(standard), "ControlMode", StringValue("ErpOfdmRate6Mbps"));
        WifiMacHelper mac;
        mac.SetType("ns3::ApWifiMac", "Ssid", SsidValue(Ssid("field")));
        links[2] = wifi.Install(phy, mac, nodes.Get(2));
        mac.SetType("ns3::StaWifiMac", "Ssid", SsidValue(Ssid("field")));
        links[2].Add(wifi.Install(phy, mac, nodes.Get(3)));
        MobilityHelper mobility;
        mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
        mobility.Install(nodes.Get(2));
        mobility.Install(nodes.Get(3));
        nodes.Get(3)->GetObject<MobilityModel>()->SetPosition(Vector(6, 0, 0));
    }
    Ptr<NetDevice> far = links[1].Get(1), near = links[1].Get(0);
    if (loss > 0) {
        Ptr<RateErrorModel> model = CreateObject<RateErrorModel>();
        model->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
        model->SetRate(loss);
        far->SetAttribute("ReceiveErrorModel", PointerValue(model));
    } else if (bursts > 0) {
        Ptr<BurstErrorModel> model = CreateObject<BurstErrorModel>();
        model->SetBurstRate(bursts);
        Ptr<UniformRandomVariable> length = CreateObject<UniformRandomVariable>();
        length->SetAttribute("Min", DoubleValue(2));
        length->SetAttribute("Max", DoubleValue(2 * burst_length - 1));
        model->SetRandomBurstSize(length);
        far->SetAttribute("ReceiveErrorModel", PointerValue(model));
    } else if (lasts > 0) {
        for (Ptr<NetDevice> it : {far, near}) {
            Ptr<RateErrorModel> model = CreateObject<RateErrorModel>();
            model->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
            model->SetRate(0);
            it->SetAttribute("ReceiveErrorModel", PointerValue(model));
            Simulator::Schedule(Seconds(at), &cut_link, model, true);
            Simulator::Schedule(Seconds(at + lasts), &cut_link, model, false);
        }
    }
    if (back_loss > 0) {
        Ptr<RateErrorModel> model = CreateObject<RateErrorModel>();
        model->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
        model->SetRate(back_loss);
        near->SetAttribute("ReceiveErrorModel", PointerValue(model));
    }
    far->TraceConnectWithoutContext("PhyRxDrop", MakeCallback(&damage));
    near->TraceConnectWithoutContext("PhyRxDrop", MakeCallback(&damage));
    Ipv4AddressHelper address;
    Ipv4InterfaceContainer interfaces[3];
    for (int i = 0; i < 3; i++) {
        std::string base = "10.48." + std::to_string(i + 1) + ".0";
        address.SetBase(base.c_str(), "255.255.255.0");
        interfaces[i] = address.Assign(links[i]);
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    captures[0].open(out + "/A.pcap");
    captures[1].open(out + "/B.pcap");
    captures[2].open(out + "/R.pcap");
    links[0].Get(0)->TraceConnectWithoutContext("PromiscSniffer", MakeBoundCallback(&sniff, 0));
    links[0].Get(1)->TraceConnectWithoutContext("PromiscSniffer", MakeBoundCallback(&sniff, 2));
    if (standard.empty()) {
        links[2].Get(1)->TraceConnectWithoutContext("PromiscSniffer", MakeBoundCallback(&sniff, 1));
    } else {
        Ptr<Ipv4L3Protocol> it = nodes.Get(3)->GetObject<Ipv4L3Protocol>();
        it->TraceConnectWithoutContext("Tx", MakeBoundCallback(&ip, 1));
        it->TraceConnectWithoutContext("Rx", MakeBoundCallback(&ip, 1));
    }
    bool is_udp = role == "datagrams";
    TypeId type = TypeId::LookupByName(is_udp ? "ns3::UdpSocketFactory" : "ns3::TcpSocketFactory");
    Ptr<Socket> a = Socket::CreateSocket(nodes.Get(0), type), b = Socket::CreateSocket(nodes.Get(3), type);
    if (is_udp) {
        b->Bind(InetSocketAddress(Ipv4Address::GetAny(), 5004));
        b->SetRecvCallback(MakeCallback(&take_datagrams));
        a->Connect(InetSocketAddress(interfaces[2].GetAddress(1), 5004));
        Simulator::Schedule(Seconds(1), &datagram, a);
    } else {
        a->Bind(InetSocketAddress(Ipv4Address::GetAny(), 80));
        a->Listen();
        a->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address &>(), MakeCallback(&accepted));
        b->SetConnectCallback(MakeCallback(&connected), MakeNullCallback<void, Ptr<Socket>>());
        InetSocketAddress to(interfaces[0].GetAddress(0), 80);
        Simulator::Schedule(Seconds(1), [b, to]() { b->Connect(to); });
    }
    Simulator::Stop(Seconds(seconds + 1));
    Simulator::Run();
    printf("{\"damaged\": %lu, \"queue_full\": %lu, \"queue_full_back\": %lu, \"queue_ms_mean\": %.1f, \"queue_ms_max\": %.1f, \"taken\": %lu, "
           "\"served\": %u, \"sent\": %u, \"received\": %u}\n",
           damaged, dropped_there, dropped_back, queue_samples ? queue_sum / queue_samples : 0, queue_most, taken, served, sent, received);
    for (Capture &it : captures) {
        fclose(it.file);
    }
    Simulator::Destroy();
    return 0;
}
