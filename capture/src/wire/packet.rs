//! The header fields that the analysis needs.
//!
//! Ethernet II (IEEE 802.3 clause 3.2.6), IPv4 and TCP as in any capture, ICMP echo (RFC 792). Anything else, and
//! anything cut short, is [`Packet::Other`].

use linerate_ether::frame::EtherType;

use crate::reader::{Datagram, Protocol};
use crate::tcp;

/// A TCP segment, without its options.
pub type Segment = tcp::Segment<'static>;

/// Octets of addresses and type.
const ETHERNET_OCTETS: usize = 14;
/// Protocol number of ICMP (RFC 792).
const ICMP: u8 = 1;

/// Payload of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Packet {
    /// A TCP segment over IPv4.
    Tcp(Segment),
    /// An ICMP echo message over IPv4.
    Echo(Echo),
    /// Anything else.
    Other,
}

/// An ICMP echo message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// Request (type 8) or reply (type 0).
    pub request: bool,
    /// Identifier.
    pub identifier: u16,
    /// Sequence number.
    pub sequence: u16,
    /// Octets after the echo header.
    pub len: u32,
}

impl Packet {
    /// Parses `frame`, which begins with the destination address; preamble and FCS may be absent, trailing padding is
    /// removed by the IPv4 length.
    pub fn parse(frame: &[u8]) -> Self {
        Self::parse_ipv4(frame).unwrap_or(Self::Other)
    }

    fn parse_ipv4(frame: &[u8]) -> Option<Self> {
        let (header, octets) = frame.split_at_checked(ETHERNET_OCTETS)?;
        if !header.ends_with(&EtherType::IPV4.0.to_be_bytes()) {
            return None;
        }
        let datagram = Datagram::v4(octets, octets.len() as u32)?;
        let (payload, len) = (datagram.payload, datagram.length);
        match datagram.protocol {
            _ if datagram.fragment => None,
            Protocol::Tcp => {
                tcp::Segment::parse(payload, len).map(|it| Self::Tcp(it.without_options()))
            }
            Protocol::Other(ICMP) => parse_echo(payload, len).map(Self::Echo),
            _ => None,
        }
    }
}

fn parse_echo(octets: &[u8], len: u32) -> Option<Echo> {
    let [kind, _, _, _, a, b, c, d, ..] = *octets else {
        return None;
    };
    let request = match kind {
        8 => true,
        0 => false,
        _ => return None,
    };
    Some(Echo {
        request,
        identifier: u16::from_be_bytes([a, b]),
        sequence: u16::from_be_bytes([c, d]),
        len: len.checked_sub(8)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![0; 12];
        frame.extend([0x08, 0x00, 0x45, 0]);
        frame.extend(((20 + payload.len()) as u16).to_be_bytes());
        frame.extend([
            0, 0, 0x40, 0, 64, protocol, 0, 0, 169, 254, 10, 1, 169, 254, 10, 2,
        ]);
        frame.extend(payload);
        frame
    }

    #[test]
    fn segment_is_read_and_padding_is_not_payload() {
        let mut tcp = vec![
            0, 80, 0x10, 0, 0, 0, 0, 5, 0, 0, 0, 9, 0x50, 0x11, 0x02, 0x00, 0, 0, 0, 0,
        ];
        tcp.extend(*b"abc");
        let mut frame = ipv4(6, &tcp);
        frame.resize(60, 0);
        let expected = Segment {
            source: 80,
            destination: 4096,
            seq: 5,
            ack: 9,
            len: 3,
            flags: Segment::ACK | Segment::FIN,
            window: 512,
            ..Segment::default()
        };
        assert_eq!(Packet::parse(&frame), Packet::Tcp(expected));
        assert_eq!(expected.sequence_len(), 4);
        assert!(!expected.is_initial_syn());
    }

    #[test]
    fn echo_is_read() {
        let frame = ipv4(1, &[8, 0, 0, 0, 0x12, 0x34, 0, 7, 1, 2, 3, 4]);
        let echo = Echo {
            request: true,
            identifier: 0x1234,
            sequence: 7,
            len: 4,
        };
        assert_eq!(Packet::parse(&frame), Packet::Echo(echo));
    }

    #[test]
    fn cut_at_any_length_is_never_a_panic() {
        let tcp = [
            0, 80, 16, 0, 0, 0, 0, 5, 0, 0, 0, 9, 0x50, 0x11, 2, 0, 0, 0, 0, 0,
        ];
        for frame in [ipv4(6, &tcp), ipv4(1, &[8, 0, 0, 0, 0, 1, 0, 7])] {
            for len in 0..frame.len() {
                let packet = Packet::parse(&frame[..len]);
                assert!(
                    len >= 42 || packet == Packet::Other,
                    "{len} octets read as {packet:?}"
                );
            }
        }
    }

    #[test]
    fn lengths_that_contradict_each_other_are_other() {
        let mut frame = ipv4(6, &[0; 20]);
        frame[14] = 0x4F;
        assert_eq!(Packet::parse(&frame), Packet::Other);
        let mut fragment = ipv4(1, &[8, 0, 0, 0, 0, 1, 0, 7]);
        fragment[21] = 1;
        assert_eq!(Packet::parse(&fragment), Packet::Other);
    }
}
