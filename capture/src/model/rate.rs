//! How fast payload passed, and when it passed at the fastest rate.

use super::view::DirectionView;

/// Octets passed until a time, in ascending order of both.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    points: Vec<(u64, u64)>,
}

/// A rate that a connection reached repeatedly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FastestRate {
    /// Octets of payload per second.
    pub bytes_per_s: f64,
    /// Octets over which it was measured each time.
    pub window_bytes: u64,
    /// Number of measurements without overlap.
    pub windows: usize,
}

/// A time during which a number of octets passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Start, nanoseconds since the first packet of the connection.
    pub start_ns: u64,
    /// End.
    pub end_ns: u64,
    /// Octets.
    pub bytes: u64,
}

impl Window {
    /// Octets per second.
    pub fn rate(&self) -> f64 {
        self.bytes as f64 * 1e9 / (self.end_ns - self.start_ns).max(1) as f64
    }
}

/// Share of the windows that are faster than the fastest rate: timestamps jitter.
const FASTER_PERCENT: usize = 10;

impl Progress {
    /// Octets of payload captured, retransmissions included: what passed the capture point.
    pub fn sent(view: &DirectionView) -> Self {
        let mut points: Vec<(u64, u64)> = Vec::new();
        let mut total = 0;
        for sent in view.sent.iter().filter(|it| it.len > 0) {
            total += u64::from(sent.len);
            points.push((sent.time_ns, total));
        }
        Self { points }
    }

    /// Octets acknowledged.
    pub fn acknowledged(view: &DirectionView) -> Self {
        let mut points: Vec<(u64, u64)> = Vec::new();
        for ack in &view.acks {
            if points.last().is_none_or(|(_, last)| *last < ack.ack) {
                points.push((ack.time_ns, ack.ack));
            }
        }
        let base = points.first().map_or(0, |(_, ack)| *ack);
        for (_, ack) in &mut points {
            *ack -= base;
        }
        Self { points }
    }

    /// Times and octets passed until then.
    pub(super) fn points(&self) -> &[(u64, u64)] {
        &self.points
    }

    /// Consecutive windows in which at least `bytes` passed.
    pub fn windows(&self, bytes: u64) -> Vec<Window> {
        let mut windows = Vec::new();
        let Some(mut start) = self.points.first().copied() else {
            return windows;
        };
        for (time_ns, total) in &self.points {
            if total - start.1 >= bytes && *time_ns > start.0 {
                windows.push(Window {
                    start_ns: start.0,
                    end_ns: *time_ns,
                    bytes: total - start.1,
                });
                start = (*time_ns, *total);
            }
        }
        windows
    }

    /// The fastest rate over windows of `bytes`, or of four steps if those are larger. `None` if there are fewer than three
    /// windows, or if a third of what is in flight passes at once: then the time between such steps is no rate of the
    /// path.
    pub fn fastest(&self, bytes: u64, max_in_flight: u64) -> Option<FastestRate> {
        let step = self.step();
        if step * 2 > bytes && step * 3 > max_in_flight {
            return None;
        }
        let bytes = if step * 2 > bytes { 4 * step } else { bytes };
        let windows = self.windows(bytes);
        if windows.len() < 3 {
            return None;
        }
        let mut rates: Vec<f64> = self.sliding(bytes).map(|window| window.rate()).collect();
        rates.sort_by(f64::total_cmp);
        let at = (rates.len() - 1) * (100 - FASTER_PERCENT) / 100;
        Some(FastestRate {
            bytes_per_s: rates[at],
            window_bytes: bytes,
            windows: windows.len(),
        })
    }

    /// Octets that pass at once, typically: half of all octets pass in steps of at least this many. A step has no gap as
    /// long as a quarter of what its octets take on average.
    pub fn step(&self) -> u64 {
        let average = self.bytes() as f64 / self.span_ns().max(1) as f64;
        let mut steps: Vec<u64> = Vec::new();
        for pair in self.points.windows(2) {
            let bytes = pair[1].1 - pair[0].1;
            let gap_ns = (pair[1].0 - pair[0].0) as f64;
            match steps.last_mut() {
                Some(step) if gap_ns < bytes as f64 / average / 4.0 => *step += bytes,
                _ => steps.push(bytes),
            }
        }
        steps.sort_unstable();
        let total: u64 = steps.iter().sum();
        let mut sum = 0;
        let median = steps.into_iter().find(|step| {
            sum += step;
            sum * 2 >= total
        });
        median.unwrap_or(0)
    }

    /// The shortest window of at least `bytes` from each point.
    fn sliding(&self, bytes: u64) -> impl Iterator<Item = Window> {
        let mut end = 0;
        self.points.iter().filter_map(move |(start_ns, start)| {
            while self.points.get(end)?.1 - start.min(&self.points[end].1) < bytes {
                end += 1;
            }
            let (end_ns, total) = self.points[end];
            (end_ns > *start_ns).then_some(Window {
                start_ns: *start_ns,
                end_ns,
                bytes: total - start,
            })
        })
    }

    /// Time from the first point to the last.
    pub fn span_ns(&self) -> u64 {
        match (self.points.first(), self.points.last()) {
            (Some(first), Some(last)) => last.0 - first.0,
            _ => 0,
        }
    }

    /// Octets between these points.
    pub fn bytes(&self) -> u64 {
        match (self.points.first(), self.points.last()) {
            (Some(first), Some(last)) => last.1 - first.1,
            _ => 0,
        }
    }
}

/// The same time with the octets that were captured in it.
pub(super) fn passed(view: &DirectionView, window: &Window) -> Window {
    let from = (view.sent).partition_point(|it| it.time_ns < window.start_ns);
    let until = (view.sent).partition_point(|it| it.time_ns < window.end_ns);
    Window {
        bytes: (view.sent[from..until].iter())
            .map(|it| u64::from(it.len))
            .sum(),
        ..*window
    }
}

/// Duration of all windows, which do not overlap.
pub(super) fn total_ns(windows: &[Window]) -> u64 {
    windows.iter().map(|it| it.end_ns - it.start_ns).sum()
}

/// Average rate over these windows.
pub(super) fn average(windows: &[Window]) -> Option<f64> {
    let ns = total_ns(windows);
    let bytes: u64 = windows.iter().map(|it| it.bytes).sum();
    (ns > 0).then(|| bytes as f64 * 1e9 / ns as f64)
}
