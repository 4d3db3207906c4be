//! The arguments of the console command `blast`.

use linerate_agent::frame::{MAX_LEN, MIN_LEN};
use linerate_ether::frame::MacAddress;

/// Raw frames to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlastCommand {
    /// Number of frames.
    pub frames: u64,
    /// Octets of each frame, without FCS: 60 to 1514.
    pub octets: u16,
    /// Destination address.
    pub to: MacAddress,
}

impl BlastCommand {
    /// Parses `FRAMES LENGTH [ADDRESS]`; the default address is broadcast.
    pub(crate) fn parse(frames: &str, octets: &str, to: Option<&str>) -> Option<Self> {
        Some(Self {
            frames: frames.parse().ok()?,
            octets: octets
                .parse()
                .ok()
                .filter(|it| (MIN_LEN..=MAX_LEN).contains(&usize::from(*it)))?,
            to: to.map_or(Some(MacAddress::BROADCAST), |it| it.parse().ok())?,
        })
    }
}
