//! The accelerators: checksums of IPv4, TCP, UDP and ICMP ("IP accelerator functions").

use linerate_ether::checksum::{
    TCP, UDP, checksum, is_good, transport_checksum, transport_is_good,
};
use linerate_ether::frame::EtherType;

/// Flags in a received frame's control word: wrong or no IPv4 header; wrong checksum or unknown protocol.
const BAD_IPV4: u32 = 1 << 5;
const BAD_TRANSPORT: u32 = 1 << 4;
/// Bits of a control word to send: insert the checksum of TCP, UDP and ICMP, of the IPv4 header.
const INSERT_TRANSPORT: u32 = 1 << 28;
const INSERT_IPV4: u32 = 1 << 27;
const ICMP: u8 = 1;

/// An IPv4 packet in a frame.
struct Packet {
    /// Its range, and the octets of its header.
    start: usize,
    end: usize,
    header: usize,
    protocol: u8,
    is_fragment: bool,
}

fn packet(frame: &[u8]) -> Option<Packet> {
    let mut start = 12;
    let ethertype = |at: usize| {
        Some(EtherType(u16::from_be_bytes(
            *frame.get(at..)?.first_chunk()?,
        )))
    };
    if ethertype(start)?.is_tag() {
        start += 4;
    }
    if ethertype(start)? != EtherType::IPV4 {
        return None;
    }
    start += 2;
    let head: &[u8; 20] = frame.get(start..)?.first_chunk()?;
    let header = usize::from(head[0] & 0xf) * 4;
    let total = usize::from(u16::from_be_bytes([head[2], head[3]]));
    let end = start + total;
    (header >= 20 && total >= header && end <= frame.len()).then_some(Packet {
        start,
        end,
        header,
        protocol: head[9],
        is_fragment: u16::from_be_bytes([head[6], head[7]]) & 0x3fff != 0,
    })
}

fn addresses(packet: &[u8]) -> ([u8; 4], [u8; 4]) {
    let at = |from: usize| {
        [
            packet[from],
            packet[from + 1],
            packet[from + 2],
            packet[from + 3],
        ]
    };
    (at(12), at(16))
}

/// Flags of the control word for a received frame.
pub(super) fn receive_flags(frame: &[u8]) -> u32 {
    let Some(it) = packet(frame) else {
        return BAD_IPV4 | BAD_TRANSPORT;
    };
    let ip = &frame[it.start..it.end];
    let (header, payload) = ip.split_at(it.header);
    let header = if is_good(header) { 0 } else { BAD_IPV4 };
    let (from, to) = addresses(ip);
    let is_right = match it.protocol {
        _ if it.is_fragment => false,
        TCP | UDP => transport_is_good(from, to, it.protocol, payload),
        ICMP => is_good(payload),
        _ => false,
    };
    header | if is_right { 0 } else { BAD_TRANSPORT }
}

/// Inserts the checksums that the control word asks for.
pub(super) fn insert(frame: &mut [u8], control: u32) {
    if control & (INSERT_IPV4 | INSERT_TRANSPORT) == 0 {
        return;
    }
    let Some(it) = packet(frame) else { return };
    let ip = &mut frame[it.start..it.end];
    if control & INSERT_IPV4 != 0 {
        let sum = checksum(&ip[..it.header]);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
    }
    if control & INSERT_TRANSPORT == 0 || it.is_fragment {
        return;
    }
    let (from, to) = addresses(ip);
    let payload = &mut ip[it.header..];
    let (sum, at) = match it.protocol {
        TCP => (transport_checksum(from, to, TCP, payload), 16),
        UDP => (transport_checksum(from, to, UDP, payload), 6),
        ICMP => (Some(checksum(payload)), 2),
        _ => return,
    };
    if let (Some(sum), Some(field)) = (sum, payload.get_mut(at..at + 2)) {
        field.copy_from_slice(&sum.to_be_bytes());
    }
}
