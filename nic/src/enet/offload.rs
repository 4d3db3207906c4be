//! Checksums handled by the accelerators ("IP accelerator functions").

use super::descriptor::{BAD_IPV4, BAD_TRANSPORT, INSERT_IPV4, INSERT_TRANSPORT};
use linerate_ether::checksum::{TCP, UDP};
use linerate_ether::frame::{ADDRESSES_LEN, EtherType, TAG_LEN};

/// IPv4: bits that are set in a fragment: "more fragments" and the fragment offset.
const FRAGMENT: u16 = 0x3fff;
const IPV6_HEADER: usize = 40;
/// Octets of a packet up to the protocol field of IPv4, which is after that of IPv6.
const HEAD: usize = 10;
/// Range of the checksum in the UDP header, which it ends.
const UDP_SUM: core::ops::Range<usize> = 6..8;

/// Parts of a frame whose checksum an accelerator supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Summed {
    /// The IPv4 header.
    header: bool,
    /// TCP or UDP, not fragmented.
    transport: Option<u8>,
    /// Offset of the transport header.
    at: usize,
}

#[inline]
fn summed(frame: &[u8]) -> Option<Summed> {
    let field = |at: usize| {
        Some(EtherType(u16::from_be_bytes(
            *frame.get(at..)?.first_chunk()?,
        )))
    };
    let mut at = ADDRESSES_LEN;
    if field(at)?.is_tag() {
        at += TAG_LEN;
    }
    let ethertype = field(at)?;
    at += size_of::<EtherType>();
    let packet: &[u8; HEAD] = frame.get(at..)?.first_chunk()?;
    let (header, protocol, octets) = match ethertype {
        EtherType::IPV4 => {
            let fragment = u16::from_be_bytes([packet[6], packet[7]]);
            let protocol = (fragment & FRAGMENT == 0).then_some(packet[9]);
            (true, protocol, 4 * usize::from(packet[0] & 0xf))
        }
        // If extension headers follow, the accelerator does nothing.
        EtherType::IPV6 => (false, Some(packet[6]), IPV6_HEADER),
        _ => return None,
    };
    Some(Summed {
        header,
        transport: protocol.filter(|it| matches!(*it, TCP | UDP)),
        at: at + octets,
    })
}

/// True for UDP without a checksum (RFC 768).
#[inline]
fn has_no_udp_checksum(frame: &[u8], it: &Summed) -> bool {
    let sum = frame.get(it.at..).and_then(|it| it.get(UDP_SUM));
    it.transport == Some(UDP) && sum == Some(&[0, 0])
}

/// Control word bits for a frame to send. Checksum fields to be inserted must be zero.
#[inline]
pub(super) fn checksum_insertions(frame: &[u8]) -> u32 {
    summed(frame).map_or(0, |it| {
        let header = if it.header { INSERT_IPV4 } else { 0 };
        let transport = if it.transport.is_some() {
            INSERT_TRANSPORT
        } else {
            0
        };
        header | transport
    })
}

/// True if the control word of a received frame reports a wrong checksum. The MAC also sets these
/// bits for protocols that the accelerator does not support.
#[inline]
pub(super) fn is_bad(frame: &[u8], control: u32) -> bool {
    control & (BAD_IPV4 | BAD_TRANSPORT) != 0
        && summed(frame).is_some_and(|it| {
            it.header && control & BAD_IPV4 != 0
                || it.transport.is_some()
                    && control & BAD_TRANSPORT != 0
                    && !has_no_udp_checksum(frame, &it)
        })
}
