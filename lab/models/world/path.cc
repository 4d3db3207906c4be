#include "path.h"

#include "ns3/core-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <random>

using namespace ns3;

static std::mt19937 chance;

/* What happens to packets that arrive at the other side of the middle link. */
struct Damage : ErrorModel {
    static TypeId GetTypeId()
    {
        static TypeId id = TypeId("Damage").SetParent<ErrorModel>().AddConstructor<Damage>();
        return id;
    }

    double share = 0, bursts = 0, police = 0, longest = 0, tokens = settings.bucket;
    bool is_there = true, is_down = false;
    uint32_t in_row = 0, openings = 0;
    Time last;

    bool DoCorrupt(Ptr<Packet> packet) override
    {
        std::uniform_real_distribution<> draw(0, 1);
        double size = packet->GetSize();
        if (is_down) {
            return counts.damaged++, true;
        }
        if (openings > 0 && size < 100) {
            return openings--, counts.damaged++, true;
        }
        if (longest > 0 && size > longest) {
            return counts.too_long++, true;
        }
        if (in_row > 0) {
            return in_row--, counts.damaged++, true;
        }
        if (share > 0 && draw(chance) < share) {
            return counts.damaged++, true;
        }
        if (bursts > 0 && draw(chance) < bursts) {
            in_row = std::geometric_distribution<uint32_t>(1 / settings.burst_length)(chance);
            return counts.damaged++, true;
        }
        if (police > 0) {
            tokens = std::min(settings.bucket, tokens + (Simulator::Now() - last).GetSeconds() * police / 8);
            last = Simulator::Now();
            if (tokens < size) {
                return counts.policed++, true;
            }
            tokens -= size;
        }
        return false;
    }

    void DoReset() override {}
};

static void count(uint64_t *which, Ptr<const QueueDiscItem>) { (*which)++; }

static void sample(Ptr<QueueDisc> queue, double rate, double *most)
{
    *most = std::max(*most, queue->GetNBytes() * 8e3 / rate);
    Simulator::Schedule(MilliSeconds(10), &sample, queue, rate, most);
}

static void control(Ptr<NetDevice> device, std::string disc, uint32_t most, double rate, uint64_t *full, double *longest)
{
    TrafficControlHelper helper;
    std::string packets = std::to_string(most) + "p";
    std::string type = disc == "codel" ? "CoDelQueueDisc" : disc == "fqcodel" ? "FqCoDelQueueDisc" : disc == "pie" ? "PieQueueDisc" : disc == "cobalt" ? "CobaltQueueDisc" : "FifoQueueDisc";
    helper.SetRootQueueDisc("ns3::" + type, "MaxSize", StringValue(packets));
    Ptr<QueueDisc> queue = helper.Install(device).Get(0);
    if (full) {
        queue->TraceConnectWithoutContext("Drop", MakeBoundCallback(&count, full));
        Simulator::Schedule(MilliSeconds(10), &sample, queue, rate, longest);
    }
}

void Path::build()
{
    chance.seed(settings.seed);
    nodes.Create(5);
    InternetStackHelper internet;
    for (int i = 0; i < 5; i++) {
        bool is_board = (i == 0 && settings.boards.find('A') != std::string::npos) || (i == 3 && settings.boards.find('B') != std::string::npos);
        if (!is_board) {
            internet.Install(nodes.Get(i));
        }
    }
    bool is_there_right = settings.sender == "A";
    double back = settings.back > 0 ? settings.back : settings.rate;
    for (int i = 0; i < 3; i++) {
        NodeContainer pair(nodes.Get(i), nodes.Get(i + 1));
        if (i == 1 && settings.medium == "wire") {
            PointToPointHelper link;
            link.SetDeviceAttribute("DataRate", DataRateValue(DataRate((uint64_t)settings.rate)));
            link.SetChannelAttribute("Delay", TimeValue(NanoSeconds((int64_t)(settings.delay * 1e6))));
            link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));
            links[i] = link.Install(pair);
            DynamicCast<PointToPointNetDevice>(links[i].Get(is_there_right ? 1 : 0))->SetDataRate(DataRate((uint64_t)back));
            continue;
        }
        CsmaHelper bus;
        double rate = i == 1 ? settings.rate : i == 2 && settings.lan > 0 ? settings.lan : settings.access;
        bus.SetChannelAttribute("DataRate", DataRateValue(DataRate((uint64_t)rate)));
        bus.SetChannelAttribute("Delay", TimeValue(NanoSeconds(i == 1 ? (int64_t)(settings.delay * 1e6) : 500)));
        bus.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(i == 1 ? "1p" : "500p"));
        if (i == 2 && settings.storm > 0) {
            pair.Add(nodes.Get(4));
        }
        links[i] = bus.Install(pair);
    }
}

static void interrupt(Ptr<Damage> one, Ptr<Damage> other, bool is_down) { one->is_down = other->is_down = is_down; }

/* A station that sends broadcasts to the segment of B. */
static void shout(Ptr<Socket> socket)
{
    socket->Send(Create<Packet>(160));
    counts.broadcasts++;
    std::exponential_distribution<> gap(settings.storm);
    Simulator::Schedule(Seconds(gap(chance)), &shout, socket);
}

void Path::finish()
{
    bool is_there_right = settings.sender == "A";
    int near = is_there_right ? 0 : 1;
    double back = settings.back > 0 ? settings.back : settings.rate;
    control(links[1].Get(near), settings.disc, settings.queue, settings.rate, &counts.queue_full, &counts.queue_ms_max);
    control(links[1].Get(1 - near), "fifo", settings.back_queue, back, &counts.back_queue_full, &counts.back_queue_ms_max);
    for (int i = 0; i < 3; i += 2) {
        for (uint32_t j = 0; j < 2; j++) {
            if (links[i].Get(j)->GetNode()->GetObject<TrafficControlLayer>()) {
                control(links[i].Get(j), "fifo", 20000, 1, nullptr, nullptr);
            }
        }
    }
    for (int i = 0; i < 3; i++) {
        Ipv4AddressHelper helper;
        helper.SetBase(("10.61." + std::to_string(i + 1) + ".0").c_str(), "255.255.255.0");
        for (uint32_t j = 0; j < links[i].GetN(); j++) {
            if (links[i].Get(j)->GetNode()->GetObject<Ipv4>()) {
                addresses[i].Add(helper.Assign(NetDeviceContainer(links[i].Get(j))));
            } else {
                helper.NewAddress();
            }
        }
    }
    Ipv4StaticRoutingHelper routes;
    auto route = [&](int node, const char *net, const char *by, uint32_t device) {
        if (nodes.Get(node)->GetObject<Ipv4>()) {
            routes.GetStaticRouting(nodes.Get(node)->GetObject<Ipv4>())->AddNetworkRouteTo(net, "255.255.0.0", by, device);
        }
    };
    route(0, "10.61.0.0", "10.61.1.2", 1);
    route(1, "10.61.0.0", "10.61.2.2", 2);
    route(2, "10.61.0.0", "10.61.2.1", 1);
    route(3, "10.61.0.0", "10.61.3.1", 1);
    Ptr<Damage> there = CreateObject<Damage>(), other = CreateObject<Damage>();
    there->share = settings.loss, there->bursts = settings.bursts, there->police = settings.police, there->longest = settings.longest_packet;
    there->openings = settings.lost_opening;
    other->share = settings.back_loss;
    links[1].Get(1 - near)->SetAttribute("ReceiveErrorModel", PointerValue(there));
    links[1].Get(near)->SetAttribute("ReceiveErrorModel", PointerValue(other));
    if (settings.down_for > 0) {
        Simulator::Schedule(Seconds(1 + settings.down_at), &interrupt, there, other, true);
        Simulator::Schedule(Seconds(1 + settings.down_at + settings.down_for), &interrupt, there, other, false);
    }
    if (settings.storm > 0) {
        Ptr<Socket> socket = Socket::CreateSocket(nodes.Get(4), TypeId::LookupByName("ns3::UdpSocketFactory"));
        socket->SetAllowBroadcast(true);
        socket->Connect(InetSocketAddress("10.61.3.255", 1900));
        Simulator::Schedule(Seconds(0.5), &shout, socket);
    }
}
