//! Events of a machine.

use linerate_capture::wire::Frame;
use linerate_results::record::Pulse;

/// An event of a machine.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The program printed a line; the time is that of its first byte.
    Console {
        /// When.
        at_ns: u64,
        /// The line without its terminator.
        line: String,
    },
    /// A frame was on the wire and its fate is known. Not ordered by start time: a fate can be
    /// decided later.
    Frame(Frame),
    /// The debug pin was high.
    Debug(Pulse),
    /// The peer has received the last byte of an upload from the device.
    Uploaded(Uploaded),
}

/// A file that the device uploaded to the peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uploaded {
    /// When the peer's program consumed the last byte.
    pub at_ns: u64,
    /// The device's port.
    pub port: u16,
    /// The path of the upload.
    pub path: String,
    /// Its size.
    pub octets: u64,
    /// CRC-32 (IEEE) of the received content.
    pub crc32: u32,
}

/// Traffic sent so far by another station on the hub.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StationTraffic {
    /// Octets with FCS of frames that did not collide.
    pub good_octets: u64,
    /// Transmissions that collided.
    pub collisions: u64,
}
