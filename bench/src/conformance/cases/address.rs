//! Destination addresses.

use linerate_ether::frame::MacAddress;

use super::SHORT;
use crate::conformance::CaseFailure;
use crate::conformance::exchange::TestFrame;
use crate::conformance::rig::{Rig, ensure};

/// Another station; a group that the device has not joined.
const FOREIGN: MacAddress = MacAddress([2, 0, 0, 0, 0, 0x77]);
const GROUP: MacAddress = MacAddress::from_ipv4_multicast([239, 1, 2, 3]);
/// Frames to each.
const EACH: u64 = 50;

pub(super) fn filter(rig: &mut Rig<'_>) -> Result<u64, CaseFailure> {
    let mut sent = 0;
    for (to, is_ours) in [
        (MacAddress::BROADCAST, true),
        (FOREIGN, false),
        (GROUP, false),
    ] {
        rig.reset_counts()?;
        let each = move |_| [TestFrame::one_way(SHORT, to.0), TestFrame::of(SHORT)];
        let frames = rig.exchange_by(1, (0..EACH).flat_map(each))?;
        let counts = rig.frame_counts()?;
        let expected = if is_ours { frames } else { EACH };
        ensure(
            (counts.frames, counts.for_others, counts.altered) == (expected, 0, 0),
            || format!("of {EACH} frames to {to} and as many to the device it accepted {counts:?}"),
        )?;
        sent += frames;
    }
    Ok(sent)
}
