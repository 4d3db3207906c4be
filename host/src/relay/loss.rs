//! Lost frames in the counters of the relay, by their reason.

use linerate_results::record::RelayCounts;
use serde::Serialize;

/// Reason why a frame was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LossReason {
    /// Setting `loss`.
    Random,
    /// Setting `burst_loss`.
    Burst,
    /// Setting `bit_errors`: the FCS would not have matched.
    BitErrors,
    /// The queue was full.
    Queue,
    /// The relay already buffered [`MAX_BUFFERED_OCTETS`](super::MAX_BUFFERED_OCTETS) of this direction,
    /// because of a delay or a long queue.
    #[serde(rename = "room")]
    BufferLimit,
}

impl LossReason {
    /// Counts a frame that was lost for this reason.
    pub(super) fn count(self, counts: &mut RelayCounts) {
        let count = match self {
            Self::Random => &mut counts.lost_random_frames,
            Self::Burst => &mut counts.lost_burst_frames,
            Self::BitErrors => &mut counts.lost_bit_error_frames,
            Self::Queue => &mut counts.lost_queue_frames,
            Self::BufferLimit => &mut counts.lost_room_frames,
        };
        *count += 1;
    }
}
