//! Checksum verdicts of the MAC compared with smoltcp: the MAC drops the packets that smoltcp would
//! reject for a checksum, and no others.
#![cfg(not(loom))]

mod support;

use linerate_ether::checksum::Sum;
use linerate_ether::ledger::Counter;
use linerate_nic::bitbang::{FRAME_OFFSET, SummedFrame};
use linerate_nic::ledger::Ledger;
use linerate_nic::mac::{AlwaysOn, LineRate, Receiver, Reception, receiver_words};
use proptest::prelude::*;
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    EthernetFrame, EthernetProtocol, Icmpv4Packet, Icmpv4Repr, Icmpv6Packet, Icmpv6Repr, IpAddress,
    IpProtocol, Ipv4Packet, Ipv4Repr, Ipv6Packet, Ipv6Repr, TcpPacket, TcpRepr, UdpPacket, UdpRepr,
};
use support::{DEVICE, PEER, with_fcs};

const WORDS: usize = receiver_words(2);

/// True if the MAC passes `frame` (without FCS) to the stack.
fn passes(frame: &[u8]) -> bool {
    let octets = with_fcs(frame);
    let summed = SummedFrame {
        octets: octets.len() as u16,
        fcs_good: true,
        dribble: false,
        sum: Sum::new().add(&octets).fold().swap_bytes().into(),
    };
    let (ledger, receiver) = (Ledger::new(), Receiver::<WORDS>::new());
    let (mut interrupt, mut main) = receiver.split::<LineRate, _>(&ledger, AlwaysOn).unwrap();
    let _ = interrupt.receive(|buffer| {
        buffer.fill(0x3C);
        buffer[FRAME_OFFSET..][..octets.len()].copy_from_slice(&octets);
        Reception::Frame(summed)
    });
    let passed = main.receive().is_some();
    assert_eq!(ledger.get(Counter::RxBadChecksum), u32::from(!passed));
    passed
}

/// True if smoltcp parses the packet in `frame` up to its transport header; `None` if it does not
/// check a checksum, whatever the capabilities.
fn smoltcp_reads(frame: &[u8], caps: &ChecksumCapabilities) -> Option<bool> {
    fn all(
        protocol: IpProtocol,
        from: IpAddress,
        to: IpAddress,
        payload: &[u8],
        caps: &ChecksumCapabilities,
    ) -> Option<Result<(), smoltcp::wire::Error>> {
        Some(match (protocol, from, to) {
            (IpProtocol::Tcp, ..) => TcpPacket::new_checked(payload)
                .and_then(|tcp| TcpRepr::parse(&tcp, &from, &to, caps).map(drop)),
            (IpProtocol::Udp, ..) => UdpPacket::new_checked(payload)
                .and_then(|udp| UdpRepr::parse(&udp, &from, &to, caps).map(drop)),
            (IpProtocol::Icmp, IpAddress::Ipv4(_), _) => Icmpv4Packet::new_checked(payload)
                .and_then(|icmp| Icmpv4Repr::parse(&icmp, caps).map(drop)),
            (IpProtocol::Icmpv6, IpAddress::Ipv6(from), IpAddress::Ipv6(to)) => {
                Icmpv6Packet::new_checked(payload)
                    .and_then(|icmp| Icmpv6Repr::parse(&from, &to, &icmp, caps).map(drop))
            }
            _ => return None,
        })
    }
    let ethernet = EthernetFrame::new_checked(frame).ok()?;
    match ethernet.ethertype() {
        EthernetProtocol::Ipv4 => {
            let packet = Ipv4Packet::new_checked(ethernet.payload()).ok()?;
            let Ok(ip) = Ipv4Repr::parse(&packet, caps) else {
                return Some(false);
            };
            let (from, to) = (ip.src_addr.into(), ip.dst_addr.into());
            let read = all(ip.next_header, from, to, packet.payload(), caps);
            Some(read.is_none_or(|read| read.is_ok()))
        }
        EthernetProtocol::Ipv6 => {
            let packet = Ipv6Packet::new_checked(ethernet.payload()).ok()?;
            let ip = Ipv6Repr::parse(&packet).ok()?;
            let (from, to) = (ip.src_addr.into(), ip.dst_addr.into());
            all(ip.next_header, from, to, packet.payload(), caps).map(|read| read.is_ok())
        }
        _ => None,
    }
}

/// With the MAC in front, a stack that checks nothing accepts exactly what a stack that checks
/// everything accepts.
fn agrees(frame: &[u8]) -> Result<(), TestCaseError> {
    let strict = smoltcp_reads(frame, &ChecksumCapabilities::default());
    let trusting = smoltcp_reads(frame, &ChecksumCapabilities::ignored());
    let passed = passes(frame);
    // Otherwise neither reaches a checksum.
    if let (Some(strict), Some(trusting)) = (strict, trusting) {
        prop_assert_eq!(strict, trusting && passed, "{:02x?}", frame);
    }
    Ok(())
}

/// A packet with correct checksums.
#[derive(Debug, Clone)]
struct Packet {
    protocol: u8,
    options: usize,
    data: Vec<u8>,
    padding: Vec<u8>,
    /// Octets of the IP payload beyond the UDP length.
    beyond: usize,
    no_checksum: bool,
    zeroes: bool,
}

fn packet() -> impl Strategy<Value = Packet> {
    let data = prop_oneof![
        4 => prop::collection::vec(any::<u8>(), 0..80),
        1 => prop::collection::vec(any::<u8>(), 1380..1400),
        1 => prop::collection::vec(prop_oneof![Just(0_u8), Just(0xFF)], 0..60),
    ];
    let padding = prop::collection::vec(any::<u8>(), 0..12);
    let protocol = prop_oneof![3 => Just(6_u8), 3 => Just(17), 2 => Just(1), 1 => Just(2)];
    let options = prop_oneof![3 => Just(0_usize), 1 => 1..=10_usize];
    let flags = (prop::bool::weighted(0.1), prop::bool::weighted(0.1));
    let beyond = prop_oneof![4 => Just(0_usize), 1 => 0..9_usize];
    (protocol, options, data, padding, beyond, flags).prop_map(
        |(protocol, options, data, padding, beyond, (no_checksum, zeroes))| Packet {
            protocol,
            options,
            data,
            padding,
            beyond,
            no_checksum,
            zeroes,
        },
    )
}

impl Packet {
    fn transport(&self) -> (Vec<u8>, Option<usize>) {
        let data = &self.data[..];
        match self.protocol {
            6 => {
                let header = [
                    &[0x1F, 0x90, 0, 80, 1, 2, 3, 4, 5, 6, 7, 8, 0x50, 0x10][..],
                    &[1, 2, 0, 0, 0, 0],
                ]
                .concat();
                ([&header, data].concat(), Some(16))
            }
            17 => {
                let len = (8 + data.len()) as u16;
                let header = [&[0, 53, 0, 99][..], &len.to_be_bytes(), &[0, 0]].concat();
                ([&header, data].concat(), Some(6))
            }
            1 if self.zeroes => (vec![0; 8 + data.len()], None),
            1 => ([&[8, 0, 0, 0, 1, 2, 3, 4][..], data].concat(), Some(2)),
            _ => (data.to_vec(), None),
        }
    }

    fn ipv4(&self) -> Vec<u8> {
        let (mut transport, field) = self.transport();
        let (from, to) = ([10, 1, 2, 3], [10, 1, 2, 4]);
        if let Some(at) = field.filter(|_| !self.no_checksum) {
            let mut sum = Sum::new();
            if self.protocol != 1 {
                sum.add(&from)
                    .add(&to)
                    .add_u16(u16::from(self.protocol))
                    .add_u16(transport.len() as u16);
            }
            let checksum = sum.add(&transport).checksum();
            transport[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
        }
        if self.protocol == 17 {
            transport.extend(std::iter::repeat_n(0x77, self.beyond));
        }
        let header_len = 20 + 4 * self.options;
        let total = (header_len + transport.len()) as u16;
        let mut header = vec![0x45 + self.options as u8, 0];
        header.extend(total.to_be_bytes());
        header.extend([0x12, 0x34, 0x40, 0, 64, self.protocol, 0, 0]);
        header.extend(from);
        header.extend(to);
        header.resize(header_len, 1);
        let checksum = Sum::new().add(&header).checksum();
        header[10..12].copy_from_slice(&checksum.to_be_bytes());
        let mut frame = [&DEVICE[..], &PEER, &[8, 0], &header, &transport].concat();
        frame.extend(&self.padding);
        if frame.len() < 60 {
            frame.resize(60, 0xEE);
        }
        frame.truncate(1514);
        frame
    }

    fn ipv6(&self) -> Vec<u8> {
        let (mut transport, field) = self.transport();
        let protocol = if self.protocol == 1 {
            58
        } else {
            self.protocol
        };
        if protocol == 58 && !transport.is_empty() {
            transport[0] = 128;
        }
        let addresses = [[0xFE; 16], [0xFD; 16]].concat();
        let checked = !(self.no_checksum || self.protocol == 1 && self.zeroes);
        if let Some(at) = field.filter(|_| checked) {
            let checksum = Sum::new()
                .add(&addresses)
                .add_u16(transport.len() as u16)
                .add_u16(u16::from(protocol))
                .add(&transport)
                .checksum();
            transport[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
        }
        let mut frame = [&DEVICE[..], &PEER, &[0x86, 0xDD, 0x60, 0, 0, 0]].concat();
        frame.extend((transport.len() as u16).to_be_bytes());
        frame.extend([protocol, 64]);
        frame.extend(&addresses);
        frame.extend(&transport);
        frame.extend(&self.padding);
        if frame.len() < 60 {
            frame.resize(60, 0xEE);
        }
        frame.truncate(1514);
        frame
    }
}

/// Changes to a frame: position and new value.
fn changes() -> impl Strategy<Value = Vec<(prop::sample::Index, u8)>> {
    let change = (any::<prop::sample::Index>(), any::<u8>());
    prop_oneof![
        2 => Just(Vec::new()),
        5 => prop::collection::vec(change, 1..4),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn the_verdict_on_ipv4_is_that_of_smoltcp(packet in packet(), changes in changes()) {
        let mut frame = packet.ipv4();
        for (at, to) in changes {
            // Half of the changes affect the headers, where they matter most.
            let within = if to % 2 == 0 { 60 } else { frame.len() };
            let at = 14 + at.index(within - 14);
            frame[at] = to;
        }
        agrees(&frame)?;
    }

    #[test]
    fn the_verdict_on_ipv6_is_that_of_smoltcp(packet in packet(), changes in changes()) {
        let mut frame = packet.ipv6();
        for (at, to) in changes {
            let at = 14 + at.index(frame.len() - 14);
            frame[at] = to;
        }
        agrees(&frame)?;
    }

    /// One changed bit of a covered octet is always detected; in the padding it never matters.
    #[test]
    fn one_wrong_bit_is_found(packet in packet(), at in any::<prop::sample::Index>(), bit in 0..8) {
        let packet = Packet {
            protocol: if packet.protocol == 6 { 6 } else { 1 },
            no_checksum: false,
            zeroes: false,
            ..packet
        };
        let mut frame = packet.ipv4();
        let total = usize::from(u16::from_be_bytes([frame[16], frame[17]]));
        prop_assume!(14 + total <= frame.len());
        // Version and lengths determine what is covered.
        let at = 18 + at.index(frame.len() - 18);
        frame[at] ^= 1_u8 << bit;
        prop_assert_eq!(passes(&frame), at >= 14 + total);
    }

    #[test]
    fn any_octets_are_judged(octets in prop::collection::vec(any::<u8>(), 60..1515)) {
        let mut octets = octets;
        octets[..6].copy_from_slice(&DEVICE);
        octets[12..15].copy_from_slice(&[8, 0, 0x45]);
        agrees(&octets)?;
        octets[12..15].copy_from_slice(&[0x86, 0xDD, 0x60]);
        agrees(&octets)?;
    }
}

#[test]
fn a_tagged_packet_is_checked_by_its_bytes() {
    let packet = Packet {
        protocol: 6,
        options: 0,
        data: vec![7; 99],
        padding: Vec::new(),
        beyond: 0,
        no_checksum: false,
        zeroes: false,
    };
    let plain = packet.ipv4();
    let mut tagged = [&plain[..12], &[0x81, 0, 0, 5], &plain[12..]].concat();
    assert!(passes(&tagged));
    tagged[100] ^= 1;
    assert!(!passes(&tagged));
}

#[test]
fn a_fragment_is_refused() {
    let packet = Packet {
        protocol: 17,
        options: 0,
        data: vec![7; 99],
        padding: Vec::new(),
        beyond: 0,
        no_checksum: false,
        zeroes: false,
    };
    let mut fragment = packet.ipv4();
    assert!(passes(&fragment));
    fragment[20] = 0x20;
    fragment[24..26].fill(0);
    let checksum = Sum::new().add(&fragment[14..34]).checksum();
    fragment[24..26].copy_from_slice(&checksum.to_be_bytes());
    assert!(!passes(&fragment));
}
