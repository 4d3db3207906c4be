//! The checksum engine (RM0090 sections 33.5.5 and 33.5.6).

use linerate_ether::checksum::{
    TCP, UDP, checksum, is_good, transport_checksum, transport_is_good,
};
use linerate_ether::frame::EtherType;

const ICMP: u8 = 1;
/// Bits of a normal receive descriptor's first word: payload error, frame with an `EtherType`, header error.
const PAYLOAD: u32 = 1 << 0;
const TYPE: u32 = 1 << 5;
const HEADER: u32 = 1 << 7;
/// Bits of the extended status: protocol, header error, payload error, not verified, IPv4, IPv6.
const EXTENDED_HEADER: u32 = 1 << 3;
const EXTENDED_PAYLOAD: u32 = 1 << 4;
const BYPASSED: u32 = 1 << 5;
const IPV4: u32 = 1 << 6;
const IPV6: u32 = 1 << 7;
/// Field of an `EtherType` below which it is a length.
const FIRST_TYPE: u16 = 0x600;

/// What the engine found in a received frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    has_type: bool,
    is_ipv4: bool,
    is_ipv6: bool,
    bad_header: bool,
    /// Protocol, of a packet whose payload was summed: UDP 1, TCP 2, ICMP 3.
    protocol: u32,
    bad_payload: bool,
}

impl Verdict {
    pub const fn is_bad(self) -> bool {
        self.bad_header || self.bad_payload
    }

    const fn is_ip(self) -> bool {
        self.is_ipv4 || self.is_ipv6
    }

    /// Bits of a normal descriptor.
    pub const fn normal(self) -> u32 {
        if !self.has_type {
            return 0;
        }
        if !self.is_ip() {
            return HEADER | PAYLOAD;
        }
        if self.protocol == 0 {
            return if self.bad_header {
                HEADER | TYPE
            } else {
                PAYLOAD
            };
        }
        let header = if self.bad_header { HEADER } else { 0 };
        TYPE | header | if self.bad_payload { PAYLOAD } else { 0 }
    }

    /// The extended status of an enhanced descriptor.
    pub const fn extended(self) -> u32 {
        let mut bits = self.protocol;
        if self.is_ipv4 {
            bits |= IPV4;
        }
        if self.is_ipv6 {
            bits |= IPV6;
        }
        if self.bad_header {
            bits |= EXTENDED_HEADER;
        }
        if self.bad_payload {
            bits |= EXTENDED_PAYLOAD;
        }
        if self.protocol == 0 {
            bits |= BYPASSED;
        }
        bits
    }
}

/// Start of the packet and its `EtherType`.
fn ethertype(frame: &[u8]) -> Option<(usize, u16)> {
    let at = |at: usize| Some(u16::from_be_bytes(*frame.get(at..)?.first_chunk()?));
    let first = at(12)?;
    if EtherType(first).is_tag() {
        Some((18, at(16)?))
    } else {
        Some((14, first))
    }
}

/// Verifies a received frame.
pub(super) fn verify(frame: &[u8]) -> Verdict {
    let Some((start, kind)) = ethertype(frame) else {
        return Verdict::default();
    };
    let mut verdict = Verdict {
        has_type: kind >= FIRST_TYPE,
        is_ipv4: kind == EtherType::IPV4.0,
        is_ipv6: kind == EtherType::IPV6.0,
        ..Verdict::default()
    };
    let packet = &frame[start.min(frame.len())..];
    if !verdict.is_ipv4 {
        // The payload of IPv6 is not summed.
        return verdict;
    }
    let Some(it) = packet_of(packet) else {
        verdict.bad_header = true;
        return verdict;
    };
    verdict.bad_header = !is_good(&packet[..it.header]);
    if it.is_fragment {
        return verdict;
    }
    let payload = &packet[it.header..it.end];
    let (from, to) = addresses(packet);
    let (protocol, is_right) = match it.protocol {
        UDP => (1, transport_is_good(from, to, UDP, payload)),
        TCP => (2, transport_is_good(from, to, TCP, payload)),
        ICMP => (3, is_good(payload)),
        _ => (0, true),
    };
    verdict.protocol = protocol;
    verdict.bad_payload = !is_right;
    verdict
}

/// An IPv4 packet.
struct Packet {
    header: usize,
    end: usize,
    protocol: u8,
    is_fragment: bool,
}

fn packet_of(packet: &[u8]) -> Option<Packet> {
    let head: &[u8; 20] = packet.first_chunk()?;
    let header = usize::from(head[0] & 0xf) * 4;
    let end = usize::from(u16::from_be_bytes([head[2], head[3]]));
    let is_whole = head[0] >> 4 == 4 && header >= 20 && end >= header && end <= packet.len();
    is_whole.then_some(Packet {
        header,
        end,
        protocol: head[9],
        is_fragment: u16::from_be_bytes([head[6], head[7]]) & 0x3fff != 0,
    })
}

fn addresses(packet: &[u8]) -> ([u8; 4], [u8; 4]) {
    let at = |from: usize| {
        let address = &packet[from..][..4];
        [address[0], address[1], address[2], address[3]]
    };
    (at(12), at(16))
}

/// Inserts checksums by the field CIC of a descriptor: 1 the IPv4 header's, 2 also that of the payload, whose field
/// holds the sum of the pseudo-header, 3 also that.
pub(super) fn insert(frame: &mut [u8], control: u32) {
    let Some((start, kind)) = ethertype(frame) else {
        return;
    };
    if control == 0 || kind != EtherType::IPV4.0 {
        return;
    }
    let Some(packet) = frame.get_mut(start..) else {
        return;
    };
    let Some(it) = packet_of(packet) else { return };
    packet[10..12].fill(0);
    let sum = checksum(&packet[..it.header]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    if control == 1 || it.is_fragment {
        return;
    }
    let (from, to) = addresses(packet);
    let payload = &mut packet[it.header..it.end];
    let at = match it.protocol {
        TCP => 16,
        UDP => 6,
        ICMP => 2,
        _ => return,
    };
    let whole = control == 3;
    if whole && let Some(field) = payload.get_mut(at..at + 2) {
        field.fill(0);
    }
    let sum = match it.protocol {
        TCP | UDP if whole => transport_checksum(from, to, it.protocol, payload),
        _ => Some(checksum(payload)),
    };
    if let (Some(sum), Some(field)) = (sum, payload.get_mut(at..at + 2)) {
        field.copy_from_slice(&sum.to_be_bytes());
    }
}
