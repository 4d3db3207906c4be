//! From a frame to the network layer.

use super::{Packet, wlan};

/// Link type of a captured packet: the registry at <https://www.tcpdump.org/linktypes.html>.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LinkType(pub u16);

impl LinkType {
    /// Loopback of BSD: an address family in the byte order of the machine that captured.
    pub const NULL: Self = Self(0);
    /// Ethernet, from the destination address on.
    pub const ETHERNET: Self = Self(1);
    /// PPP, with or without the address and control octets of HDLC (RFC 1661, RFC 1662).
    pub const PPP: Self = Self(9);
    /// `PPPoE` (RFC 2516), without the Ethernet header.
    pub const PPP_ETHER: Self = Self(51);
    /// An IP datagram, by its version.
    pub const RAW: Self = Self(101);
    /// A frame of a wireless network (IEEE 802.11).
    pub const IEEE802_11: Self = Self(105);
    /// Loopback of `OpenBSD`: an address family in network byte order.
    pub const LOOP: Self = Self(108);
    /// Linux "cooked", version 1: what `tcpdump -i any` writes.
    pub const LINUX_SLL: Self = Self(113);
    /// The same behind a radiotap header, which describes its reception.
    pub const IEEE802_11_RADIO: Self = Self(127);
    /// An IPv4 datagram.
    pub const IPV4: Self = Self(228);
    /// An IPv6 datagram.
    pub const IPV6: Self = Self(229);
    /// Linux "cooked", version 2.
    pub const LINUX_SLL2: Self = Self(276);

    /// True if frames of this type are analyzed.
    pub const fn is_known(self) -> bool {
        matches!(
            self,
            Self::ETHERNET
                | Self::NULL
                | Self::PPP
                | Self::PPP_ETHER
                | Self::RAW
                | Self(12 | 14 | 50)
                | Self::IEEE802_11
                | Self::IEEE802_11_RADIO
                | Self::LOOP
                | Self::LINUX_SLL
                | Self::IPV4
                | Self::IPV6
                | Self::LINUX_SLL2
        )
    }
}

/// A captured frame without its link header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Source address, on Ethernet and wireless networks.
    pub source: Option<[u8; 6]>,
    /// True for a broadcast.
    pub broadcast: bool,
    /// Payload.
    pub payload: FramePayload<'a>,
}

/// Payload of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FramePayload<'a> {
    /// An IP datagram of either version.
    Ip {
        /// The captured part of it.
        octets: &'a [u8],
        /// Octets on the link, with padding.
        length: u32,
    },
    /// An ARP message (RFC 826).
    Arp {
        /// The captured part of it.
        octets: &'a [u8],
    },
    /// A pause frame (IEEE 802.3 annex 31B).
    Pause {
        /// Pause time in quanta of 512 bit times; 0 ends the pause.
        quanta: u16,
    },
    /// Anything else.
    Other,
}

/// `EtherType` of IPv4.
const IPV4: u16 = 0x0800;
/// `EtherType` of IPv6.
const IPV6: u16 = 0x86DD;
/// `EtherType` of ARP.
const ARP: u16 = 0x0806;
/// `EtherType` of a `PPPoE` session (RFC 2516 section 6).
const PPPOE_SESSION: u16 = 0x8864;
/// Octets of its header, before those of PPP.
const PPPOE_HEADER: usize = 6;
/// PPP protocol numbers of IPv4 (RFC 1332 section 2) and IPv6 (RFC 5072 section 2).
const PPP_IP: [u16; 2] = [0x0021, 0x0057];
/// Address and control of PPP in HDLC framing (RFC 1662 section 3.1).
const PPP_HDLC: u16 = 0xFF03;
/// `EtherType` of MAC control frames, to which PAUSE belongs.
const MAC_CONTROL: u16 = 0x8808;
/// `EtherType`s of VLAN tags: IEEE 802.1Q, 802.1ad, and the predecessor of the latter.
const VLAN_ETHERTYPES: [u16; 3] = [0x8100, 0x88A8, 0x9100];

impl<'a> Frame<'a> {
    /// [`parse`](Self::parse) for the most common case, IP in untagged Ethernet; `None` for others.
    #[inline]
    pub(crate) fn parse_untagged_ip(packet: &Packet<'a>) -> Option<Self> {
        let octets = packet.octets;
        let header: &[u8; 14] = octets.first_chunk()?;
        let kind = u16::from_be_bytes([header[12], header[13]]);
        if packet.link != LinkType::ETHERNET || !matches!(kind, IPV4 | IPV6) {
            return None;
        }
        Some(Self {
            source: header[6..12].try_into().ok(),
            broadcast: header[0] == 0xFF && header[..6] == [0xFF; 6],
            payload: ip(octets, 14, packet.length),
        })
    }

    /// Removes the link header of `packet`.
    pub fn parse(packet: &Packet<'a>) -> Self {
        let octets = packet.octets;
        let length = packet.length;
        if let LinkType::IEEE802_11 | LinkType::IEEE802_11_RADIO = packet.link {
            let data = wlan::parse(octets, packet.link);
            return Self {
                source: data.map(|it| it.source),
                broadcast: data.is_some_and(|it| it.broadcast),
                payload: data.map_or(FramePayload::Other, |it| {
                    parse_ethertype(octets, it.ethertype_at, length)
                }),
            };
        }
        let (broadcast, payload) = match packet.link {
            LinkType::ETHERNET => (
                octets.starts_with(&[0xFF; 6]),
                parse_ethertype(octets, 12, length),
            ),
            LinkType::LINUX_SLL => (
                octets.get(1) == Some(&1),
                parse_ethertype(octets, 14, length),
            ),
            LinkType::LINUX_SLL2 => {
                let kind = u16_at(octets, 0).unwrap_or(0);
                let payload = parse_payload(kind, octets, 20, length);
                (octets.get(10) == Some(&1), payload)
            }
            LinkType::RAW | LinkType::IPV4 | LinkType::IPV6 | LinkType(12 | 14) => {
                (false, ip(octets, 0, length))
            }
            LinkType::PPP | LinkType(50) => (false, parse_ppp(octets, 0, length)),
            LinkType::PPP_ETHER => (false, parse_ppp(octets, PPPOE_HEADER, length)),
            // The address family of IPv6 differs between systems: use the version in the datagram.
            LinkType::NULL | LinkType::LOOP => (false, ip(octets, 4, length)),
            _ => (false, FramePayload::Other),
        };
        let source = match packet.link {
            LinkType::ETHERNET => octets.get(6..12).and_then(|source| source.try_into().ok()),
            _ => None,
        };
        Self {
            source,
            broadcast,
            payload,
        }
    }
}

/// Payload after the `EtherType` at `at` and any VLAN tags.
fn parse_ethertype(octets: &[u8], mut at: usize, length: u32) -> FramePayload<'_> {
    loop {
        let Some(kind) = u16_at(octets, at) else {
            return FramePayload::Other;
        };
        at += 2;
        if !VLAN_ETHERTYPES.contains(&kind) {
            return parse_payload(kind, octets, at, length);
        }
        at += 2;
    }
}

fn parse_payload(kind: u16, octets: &[u8], at: usize, length: u32) -> FramePayload<'_> {
    match kind {
        IPV4 | IPV6 => ip(octets, at, length),
        ARP => FramePayload::Arp {
            octets: octets.get(at..).unwrap_or_default(),
        },
        PPPOE_SESSION => parse_ppp(octets, at + PPPOE_HEADER, length),
        MAC_CONTROL if u16_at(octets, at) == Some(1) => FramePayload::Pause {
            quanta: u16_at(octets, at + 2).unwrap_or(0),
        },
        _ => FramePayload::Other,
    }
}

/// Payload of the PPP frame at `at`.
fn parse_ppp(octets: &[u8], mut at: usize, length: u32) -> FramePayload<'_> {
    if u16_at(octets, at) == Some(PPP_HDLC) {
        at += 2;
    }
    match u16_at(octets, at) {
        Some(protocol) if PPP_IP.contains(&protocol) => ip(octets, at + 2, length),
        _ => FramePayload::Other,
    }
}

#[inline]
fn ip(octets: &[u8], at: usize, length: u32) -> FramePayload<'_> {
    match octets.get(at..) {
        Some(octets) => FramePayload::Ip {
            octets,
            length: length.saturating_sub(at as u32),
        },
        None => FramePayload::Other,
    }
}

#[inline]
fn u16_at(octets: &[u8], at: usize) -> Option<u16> {
    let octets = octets.get(at..at + 2)?;
    Some(u16::from_be_bytes([octets[0], octets[1]]))
}
