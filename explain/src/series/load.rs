//! The points of a load sweep: knee, saturation, collapse.

use linerate_results::record::{Direction, Run, UdpSweep};

/// Up to this share may be missing from "all". A trial of a few seconds has too few datagrams for a finer
/// limit.
pub(crate) const TOLERANCE: f64 = 0.01;
/// Below this share of the highest received rate, the sweep has collapsed.
pub(crate) const COLLAPSE: f64 = 0.8;
/// From this share of the highest received rate on, the sweep is saturated.
const PLATEAU: f64 = 0.97;

/// The points of one direction, by offered rate.
pub(crate) struct Sweep<'a> {
    pub(crate) direction: Direction,
    pub(crate) points: Vec<&'a UdpSweep>,
}

impl<'a> Sweep<'a> {
    pub(crate) fn of(run: &'a Run, direction: Direction, payload_bytes: u64) -> Self {
        let mut points: Vec<&UdpSweep> = run
            .udp_sweeps()
            .filter(|it| it.params.direction == direction)
            .filter(|it| it.params.payload_bytes == payload_bytes)
            .collect();
        let offered = |it: &UdpSweep| it.params.offered_bytes_per_s;
        points.sort_by(|one, other| offered(one).total_cmp(&offered(other)));
        Self { direction, points }
    }

    pub(crate) fn measured_points(&self) -> Vec<Point> {
        self.points.iter().filter_map(|it| Point::of(it)).collect()
    }
}

/// A measured point of a sweep; rates in bytes per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    pub(crate) offered: f64,
    pub(crate) sent: f64,
    pub(crate) received: f64,
    pub(crate) loss: f64,
    /// Share of the sent datagrams that arrived, from counts: the rates cover times that differ by one interval.
    pub(crate) arrived: f64,
    /// Rate of one datagram a trial: the step in which rates are known.
    pub(crate) step: f64,
}

impl Point {
    pub(crate) fn of(result: &UdpSweep) -> Option<Self> {
        let metrics = &result.metrics;
        let datagrams = metrics.flow.as_ref()?.datagrams?;
        let octets = datagrams.received as f64 * result.params.payload_bytes as f64;
        let sent = metrics.sent_bytes_per_s * result.params.span_ns as f64 / 1e9;
        Some(Self {
            offered: result.params.offered_bytes_per_s,
            sent: metrics.sent_bytes_per_s,
            received: metrics.received_bytes_per_s,
            loss: datagrams.loss_ratio(),
            arrived: octets / sent.max(1.0),
            step: result.params.payload_bytes as f64 * 1e9 / result.params.span_ns.max(1) as f64,
        })
    }

    /// True if everything offered arrived, and everything sent if that was more.
    pub(crate) fn is_fully_received(&self) -> bool {
        self.arrives() && self.is_fully_sent()
    }

    /// True if everything sent arrived, whether it was as much as offered or not.
    pub(crate) fn arrives(&self) -> bool {
        self.arrived >= 1.0 - TOLERANCE && self.loss <= TOLERANCE
    }

    /// True if the sender sent the offered rate. At low loads a datagram or two are more than the tolerance: the
    /// last interval ends with the trial.
    pub(crate) fn is_fully_sent(&self) -> bool {
        self.sent >= self.offered * (1.0 - TOLERANCE) - 2.0 * self.step
    }
}

/// The first point that is not fully received, and the one before it.
pub(crate) fn knee(points: &[Point]) -> Option<(Option<Point>, Point)> {
    let at = points.iter().position(|point| !point.is_fully_received())?;
    let before = at.checked_sub(1).map(|before| points[before]);
    Some((before, points[at]))
}

/// The lowest load at which about the highest rate was received.
pub(crate) fn saturation(points: &[Point]) -> Option<Point> {
    let received = points.iter().map(|it| it.received).fold(0.0, f64::max);
    let is_saturated = |it: &&Point| it.received > 0.0 && it.received >= received * PLATEAU;
    let first = points.iter().find(is_saturated)?;
    Some(Point { received, ..*first })
}

/// True if more than the load of `saturation` was offered without more being received, or if that load loses clearly
/// more than lower ones: else the received rate still rises at the end of the sweep.
pub(crate) fn is_plateau(points: &[Point], saturation: Point) -> bool {
    let is_beyond = |it: &Point| it.offered * PLATEAU > saturation.offered;
    let lower = points.iter().filter(|it| it.offered < saturation.offered);
    let usual_loss = lower.map(|it| it.loss).reduce(f64::min).unwrap_or(0.0);
    points.iter().any(is_beyond)
        || saturation.loss > usual_loss + (1.0 - PLATEAU)
        || !saturation.is_fully_sent()
}

/// The point beyond `saturation` with the lowest received rate, if it has collapsed.
pub(crate) fn collapse(points: &[Point], saturation: Point) -> Option<Point> {
    let after = points.iter().filter(|it| it.offered > saturation.offered);
    let least = after.min_by(|one, other| one.received.total_cmp(&other.received))?;
    (least.received < saturation.received * COLLAPSE).then_some(*least)
}

/// The datagram sizes in `run`.
pub(crate) fn sizes(run: &Run) -> Vec<u64> {
    let mut sizes: Vec<u64> = run.udp_sweeps().map(|it| it.params.payload_bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}
