//! What happens at a machine.

use linerate_capture::wire::Frame;
use linerate_results::record::Pulse;

/// Something that happened at a machine.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The program printed a line; the time is that of its first byte.
    Console {
        /// When.
        at_ns: u64,
        /// What, without its end.
        line: String,
    },
    /// A frame was on the wire and its fate is known. Not in the order of their starts: a fate can
    /// take its time.
    Frame(Frame),
    /// The debug pin was high.
    Debug(Pulse),
    /// The peer has the last byte of a file that the device put on it.
    Uploaded(Uploaded),
}

/// A file that the device put on the peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uploaded {
    /// When the peer's program consumed the last byte.
    pub at_ns: u64,
    /// The device's port.
    pub port: u16,
    /// Where it was put.
    pub path: String,
    /// Its size.
    pub octets: u64,
    /// CRC-32 (IEEE) of what came.
    pub crc32: u32,
}

/// What a further station on the hub has sent so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StationTraffic {
    /// Octets with FCS of frames that did not collide.
    pub good_octets: u64,
    /// Transmissions that collided.
    pub collisions: u64,
}
