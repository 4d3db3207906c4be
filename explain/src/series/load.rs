//! The points of a load sweep, and what stands out in their order.

use linerate_results::record::{Direction, Run, UdpSweep};

/// Less than what was offered by more than this share is not "all of it". A trial of seconds has
/// datagrams for no finer one.
pub(crate) const TOLERANCE: f64 = 0.01;
/// Below this share of the most that was ever received, more load has made it collapse.
pub(crate) const COLLAPSE: f64 = 0.8;
/// At this share of the most that was ever received, it has what it can get.
const PLATEAU: f64 = 0.97;

/// The points of one direction, by what was offered.
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

    pub(crate) fn counted(&self) -> Vec<Point> {
        self.points.iter().filter_map(|it| Point::of(it)).collect()
    }
}

/// What a point of a sweep has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    pub(crate) offered: f64,
    pub(crate) sent: f64,
    pub(crate) received: f64,
    pub(crate) loss: f64,
    /// Of all datagrams that were sent, counted: the rates are of times that differ by one interval.
    pub(crate) arrived: f64,
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
        })
    }

    /// Whether all that was offered has arrived, and all that was sent where that was more.
    pub(crate) fn is_whole(&self) -> bool {
        self.received >= self.offered * (1.0 - TOLERANCE) && self.arrived >= 1.0 - TOLERANCE
    }

    /// Whether the sender has sent all that it was to send.
    pub(crate) fn is_sent(&self) -> bool {
        self.sent >= self.offered * (1.0 - TOLERANCE)
    }
}

/// The first point that is not whole, and the last one before it.
pub(crate) fn knee(points: &[Point]) -> Option<(Option<Point>, Point)> {
    let at = points.iter().position(|point| !point.is_whole())?;
    let before = at.checked_sub(1).map(|before| points[before]);
    Some((before, points[at]))
}

/// The least load of those at which about the most was received.
pub(crate) fn most(points: &[Point]) -> Option<Point> {
    let received = points.iter().map(|it| it.received).fold(0.0, f64::max);
    let has_about_that = |it: &&Point| it.received > 0.0 && it.received >= received * PLATEAU;
    let first = points.iter().find(has_about_that)?;
    Some(Point { received, ..*first })
}

/// The point beyond the `most` at which the least is received, if that is so little that it has collapsed.
pub(crate) fn collapsed(points: &[Point], most: Point) -> Option<Point> {
    let after = points.iter().filter(|it| it.offered > most.offered);
    let least = after.min_by(|one, other| one.received.total_cmp(&other.received))?;
    (least.received < most.received * COLLAPSE).then_some(*least)
}

/// The sizes of datagrams.
pub(crate) fn sizes(run: &Run) -> Vec<u64> {
    let mut sizes: Vec<u64> = run.udp_sweeps().map(|it| it.params.payload_bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}
