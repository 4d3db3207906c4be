//! CRC-32 and Internet checksum of the TCP data in a verified frame, without reading the data: for
//! a program that checks a CRC-32 of the data it receives.
//!
//! The CRC-32 follows from the FCS of the frame by removing the headers ([`Advance`]); the sum
//! follows from the TCP checksum, since with it the pseudo-header and the segment sum to 0xFFFF.
//! Network adapters that compute the digests of storage protocols do the same in hardware.
//!
//! A program that uses this CRC instead of computing one has not checked the bytes that it read.
//! The [`sum`](Segment::sum) verifies, at a tenth of the cost, that they are the received ones:
//! between receive queue and program the check is then as strong as the TCP checksum, on the wire
//! as strong as the CRC.

use linerate_ether::checksum::{TCP, pseudo_header};
use linerate_ether::fcs::{Advance, Crc32, SLICING_8};
use linerate_ether::frame::{EtherType, HEADER_LEN};

const MIN_IPV4_HEADER: usize = 20;
const MIN_TCP_HEADER: usize = 20;

/// The data of a TCP segment over IPv4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// The sender's port.
    pub source: u16,
    /// The receiver's port.
    pub destination: u16,
    /// The sequence number of the first octet of data.
    pub sequence: u32,
    /// Octets of data, at least 1.
    pub len: u16,
    /// The data's CRC-32.
    pub crc: u32,
    /// The data's one's complement sum (RFC 1071), big-endian words; 0x0000 and 0xFFFF mean the
    /// same.
    pub sum: u16,
}

/// Computes digests of frames. Caches the CRC operator for the latest data length.
#[derive(Debug)]
pub struct Digester {
    len: usize,
    advance: Advance,
}

impl Digester {
    /// A digester prepared for full-sized segments.
    #[must_use]
    pub const fn new() -> Self {
        const MSS: usize = 1460;
        Self {
            len: MSS,
            advance: const { Advance::over(MSS) },
        }
    }

    /// Digest of the TCP data in `frame` (without FCS), whose `fcs` and checksums have been
    /// verified. `None` if it has no such data, or is tagged, padded or a fragment.
    pub fn segment(&mut self, frame: &[u8], fcs: u32) -> Option<Segment> {
        let packet = frame.get(HEADER_LEN..)?;
        let ip: &[u8; MIN_IPV4_HEADER] = packet.first_chunk()?;
        let kind = EtherType(u16::from_be_bytes([frame[12], frame[13]]));
        let ip_len = usize::from(ip[0] & 0xF) * 4;
        let total_len = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
        let fragment = u16::from_be_bytes([ip[6], ip[7]]) & 0x3FFF;
        let is_tcp = kind == EtherType::IPV4
            && ip[0] >> 4 == 4
            && ip_len >= MIN_IPV4_HEADER
            && total_len == packet.len()
            && fragment == 0
            && ip[9] == TCP;
        if !is_tcp {
            return None;
        }
        let segment = packet.get(ip_len..)?;
        let tcp: &[u8; MIN_TCP_HEADER] = segment.first_chunk()?;
        let tcp_len = usize::from(tcp[12] >> 4) * 4;
        let data = segment.get(tcp_len..).filter(|data| !data.is_empty())?;
        if tcp_len < MIN_TCP_HEADER {
            return None;
        }
        if self.len != data.len() {
            *self = Self {
                len: data.len(),
                advance: Advance::over(data.len()),
            };
        }
        let headers = frame.len() - data.len();
        let before = Crc32::with(&SLICING_8).update(&frame[..headers]).finish();
        let mut rest = pseudo_header(
            [ip[12], ip[13], ip[14], ip[15]],
            [ip[16], ip[17], ip[18], ip[19]],
            TCP,
            segment.len() as u16,
        );
        rest.add(&segment[..tcp_len]);
        Some(Segment {
            source: u16::from_be_bytes([tcp[0], tcp[1]]),
            destination: u16::from_be_bytes([tcp[2], tcp[3]]),
            sequence: u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]),
            len: data.len() as u16,
            crc: self.advance.split(fcs, before),
            sum: rest.checksum(),
        })
    }

    /// CRC-32 of the preceding data, whose CRC-32 is `crc`, followed by the data of the segment.
    pub fn combine(&mut self, crc: u32, segment: &Segment) -> u32 {
        let len = usize::from(segment.len);
        if self.len != len {
            *self = Self {
                len,
                advance: Advance::over(len),
            };
        }
        self.advance.combine(crc, segment.crc)
    }
}

impl Default for Digester {
    fn default() -> Self {
        Self::new()
    }
}
