//! The points of a sweep over the send size.

use linerate_results::record::{Direction, Run, SizeSweep, Transport};

/// From this share of the best goodput on, a size is large enough.
pub(crate) const NEAR_BEST: f64 = 0.95;

/// The points of one transport and direction, by size.
pub(crate) struct Sweep<'a> {
    pub(crate) transport: Transport,
    pub(crate) direction: Direction,
    pub(crate) points: Vec<&'a SizeSweep>,
}

/// All sweeps of `run`.
pub(crate) fn sweeps(run: &Run) -> Vec<Sweep<'_>> {
    let mut sweeps: Vec<Sweep<'_>> = Vec::new();
    for result in run.size_sweeps() {
        let (transport, direction) = (result.params.transport, result.params.direction);
        let known = sweeps
            .iter_mut()
            .find(|it| it.transport == transport && it.direction == direction);
        match known {
            Some(sweep) => sweep.points.push(result),
            None => sweeps.push(Sweep {
                transport,
                direction,
                points: vec![result],
            }),
        }
    }
    for sweep in &mut sweeps {
        sweep.points.sort_by_key(|it| it.params.payload_bytes);
    }
    sweeps
}

impl Sweep<'_> {
    pub(crate) fn label(&self) -> String {
        format!("{} {}", self.transport.label(), self.direction.label())
    }

    /// Octets of a send, and goodput.
    pub(crate) fn measured_points(&self) -> Vec<(f64, f64)> {
        let point = |it: &&SizeSweep| {
            let goodput = it.metrics.flow.as_ref()?.goodput_bytes_per_s;
            (goodput > 0.0).then_some((it.params.payload_bytes as f64, goodput))
        };
        self.points.iter().filter_map(point).collect()
    }

    pub(crate) fn best_goodput(&self) -> Option<f64> {
        let rates = self.measured_points().into_iter().map(|it| it.1);
        rates.max_by(f64::total_cmp)
    }

    /// True if some size reached the offered rate: the offer was the limit, not the cost of a send.
    pub(crate) fn is_limited_by_offer(&self) -> bool {
        self.points.iter().any(|it| {
            let offered = it.params.offered_bytes_per_s;
            let flow = it.metrics.flow.as_ref();
            offered > 0.0
                && flow.is_some_and(|flow| flow.goodput_bytes_per_s >= offered * NEAR_BEST)
        })
    }

    /// Octets of a send, and its time; empty unless the cost of a send was the limit.
    pub(crate) fn send_times(&self) -> Vec<(f64, f64)> {
        if self.is_limited_by_offer() {
            return Vec::new();
        }
        let points = self.measured_points().into_iter();
        points
            .map(|(octets, goodput)| (octets, octets * 1e9 / goodput))
            .collect()
    }
}
