/* A board: its ring of received frames, its processor's time for each, its sleep, and CycloneTCP. */
#include "ends.h"
#include "settings.h"

#include <dlfcn.h>
#include <filesystem>
#include <unistd.h>

using namespace ns3;

struct Board;

struct BoardConnection : Connection {
    const board_functions *stack;
    int socket;

    bool is_open() override { return stack->is_open(socket); }

    uint32_t write(uint32_t octets) override
    {
        static uint8_t zeros[65536];
        int done = stack->write(socket, zeros, std::min<uint32_t>(octets, sizeof zeros), settings.no_delay);
        return done > 0 ? done : 0;
    }

    int read(uint32_t most) override
    {
        static uint8_t data[65536];
        return stack->read(socket, data, std::min<uint32_t>(most, sizeof data));
    }

    void close() override { stack->close(socket); }
};

struct Board : End {
    const board_functions *stack;
    Ptr<CsmaNetDevice> device;
    std::deque<Frame> ring;
    bool is_busy = false;
    /* What of the settings applies to this board. */
    uint32_t room = 1000;
    double frame_us = 0, poll_ms = 0, wakes_ms = 0;
    int listener = -1, opened = -1;
    Time active, until;

    static void send(void *whose, const uint8_t *frame, size_t octets)
    {
        Board *it = static_cast<Board *>(whose);
        Mac48Address to, from;
        to.CopyFrom(frame);
        from.CopyFrom(frame + 6);
        it->device->SendFrom(Create<Packet>(frame + 14, octets - 14), from, to, (uint16_t)(frame[12] << 8 | frame[13]));
    }

    uint32_t ms() { return (uint32_t)(Simulator::Now().GetMilliSeconds() + 1000); }

    bool receive(Ptr<NetDevice>, Ptr<const Packet> packet, uint16_t protocol, const Address &from, const Address &to, NetDevice::PacketType)
    {
        Frame frame(14 + packet->GetSize());
        Mac48Address::ConvertFrom(to).CopyTo(&frame[0]);
        Mac48Address::ConvertFrom(from).CopyTo(&frame[6]);
        frame[12] = (uint8_t)(protocol >> 8), frame[13] = (uint8_t)protocol;
        packet->CopyData(&frame[14], packet->GetSize());
        complete(frame);
        if (ring.size() >= room) {
            counts.ring_full++;
            return true;
        }
        ring.push_back(frame);
        wake();
        return true;
    }

    /* When the processor looks at the ring next. */
    Time ready()
    {
        Time now = Simulator::Now(), at = std::max(now, until);
        if (poll_ms > 0) {
            int64_t each = (int64_t)(poll_ms * 1e6);
            at = std::max(at, NanoSeconds((now.GetNanoSeconds() / each + 1) * each));
        }
        if (wakes_ms > 0 && now - active > Seconds(settings.awake_ms / 1e3)) {
            int64_t each = (int64_t)(wakes_ms * 1e6);
            at = std::max(at, NanoSeconds((now.GetNanoSeconds() / each + 1) * each));
        }
        return at;
    }

    void wake()
    {
        if (!is_busy && !ring.empty()) {
            is_busy = true;
            Simulator::Schedule(ready() - Simulator::Now() + NanoSeconds((int64_t)(frame_us * 1e3)), &Board::look, this);
        }
    }

    void look()
    {
        if (Simulator::Now() < until) {
            Simulator::Schedule(until - Simulator::Now() + NanoSeconds((int64_t)(frame_us * 1e3)), &Board::look, this);
            return;
        }
        active = Simulator::Now();
        stack->tick(ms());
        /* Without a time for each frame, all that waits is taken at once. */
        do {
            Frame frame = ring.front();
            ring.pop_front();
            stack->take(frame.data(), frame.size());
            run();
        } while (frame_us == 0 && !ring.empty() && Simulator::Now() >= until);
        is_busy = false;
        /* While it goes on, it does not wait for its next look. */
        if (!ring.empty()) {
            is_busy = true;
            Simulator::Schedule(std::max(until - Simulator::Now(), Time(0)) + NanoSeconds((int64_t)(frame_us * 1e3)), &Board::look, this);
        }
    }

    void run()
    {
        if (listener >= 0 && !connection) {
            int found = stack->accept(listener);
            if (found >= 0) {
                use(found);
            }
        }
        if (Simulator::Now() >= until) {
            step();
        }
    }

    void clock()
    {
        if (Simulator::Now() >= until) {
            stack->tick(ms());
            run();
        }
        Simulator::Schedule(MilliSeconds(1), &Board::clock, this);
    }

    void use(int socket)
    {
        auto made = std::make_shared<BoardConnection>();
        made->stack = stack;
        made->socket = socket;
        connection = made;
    }

    void listen(uint16_t port) override { listener = stack->listen(port, settings.board_mss, settings.board_sends, settings.board_receives); }

    void connect(const std::string &address, uint16_t port) override
    {
        use(stack->connect(address.c_str(), port, settings.board_mss, settings.board_sends, settings.board_receives));
    }

    /* The program is called each millisecond, and after each frame. */
    void call(Time at) override
    {
        Simulator::Schedule(std::max(at - Simulator::Now(), Time(0)), [this] { if (Simulator::Now() >= until) step(); });
    }

    void rest(double ms) override
    {
        until = Simulator::Now() + Seconds(ms / 1e3);
        counts.still++;
    }

    /* The board stands still at intervals. */
    void halt()
    {
        rest(settings.still_ms);
        Simulator::Schedule(Seconds((settings.still_ms + settings.still_works) / 1e3), &Board::halt, this);
    }
};

std::unique_ptr<End> board(Ptr<CsmaNetDevice> device, const std::string &address, const std::string &gate, bool is_slow)
{
    static int number;
    auto it = std::make_unique<Board>();
    /* Each board has globals of its own: a copy of the library. */
    std::string copy = settings.out + "/board-" + std::to_string(number++) + ".so";
    std::filesystem::copy_file(settings.library, copy, std::filesystem::copy_options::overwrite_existing);
    void *library = dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        _exit(1);
    }
    unlink(copy.c_str());
    it->stack = static_cast<const board_functions *>(dlsym(library, "board"));
    it->device = device;
    if (is_slow) {
        it->room = settings.ring, it->frame_us = settings.frame_us, it->poll_ms = settings.poll_ms, it->wakes_ms = settings.wakes_ms;
    }
    uint8_t mac[6];
    Mac48Address::ConvertFrom(device->GetAddress()).CopyTo(mac);
    it->stack->tick(it->ms());
    it->stack->start(it.get(), &Board::send, mac, address.c_str(), "255.255.255.0", gate.c_str(), settings.seed * 31 + number);
    device->SetPromiscReceiveCallback(MakeCallback(&Board::receive, it.get()));
    Simulator::Schedule(MilliSeconds(1), &Board::clock, it.get());
    if (is_slow && settings.still_ms > 0 && settings.still_each == 0) {
        Simulator::Schedule(Seconds(1 + settings.still_works / 1e3), &Board::halt, it.get());
    }
    return it;
}
