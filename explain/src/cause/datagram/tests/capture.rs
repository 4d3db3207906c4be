//! A capture that tests write packet by packet.

use crate::cause::PathFinding;
use crate::traffic::Report;
use linerate_capture::reader::{LinkType, Packet};
use linerate_capture::traffic::{Analysis, Traffic};
use linerate_results::record::Cause;

pub(super) const US: u64 = 1_000;
pub(super) const MS: u64 = 1_000_000;
pub(super) const ICMP: u8 = 1;
pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;

/// Host and port.
pub(super) type End = (u8, u16);

/// Packets between the hosts 192.0.2.0/24 on an Ethernet.
#[derive(Default)]
pub(super) struct Capture {
    traffic: Traffic,
    packets: u64,
    /// Identification of the next IPv4 packet.
    pub(super) id: u16,
    /// True for frames to all stations.
    pub(super) broadcast: bool,
    /// What is added to the checksums of UDP and TCP.
    pub(super) damage: u16,
    /// True if each packet is also captured behind a router.
    pub(super) is_routed: bool,
    /// True if the adapters that sent the frames have padded them.
    pub(super) is_padded: bool,
}

impl Capture {
    /// A frame with a broadcast address or not.
    pub(super) fn frame(&mut self, time_ns: u64, kind: u16, payload: &[u8]) {
        self.packets += 1;
        let to = if self.broadcast { 0xFF } else { 2 };
        let mut octets = [[to; 6], [2; 6]].concat();
        octets.extend(kind.to_be_bytes());
        octets.extend(payload);
        if self.is_padded {
            octets.resize(octets.len().max(60), 0);
        }
        self.traffic.record_packet(&Packet {
            number: self.packets,
            offset: 0,
            time_ns,
            length: octets.len() as u32,
            link: LinkType::ETHERNET,
            octets: &octets,
        });
    }

    pub(super) fn ip(&mut self, time_ns: u64, hosts: [u8; 2], protocol: u8, payload: &[u8]) {
        self.id = self.id.wrapping_add(1).max(1);
        let packet = ip(hosts, self.id, protocol, payload);
        self.frame(time_ns, 0x0800, &packet);
        if self.is_routed {
            let mut copy = packet;
            copy[8] -= 1;
            copy[10..12].fill(0);
            let checksum = !sum(&copy[..20]);
            copy[10..12].copy_from_slice(&checksum.to_be_bytes());
            self.frame(time_ns + 40 * US, 0x0800, &copy);
        }
    }

    pub(super) fn udp(&mut self, time_ns: u64, ends: [End; 2], payload: &[u8]) {
        let hosts = ends.map(|end| end.0);
        let mut datagram = udp(ends, payload);
        let pseudo = pseudo(hosts, UDP, datagram.len());
        let checksum = !sum(&[&pseudo[..], &datagram].concat());
        let checksum = checksum.wrapping_add(self.damage);
        datagram[6..8].copy_from_slice(&checksum.to_be_bytes());
        self.ip(time_ns, hosts, UDP, &datagram);
    }

    /// A TCP segment without options.
    pub(super) fn tcp(
        &mut self,
        time_ns: u64,
        ends: [End; 2],
        flags: u8,
        (seq, ack): (u32, u32),
        len: usize,
    ) {
        let hosts = ends.map(|end| end.0);
        let mut segment: Vec<u8> = ends
            .into_iter()
            .flat_map(|end| end.1.to_be_bytes())
            .collect();
        segment.extend([seq, ack].into_iter().flat_map(u32::to_be_bytes));
        segment.extend([0x50, flags, 0xF0, 0, 0, 0, 0, 0]);
        segment.extend(vec![0; len]);
        let checksum = !sum(&[&pseudo(hosts, TCP, segment.len())[..], &segment].concat());
        let checksum = checksum.wrapping_add(self.damage);
        segment[16..18].copy_from_slice(&checksum.to_be_bytes());
        self.ip(time_ns, hosts, TCP, &segment);
    }

    /// A connection from `client` that downloads 1,000 octets in two round trips and closes.
    pub(super) fn download(&mut self, time_ns: u64, client: End, server: End, rtt_ns: u64) {
        const FIN: u8 = 1;
        const SYN: u8 = 2;
        const ACK: u8 = 16;
        let (there, back) = ([client, server], [server, client]);
        self.tcp(time_ns, there, SYN, (0, 0), 0);
        self.tcp(time_ns + rtt_ns, back, SYN | ACK, (0, 1), 0);
        self.tcp(time_ns + rtt_ns + 10 * US, there, ACK, (1, 1), 100);
        self.tcp(time_ns + 2 * rtt_ns, back, FIN | ACK, (1, 101), 1_000);
        self.tcp(
            time_ns + 2 * rtt_ns + 10 * US,
            there,
            FIN | ACK,
            (101, 1_002),
            0,
        );
        self.tcp(time_ns + 3 * rtt_ns, back, ACK, (1_002, 102), 0);
    }

    /// Host `asker` asks for the hardware address of `target`, which answers or not.
    pub(super) fn arp(&mut self, time_ns: u64, [asker, target]: [u8; 2], is_answer: bool) {
        let head = [0, 1, 8, 0, 6, 4, 0, 1 + u8::from(is_answer)];
        let (one, other) = if is_answer {
            (target, asker)
        } else {
            (asker, target)
        };
        let message = [&head[..], &[2; 6], &host(one), &[0; 6], &host(other)].concat();
        self.frame(time_ns, 0x0806, &message);
    }

    pub(super) fn analysis(self) -> Analysis {
        self.traffic.finish()
    }

    pub(super) fn report(self) -> Report {
        Report::of(self.traffic, Vec::new())
    }

    pub(super) fn findings(self) -> Vec<PathFinding> {
        self.report().findings
    }

    pub(super) fn causes(self) -> Vec<Cause> {
        let found = self.findings().into_iter();
        found.map(|it| it.finding.cause).collect()
    }
}

pub(super) fn host(host: u8) -> [u8; 4] {
    [192, 0, 2, host]
}

/// A UDP datagram without a checksum.
pub(super) fn udp(ends: [End; 2], payload: &[u8]) -> Vec<u8> {
    let mut datagram: Vec<u8> = ends
        .into_iter()
        .flat_map(|end| end.1.to_be_bytes())
        .collect();
    datagram.extend((8 + payload.len() as u16).to_be_bytes());
    datagram.extend([0, 0]);
    datagram.extend(payload);
    datagram
}

pub(super) fn ip(hosts: [u8; 2], id: u16, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0];
    packet.extend((20 + payload.len() as u16).to_be_bytes());
    packet.extend(id.to_be_bytes());
    packet.extend([0, 0, 64, protocol, 0, 0]);
    packet.extend(hosts.map(host).concat());
    let checksum = !sum(&packet);
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    packet.extend(payload);
    packet
}

pub(super) fn pseudo(hosts: [u8; 2], protocol: u8, len: usize) -> Vec<u8> {
    let [high, low] = (len as u16).to_be_bytes();
    [&hosts.map(host).concat()[..], &[0, protocol, high, low]].concat()
}

/// The ones' complement sum (RFC 1071).
pub(super) fn sum(octets: &[u8]) -> u16 {
    let words = octets.chunks(2).map(|word| match *word {
        [high, low] => u32::from(u16::from_be_bytes([high, low])),
        [high] => u32::from(high) << 8,
        _ => 0,
    });
    let mut sum: u32 = words.sum();
    while sum >> 16 != 0 {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    sum as u16
}
