//! ICMP messages about ports, connections and the path MTU (RFC 792, RFC 1191 section 4, RFC 1812 section 5.2.7.1, RFC 4443
//! sections 3.1 and 3.2).

use super::rejections::RejectReason;
use crate::reader::{Datagram, Protocol};
use crate::traffic::table::AddressPort;

/// A message that matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// No program receives at the port of a UDP datagram.
    PortUnreachable {
        /// Sender and receiver of the datagram.
        ends: [AddressPort; 2],
    },
    /// A segment of TCP was not delivered.
    Rejected {
        /// Sender and receiver of the segment.
        ends: [AddressPort; 2],
        /// Why.
        reason: RejectReason,
    },
    /// A packet was too large for a link on its path.
    TooBig {
        /// MTU of that link; 0 from routers older than RFC 1191.
        mtu: u32,
    },
}

/// Protocol number of ICMP for IPv4, and for IPv6.
const ICMP: u8 = 1;
const ICMP_V6: u8 = 58;

/// Parses the payload of an IP datagram.
pub(super) fn parse(protocol: Protocol, payload: &[u8]) -> Option<Message> {
    let (header, packet) = payload.split_first_chunk::<8>()?;
    let [kind, code, .., first, second, third, last] = *header;
    match (protocol, kind, code) {
        (Protocol::Other(ICMP), 3, 4) => Some(Message::TooBig {
            mtu: u16::from_be_bytes([third, last]).into(),
        }),
        (Protocol::Other(ICMP), 3, _) | (Protocol::Other(ICMP_V6), 1, _) => {
            let reason = match (protocol, code) {
                (Protocol::Other(ICMP), 2 | 3) | (Protocol::Other(ICMP_V6), 4) => {
                    RejectReason::NoListener
                }
                (Protocol::Other(ICMP), 9 | 10 | 13) | (Protocol::Other(ICMP_V6), 1 | 5 | 6) => {
                    RejectReason::Prohibited
                }
                _ => RejectReason::Unreachable,
            };
            match ends(packet)? {
                (Protocol::Tcp, ends) => Some(Message::Rejected { ends, reason }),
                (Protocol::Udp, ends) if reason == RejectReason::NoListener => {
                    Some(Message::PortUnreachable { ends })
                }
                _ => None,
            }
        }
        (Protocol::Other(ICMP_V6), 2, _) => Some(Message::TooBig {
            mtu: u32::from_be_bytes([first, second, third, last]),
        }),
        _ => None,
    }
}

/// Protocol, sender and receiver of the datagram at the start of the message's payload.
fn ends(packet: &[u8]) -> Option<(Protocol, [AddressPort; 2])> {
    // The message has only the start of it.
    let datagram = Datagram::parse(packet, u32::MAX)?;
    let [a, b, c, d] = *datagram.payload.first_chunk()?;
    let ends = [
        (datagram.source, u16::from_be_bytes([a, b])),
        (datagram.destination, u16::from_be_bytes([c, d])),
    ];
    (!datagram.fragment).then_some((datagram.protocol, ends))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A UDP datagram over IPv6 from port 7 to port 9, with only its first octets.
    fn datagram() -> Vec<u8> {
        let mut packet = vec![0x60, 0, 0, 0, 0, 100, 17, 64];
        packet.extend([[1; 16], [2; 16]].concat());
        packet.extend([0, 7, 0, 9]);
        packet
    }

    #[test]
    fn messages_of_icmpv6() {
        let six = Protocol::Other(ICMP_V6);
        let refused = [&[1, 4, 0, 0, 0, 0, 0, 0], &datagram()[..]].concat();
        let ends = match parse(six, &refused) {
            Some(Message::PortUnreachable { ends }) => ends,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            ends.map(|(address, port)| (address.0[0], port)),
            [(1, 7), (2, 9)]
        );
        let too_big = [2, 0, 0, 0, 0, 0, 5, 0];
        assert_eq!(parse(six, &too_big), Some(Message::TooBig { mtu: 1_280 }));
        // The same octets are other messages of ICMP for IPv4.
        let four = Protocol::Other(ICMP);
        assert_eq!((parse(four, &too_big), parse(four, &refused)), (None, None));
        for length in 0..refused.len() {
            assert_eq!(parse(six, &refused[..length]), None);
        }
    }

    #[test]
    fn messages_about_segments_of_tcp() {
        let mut segment = datagram();
        segment[6] = 6;
        let reason = |kind: u8, code: u8, protocol: u8| {
            let message = [&[kind, code, 0, 0, 0, 0, 0, 0], &segment[..]].concat();
            match parse(Protocol::Other(protocol), &message) {
                Some(Message::Rejected { reason, ends }) => {
                    assert_eq!(ends.map(|(_, port)| port), [7, 9]);
                    Some(reason)
                }
                _ => None,
            }
        };
        assert_eq!(reason(1, 4, ICMP_V6), Some(RejectReason::NoListener));
        assert_eq!(reason(1, 1, ICMP_V6), Some(RejectReason::Prohibited));
        assert_eq!(reason(1, 3, ICMP_V6), Some(RejectReason::Unreachable));
        assert_eq!(reason(3, 3, ICMP), Some(RejectReason::NoListener));
        assert_eq!(reason(3, 13, ICMP), Some(RejectReason::Prohibited));
        assert_eq!(reason(3, 1, ICMP), Some(RejectReason::Unreachable));
        // An answer to an echo, and a time that was exceeded.
        assert_eq!((reason(0, 0, ICMP), reason(11, 0, ICMP)), (None, None));
    }
}
