/* The path: A - R - S - B, with Ethernet at both ends and a slower link in the middle. */
#pragma once

#include "settings.h"

#include "ns3/csma-module.h"
#include "ns3/internet-module.h"

struct Path {
    ns3::NodeContainer nodes;
    /* By link: near and far device. */
    ns3::NetDeviceContainer links[3];
    ns3::Ipv4InterfaceContainer addresses[3];
    void build();
    /* Routers know the way, and queues, losses and interruptions are in place. */
    void finish();
};
