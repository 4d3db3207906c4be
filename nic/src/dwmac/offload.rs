//! Checksums handled by the engine ("Transmit checksum offload", "Receive checksum offload").

use super::descriptor::{INSERT_ALL, INSERT_IPV4};
use linerate_ether::checksum::{TCP, UDP};
use linerate_ether::frame::{ADDRESSES_LEN, EtherType, TAG_LEN};

/// ICMP (RFC 792).
const ICMP: u8 = 1;
/// IPv4: bits that are set in a fragment: "more fragments" and the fragment offset.
const FRAGMENT: u16 = 0x3fff;
/// Octets of a packet up to the protocol field.
const HEAD: usize = 10;

/// Bits of a normal receive descriptor ("RDES0: FT, IPHCE, PCE").
const PAYLOAD: u32 = 1 << 0;
const TYPE: u32 = 1 << 5;
const HEADER: u32 = 1 << 7;
/// Bits of the extended status ("RDES4: IPHE, IPPE, IPCB, `IPv4PR`").
const EXTENDED_HEADER: u32 = 1 << 3;
const EXTENDED_PAYLOAD: u32 = 1 << 4;
const BYPASSED: u32 = 1 << 5;
const IPV4: u32 = 1 << 6;

/// Result of the receiver's checksum engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// The header of IPv4 is wrong.
    pub(super) bad_header: bool,
    /// The checksum of TCP, UDP or ICMP is wrong.
    pub(super) bad_payload: bool,
}

impl Verdict {
    /// From the first word. Without FT the bits state why nothing was verified, except that IPHCE alone is a wrong
    /// header.
    pub(super) const fn normal(word: u32) -> Self {
        let has_type = word & TYPE != 0;
        Self {
            bad_header: has_type && word & HEADER != 0,
            bad_payload: has_type && word & PAYLOAD != 0,
        }
    }

    /// From the extended status.
    pub(super) const fn extended(word: u32) -> Self {
        Self {
            bad_header: word & IPV4 != 0 && word & EXTENDED_HEADER != 0,
            bad_payload: word & BYPASSED == 0 && word & EXTENDED_PAYLOAD != 0,
        }
    }
}

/// Protocol and first octet of the payload of an IPv4 packet; 0 as the protocol of a fragment.
#[inline]
fn ipv4(frame: &[u8]) -> Option<(u8, usize)> {
    let field = |at: usize| {
        Some(EtherType(u16::from_be_bytes(
            *frame.get(at..)?.first_chunk()?,
        )))
    };
    let mut at = ADDRESSES_LEN;
    if field(at)?.is_tag() {
        at += TAG_LEN;
    }
    if field(at)? != EtherType::IPV4 {
        return None;
    }
    at += size_of::<EtherType>();
    let packet: &[u8; HEAD] = frame.get(at..)?.first_chunk()?;
    let fragment = u16::from_be_bytes([packet[6], packet[7]]) & FRAGMENT;
    let payload = at + 4 * usize::from(packet[0] & 0xf);
    Some((if fragment == 0 { packet[9] } else { 0 }, payload))
}

/// Bits of the first word for a frame to send. Checksum fields to be inserted must be zero. The engine does not know
/// the extension headers of IPv6, so that is left to the stack.
#[inline]
pub(super) fn checksum_insertions(frame: &[u8]) -> u32 {
    match ipv4(frame) {
        None => 0,
        Some((TCP | UDP | ICMP, _)) => INSERT_ALL,
        Some(_) => INSERT_IPV4,
    }
}

/// True if the engine found a wrong checksum in a received frame. It takes UDP without a checksum (RFC 768) for wrong.
#[inline]
pub(super) fn is_bad(frame: &[u8], found: Verdict) -> bool {
    if !found.bad_header && !found.bad_payload {
        return false;
    }
    let Some(packet) = ipv4(frame) else {
        return false;
    };
    let has_sum = match packet {
        (UDP, at) => frame.get(at + 6..at + 8) != Some(&[0, 0]),
        (TCP | ICMP, _) => true,
        _ => false,
    };
    found.bad_header || found.bad_payload && has_sum
}
