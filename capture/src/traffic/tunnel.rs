//! Connections within datagrams of UDP: IPv4 packets that a tunnel sends as they are (Linux's foo over UDP, a program's own).

use super::datagram::is_ipv4_header;
use crate::reader::{Datagram, Protocol};

/// Octets of an IPv4 header without options (RFC 791 section 3.1).
const HEADER: usize = 20;

/// The TCP segment in an IPv4 packet that is the whole payload of a datagram. Version, length and checksum of the header agree with
/// other octets once in 2^40 datagrams.
pub(super) fn segment_within(payload: &[u8], length: u32) -> Option<Datagram<'_>> {
    let header = payload.first_chunk::<HEADER>()?;
    let total = u16::from_be_bytes([header[2], header[3]]);
    let is_packet = header[0] == 0x45 && u32::from(total) == length && is_ipv4_header(header);
    let datagram = is_packet.then(|| Datagram::v4(payload, length))??;
    (datagram.protocol == Protocol::Tcp && !datagram.fragment).then_some(datagram)
}
