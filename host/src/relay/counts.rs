//! What became of the frames: the truth that a measurement through the relay is held against.

use serde::Serialize;

/// Why a frame was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// `loss`.
    Random,
    /// `burst_loss`.
    Burst,
    /// `bit_errors`: the FCS would not have fitted.
    BitErrors,
    /// The queue was full.
    Queue,
    /// The relay held [`ROOM`](super::ROOM) octets of this direction, by delay or by a long queue.
    Room,
}

/// What became of the frames of one direction. Whatever the settings are,
/// `frames_in + duplicated_frames == frames_out + lost_frames() + held_frames`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Frames that came.
    pub frames_in: u64,
    /// Their octets, without FCS.
    pub octets_in: u64,
    /// Second copies that were made of them.
    pub duplicated_frames: u64,
    /// Frames and copies that went.
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
    /// Lost because the relay had no more room.
    pub lost_room_frames: u64,
    /// Frames with bits turned over by `corrupt`, which go on.
    pub corrupted_frames: u64,
    /// Bits turned over in them.
    pub corrupted_bits: u64,
    /// Frames that `reorder` chose to hold back.
    pub held_back_frames: u64,
    /// Frames that went behind one that came after them, whatever made them (RFC 4737's reordered).
    pub reordered_frames: u64,
    /// On their way or held back now.
    pub held_frames: u64,
}

impl Counts {
    /// Lost by whatever cause.
    #[must_use]
    pub const fn lost_frames(&self) -> u64 {
        self.lost_random_frames
            + self.lost_burst_frames
            + self.lost_bit_error_frames
            + self.lost_queue_frames
            + self.lost_room_frames
    }

    pub(super) fn lose(&mut self, cause: Loss) {
        let count = match cause {
            Loss::Random => &mut self.lost_random_frames,
            Loss::Burst => &mut self.lost_burst_frames,
            Loss::BitErrors => &mut self.lost_bit_error_frames,
            Loss::Queue => &mut self.lost_queue_frames,
            Loss::Room => &mut self.lost_room_frames,
        };
        *count += 1;
    }
}
