//! Parsing and construction of frames and IPv4 packets.

use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    ArpOperation, ArpPacket, ArpRepr, EthernetAddress, EthernetFrame, EthernetProtocol,
    Icmpv4Packet, Icmpv4Repr, IpAddress, IpProtocol, Ipv4Address, Ipv4Packet, Ipv4Repr, UdpPacket,
    UdpRepr,
};

/// Length of an Ethernet header.
const ETHERNET_HEADER: usize = 14;
/// Length of an IPv4 header without options.
const IPV4_HEADER: usize = 20;
/// Initial time to live.
const DEFAULT_TTL: u8 = 64;

/// Payload of an IPv4 packet, with its addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// Source address.
    pub source: Ipv4Address,
    /// Destination address.
    pub destination: Ipv4Address,
    /// Protocol of the payload.
    pub protocol: IpProtocol,
    /// The payload.
    pub payload: Vec<u8>,
}

impl Packet {
    /// Parses an IPv4 packet; `None` if it is malformed, damaged or a fragment (hosts here send
    /// none).
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let packet = Ipv4Packet::new_checked(bytes).ok()?;
        if packet.version() != 4
            || !packet.verify_checksum()
            || packet.more_frags()
            || packet.frag_offset() != 0
        {
            return None;
        }
        Some(Self {
            source: packet.src_addr(),
            destination: packet.dst_addr(),
            protocol: packet.next_header(),
            payload: packet.payload().to_vec(),
        })
    }

    /// The packet as an Ethernet frame.
    #[must_use]
    pub fn emit(&self, from: EthernetAddress, to: EthernetAddress, identification: u16) -> Vec<u8> {
        let repr = Ipv4Repr {
            src_addr: self.source,
            dst_addr: self.destination,
            next_header: self.protocol,
            payload_len: self.payload.len(),
            hop_limit: DEFAULT_TTL,
        };
        let mut frame = frame(
            from,
            to,
            EthernetProtocol::Ipv4,
            IPV4_HEADER + self.payload.len(),
        );
        let mut packet = Ipv4Packet::new_unchecked(&mut frame[ETHERNET_HEADER..]);
        repr.emit(&mut packet, &ChecksumCapabilities::ignored());
        packet.set_ident(identification);
        packet.fill_checksum();
        packet.payload_mut().copy_from_slice(&self.payload);
        frame
    }
}

/// A frame with its header and `len` zero octets of payload.
fn frame(
    from: EthernetAddress,
    to: EthernetAddress,
    kind: EthernetProtocol,
    len: usize,
) -> Vec<u8> {
    let mut bytes = vec![0; ETHERNET_HEADER + len];
    let mut frame = EthernetFrame::new_unchecked(&mut bytes);
    frame.set_src_addr(from);
    frame.set_dst_addr(to);
    frame.set_ethertype(kind);
    bytes
}

/// An ARP packet in a frame. The target hardware address of a request is zero.
#[must_use]
pub fn arp(
    operation: ArpOperation,
    (from, source): (EthernetAddress, Ipv4Address),
    (to, target): (EthernetAddress, Ipv4Address),
) -> Vec<u8> {
    let request = operation == ArpOperation::Request;
    let repr = ArpRepr::EthernetIpv4 {
        operation,
        source_hardware_addr: from,
        source_protocol_addr: source,
        target_hardware_addr: if request { EthernetAddress([0; 6]) } else { to },
        target_protocol_addr: target,
    };
    let mut bytes = frame(from, to, EthernetProtocol::Arp, repr.buffer_len());
    repr.emit(&mut ArpPacket::new_unchecked(&mut bytes[ETHERNET_HEADER..]));
    bytes
}

/// An ICMP message as payload.
#[must_use]
pub fn icmp(repr: &Icmpv4Repr<'_>) -> Vec<u8> {
    let mut bytes = vec![0; repr.buffer_len()];
    repr.emit(
        &mut Icmpv4Packet::new_unchecked(&mut bytes[..]),
        &ChecksumCapabilities::default(),
    );
    bytes
}

/// A UDP datagram as payload.
#[must_use]
pub fn udp(
    (source, source_port): (Ipv4Address, u16),
    (destination, destination_port): (Ipv4Address, u16),
    payload: &[u8],
) -> Vec<u8> {
    let repr = UdpRepr {
        src_port: source_port,
        dst_port: destination_port,
    };
    let mut bytes = vec![0; repr.header_len() + payload.len()];
    repr.emit(
        &mut UdpPacket::new_unchecked(&mut bytes[..]),
        &IpAddress::Ipv4(source),
        &IpAddress::Ipv4(destination),
        payload.len(),
        |buffer| buffer.copy_from_slice(payload),
        &ChecksumCapabilities::default(),
    );
    bytes
}
