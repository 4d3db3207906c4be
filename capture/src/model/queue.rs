//! Time that packets wait in queues.

use super::rate::Progress;
use super::round_trip::{RoundTrips, percentile};
use super::stamp;
use super::view::DirectionView;

/// A host answers within this time if nothing lies between it and the capture point.
pub(super) const NEAR_NS: u64 = 300_000;
/// A queue is longer than this, because hosts take time, too.
pub(super) const MIN_QUEUE_NS: u64 = 400_000;

/// A receiver that processes segments late holds back the acknowledgments of few; more of them wait in a queue.
const MAX_HELD: u64 = 16;

/// True if late acknowledgments are the receiver's work, and not a queue's: the way from the capture point to it is short,
/// or most of what is in flight is acknowledged at once.
pub(super) fn acks_are_held(
    to_receiver: &RoundTrips,
    acked: &Progress,
    max_in_flight: u64,
    full: u64,
) -> bool {
    let is_near =
        to_receiver.base_ns().is_some_and(|ns| ns < NEAR_NS) && max_in_flight <= MAX_HELD * full;
    is_near || max_in_flight <= 2 * full || acked.step() * 3 >= max_in_flight
}

/// True if the time from acknowledgments to the data that echoes them is that of a sender which spaces its bursts: such a
/// sender reacts with the next burst, and nothing passes until then. What waits in a queue follows what waited before.
pub(super) fn is_pace(view: &DirectionView, to_sender: &RoundTrips) -> bool {
    let sent = view.sent.iter().filter(|it| it.len > 0);
    let times: Vec<u64> = sent.map(|it| it.time_ns).collect();
    let samples = to_sender.samples();
    let is_silent = |(time_ns, ns): &&(u64, u64)| {
        let from = times.partition_point(|it| *it < time_ns - ns);
        times.get(from).is_none_or(|it| it >= time_ns)
    };
    let silent = samples.iter().filter(is_silent).count();
    let gaps = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    match (to_sender.queue_ns(90), percentile(gaps, 75)) {
        (Some(queue_ns), Some(gap_ns)) => {
            queue_ns < gap_ns + gap_ns / 4 || silent * 2 > samples.len()
        }
        _ => false,
    }
}

/// Median and 90th percentile of the time in queues, on the side of the capture point where more of it is.
pub(super) fn queue_ns(trips: [&RoundTrips; 2], could_queue: [bool; 2]) -> Option<(u64, u64)> {
    let of = |trips: &RoundTrips| {
        (trips.count() >= 8)
            .then(|| Some((trips.queue_ns(50)?, trips.queue_ns(90)?)))
            .flatten()
    };
    let sides = trips.into_iter().zip(could_queue);
    sides
        .filter(|(_, could)| *could)
        .filter_map(|(trips, _)| of(trips))
        .max()
}

/// True if packets wait longer between the capture point and the receiver than between it and the sender.
pub(super) fn waits_before_receiver(trips: [&RoundTrips; 2], could_queue: [bool; 2]) -> bool {
    let [to_receiver, to_sender] = trips;
    let on_side = |trips, could| queue_ns([trips, trips], [could, false]);
    on_side(to_receiver, could_queue[0]) > on_side(to_sender, could_queue[1])
}

/// Median time that acknowledgments wait on their way back. Where they have passed the queue already at the capture point, it is the
/// delay of acknowledgments over their stamps; where they are still before it, what the delay of data over its stamps leaves of all
/// waiting, `waited_ns`. Acknowledgments count if they show a round trip: those of a recovery do not, and often wait longer.
pub(super) fn ack_queue_ns(
    view: &DirectionView,
    to_receiver: &RoundTrips,
    data_delay_ns: Option<u64>,
    is_before_queue: bool,
    waited_ns: Option<u64>,
) -> Option<u64> {
    let all_ns = waited_ns?;
    if is_before_queue {
        return Some(all_ns.saturating_sub(data_delay_ns?));
    }
    let samples = to_receiver.samples();
    let is_sample = |time_ns: u64| {
        let found = samples.binary_search_by_key(&time_ns, |(at_ns, _)| *at_ns);
        found.is_ok()
    };
    let acks = view.acks.iter().map(|it| (it.time_ns, it.timestamp));
    stamp::delay_ns(&acks.collect::<Vec<_>>(), is_sample)
}

/// Median time that data waits before the capture point, by the clock that stamps it.
pub(super) fn data_delay_ns(view: &DirectionView) -> Option<u64> {
    let data = view.sent.iter().map(|it| (it.time_ns, it.timestamp));
    stamp::delay_ns(&data.collect::<Vec<_>>(), |_| true)
}
