//! Figures of one direction of a transfer, from the series of its sockets.

use linerate_results::record::{Direction, Flow, TcpConnection, TcpSample, Throughput, Transport};
use linerate_results::stats;

/// Share of the time at the start that is not counted as steady: slow start.
const START: f64 = 0.2;
/// Intervals that the steady part is divided into, to see the variation of the rate.
const INTERVALS: u64 = 16;
/// Minimum number of intervals for a statement about the variation.
const MIN_INTERVALS: usize = 6;
/// A connection with a smaller share of the payload is a control connection.
const MIN_SHARE: f64 = 0.02;

/// Algorithms whose rate follows from the loss.
const LOSS_BASED: [&str; 2] = ["reno", "cubic"];

/// Figures of the connections of one direction. Rates are bytes per second of payload.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Figures {
    pub(super) direction: Direction,
    /// Goodput of the whole transfer.
    pub(super) rate: f64,
    /// Rate without the start; the goodput if there are too few samples.
    pub(super) steady_rate: f64,
    pub(super) span_ns: f64,
    /// Connections with payload.
    pub(super) connections: usize,
    /// Segment size in the direction of the payload.
    pub(super) mss: f64,
    pub(super) has_timestamps: bool,
    /// True if losses reduce the sender's window: its congestion control is Reno's or CUBIC's. `None` for a sender
    /// that is not this machine.
    pub(super) is_loss_based: Option<bool>,
    /// Median round trip during the transfer; `None` if unknown.
    pub(super) rtt_ns: Option<f64>,
    /// Shortest round trip.
    pub(super) min_rtt_ns: Option<f64>,
    /// Shares of the time of the connections.
    pub(super) busy: f64,
    pub(super) window_limited: f64,
    pub(super) buffer_limited: f64,
    /// Largest and median window that the receiver granted.
    pub(super) window: Option<f64>,
    pub(super) median_window: Option<f64>,
    /// Segments after the start of the transfer.
    pub(super) sent_segments: f64,
    /// Retransmissions, without those that the receiver reported as duplicates.
    pub(super) lost_segments: f64,
    pub(super) received_segments: f64,
    pub(super) out_of_order_segments: f64,
    /// True if the congestion window was never reduced.
    pub(super) is_in_slow_start: bool,
    /// Largest congestion window, bytes.
    pub(super) congestion_window: f64,
    /// Highest rate at which the network delivered a flight.
    pub(super) peak_delivery: f64,
    /// Standard deviation of the steady rate by its median; `None` with too few intervals.
    pub(super) variation: Option<f64>,
    /// Length of the intervals in which the variation was observed.
    pub(super) interval_ns: f64,
}

impl Figures {
    /// The figures of `direction`; `None` without a socket of this machine, or with a packet rate instead of TCP.
    pub(super) fn of(result: &Throughput, direction: Direction, flow: &Flow) -> Option<Self> {
        if result.params.transport != Transport::Tcp {
            return None;
        }
        let observation = &result.observation;
        let is_sender = direction == Direction::ToDevice;
        let payload = |it: &TcpConnection| {
            let last = it.samples.last().copied().unwrap_or_default();
            carried(&last, is_sender)
        };
        let all = observation.connections.iter();
        let all: Vec<&TcpConnection> = all.filter(|it| it.direction == direction).collect();
        let total: u64 = all.iter().map(|it| payload(it)).sum();
        let chosen: Vec<&TcpConnection> = all
            .into_iter()
            .filter(|it| payload(it) as f64 >= total as f64 * MIN_SHARE && payload(it) > 0)
            .collect();
        let first = *chosen.first()?;
        let last = |it: &&TcpConnection| it.samples.last().copied().unwrap_or_default();
        let sum = |of: fn(&TcpSample) -> u64| -> f64 {
            chosen.iter().map(|it| of(&last(it)) as f64).sum()
        };
        // Without the start: slow start ends in losses on any path.
        let steady_sum = |of: fn(&TcpSample) -> u64| -> f64 {
            let grown = |it: &&TcpConnection| {
                let from = steady_from(it);
                let mut samples = it.samples.iter();
                let first = samples.find(|sample| sample.at_ns >= from).map_or(0, of);
                of(&last(it)).saturating_sub(first) as f64
            };
            chosen.iter().map(grown).sum()
        };
        let open: f64 = chosen
            .iter()
            .map(|it| it.ended_ns.saturating_sub(it.opened_ns) as f64)
            .sum();
        let share = |of: fn(&TcpSample) -> u64| stats::ratio(sum(of), open).min(1.0);
        let steady = Steady::of(&chosen, is_sender);
        let mss = if is_sender {
            first.send_mss_bytes
        } else {
            first.receive_mss_bytes
        };
        let samples = || chosen.iter().flat_map(|it| &it.samples);
        let windows = || samples().filter_map(|it| window(it, is_sender));
        let probed = observation.loaded_round_trip_ns.map(|rtt| rtt as f64);
        let known = |ns: u64| (ns > 0).then_some(ns as f64);
        let socket_rtt = median(steady_samples(&chosen).filter_map(|it| {
            if is_sender {
                known(it.rtt_ns)
            } else {
                known(it.receive_rtt_ns)
            }
        }));
        // Without timestamps the receiver's estimate is the time of a whole window.
        let socket_rtt = socket_rtt.filter(|_| is_sender || first.has_timestamps);
        let shortest = samples()
            .filter_map(|it| known(it.min_rtt_ns))
            .chain(observation.idle_round_trip_ns.map(|rtt| rtt as f64));
        let rate = flow.goodput_bytes_per_s;
        Some(Self {
            direction,
            rate,
            steady_rate: steady.rate.unwrap_or(rate),
            span_ns: flow.span_ns as f64,
            connections: chosen.len(),
            mss: mss as f64,
            has_timestamps: first.has_timestamps,
            is_loss_based: is_sender
                .then(|| LOSS_BASED.contains(&first.congestion_control.as_str())),
            rtt_ns: socket_rtt.or(probed),
            min_rtt_ns: shortest.min_by(f64::total_cmp),
            busy: share(|it| it.busy_ns),
            window_limited: share(|it| it.window_limited_ns),
            buffer_limited: share(|it| it.buffer_limited_ns),
            window: windows().max_by(f64::total_cmp),
            median_window: median(windows()),
            sent_segments: steady_sum(|it| it.sent_segments),
            lost_segments: steady_sum(|it| {
                it.retransmitted_segments
                    .saturating_sub(it.duplicate_segments)
            }),
            received_segments: steady_sum(|it| it.received_segments),
            out_of_order_segments: steady_sum(|it| it.out_of_order_segments),
            is_in_slow_start: samples().all(|it| it.slow_start_threshold_segments.is_none()),
            congestion_window: samples()
                .map(|it| it.congestion_window_segments)
                .max()
                .unwrap_or(0) as f64
                * mss as f64,
            peak_delivery: samples()
                .filter(|it| !it.is_app_limited)
                .map(|it| it.delivery_bytes_per_s as f64)
                .fold(0.0, f64::max),
            variation: steady.variation,
            interval_ns: steady.interval_ns,
        })
    }

    /// Share of the segments sent that were lost.
    pub(super) fn loss(&self) -> f64 {
        stats::ratio(self.lost_segments, self.sent_segments)
    }

    /// Payload in flight, from rate and round trip (Little's law), of one connection.
    pub(super) fn in_flight(&self) -> Option<f64> {
        let each = self.steady_rate / self.connections.max(1) as f64;
        Some(each * self.rtt_ns? / 1e9)
    }

    /// Payload that waits in a queue: what is in flight beyond the shortest round trip, all connections together.
    pub(super) fn queued(&self) -> Option<f64> {
        let waits = (self.rtt_ns? - self.min_rtt_ns?).max(0.0);
        Some(self.steady_rate * waits / 1e9)
    }

    /// True if the data wait in a queue: the round trip is half as long again as the shortest one, and at least
    /// four segments wait. Fewer are those of a burst.
    pub(super) fn is_queued(&self) -> bool {
        let (Some(rtt), Some(min), Some(queued)) = (self.rtt_ns, self.min_rtt_ns, self.queued())
        else {
            return false;
        };
        rtt >= min * 1.5 && queued >= 4.0 * self.mss.max(1.0)
    }
}

/// Payload carried in the direction of interest.
const fn carried(sample: &TcpSample, is_sender: bool) -> u64 {
    if is_sender {
        sample.acked_bytes
    } else {
        sample.received_bytes
    }
}

/// The window granted to the sender.
fn window(sample: &TcpSample, is_sender: bool) -> Option<f64> {
    let window = if is_sender {
        sample.send_window_bytes
    } else {
        sample.receive_window_bytes
    };
    window.map(|bytes| bytes as f64)
}

/// Samples after the start of each connection.
fn steady_samples<'a>(chosen: &'a [&TcpConnection]) -> impl Iterator<Item = &'a TcpSample> {
    chosen.iter().flat_map(|it| {
        let from = steady_from(it);
        it.samples.iter().filter(move |sample| sample.at_ns >= from)
    })
}

fn steady_from(connection: &TcpConnection) -> u64 {
    let span = connection.ended_ns.saturating_sub(connection.opened_ns) as f64;
    connection.opened_ns + (span * START) as u64
}

/// The steady part of a transfer.
struct Steady {
    rate: Option<f64>,
    variation: Option<f64>,
    interval_ns: f64,
}

impl Steady {
    /// Of connections that run at the same time. Those of consecutive requests have no steady part.
    fn of(chosen: &[&TcpConnection], is_sender: bool) -> Self {
        let none = Self {
            rate: None,
            variation: None,
            interval_ns: 0.0,
        };
        let from = chosen.iter().map(|it| steady_from(it)).max().unwrap_or(0);
        let to = chosen
            .iter()
            .filter_map(|it| it.samples.last())
            .map(|it| it.at_ns)
            .min()
            .unwrap_or(0);
        let step = to.saturating_sub(from) / INTERVALS;
        if step == 0 {
            return none;
        }
        let mut series = Vec::new();
        for connection in chosen {
            let Some(rates) = rates(connection, is_sender, from, to, step) else {
                return none;
            };
            series.push(rates);
        }
        let len = series.iter().map(Vec::len).min().unwrap_or(0);
        let sums: Vec<f64> = (0..len)
            .map(|at| series.iter().map(|rates| rates[at]).sum())
            .collect();
        let mean = stats::ratio(sums.iter().sum(), len as f64);
        Self {
            rate: (len > 0).then_some(mean),
            variation: variation(sums),
            interval_ns: step as f64,
        }
    }
}

/// Standard deviation of the rates by their median, from the quartiles: a single interval in which this machine was
/// busy does not count.
fn variation(mut rates: Vec<f64>) -> Option<f64> {
    rates.sort_by(f64::total_cmp);
    let at = |share: f64| rates[((rates.len() - 1) as f64 * share).round() as usize];
    if rates.len() < MIN_INTERVALS || at(0.5) <= 0.0 {
        return None;
    }
    // Of a normal distribution, half is within 0.674 standard deviations of the median.
    Some((at(0.75) - at(0.25)) / (2.0 * 0.674) / at(0.5))
}

/// Rates of intervals of `step`, from the payload interpolated between samples; `None` if the samples are too far
/// apart.
fn rates(
    connection: &TcpConnection,
    is_sender: bool,
    from: u64,
    to: u64,
    step: u64,
) -> Option<Vec<f64>> {
    let samples = &connection.samples;
    let payload_at = |at: u64| {
        let after = samples.iter().position(|it| it.at_ns >= at)?;
        let next = &samples[after];
        let before = &samples[after.checked_sub(1)?];
        let span = next.at_ns.saturating_sub(before.at_ns);
        let (low, high) = (carried(before, is_sender), carried(next, is_sender));
        let part = stats::ratio(at.saturating_sub(before.at_ns) as f64, span as f64);
        (span <= 2 * step).then_some(low as f64 + (high.saturating_sub(low)) as f64 * part)
    };
    let mut rates = Vec::new();
    let mut at = from;
    while at + step <= to {
        let octets = payload_at(at + step)? - payload_at(at)?;
        rates.push(octets * 1e9 / step as f64);
        at += step;
    }
    Some(rates)
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
