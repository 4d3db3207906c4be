//! A typical host at the other end of the cable: a Linux PC with a web server.

pub mod dhcp;
pub mod http_client;
pub mod http_server;
pub mod neighbours;
pub mod packet;
pub mod ping;
pub mod program;

use std::collections::VecDeque;

use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    ArpOperation, ArpPacket, ArpRepr, EthernetAddress, EthernetFrame, EthernetProtocol,
    Icmpv4Packet, Icmpv4Repr, IpProtocol, Ipv4Address, Ipv4Cidr, UdpPacket,
};

use self::neighbours::Neighbours;
use self::packet::Packet;
use self::program::Programs;
use super::tcp::{self, Segment, Tcp};
use super::{Peer, Report, Station};
use crate::random::Random;
use crate::time::{Instant, Span};

/// Maximum number of a program's frames that wait for the MAC; the program itself keeps further ones.
const MAX_EGRESS_FRAMES: usize = 16;

/// Configuration of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Hardware address.
    pub mac: EthernetAddress,
    /// IPv4 address and network.
    pub network: Ipv4Cidr,
    /// Time from the end of a received frame to the first reaction: interrupt, driver, stack.
    pub turnaround: Span,
    /// Maximum random addition to the turnaround, as on a host with other load.
    pub turnaround_jitter: Span,
    /// TCP configuration.
    pub tcp: tcp::Config,
    /// HTTP server, if enabled.
    pub http_server: Option<http_server::Config>,
    /// Clients that fetch files from the device concurrently.
    pub http_clients: Vec<http_client::Config>,
    /// Echo requests to the device, if enabled.
    pub ping: Option<ping::Config>,
    /// DHCP server, if enabled.
    pub dhcp: Option<dhcp::Config>,
    /// Interval of ARP requests for addresses of other stations, as hosts on a network send them.
    pub background_arp: Option<Span>,
    /// Seed of identifiers and sequence numbers.
    pub seed: u64,
}

impl Default for Config {
    /// 169.254.10.1/16 with a web server, 80 us of turnaround.
    fn default() -> Self {
        Self {
            mac: EthernetAddress([2, 0, 0, 0, 0, 1]),
            network: Ipv4Cidr::new(Ipv4Address::new(169, 254, 10, 1), 16),
            turnaround: Span::from_us(80),
            turnaround_jitter: Span::ZERO,
            tcp: tcp::Config::default(),
            http_server: Some(http_server::Config::default()),
            http_clients: Vec::new(),
            ping: None,
            dhcp: None,
            background_arp: None,
            seed: 0,
        }
    }
}

impl Config {
    /// The same configuration with IPv4 address `address` and prefix length `prefix`.
    #[must_use]
    pub fn at(self, address: Ipv4Address, prefix: u8) -> Self {
        Self {
            network: Ipv4Cidr::new(address, prefix),
            ..self
        }
    }
}

/// The simulated host.
#[derive(Debug)]
pub struct Host {
    config: Config,
    /// Received frames and the time at which the host processes each.
    ingress: VecDeque<(Instant, Vec<u8>)>,
    egress: VecDeque<Vec<u8>>,
    neighbours: Neighbours,
    tcp: Tcp,
    http_server: Option<http_server::Server>,
    http_clients: Vec<http_client::Client>,
    pinger: Option<ping::Pinger>,
    dhcp: Option<dhcp::Server>,
    programs: Programs,
    background_arp_at: Instant,
    identification: u16,
    random: Random,
}

impl Host {
    /// A host that is switched on at time zero.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let mut random = Random::new(config.seed);
        let mut tcp = Tcp::new(config.tcp, Random::new(random.next_u64()));
        if let Some(server) = &config.http_server {
            tcp.listen(server.port, server.backlog);
        }
        Self {
            ingress: VecDeque::new(),
            egress: VecDeque::new(),
            neighbours: Neighbours::default(),
            tcp,
            http_server: config.http_server.clone().map(http_server::Server::new),
            http_clients: config
                .http_clients
                .iter()
                .cloned()
                .map(http_client::Client::new)
                .collect(),
            pinger: config
                .ping
                .map(|ping| ping::Pinger::new(ping, random.next_u64() as u16)),
            dhcp: config
                .dhcp
                .map(|dhcp| dhcp::Server::new(dhcp, config.network)),
            programs: Programs::default(),
            background_arp_at: config
                .background_arp
                .map_or(Instant::NEVER, |interval| Instant::ZERO + interval),
            identification: random.next_u64() as u16,
            random,
            config,
        }
    }

    fn address(&self) -> Ipv4Address {
        self.config.network.address()
    }

    /// Performs everything that is due at `now`.
    fn run(&mut self, now: Instant) {
        while self
            .ingress
            .front()
            .is_some_and(|&(ready_at, _)| ready_at <= now)
        {
            if let Some((_, frame)) = self.ingress.pop_front() {
                self.process(&frame, now);
                // The kernel acknowledges before the program runs.
                self.flush_tcp(now);
                self.run_applications(now);
            }
        }
        self.flush_tcp(now);
        self.run_applications(now);
        if self.background_arp_at <= now {
            self.send_background_arp(now);
        }
        while let Some(address) = self.neighbours.poll_request(now) {
            self.send_arp_request(address);
        }
    }

    fn run_applications(&mut self, now: Instant) {
        if let Some(server) = &mut self.http_server {
            server.poll(&mut self.tcp, now);
        }
        for client in &mut self.http_clients {
            client.poll(&mut self.tcp, now);
        }
        while let Some((target, message)) = self.pinger.as_mut().and_then(|ping| ping.poll(now)) {
            self.send(target, IpProtocol::Icmp, message, now);
        }
        self.flush_tcp(now);
        self.poll_programs(now);
        // Segments just sent may complete the records of responses.
        if let Some(server) = &mut self.http_server {
            server.poll(&mut self.tcp, now);
        }
    }

    fn poll_programs(&mut self, now: Instant) {
        let free = MAX_EGRESS_FRAMES.saturating_sub(self.egress.len());
        let own = self.address();
        let outgoing = self.programs.poll(&mut self.tcp, own, free, now);
        for (to, datagram) in outgoing.datagrams {
            self.send(to, IpProtocol::Udp, datagram, now);
        }
        self.egress.extend(outgoing.frames);
        self.flush_tcp(now);
    }

    fn flush_tcp(&mut self, now: Instant) {
        let source = self.address();
        while let Some((destination, segment)) = self.tcp.poll(now) {
            let bytes = segment.emit(source, destination);
            self.send(destination, IpProtocol::Tcp, bytes, now);
        }
    }

    fn send(&mut self, to: Ipv4Address, protocol: IpProtocol, payload: Vec<u8>, now: Instant) {
        let packet = Packet {
            source: self.address(),
            destination: to,
            protocol,
            payload,
        };
        match self.neighbours.get(to) {
            Some(hardware) => self.emit(&packet, hardware),
            None => self.neighbours.enqueue(packet, now),
        }
    }

    fn emit(&mut self, packet: &Packet, to: EthernetAddress) {
        self.identification = self.identification.wrapping_add(1);
        self.egress
            .push_back(packet.emit(self.config.mac, to, self.identification));
    }

    fn send_arp_request(&mut self, address: Ipv4Address) {
        let own = (self.config.mac, self.address());
        let target = (EthernetAddress::BROADCAST, address);
        self.egress
            .push_back(packet::arp(ArpOperation::Request, own, target));
    }

    fn send_background_arp(&mut self, now: Instant) {
        let mask = self.config.network.netmask().to_bits();
        let bits = self.address().to_bits() & mask | self.random.next_u64() as u32 & !mask;
        self.send_arp_request(Ipv4Address::from_bits(bits));
        self.background_arp_at = now + self.config.background_arp.unwrap_or(Span::from_secs(1));
    }

    fn process(&mut self, bytes: &[u8], now: Instant) {
        let Ok(frame) = EthernetFrame::new_checked(bytes) else {
            return;
        };
        let to = frame.dst_addr();
        if to != self.config.mac && !to.is_broadcast() {
            return;
        }
        match frame.ethertype() {
            EthernetProtocol::Arp => self.process_arp(frame.payload()),
            EthernetProtocol::Ipv4 => {
                if let Some(packet) = Packet::parse(frame.payload()) {
                    self.process_packet(&packet, now);
                }
            }
            EthernetProtocol::Unknown(kind) if kind == linerate_agent::frame::ETHERTYPE => {
                self.programs.frame(bytes, now);
            }
            _ => {}
        }
    }

    fn process_arp(&mut self, bytes: &[u8]) {
        let Ok(Ok(repr)) = ArpPacket::new_checked(bytes).map(|packet| ArpRepr::parse(&packet))
        else {
            return;
        };
        let ArpRepr::EthernetIpv4 {
            operation,
            source_hardware_addr: hardware,
            source_protocol_addr: source,
            target_protocol_addr: target,
            ..
        } = repr
        else {
            return;
        };
        let for_us = target == self.address();
        // RFC 826: senders of packets for us are added, others only updated. A probe (RFC 5227) has
        // no sender address yet.
        if (for_us || self.neighbours.get(source).is_some()) && !source.is_unspecified() {
            for packet in self.neighbours.learn(source, hardware) {
                self.emit(&packet, hardware);
            }
        }
        if for_us && operation == ArpOperation::Request {
            let own = (self.config.mac, self.address());
            self.egress
                .push_back(packet::arp(ArpOperation::Reply, own, (hardware, source)));
        }
    }

    fn process_packet(&mut self, packet: &Packet, now: Instant) {
        let broadcast = packet.destination.is_broadcast()
            || Some(packet.destination) == self.config.network.broadcast();
        if packet.destination != self.address() && !broadcast {
            return;
        }
        match packet.protocol {
            IpProtocol::Icmp if !broadcast => self.process_icmp(packet, now),
            IpProtocol::Udp => self.process_udp(packet, now),
            IpProtocol::Tcp if !broadcast => {
                let parsed = Segment::parse(&packet.payload, packet.source, packet.destination);
                if let Some(segment) = parsed {
                    self.tcp.receive(packet.source, &segment, now);
                }
            }
            _ => {}
        }
    }

    fn process_icmp(&mut self, packet: &Packet, now: Instant) {
        let Ok(message) = Icmpv4Packet::new_checked(&packet.payload[..]) else {
            return;
        };
        match Icmpv4Repr::parse(&message, &ChecksumCapabilities::default()) {
            Ok(Icmpv4Repr::EchoRequest {
                ident,
                seq_no,
                data,
            }) => {
                let reply = packet::icmp(&Icmpv4Repr::EchoReply {
                    ident,
                    seq_no,
                    data,
                });
                self.send(packet.source, IpProtocol::Icmp, reply, now);
            }
            Ok(Icmpv4Repr::EchoReply {
                ident,
                seq_no,
                data,
            }) => {
                if let Some(pinger) = &mut self.pinger {
                    pinger.receive(ident, seq_no, data, now);
                }
            }
            _ => {}
        }
    }

    fn process_udp(&mut self, packet: &Packet, now: Instant) {
        let Ok(datagram) = UdpPacket::new_checked(&packet.payload[..]) else {
            return;
        };
        let (source, destination) = (packet.source.into(), packet.destination.into());
        if !datagram.verify_checksum(&source, &destination) {
            return;
        }
        if datagram.dst_port() != dhcp::SERVER_PORT {
            let from = (packet.source, datagram.src_port());
            let port = datagram.dst_port();
            self.programs.datagram(port, from, datagram.payload());
            return;
        }
        let Some(reply) = self
            .dhcp
            .as_mut()
            .and_then(|dhcp| dhcp.receive(datagram.payload(), now))
        else {
            return;
        };
        let own = self.address();
        let payload = packet::udp(
            (own, dhcp::SERVER_PORT),
            (reply.destination, dhcp::CLIENT_PORT),
            &reply.message,
        );
        let protocol = IpProtocol::Udp;
        let answer = Packet {
            source: own,
            destination: reply.destination,
            protocol,
            payload,
        };
        self.emit(&answer, reply.hardware);
    }

    /// TCP retransmissions of this host for `reason`, of all connections so far.
    #[must_use]
    pub fn retransmissions(&self, reason: tcp::RetransmitReason) -> u64 {
        self.tcp.retransmissions(reason)
    }
}

impl Station for Host {
    fn receive(&mut self, frame: &[u8], now: Instant) {
        let jitter = self.random.below(self.config.turnaround_jitter.ticks() + 1);
        let ready_at = now + self.config.turnaround + Span::from_ticks(jitter);
        // Frames do not overtake each other.
        let last = self.ingress.back().map_or(Instant::ZERO, |&(at, _)| at);
        self.ingress.push_back((ready_at.max(last), frame.to_vec()));
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Vec<u8>> {
        if self.egress.is_empty() {
            self.run(now);
        }
        self.egress.pop_front()
    }

    fn poll_timeout(&self) -> Instant {
        if !self.egress.is_empty() {
            return Instant::ZERO;
        }
        let server = self
            .http_server
            .as_ref()
            .map_or(Instant::NEVER, http_server::Server::deadline);
        let client = self
            .http_clients
            .iter()
            .map(http_client::Client::deadline)
            .fold(Instant::NEVER, Instant::min);
        let pinger = self
            .pinger
            .as_ref()
            .map_or(Instant::NEVER, ping::Pinger::deadline);
        let ingress = self
            .ingress
            .front()
            .map_or(Instant::NEVER, |&(ready_at, _)| ready_at);
        [
            ingress,
            self.tcp.deadline(),
            self.neighbours.deadline(),
            self.programs.deadline(),
            server,
            client,
            pinger,
        ]
        .into_iter()
        .fold(self.background_arp_at, Instant::min)
    }
}

impl Peer for Host {
    fn programs(&mut self) -> Option<&mut Programs> {
        Some(&mut self.programs)
    }

    fn uploads(&self) -> &[http_server::Upload] {
        self.http_server
            .as_ref()
            .map_or(&[], http_server::Server::uploads)
    }

    fn report(&self) -> Report {
        Report {
            requests: self
                .http_server
                .as_ref()
                .map_or(Vec::new(), |server| server.requests().to_vec()),
            fetches: self
                .http_clients
                .iter()
                .flat_map(|client| client.fetches().to_vec())
                .collect(),
            pings: self
                .pinger
                .as_ref()
                .map_or(Vec::new(), |pinger| pinger.pings().to_vec()),
            leases: self
                .dhcp
                .as_ref()
                .map_or(Vec::new(), |dhcp| dhcp.leases().copied().collect()),
            frames: None,
        }
    }
}
