#include "ends.h"
#include "settings.h"

using namespace ns3;

struct HostConnection : Connection {
    Ptr<Socket> socket;
    bool is_up = false, is_over = false;

    bool is_open() override { return is_up; }

    uint32_t write(uint32_t octets) override
    {
        uint32_t size = std::min({octets, settings.host_mss * 4, socket->GetTxAvailable()});
        int done = size ? socket->Send(Create<Packet>(size)) : 0;
        return done > 0 ? done : 0;
    }

    int read(uint32_t most) override
    {
        Ptr<Packet> found = socket->Recv(most, 0);
        return found && found->GetSize() ? (int)found->GetSize() : is_over ? -1 : 0;
    }

    /* ns-3's TCP fails if it closes before what it sent is acknowledged, and something is lost. */
    static void close_when_empty(Ptr<Socket> it)
    {
        if (it->GetTxAvailable() >= settings.host_sends) {
            it->Close();
        } else {
            Simulator::Schedule(MilliSeconds(1), &close_when_empty, it);
        }
    }

    void close() override { close_when_empty(socket); }
};

struct Host : End {
    Ptr<Node> node;
    Ptr<Socket> listener;

    void use(Ptr<Socket> socket, bool is_up)
    {
        auto made = std::make_shared<HostConnection>();
        made->socket = socket;
        made->is_up = is_up;
        connection = made;
        HostConnection *it = made.get();
        socket->SetRecvCallback(Callback<void, Ptr<Socket>>(([this](Ptr<Socket>) { step(); })));
        socket->SetSendCallback(Callback<void, Ptr<Socket>, uint32_t>(([this](Ptr<Socket>, uint32_t) { step(); })));
        auto over = Callback<void, Ptr<Socket>>(([this, it](Ptr<Socket>) { it->is_over = true; step(); }));
        socket->SetCloseCallbacks(over, over);
    }

    void listen(uint16_t port) override
    {
        listener = Socket::CreateSocket(node, TypeId::LookupByName("ns3::TcpSocketFactory"));
        listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
        listener->Listen();
        listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address &>(),
                                    Callback<void, Ptr<Socket>, const Address &>(([this](Ptr<Socket> it, const Address &) {
                                        use(it, true);
                                        step();
                                    })));
    }

    void connect(const std::string &address, uint16_t port) override
    {
        Ptr<Socket> socket = Socket::CreateSocket(node, TypeId::LookupByName("ns3::TcpSocketFactory"));
        use(socket, false);
        HostConnection *it = static_cast<HostConnection *>(connection.get());
        socket->SetConnectCallback(Callback<void, Ptr<Socket>>(([this, it](Ptr<Socket>) { it->is_up = true; step(); })),
                                   MakeNullCallback<void, Ptr<Socket>>());
        socket->Connect(InetSocketAddress(Ipv4Address(address.c_str()), port));
    }
};

std::unique_ptr<End> host(Ptr<Node> node)
{
    auto it = std::make_unique<Host>();
    it->node = node;
    return it;
}
