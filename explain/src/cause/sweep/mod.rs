//! From measurements of a target to causes: what loads, sizes and round trips show only beside each other.
//!
//! Each rule is one file with one function that looks at what was measured and says nothing or a weighed finding.
//! This machine is suspected first: what it did not send or did not take is not the device's doing.
//!
//! | module | what it looks at |
//! |---|---|
//! | `receive_drops` | what this machine's own socket dropped |
//! | `send_limit` | what this machine did not send |
//! | `livelock` | what is received beyond the knee |
//! | `frame_cost` | the time of a frame over its length |
//! | `bufferbloat` | round trips under load beside idle ones |

mod bufferbloat;
mod frame_cost;
mod livelock;
mod receive_drops;
mod send_limit;

use crate::cause::scored::Weighed;
use crate::series::load::{self, Point, Sweep};
use crate::series::rfc2544::{self, Sizes, Throughput};
use crate::series::size;
use linerate_results::record::{
    Cause, Direction, Finding, Flow, Latency, Rfc2544Test, Run, Transport,
};
use livelock::Unit;

/// What is wrong with the measurements of targets in `run`, what to look at first first.
pub fn of_targets(run: &Run) -> Vec<Finding> {
    ranked(weighed(run))
}

/// The same with the part that each explains.
fn weighed(run: &Run) -> Vec<Weighed> {
    let sizes = load::sizes(run).into_iter();
    let mut found: Vec<Weighed> = sizes.flat_map(|size| loads(run, size)).collect();
    found.extend(transfers(run));
    found.extend(gaps(run));
    found.extend(packets(run));
    for sizes in rfc2544::ways(run).values() {
        found.extend(frame_sizes(sizes));
        found.extend(frame_loss(sizes));
    }
    found.extend(bufferbloat::look(&run.latencies().collect::<Vec<_>>()));
    found
}

/// Of the load sweep with datagrams of this size.
pub(crate) fn of_loads(run: &Run, payload_bytes: u64) -> Vec<Finding> {
    ranked(loads(run, payload_bytes))
}

/// Of transfers.
pub(crate) fn of_transfers(run: &Run) -> Vec<Finding> {
    ranked(transfers(run).into_iter().collect())
}

/// Of sweeps over the gaps between datagrams.
pub(crate) fn of_gaps(run: &Run) -> Vec<Finding> {
    ranked(gaps(run).into_iter().collect())
}

/// Of sweeps over sizes.
pub(crate) fn of_sizes(run: &Run) -> Vec<Finding> {
    ranked(packets(run))
}

/// Of RFC 2544's throughput by the size of frames.
pub(crate) fn of_frame_sizes(sizes: &Sizes<'_>) -> Vec<Finding> {
    ranked(frame_sizes(sizes).into_iter().collect())
}

/// Of RFC 2544's frame loss rate.
pub(crate) fn of_frame_loss(sizes: &Sizes<'_>) -> Vec<Finding> {
    ranked(frame_loss(sizes).into_iter().collect())
}

/// Of round trips.
pub(crate) fn of_latencies(run: &Run) -> Vec<Finding> {
    let all: Vec<&Latency> = run.latencies().collect();
    ranked(bufferbloat::look(&all).into_iter().collect())
}

fn loads(run: &Run, payload_bytes: u64) -> Vec<Weighed> {
    let [to, from] =
        [Direction::ToDevice, Direction::FromDevice].map(|way| Sweep::of(run, way, payload_bytes));
    let flows = from.points.iter().filter_map(|it| it.metrics.flow.as_ref());
    let points = to.counted();
    let found = [
        receive_drops::look(flows),
        send_limit::look(&points, payload_bytes),
        livelock::look(&points, Unit::Payload),
    ];
    found.into_iter().flatten().collect()
}

fn transfers(run: &Run) -> Option<Weighed> {
    let all = run.throughputs();
    receive_drops::look(all.filter_map(|it| it.metrics.from_device.as_ref()))
}

fn gaps(run: &Run) -> Option<Weighed> {
    let from = run
        .packet_gaps()
        .filter(|it| it.params.direction == Direction::FromDevice);
    receive_drops::look(from.filter_map(|it| it.metrics.flow.as_ref()))
}

/// Of TCP a size is that of writes, of which nobody knows in how many segments they go.
fn packets(run: &Run) -> Vec<Weighed> {
    let mut found = Vec::new();
    let sweeps = size::sweeps(run);
    for sweep in sweeps.iter().filter(|it| it.transport == Transport::Udp) {
        let flows = || {
            let points = sweep.points.iter();
            points.filter_map(|it| it.metrics.flow.as_ref())
        };
        let way = sweep.direction;
        let dropped = (way == Direction::FromDevice).then(|| receive_drops::look(flows()));
        let dropped = dropped.flatten();
        // Where this machine drops, and where it sends no more than the device takes, the times are its own.
        let is_own = match way {
            Direction::FromDevice => dropped.is_some(),
            Direction::ToDevice | Direction::Both => !flows().all(is_beyond),
        };
        if !is_own {
            found.extend(frame_cost::of_datagrams(way, &sweep.times()));
        }
        found.extend(dropped);
    }
    found
}

/// Whether more was sent than arrived.
fn is_beyond(flow: &Flow) -> bool {
    flow.datagrams
        .is_some_and(|it| it.loss_ratio() > load::TOLERANCE)
}

fn frame_sizes(sizes: &Sizes<'_>) -> Option<Weighed> {
    let mut line_bits_per_s = 0;
    let mut times = Vec::new();
    for (octets, trials) in rfc2544::trials(sizes, Rfc2544Test::Throughput) {
        if let Some(rate) = Throughput::of(trials).and_then(|it| it.lossless) {
            line_bits_per_s = trials[0].params.line_bits_per_s;
            times.push((octets as f64, 1e9 / rate));
        }
    }
    frame_cost::of_frames(line_bits_per_s, &times)
}

/// Of all sizes that which collapses the furthest.
fn frame_loss(sizes: &Sizes<'_>) -> Option<Weighed> {
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
                }
            })
            .collect();
        points.sort_by(|one, other| one.offered.total_cmp(&other.offered));
        livelock::look(&points, Unit::Frames { octets })
    });
    found.max_by(|one, other| one.weight.total_cmp(&other.weight))
}

/// This machine first, then what costs most.
fn ranked(mut found: Vec<Weighed>) -> Vec<Finding> {
    let own = [Cause::HostReceiveDrops, Cause::HostSendLimit];
    let is_device = |it: &Weighed| !own.contains(&it.finding.cause);
    found.sort_by(|one, other| {
        let by_weight = other.weight.total_cmp(&one.weight);
        is_device(one).cmp(&is_device(other)).then(by_weight)
    });
    found.into_iter().map(|it| it.finding).collect()
}

#[cfg(test)]
mod tests;
