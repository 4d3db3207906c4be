//! Ethernet frames out of an interface, and counted from one: those of [`linerate_agent::frame`], so that a
//! device's agent counts or reflects them.
//!
//! They go past the interface's queueing discipline through a ring of memory shared with the kernel
//! (`AF_PACKET`), which takes `CAP_NET_RAW`, and Linux.

#[cfg(target_os = "linux")]
mod blast;
#[cfg(target_os = "linux")]
mod counting;
#[cfg(not(target_os = "linux"))]
mod nowhere;

#[cfg(target_os = "linux")]
pub use blast::blast;
#[cfg(target_os = "linux")]
pub use counting::{capture, count};
#[cfg(not(target_os = "linux"))]
pub use nowhere::{blast, capture, count};

use std::time::Duration;

use linerate_agent::frame::{LONGEST, Mac, SHORTEST};
use serde::Serialize;

use super::gaps::{Gaps, Summary};
use super::{LoadError, Rate};

/// Every station: what is sent to where no address is named.
pub const BROADCAST: Mac = [0xff; 6];

/// What to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Out of which interface.
    pub interface: String,
    /// Where to.
    pub to: Mac,
    /// From which address; `None`: the interface's.
    pub from: Option<Mac>,
    /// Length of each frame without FCS.
    pub frame_octets: usize,
    /// How fast.
    pub rate: Rate,
    /// How long.
    pub duration: Duration,
    /// Tells streams apart.
    pub stream: u8,
    /// Whether who receives them is to send them back.
    pub reflect: bool,
    /// The core to send from.
    pub core: Option<usize>,
}

impl Plan {
    /// As many of the shortest frames as go in a second, to everybody.
    pub fn new(interface: &str) -> Self {
        Self {
            interface: interface.to_owned(),
            to: BROADCAST,
            from: None,
            frame_octets: SHORTEST,
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
        if !(SHORTEST..=LONGEST).contains(&self.frame_octets) {
            return Err(LoadError::Frame {
                octets: self.frame_octets,
                least: SHORTEST,
                most: LONGEST,
            });
        }
        self.rate.check()
    }
}

/// Frames of a stream that came.
#[derive(Debug, Clone, Serialize)]
pub struct Counted {
    /// All of them, repeated ones included.
    pub frames: u64,
    /// Without FCS.
    pub octets: u64,
    /// From the first to the last, by the kernel's times.
    pub span_ns: u64,
    /// Missing below the highest number that came.
    pub lost_frames: u64,
    /// Came after one with a higher number.
    pub out_of_order_frames: u64,
    /// Came again.
    pub repeated_frames: u64,
    /// Came so late that they may be either.
    pub stale_frames: u64,
    /// Came with another content than they were sent with.
    pub altered_frames: u64,
    /// Found no room in the ring: lost in this host, not on the link.
    pub host_drops: u64,
    /// Gaps by the kernel's times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gaps: Option<Summary>,
}

/// What a capture saw.
#[derive(Debug, Clone)]
pub struct Captured {
    /// Frames that were wanted.
    pub frames: u64,
    /// Found no room in the ring.
    pub host_drops: u64,
    /// Gaps between them by the kernel's times.
    pub gaps: Gaps,
}
