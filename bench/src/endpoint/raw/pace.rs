//! Timing of frames handed to the interface.

/// Maximum number of frames waiting for the line: the line never idles, and no driver's queue
/// overflows.
const AHEAD: f64 = 16.0;

/// Even intervals, never faster than the line rate.
///
/// Late frames catch up only as far as the line rate permits: line time lost while the sender slept
/// can't be recovered, and more frames would only fill queues.
#[derive(Clone, Copy, Debug)]
pub(super) struct SendPacer {
    interval_ns: f64,
    /// Duration of a frame on the line, with preamble and gap; 0 if the line rate is unknown.
    frame_ns: f64,
    first_ns: f64,
    handed: u64,
    /// When the line will have carried all frames handed over.
    line_free_ns: f64,
}

impl SendPacer {
    /// The first frame is due at `first_ns`; an interval that is not above 0: back to back.
    pub(super) fn new(first_ns: u64, interval_ns: f64, frame_ns: f64) -> Self {
        Self {
            interval_ns: if interval_ns > 0.0 { interval_ns } else { 0.0 },
            frame_ns,
            first_ns: first_ns as f64,
            handed: 0,
            line_free_ns: 0.0,
        }
    }

    /// Due time of the next frame.
    pub(super) fn due_ns(&self) -> u64 {
        let asked = self.first_ns + self.handed as f64 * self.interval_ns;
        asked.max(self.line_free_ns - AHEAD * self.frame_ns) as u64
    }

    /// Records a frame handed over at `now_ns`.
    pub(super) fn hand_over(&mut self, now_ns: u64) {
        self.line_free_ns = self.line_free_ns.max(now_ns as f64) + self.frame_ns;
        self.handed += 1;
    }

    /// Frames handed over.
    pub(super) const fn handed(&self) -> u64 {
        self.handed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands over all frames due until `until_ns`, as soon as they are due. Returns their times.
    fn times(pace: &mut SendPacer, from_ns: u64, until_ns: u64) -> Vec<u64> {
        let mut times = Vec::new();
        while pace.due_ns() < until_ns {
            let now = pace.due_ns().max(from_ns);
            pace.hand_over(now);
            times.push(now);
        }
        times
    }

    #[test]
    fn intervals_are_even_and_their_fractions_do_not_add_up() {
        let mut pace = SendPacer::new(1_000, 333.25, 50.0);
        let times = times(&mut pace, 0, 1_000 + 333_250);
        assert_eq!(times.len(), 1_000);
        assert_eq!(&times[..5], &[1_000, 1_333, 1_666, 1_999, 2_333]);
    }

    #[test]
    fn back_to_back_is_the_lines_rate_and_a_few_ahead() {
        let mut pace = SendPacer::new(0, 0.0, 100.0);
        assert_eq!(times(&mut pace, 0, 100_000).len(), 1_000 + AHEAD as usize);
        for none in [f64::NAN, -1.0] {
            let mut pace = SendPacer::new(7, none, 0.0);
            pace.hand_over(7);
            assert_eq!(pace.due_ns(), 7, "an unknown line is as fast as it goes");
        }
    }

    #[test]
    fn late_frames_do_not_exceed_the_line_rate() {
        // A line at its rate, and a sender that wakes up half way.
        let mut pace = SendPacer::new(0, 100.0, 100.0);
        let late = times(&mut pace, 50_000, 100_000).len();
        assert!((500..=520).contains(&late), "{late}");
        // At half of its rate all is caught up with.
        let mut pace = SendPacer::new(0, 200.0, 100.0);
        assert_eq!(times(&mut pace, 40_000, 100_000).len(), 500);
    }
}
