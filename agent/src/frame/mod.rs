//! Measurements below IP with raw Ethernet frames: a generator, a counting receiver, a reflector.
//!
//! These are not [`Service`](crate::Service)s: they have no sockets. A driver passes in received frames and
//! sends those they write, from the destination address to the last octet before the FCS.
//!
//! Frames carry the `EtherType` 0x88B5, which IEEE 802a reserves for local experiments, and a [`TestHeader`].

mod blast;
mod header;
mod receive;
mod reflect;

pub use blast::{Blast, Plan};
pub use header::{Fill, FrameKind, TEST_HEADER_LEN, TestHeader, renumber};
pub use receive::{Arrived, Receiver};
pub use reflect::{ReflectFilter, reflect};

/// MAC address (IEEE 802.3 clause 3.2.3).
pub type Mac = [u8; 6];

/// Local Experimental `EtherType` 1.
pub const ETHERTYPE: u16 = 0x88b5;

/// Shortest and longest frame (IEEE 802.3 clause 4.4.2) without FCS.
pub const MIN_LEN: usize = 60;
/// See [`MIN_LEN`].
pub const MAX_LEN: usize = 1514;

/// Octets on the wire beside the frame itself: preamble and SFD, FCS, inter-packet gap.
pub const OVERHEAD: usize = 8 + 4 + 12;

/// True for a unicast address that is not zero.
fn is_station(mac: Mac) -> bool {
    mac[0] & 1 == 0 && mac != [0; 6]
}

/// Destination address, source address and type.
fn addresses(frame: &[u8]) -> Option<(Mac, Mac, u16)> {
    let (to, rest) = frame.split_first_chunk()?;
    let (from, rest) = rest.split_first_chunk()?;
    let kind = rest.first_chunk()?;
    Some((*to, *from, u16::from_be_bytes(*kind)))
}
