//! Receive-interrupt timing from the debug pin.
//!
//! The firmware raises the pin on entry, lowers it when the receive loop saw the end of the frame,
//! raises it again at once, and lowers it when the interrupt returns. The second pulse is the
//! post-processing, as it was timed with an oscilloscope on the original.

use super::{Frame, Side};
use linerate_results::record::Pulse;

/// A receive loop entered within this time of a frame's start received it from its beginning.
const ENTRY_NS: u64 = 5_000;
/// A second pulse further than this from the frame's end does not belong to it.
const END_NS: u64 = 3_000;
/// Minimum length (with FCS) of the frames counted: short ones take less post-processing.
const FULL_FRAME_OCTETS: u64 = 1_400;

/// Post-processing times of the full frames that the receive interrupt received from their beginning, in chronological
/// order. `pulses` are those of the debug pin, in chronological order.
pub fn post_processing_ns(frames: &[Frame], pulses: &[Pulse]) -> Vec<u64> {
    let full = frames
        .iter()
        .filter(|frame| frame.from == Side::Peer && frame.octets >= FULL_FRAME_OCTETS);
    full.filter_map(|frame| post_processing(frame, pulses))
        .map(|pulse| pulse.end_ns - pulse.start_ns)
        .collect()
}

/// The pulse during which the interrupt post-processed `frame`.
pub(super) fn post_processing<'a>(frame: &Frame, pulses: &'a [Pulse]) -> Option<&'a Pulse> {
    let at = pulses.partition_point(|pulse| pulse.start_ns < frame.start_ns);
    let [listening, after, ..] = pulses.get(at..)? else {
        return None;
    };
    let is_received_whole = listening.start_ns < frame.start_ns + ENTRY_NS
        && after.start_ns.abs_diff(frame.end_ns) < END_NS
        && after.end_ns >= after.start_ns;
    is_received_whole.then_some(after)
}

#[cfg(test)]
mod tests {
    use super::super::sample::{ack, data};
    use super::*;

    fn pulse(start_ns: u64, end_ns: u64) -> Pulse {
        Pulse { start_ns, end_ns }
    }

    #[test]
    fn second_pulse_of_a_frame_received_whole() {
        let frames = [data(0, 1, 1460), data(1_231, 1461, 1460), ack(5_000, 1461)];
        let end_ns = frames[0].end_ns;
        let pulses = [
            pulse(750, end_ns + 300),
            pulse(end_ns + 350, end_ns + 1_050_350),
            // Entered in the middle of the second frame.
            pulse(end_ns + 1_051_000, frames[1].end_ns + 300),
            pulse(frames[1].end_ns + 400, frames[1].end_ns + 20_000),
        ];
        assert_eq!(post_processing_ns(&frames, &pulses), [1_050_000]);
    }

    #[test]
    fn link_pulses_between_frames_are_not_taken_for_one() {
        let frames = [data(16_000, 1, 1460)];
        let end_ns = frames[0].end_ns;
        let pulses = [
            pulse(750, 1_900),
            pulse(16_000_750, end_ns + 280),
            pulse(end_ns + 290, end_ns + 2_290),
            pulse(32_000_750, 32_001_900),
        ];
        assert_eq!(post_processing_ns(&frames, &pulses), [2_000]);
        assert_eq!(post_processing_ns(&frames, &pulses[..2]), [0_u64; 0]);
    }
}
