//! Findings across measurements of a target: causes that only several loads, sizes or round trips show.
//!
//! Each rule is one file with one function that evaluates measurements and returns `None` or a scored finding.
//! This machine is checked first: a load that it did not send, or dropped itself, is not the device's fault.
//!
//! | module | evaluates |
//! |---|---|
//! | `receive_drops` | drops by this machine's socket |
//! | `send_limit` | loads that this machine did not send |
//! | `livelock` | the received rate beyond the knee |
//! | `path_rate` | the same received rate at each load above it |
//! | `device` | the device's own counters: overruns, pause frames |
//! | `frame_cost` | the time of a frame as a function of its length |
//! | `bufferbloat` | round trips under load, compared with idle ones |
//! | `idle_wake` | idle round trips that are spread evenly |
//! | `shared` | transfers in both directions at once, compared with each alone |

mod bufferbloat;
mod device;
mod frame_cost;
mod idle_wake;
mod livelock;
mod path_rate;
mod receive_drops;
mod send_limit;
mod shared;

use crate::cause::scored::ScoredFinding;
use crate::series::load::{self, Point, Sweep};
use crate::series::rfc2544::{self, Throughput as LosslessRate, TrialsBySize};
use crate::series::size;
use linerate_results::record::{
    Cause, Direction, Finding, Flow, Latency, Rfc2544Test, Run, Throughput, Transport,
};
use livelock::RateUnit;

/// The findings of the target measurements in `run`, in the order in which to check them.
pub fn explain_targets(run: &Run) -> Vec<Finding> {
    ranked(scored_findings(run))
}

/// The same, with the share of the time that each explains.
fn scored_findings(run: &Run) -> Vec<ScoredFinding> {
    let sizes = load::sizes(run).into_iter();
    let mut found: Vec<ScoredFinding> = sizes.flat_map(|size| loads(run, size)).collect();
    found.extend(transfers(run));
    found.extend(gaps(run));
    found.extend(packets(run));
    for sizes in rfc2544::by_counting(run).values() {
        found.extend(frame_sizes(sizes));
        found.extend(frame_loss(sizes));
    }
    found.extend(round_trips(run));
    found
}

/// Findings of the load sweep with datagrams of this size.
pub(crate) fn of_loads(run: &Run, payload_bytes: u64) -> Vec<Finding> {
    ranked(loads(run, payload_bytes))
}

/// Findings of transfers.
pub(crate) fn of_transfers(run: &Run) -> Vec<Finding> {
    ranked(transfers(run))
}

/// Findings of the gaps between datagrams.
pub(crate) fn of_gaps(run: &Run) -> Vec<Finding> {
    ranked(gaps(run).into_iter().collect())
}

/// Findings of sweeps over sizes.
pub(crate) fn of_sizes(run: &Run) -> Vec<Finding> {
    ranked(packets(run))
}

/// Findings of RFC 2544's throughput by frame size.
pub(crate) fn of_frame_sizes(sizes: &TrialsBySize<'_>) -> Vec<Finding> {
    ranked(frame_sizes(sizes).into_iter().collect())
}

/// Findings of RFC 2544's frame loss rate.
pub(crate) fn of_frame_loss(sizes: &TrialsBySize<'_>) -> Vec<Finding> {
    ranked(frame_loss(sizes).into_iter().collect())
}

/// Findings of round trips.
pub(crate) fn of_latencies(run: &Run) -> Vec<Finding> {
    ranked(round_trips(run))
}

fn round_trips(run: &Run) -> Vec<ScoredFinding> {
    let all: Vec<&Latency> = run.latencies().collect();
    let found = [bufferbloat::evaluate(&all), idle_wake::evaluate(&all)];
    found.into_iter().flatten().collect()
}

fn loads(run: &Run, payload_bytes: u64) -> Vec<ScoredFinding> {
    let [to, from] = [Direction::ToDevice, Direction::FromDevice]
        .map(|direction| Sweep::of(run, direction, payload_bytes));
    let flows = from.points.iter().filter_map(|it| it.metrics.flow.as_ref());
    let dropped = receive_drops::evaluate(flows);
    let points = to.measured_points();
    // If this machine drops datagrams, the received rate is its own.
    let received = dropped.is_none().then(|| from.measured_points());
    let received = received.unwrap_or_default();
    let own = device::evaluate(
        run,
        payload_bytes,
        livelock::evaluate(&points, RateUnit::Payload),
    );
    // A sender that the device's pause frames stop cannot send more.
    let limit = own.paused.is_none();
    let limit = limit.then(|| send_limit::evaluate(&points, payload_bytes));
    let found = [
        dropped,
        limit.flatten(),
        own.paused,
        own.livelock,
        own.overrun,
        path_rate::evaluate(&points, Direction::ToDevice, payload_bytes),
        path_rate::evaluate(&received, Direction::FromDevice, payload_bytes),
    ];
    found.into_iter().flatten().collect()
}

fn transfers(run: &Run) -> Vec<ScoredFinding> {
    let all: Vec<&Throughput> = run.throughputs().collect();
    let received = all.iter().filter_map(|it| it.metrics.from_device.as_ref());
    let found = [receive_drops::evaluate(received), shared::evaluate(&all)];
    found.into_iter().flatten().collect()
}

fn gaps(run: &Run) -> Option<ScoredFinding> {
    let from = run
        .packet_gaps()
        .filter(|it| it.params.direction == Direction::FromDevice);
    receive_drops::evaluate(from.filter_map(|it| it.metrics.flow.as_ref()))
}

/// UDP only: with TCP a size is that of a write, and its number of segments is unknown.
fn packets(run: &Run) -> Vec<ScoredFinding> {
    let mut found = Vec::new();
    let sweeps = size::sweeps(run);
    for sweep in sweeps.iter().filter(|it| it.transport == Transport::Udp) {
        let flows = || {
            let points = sweep.points.iter();
            points.filter_map(|it| it.metrics.flow.as_ref())
        };
        let direction = sweep.direction;
        let dropped =
            (direction == Direction::FromDevice).then(|| receive_drops::evaluate(flows()));
        let dropped = dropped.flatten();
        // If this machine drops datagrams, or sends no more than the device receives, the times are its own.
        let is_own = match direction {
            Direction::FromDevice => dropped.is_some(),
            Direction::ToDevice | Direction::Both => !flows().all(loses_datagrams),
        };
        if !is_own {
            found.extend(frame_cost::evaluate_datagrams(
                direction,
                &sweep.send_times(),
            ));
        }
        found.extend(dropped);
    }
    found
}

/// True if more was sent than arrived.
fn loses_datagrams(flow: &Flow) -> bool {
    flow.datagrams
        .is_some_and(|it| it.loss_ratio() > load::TOLERANCE)
}

fn frame_sizes(sizes: &TrialsBySize<'_>) -> Option<ScoredFinding> {
    let mut line_bits_per_s = 0;
    let mut times = Vec::new();
    for (octets, trials) in rfc2544::trials(sizes, Rfc2544Test::Throughput) {
        if let Some(rate) = LosslessRate::of(trials).and_then(|it| it.lossless) {
            line_bits_per_s = trials[0].params.line_bits_per_s;
            times.push((octets as f64, 1e9 / rate));
        }
    }
    frame_cost::evaluate_frames(line_bits_per_s, &times)
}

/// The finding of the frame size with the deepest collapse.
fn frame_loss(sizes: &TrialsBySize<'_>) -> Option<ScoredFinding> {
    let tested = rfc2544::trials(sizes, Rfc2544Test::FrameLoss);
    let found = tested.filter_map(|(octets, trials)| {
        let offered = trials.iter().filter(|it| !it.metrics.is_below_offered);
        let mut points: Vec<Point> = offered
            .map(|trial| {
                let arrived = 1.0 - trial.loss_ratio();
                let rate = trial.params.offered_frames_per_s * octets as f64;
                Point {
                    offered: rate,
                    sent: rate,
                    received: rate * arrived,
                    loss: trial.loss_ratio(),
                    arrived,
                    step: 0.0,
                }
            })
            .collect();
        points.sort_by(|one, other| one.offered.total_cmp(&other.offered));
        livelock::evaluate(&points, RateUnit::Frames { octets })
    });
    found.max_by(|one, other| one.weight.total_cmp(&other.weight))
}

/// This machine's findings first, then by weight.
fn ranked(mut found: Vec<ScoredFinding>) -> Vec<Finding> {
    let own = [Cause::HostReceiveDrops, Cause::HostSendLimit];
    let is_device = |it: &ScoredFinding| !own.contains(&it.finding.cause);
    found.sort_by(|one, other| {
        let by_weight = other.weight.total_cmp(&one.weight);
        is_device(one).cmp(&is_device(other)).then(by_weight)
    });
    found.into_iter().map(|it| it.finding).collect()
}

#[cfg(test)]
mod tests;
