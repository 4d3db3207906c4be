//! Frame counters of the relay: the reference for a measurement through it.

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

/// Frame counters of one direction. With all settings,
/// `frames_in + duplicated_frames == frames_out + lost_frames() + held_frames`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FrameCounts {
    /// Frames received.
    pub frames_in: u64,
    /// Their octets, without FCS.
    pub octets_in: u64,
    /// Duplicates made of them.
    pub duplicated_frames: u64,
    /// Frames and duplicates sent.
    pub frames_out: u64,
    /// Their octets, without FCS.
    pub octets_out: u64,
    /// Lost by `loss`.
    pub lost_random_frames: u64,
    /// Lost by `burst_loss`.
    pub lost_burst_frames: u64,
    /// Lost by `bit_errors`.
    pub lost_bit_error_frames: u64,
    /// Lost because the queue was full.
    pub lost_queue_frames: u64,
    /// Lost because the relay's buffer limit was reached.
    pub lost_room_frames: u64,
    /// Frames with bits flipped by `corrupt`, which are forwarded.
    pub corrupted_frames: u64,
    /// Bits flipped in them.
    pub corrupted_bits: u64,
    /// Frames held back by `reorder`.
    pub held_back_frames: u64,
    /// Frames sent after one that arrived later, for any reason (reordered as in RFC 4737).
    pub reordered_frames: u64,
    /// In flight or held back now.
    pub held_frames: u64,
}

impl FrameCounts {
    /// Frames lost for any reason.
    #[must_use]
    pub const fn lost_frames(&self) -> u64 {
        self.lost_random_frames
            + self.lost_burst_frames
            + self.lost_bit_error_frames
            + self.lost_queue_frames
            + self.lost_room_frames
    }

    pub(super) fn lose(&mut self, cause: LossReason) {
        let count = match cause {
            LossReason::Random => &mut self.lost_random_frames,
            LossReason::Burst => &mut self.lost_burst_frames,
            LossReason::BitErrors => &mut self.lost_bit_error_frames,
            LossReason::Queue => &mut self.lost_queue_frames,
            LossReason::BufferLimit => &mut self.lost_room_frames,
        };
        *count += 1;
    }
}
