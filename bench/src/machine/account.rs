//! The fates of a machine's frames, and what the device did while frames passed it that it did not register.

use std::collections::VecDeque;

use linerate_capture::wire::{Frame, Side};
use linerate_ether::ledger::{DropCause, Layer};
use linerate_results::record::{CountedFrames, FrameCounts, Ledger, UnheardCounts};

use super::Event;

/// Frames of a machine from power-on to power-off.
#[derive(Debug, Default)]
pub struct FrameAccount {
    ledger: Ledger,
    unheard: Unheard,
}

impl FrameAccount {
    /// Processes an event.
    pub fn observe(&mut self, event: &Event) {
        self.unheard.observe(event);
        if let Event::Frame(frame) = event
            && frame.from == Side::Peer
        {
            self.ledger.count(frame.lost);
        }
    }

    /// The fates, with the machine's independent `counts`; `None` if it has none.
    pub fn finish(self, counts: Option<FrameCounts>) -> Option<CountedFrames> {
        let ledger = self.ledger;
        let counts = self.unheard.complete(counts)?;
        Some(CountedFrames { ledger, counts })
    }
}

/// Intervals are kept for this long: the fate of a frame that no queue holds is decided much earlier.
const KEPT_NS: u64 = 5_000_000_000;

/// Follows the events of a run. Frames from the device and pulses come before the fate of a frame that they overlap.
#[derive(Debug, Default)]
pub struct Unheard {
    counts: UnheardCounts,
    /// When the receive interrupt ran, and when the device sent: start and end, in the order of time.
    busy: VecDeque<(u64, u64)>,
    sending: VecDeque<(u64, u64)>,
    /// The device has registered a frame.
    has_registered: bool,
}

impl Unheard {
    /// Processes an event.
    pub fn observe(&mut self, event: &Event) {
        match event {
            Event::Debug(pulse) => keep(&mut self.busy, (pulse.start_ns, pulse.end_ns)),
            Event::Frame(frame) if frame.from == Side::Device => {
                keep(&mut self.sending, (frame.start_ns, frame.end_ns));
            }
            Event::Frame(frame) => self.frame(frame),
            Event::Console { .. } | Event::Uploaded(_) => {}
        }
    }

    fn frame(&mut self, frame: &Frame) {
        if frame.lost != Some(DropCause::Unheard) {
            self.has_registered |= is_registered(frame.lost);
            return;
        }
        let (start, end) = (frame.start_ns, frame.end_ns);
        let kind = if overlaps(&self.busy, start, start + 1) {
            &mut self.counts.busy
        } else if overlaps(&self.sending, start, end) {
            &mut self.counts.sending
        } else if !self.has_registered {
            &mut self.counts.starting
        } else {
            &mut self.counts.idle
        };
        *kind += 1;
    }

    /// Adds the unheard frames to the machine's other `counts`.
    pub fn complete(self, counts: Option<FrameCounts>) -> Option<FrameCounts> {
        let counts = counts?;
        Some(FrameCounts {
            unheard: self.counts,
            ..counts
        })
    }
}

/// True if the device counts such a frame.
fn is_registered(lost: Option<DropCause>) -> bool {
    lost.is_none_or(|cause| cause.layer() != Layer::Wire && cause.counter().is_some())
}

fn keep(intervals: &mut VecDeque<(u64, u64)>, interval: (u64, u64)) {
    intervals.push_back(interval);
    while intervals
        .front()
        .is_some_and(|(_, end)| end + KEPT_NS < interval.0)
    {
        intervals.pop_front();
    }
}

/// True if an interval overlaps the time from `start` to before `end`.
fn overlaps(intervals: &VecDeque<(u64, u64)>, start: u64, end: u64) -> bool {
    let begun = intervals.partition_point(|interval| interval.0 < end);
    // They do not overlap each other.
    begun > 0 && intervals[begun - 1].1 > start
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_capture::wire::Packet;
    use linerate_results::record::Pulse;

    fn frame(from: Side, start_ns: u64, lost: Option<DropCause>) -> Event {
        Event::Frame(Frame {
            start_ns,
            end_ns: start_ns + 100,
            from,
            octets: 64,
            packet: Packet::Other,
            lost,
            tag: 0,
        })
    }

    fn pulse(start_ns: u64, end_ns: u64) -> Event {
        Event::Debug(Pulse { start_ns, end_ns })
    }

    #[test]
    fn an_unheard_frame_has_the_reason_that_the_pins_show() {
        let lost = |at, cause| frame(Side::Peer, at, Some(cause));
        let unheard = |at| lost(at, DropCause::Unheard);
        let mut unheard_frames = Unheard::default();
        for event in [
            lost(0, DropCause::Collision),
            unheard(10),
            lost(20, DropCause::Filtered),
            pulse(50, 900),
            unheard(899),
            // The interrupt ends before the frame begins.
            unheard(900),
            // The device sends before, in and after the frame.
            frame(Side::Device, 2_000, None),
            unheard(2_100),
            unheard(2_050),
            unheard(1_901),
            unheard(1_900),
            // An interrupt in the middle of it is that of this frame.
            pulse(3_050, 3_060),
            unheard(3_000),
        ] {
            unheard_frames.observe(&event);
        }
        let counts = unheard_frames.complete(Some(FrameCounts::default()));
        let unheard = counts.expect("counts").unheard;
        let expected = UnheardCounts {
            busy: 1,
            sending: 2,
            starting: 1,
            idle: 4,
        };
        assert_eq!(unheard, expected);
    }

    #[test]
    fn old_intervals_are_forgotten() {
        let mut unheard_frames = Unheard::default();
        for second in 0..20 {
            unheard_frames.observe(&pulse(second * 1_000_000_000, second * 1_000_000_000 + 9));
        }
        assert_eq!(unheard_frames.busy.len(), 6);
    }
}
