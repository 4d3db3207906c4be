//! Checksums of the packet in a frame, derived from the sum computed by the receive loop.
//!
//! A one's complement sum over a range is the sum over the whole less the sums over the parts
//! outside of it (RFC 1071 section 2(A)). So verifying the TCP checksum of a full frame, whose sum
//! over all octets is known, costs only the 14 octets of MAC header, the pseudo-header and the FCS,
//! for any segment length:
//!
//! ```text
//! |MAC header|IPv4 header|segment ..                            |padding|FCS|
//! |<- less ->|<- sums to zero if its checksum is right          |<- less  ->|
//! |<----------------------- the loop's sum ------------------------------->|
//! ```
//!
//! In other cases (a tag, IPv6) the bytes are summed. A packet with inconsistent lengths passes: a
//! stack rejects it without any checksum. The FCS is no substitute: a router that corrupted a
//! packet sent it with a correct FCS.

use crate::bitbang::FRAME_OFFSET;
use linerate_ether::checksum::{self, TCP, UDP, fold, transport_is_good};
use linerate_ether::frame::{ADDRESSES_LEN, EtherType, HEADER_LEN, TAG_LEN};

const ICMP: u8 = 1;
const ICMPV6: u8 = 58;
/// Extension headers that may precede the transport header (RFC 8200): hop-by-hop options, routing,
/// destination options. The second octet of each is its length in units of 8 octets beyond the
/// first 8.
const EXTENSIONS: [u8; 3] = [0, 43, 60];
const IPV6_HEADER_LEN: usize = 40;
const IPV6_FRAGMENT: u8 = 44;
const IPV4_HEADER_LEN: usize = 20;
const TCP_HEADER_LEN: usize = 20;
const UDP_HEADER_LEN: usize = 8;
const ICMP_HEADER_LEN: usize = 4;

/// Result of a checksum check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// All checksums are correct, or there are none.
    Good,
    /// One is wrong, or cannot be verified because the packet is a fragment.
    Bad,
    /// The sum alone is not sufficient: [`of_bytes`] decides.
    Unknown,
}

impl Verdict {
    #[inline(always)]
    const fn new(good: bool) -> Self {
        if good { Self::Good } else { Self::Bad }
    }
}

/// Adds with end-around carry.
#[inline(always)]
const fn plus(a: u32, b: u32) -> u32 {
    let (sum, carry) = a.overflowing_add(b);
    sum + carry as u32
}

/// Sum of the bytes `from..to` of `entry`, in memory order. Requires `from < to`.
#[inline(always)]
fn sum_of(entry: &[u32], from: usize, to: usize) -> Option<u32> {
    let words = entry.get(from / 4..to.div_ceil(4))?;
    let (first, last) = (words.first()?.to_le(), words.last()?.to_le());
    let sum = words.iter().fold(0, |sum, word| plus(sum, word.to_le()));
    // Subtract the parts of the first and the last word outside of the range.
    let before = first & !(!0 << (from % 4 * 8));
    let after = match to % 4 {
        0 => 0,
        bytes => last & !0 << (bytes * 8),
    };
    Some(plus(sum, plus(!before, !after)))
}

/// Verdict on the IPv4 packet in the frame of `octets` octets, FCS included, at [`FRAME_OFFSET`] of
/// `entry` with the sum `sum` (see [`SummedFrame`](crate::bitbang::SummedFrame)), without reading
/// the data of the packet.
#[inline]
pub(super) fn of_sum(entry: &[u32], octets: usize, sum: u16) -> Verdict {
    derive(entry, octets, sum).unwrap_or(Verdict::Unknown)
}

#[inline(always)]
fn derive(entry: &[u32], octets: usize, sum: u16) -> Option<Verdict> {
    /// The word in which the IPv4 header begins.
    const IP: usize = (FRAME_OFFSET + HEADER_LEN) / 4;
    const _: () = assert!((FRAME_OFFSET + HEADER_LEN).is_multiple_of(4));
    // The first octet on the wire is in the low bits of a word.
    let word = |at: usize| entry.get(at).map(|word| word.to_le());
    let header: &[u32; IP + 5] = entry.first_chunk()?;
    let header = header.map(u32::to_le);
    let lengths = header[IP];
    let header_len = (lengths & 0xF) as usize * 4;
    let total_len = usize::from(((lengths >> 16) as u16).swap_bytes());
    if header[IP - 1] >> 16 != u32::from(EtherType::IPV4.0.swap_bytes())
        || lengths >> 4 & 0xF != 4
        || header_len < IPV4_HEADER_LEN
        || HEADER_LEN + total_len + linerate_ether::fcs::LEN > octets
    {
        return None;
    }
    let payload = total_len.checked_sub(header_len)?;
    let mut ip = header[IP..].iter().copied().fold(0, plus);
    for at in IP + 5..IP + header_len / 4 {
        ip = plus(ip, word(at)?);
    }
    // The upper bits of the second word: flags and fragment offset, except "don't fragment".
    if fold(ip) != 0xFFFF || header[IP + 1] >> 16 & 0xFF3F != 0 {
        return Some(Verdict::Bad);
    }
    let protocol = (header[IP + 2] >> 8) as u8;
    let (covered, pseudo) = match protocol {
        TCP if payload >= TCP_HEADER_LEN => (payload, true),
        UDP if payload >= UDP_HEADER_LEN => {
            let second = word(IP + header_len / 4 + 1)?;
            if second >> 16 == 0 {
                return Some(Verdict::Good);
            }
            match usize::from((second as u16).swap_bytes()) {
                len if len >= UDP_HEADER_LEN && len <= payload => (len, true),
                _ => return None,
            }
        }
        // All zeroes sum to zero, not to 0xFFFF; the difference of two sums cannot distinguish the
        // two.
        ICMP if payload >= ICMP_HEADER_LEN && word(IP + header_len / 4)? != 0 => (payload, false),
        _ => return None,
    };
    // The MAC header; the IPv4 header sums to zero.
    let mac = plus(
        plus(header[IP - 4] & 0xFFFF_0000, header[IP - 3]),
        plus(header[IP - 2], header[IP - 1]),
    );
    // Padding and FCS. An even offset in the frame is an even offset in the entry.
    let end = FRAME_OFFSET + HEADER_LEN + header_len + covered;
    let tail = sum_of(entry, end, FRAME_OFFSET + octets)?;
    let mut rest = plus(u32::from(sum.swap_bytes()), plus(!mac, !tail));
    if pseudo {
        let fields = u32::from(protocol) << 8 | u32::from((covered as u16).swap_bytes()) << 16;
        rest = plus(plus(rest, fields), plus(header[IP + 3], header[IP + 4]));
    }
    // At least one summand is not zero, so zero means 0xFFFF.
    Some(Verdict::new(matches!(fold(rest), 0 | 0xFFFF)))
}

/// Verdict on the packet in `frame`, which is without FCS, from its bytes.
pub(crate) fn of_bytes(frame: &[u8]) -> Verdict {
    let field = |at: usize| {
        frame
            .get(at..)
            .and_then(|bytes| bytes.first_chunk())
            .map(|bytes| EtherType(u16::from_be_bytes(*bytes)))
    };
    let (kind, at) = match field(ADDRESSES_LEN) {
        Some(kind) if kind.is_tag() => (field(ADDRESSES_LEN + TAG_LEN), HEADER_LEN + TAG_LEN),
        kind => (kind, HEADER_LEN),
    };
    let packet = frame.get(at..).unwrap_or_default();
    let bad = match kind {
        Some(EtherType::IPV4) => ipv4_is_bad(packet),
        Some(EtherType::IPV6) => ipv6_is_bad(packet),
        _ => None,
    };
    Verdict::new(bad != Some(true))
}

/// True if a checksum of an IPv4 packet (RFC 791) is wrong; `None` if its lengths are inconsistent.
fn ipv4_is_bad(packet: &[u8]) -> Option<bool> {
    let header: &[u8; IPV4_HEADER_LEN] = packet.first_chunk()?;
    let header_len = usize::from(header[0] & 0xF) * 4;
    let total_len = usize::from(u16::from_be_bytes([header[2], header[3]]));
    if header[0] >> 4 != 4 || header_len < IPV4_HEADER_LEN {
        return None;
    }
    let payload = packet.get(header_len..total_len)?;
    let fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3FFF != 0;
    if fragment || !checksum::is_good(&packet[..header_len]) {
        return Some(true);
    }
    let source = [header[12], header[13], header[14], header[15]];
    let destination = [header[16], header[17], header[18], header[19]];
    Some(match header[9] {
        TCP if payload.len() >= TCP_HEADER_LEN => {
            !transport_is_good(source, destination, TCP, payload)
        }
        UDP => {
            let datagram = datagram(payload)?;
            datagram[6..8] != [0, 0] && !transport_is_good(source, destination, UDP, datagram)
        }
        ICMP if payload.len() >= ICMP_HEADER_LEN => !checksum::is_good(payload),
        _ => false,
    })
}

/// The UDP datagram (RFC 768) in an IP payload; `None` if the lengths are inconsistent.
fn datagram(payload: &[u8]) -> Option<&[u8]> {
    let header: &[u8; UDP_HEADER_LEN] = payload.first_chunk()?;
    let len = usize::from(u16::from_be_bytes([header[4], header[5]]));
    payload.get(..len).filter(|_| len >= UDP_HEADER_LEN)
}

/// True if a checksum of an IPv6 packet (RFC 8200 section 8.1) is wrong; `None` if its lengths are
/// inconsistent.
fn ipv6_is_bad(packet: &[u8]) -> Option<bool> {
    let header: &[u8; IPV6_HEADER_LEN] = packet.first_chunk()?;
    if header[0] >> 4 != 6 {
        return None;
    }
    let payload_len = usize::from(u16::from_be_bytes([header[4], header[5]]));
    let mut payload = packet[IPV6_HEADER_LEN..].get(..payload_len)?;
    let mut protocol = header[6];
    while EXTENSIONS.contains(&protocol) {
        let &[next, eights, ..] = payload else {
            return None;
        };
        payload = payload.get(8 * (usize::from(eights) + 1)..)?;
        protocol = next;
    }
    let covered = match protocol {
        TCP if payload.len() >= TCP_HEADER_LEN => payload,
        UDP => match datagram(payload)? {
            // The stack decides whether a zero checksum is allowed (RFC 6935).
            [_, _, _, _, _, _, 0, 0, ..] => return Some(false),
            datagram => datagram,
        },
        ICMPV6 if payload.len() >= ICMP_HEADER_LEN => payload,
        IPV6_FRAGMENT => return Some(true),
        _ => return Some(false),
    };
    let mut sum = checksum::Sum::new();
    sum.add(&header[8..])
        .add_u16(covered.len() as u16)
        .add_u16(u16::from(protocol))
        .add(covered);
    Some(!sum.is_good())
}
