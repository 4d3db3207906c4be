//! Measuring below IP, with raw Ethernet frames: a generator, a receiver that counts, a reflector.
//!
//! These are no [`Service`](crate::Service)s: they have no sockets. A driver gives them the frames that
//! it receives and sends what they write, from the destination address to the last octet before the FCS.
//!
//! Frames carry the `EtherType` 0x88B5, which IEEE 802a leaves to local
//! experiments, and a [`Head`].

mod blast;
mod head;
mod receive;
mod reflect;

pub use blast::{Blast, Plan};
pub use head::{Fill, HEAD_LEN, Head, Kind, renumber};
pub use receive::{Arrived, Receiver};
pub use reflect::{Which, reflect};

/// An address (IEEE 802.3 clause 3.2.3).
pub type Mac = [u8; 6];

/// Local Experimental `EtherType` 1.
pub const ETHERTYPE: u16 = 0x88b5;

/// The shortest and the longest frame (IEEE 802.3 clause 4.4.2) without its FCS.
pub const SHORTEST: usize = 60;
/// See [`SHORTEST`].
pub const LONGEST: usize = 1514;

/// What a frame takes on the wire beyond its octets: preamble and SFD, FCS, the gap after it.
pub const OVERHEAD: usize = 8 + 4 + 12;

/// Whether it is the address of a station, not of a group and not of nobody.
fn is_station(mac: Mac) -> bool {
    mac[0] & 1 == 0 && mac != [0; 6]
}

/// Destination, source and type.
fn addresses(frame: &[u8]) -> Option<(Mac, Mac, u16)> {
    let (to, rest) = frame.split_first_chunk()?;
    let (from, rest) = rest.split_first_chunk()?;
    let kind = rest.first_chunk()?;
    Some((*to, *from, u16::from_be_bytes(*kind)))
}
