//! IPv4 (RFC 791), IPv6 (RFC 8200) and their payload.

use core::net::{Ipv4Addr, Ipv6Addr};
use std::fmt;

/// An IPv6 address, or an IPv4-mapped one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Address(pub [u8; 16]);

/// Prefix of an IPv4-mapped address (RFC 4291 section 2.5.5.2).
const MAPPED: u128 = 0xFFFF << 32;

impl Address {
    #[inline]
    pub(crate) fn v4(octets: [u8; 4]) -> Self {
        let address = u32::from_be_bytes(octets);
        Self((MAPPED | u128::from(address)).to_be_bytes())
    }

    /// True for an IPv4-mapped address.
    pub fn is_v4(&self) -> bool {
        u128::from_be_bytes(self.0) >> 32 == MAPPED >> 32
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [.., high, upper, lower, low] = self.0;
        if self.is_v4() {
            Ipv4Addr::new(high, upper, lower, low).fmt(f)
        } else {
            Ipv6Addr::from(self.0).fmt(f)
        }
    }
}

/// Protocol of a datagram's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// TCP, 6.
    Tcp,
    /// UDP, 17.
    Udp,
    /// Anything else.
    Other(u8),
}

/// An IP datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// Source address.
    pub source: Address,
    /// Destination address.
    pub destination: Address,
    /// Protocol of its payload.
    pub protocol: Protocol,
    /// A fragment other than the first.
    pub fragment: bool,
    /// The captured part of its payload.
    pub payload: &'a [u8],
    /// Octets of its payload on the link.
    pub length: u32,
}

impl<'a> Datagram<'a> {
    /// Parses a datagram with `length` octets on the link, padding included.
    pub fn parse(octets: &'a [u8], length: u32) -> Option<Self> {
        match octets.first()? >> 4 {
            4 => Self::v4(octets, length),
            6 => Self::v6(octets, length),
            _ => None,
        }
    }

    /// [`parse`](Self::parse) for IPv4 only.
    #[inline]
    pub(crate) fn v4(octets: &'a [u8], length: u32) -> Option<Self> {
        let header: &[u8; 20] = octets.first_chunk()?;
        if header[0] >> 4 != 4 {
            return None;
        }
        let header_len = usize::from(header[0] & 0xF) * 4;
        let total = u32::from(u16::from_be_bytes([header[2], header[3]]));
        // With segmentation offload the total length may be 0.
        let total = if total == 0 {
            length
        } else {
            total.min(length)
        };
        if header_len < 20 {
            return None;
        }
        let fragment = u16::from_be_bytes([header[6], header[7]]) & 0x1FFF != 0;
        Some(
            Self {
                source: Address::v4([header[12], header[13], header[14], header[15]]),
                destination: Address::v4([header[16], header[17], header[18], header[19]]),
                protocol: protocol(header[9]),
                fragment,
                payload: octets.get(header_len..)?,
                length: total.checked_sub(header_len as u32)?,
            }
            .without_padding(),
        )
    }

    fn v6(octets: &'a [u8], length: u32) -> Option<Self> {
        let header = octets.get(..40)?;
        let payload_len = u32::from(u16::from_be_bytes([header[4], header[5]]));
        let most = length.checked_sub(40)?;
        let mut left = if payload_len == 0 {
            most
        } else {
            payload_len.min(most)
        };
        let mut next = header[6];
        let mut payload = &octets[40..];
        let mut fragment = false;
        // Hop-by-hop options, routing, fragment, destination options (RFC 8200 section 4).
        while let 0 | 43 | 44 | 60 = next {
            let extension = payload.get(..8)?;
            let len = if next == 44 {
                fragment |= u16::from_be_bytes([extension[2], extension[3]]) & 0xFFF8 != 0;
                8
            } else {
                (usize::from(extension[1]) + 1) * 8
            };
            next = extension[0];
            payload = payload.get(len..)?;
            left = left.checked_sub(len as u32)?;
        }
        Some(
            Self {
                source: Address(header[8..24].try_into().ok()?),
                destination: Address(header[24..40].try_into().ok()?),
                protocol: protocol(next),
                fragment,
                payload,
                length: left,
            }
            .without_padding(),
        )
    }

    #[inline]
    fn without_padding(mut self) -> Self {
        let kept = self.payload.len().min(self.length as usize);
        self.payload = &self.payload[..kept];
        self
    }
}

#[inline]
fn protocol(number: u8) -> Protocol {
    match number {
        6 => Protocol::Tcp,
        17 => Protocol::Udp,
        other => Protocol::Other(other),
    }
}
