//! Sends and counts Ethernet frames in the format of [`linerate_agent::frame`], which a device's agent counts
//! or reflects.
//!
//! Frames bypass the interface's queueing discipline through a ring of memory shared with the kernel
//! (`AF_PACKET`). This requires Linux and `CAP_NET_RAW`.

#[cfg(target_os = "linux")]
mod blast;
#[cfg(target_os = "linux")]
mod counting;
#[cfg(not(target_os = "linux"))]
mod unsupported;

#[cfg(target_os = "linux")]
pub use blast::blast;
#[cfg(target_os = "linux")]
pub use counting::{capture, count};
#[cfg(not(target_os = "linux"))]
pub use unsupported::{blast, capture, count};

use std::time::Duration;

use linerate_agent::frame::{MAX_LEN, MIN_LEN, Mac};
use serde::Serialize;

use super::gaps::{GapSummary, Gaps};
use super::{LoadError, Rate};

/// Broadcast address: the default destination.
pub const BROADCAST: Mac = [0xff; 6];

/// Configuration of the raw frame generator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlastConfig {
    /// Interface to send from.
    pub interface: String,
    /// Destination address.
    pub to: Mac,
    /// Source address; `None`: the interface's.
    pub from: Option<Mac>,
    /// Length of each frame without FCS.
    pub frame_octets: usize,
    /// Frame rate.
    pub rate: Rate,
    /// Duration.
    pub duration: Duration,
    /// Stream identifier.
    pub stream: u8,
    /// If true, the receiver is asked to send the frames back.
    pub reflect: bool,
    /// CPU core to send from.
    pub core: Option<usize>,
}

impl BlastConfig {
    /// Shortest frames to the broadcast address at the maximum rate for one second.
    pub fn new(interface: &str) -> Self {
        Self {
            interface: interface.to_owned(),
            to: BROADCAST,
            from: None,
            frame_octets: MIN_LEN,
            rate: Rate::Max,
            duration: Duration::from_secs(1),
            stream: 0,
            reflect: false,
            core: None,
        }
    }

    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "nothing is sent")
    )]
    fn check(&self) -> Result<(), LoadError> {
        if !(MIN_LEN..=MAX_LEN).contains(&self.frame_octets) {
            return Err(LoadError::Frame {
                octets: self.frame_octets,
                min: MIN_LEN,
                max: MAX_LEN,
            });
        }
        self.rate.check()
    }
}

/// Received frames of a stream.
#[derive(Debug, Clone, Serialize)]
pub struct CountReport {
    /// Frames, including duplicates.
    pub frames: u64,
    /// Octets without FCS.
    pub octets: u64,
    /// Time from the first to the last, by kernel timestamps.
    pub span_ns: u64,
    /// Missing below the highest received number.
    pub lost_frames: u64,
    /// Received after one with a higher number.
    pub out_of_order_frames: u64,
    /// Received more than once.
    pub repeated_frames: u64,
    /// Received so late that they may be either.
    pub stale_frames: u64,
    /// Received with altered content.
    pub altered_frames: u64,
    /// Dropped because the ring was full: lost in this host, not on the link.
    pub host_drops: u64,
    /// Gaps by kernel timestamps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gaps: Option<GapSummary>,
}

/// Result of a capture.
#[derive(Debug, Clone)]
pub struct CaptureReport {
    /// Matching frames.
    pub frames: u64,
    /// Dropped because the ring was full.
    pub host_drops: u64,
    /// Gaps between them, by kernel timestamps.
    pub gaps: Gaps,
}
