//! Captures the headers of one peer's packets on an interface of this machine.

mod pcapng;
mod select;

#[cfg(target_os = "linux")]
mod running;
#[cfg(not(target_os = "linux"))]
mod unsupported;

#[cfg(target_os = "linux")]
pub use running::Capture;
#[cfg(not(target_os = "linux"))]
pub use unsupported::Capture;

use linerate_ring::RingError;
use std::io;
use std::path::PathBuf;

/// Octets kept of each frame: Ethernet, VLAN tag, IPv6 and TCP with all options.
const SNAP_OCTETS: u32 = 128;

/// A capture is not possible, or was interrupted.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The interface cannot be read.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// The file cannot be written.
    #[error("cannot write {}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
}

/// Counts of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CaptureCounts {
    /// Frames in the file.
    pub frames: u64,
    /// Frames that this machine dropped because the ring was full.
    pub dropped: u64,
}
