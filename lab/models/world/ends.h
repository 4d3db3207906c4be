/* The two kinds of ends, a host with ns-3's TCP and a board with CycloneTCP, and what a program sees of them. */
#pragma once

#include "../cyclone/board.h"
#include "capture.h"

#include "ns3/csma-module.h"
#include "ns3/internet-module.h"

#include <deque>
#include <functional>
#include <memory>

struct Connection {
    virtual ~Connection() {}
    virtual bool is_open() = 0;
    /* Octets that the stack took. */
    virtual uint32_t write(uint32_t octets) = 0;
    /* Octets that were there, or -1 if the peer has closed. */
    virtual int read(uint32_t most) = 0;
    virtual void close() = 0;
};

struct End {
    std::shared_ptr<Connection> connection;
    /* Called whenever the program may have something to do. */
    std::function<void()> step = [] {};
    virtual ~End() {}
    virtual void listen(uint16_t port) = 0;
    virtual void connect(const std::string &address, uint16_t port) = 0;
    /* The program wants to be called at this time. */
    virtual void call(ns3::Time at) { ns3::Simulator::Schedule(at - ns3::Simulator::Now(), [this] { step(); }); }
    /* The station stands still. */
    virtual void rest(double) {}
};

std::unique_ptr<End> host(ns3::Ptr<ns3::Node> node);
std::unique_ptr<End> board(ns3::Ptr<ns3::CsmaNetDevice> device, const std::string &address, const std::string &gate, bool is_slow);
